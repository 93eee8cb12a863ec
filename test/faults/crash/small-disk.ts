/**
 * A small file system of its own, to be filled: ext4 in a file, else one in memory. Whoever has
 * one must unmount it. Mounting takes the rights of the superuser, and a system that can.
 */
import { spawnSync } from 'node:child_process'
import { mkdir, mkdtemp, open, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const BYTES = 24 * 1_024 * 1_024
const CHUNKS = [256 * 1_024, 4_096, 512] as const

export class SmallDisk {
  readonly kind: string
  readonly path: string
  readonly #base: string

  private constructor(kind: string, base: string) {
    this.kind = kind
    this.path = join(base, 'disk')
    this.#base = base
  }

  /** Or why there is none. */
  static async mount(): Promise<SmallDisk | string> {
    const base = await mkdtemp(join(tmpdir(), 'pawl-full-'))
    await mkdir(join(base, 'disk'))
    const ext4 = await mountExt4(base)
    if (ext4 === null) return new SmallDisk('ext4', base)
    const options = ['-t', 'tmpfs', '-o', `size=${BYTES}`, 'tmpfs', join(base, 'disk')]
    const memory = run('mount', options)
    if (memory === null) return new SmallDisk('tmpfs', base)
    await rm(base, { recursive: true })
    return `No small file system can be mounted (${ext4}; ${memory}).`
  }

  /** Uses up all the room that there is. */
  async fill(): Promise<void> {
    const file = await open(join(this.path, 'ballast'), 'a')
    try {
      for (const size of CHUNKS) await writeUntilFull(file, Buffer.alloc(size, 1))
      await file.sync()
    } finally {
      await file.close()
    }
  }

  async makeRoom(): Promise<void> {
    await rm(join(this.path, 'ballast'), { force: true })
  }

  async unmount(): Promise<void> {
    const wrong = run('umount', [this.path])
    if (wrong !== null) throw new Error(`${this.path} is still mounted: ${wrong}`)
    await rm(this.#base, { recursive: true })
  }
}

async function mountExt4(base: string): Promise<string | null> {
  const image = join(base, 'image')
  await writeFile(image, '')
  await truncate(image, BYTES)
  const made = run('mkfs.ext4', ['-q', '-m', '0', image])
  return made ?? run('mount', ['-o', 'loop', image, join(base, 'disk')])
}

async function writeUntilFull(
  file: Awaited<ReturnType<typeof open>>,
  chunk: Buffer,
): Promise<void> {
  try {
    // oxlint-disable-next-line no-await-in-loop -- until there is no more room
    for (;;) await file.write(chunk)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
  }
}

/** Null: it worked; else why not. */
function run(command: string, args: readonly string[]): string | null {
  const { status, error, stderr } = spawnSync(command, args, { encoding: 'utf8' })
  if (status === 0) return null
  return `${command}: ${error?.message ?? stderr.trim()}`
}
