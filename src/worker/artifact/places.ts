/**
 * Where artifacts are kept.
 *
 * - in a folder of this machine: the usual place. A file is written under a temporary name, made
 *   durable, and then given its own name, so whenever the process ends, there is the whole file or
 *   none. What is left of a write that was cut short stands in `tmp` and is removed when it is a
 *   day old.
 * - in memory, for engines in memory: lost with the process.
 * - nowhere: an engine that several machines may share has no folder that all of them see, so it
 *   keeps none until `open` is told where.
 */
import type { FileHandle } from 'node:fs/promises'
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import type { ArtifactPlace } from '../../definition/index.ts'
import { InvalidDefinition } from '../../definition/index.ts'
import { newFileName } from '../random.ts'
import { ArtifactMissing } from './stored-artifact.ts'

const TEMPORARY = 'tmp'
const CHUNK_BYTES = 262_144

export function folderPlace(folder: string): ArtifactPlace {
  return new FolderPlace(resolve(folder))
}

/** Its folder, which another process can open; null: it is another kind of place. */
export function rootOf(place: ArtifactPlace): string | null {
  return place instanceof FolderPlace ? place.root : null
}

class FolderPlace implements ArtifactPlace {
  readonly #root: string

  constructor(root: string) {
    this.#root = root
  }

  get root(): string {
    return this.#root
  }

  localPath(path: string): string {
    return this.#at(path)
  }

  async write(path: string, content: AsyncIterable<Uint8Array>): Promise<void> {
    const to = this.#at(path)
    const temporary = await this.#temporary()
    try {
      await writeWhole(temporary, content)
      await mkdir(dirname(to), { recursive: true })
      await rename(temporary, to)
    } catch (error) {
      await rm(temporary, { force: true })
      throw error
    }
    await this.#sync(dirname(to))
  }

  async size(path: string): Promise<number | null> {
    try {
      const found = await stat(this.#at(path))
      return found.isFile() ? found.size : null
    } catch (error) {
      if (isMissing(error)) return null
      throw error
    }
  }

  async *read(path: string): AsyncGenerator<Uint8Array, void, void> {
    const file = await this.#open(path)
    try {
      for (;;) {
        const into = new Uint8Array(CHUNK_BYTES)
        const { bytesRead } = await file.read(into, 0, CHUNK_BYTES, null)
        if (bytesRead === 0) return
        yield into.subarray(0, bytesRead)
      }
    } finally {
      await file.close()
    }
  }

  /** Renamed first: half a folder could not be told from a whole one if the process ended. */
  async remove(folder: string): Promise<void> {
    const temporary = await this.#temporary()
    try {
      await rename(this.#at(folder), temporary)
    } catch (error) {
      if (isMissing(error)) return
      throw error
    }
    await rm(temporary, { recursive: true, force: true })
  }

  async list(folder: string, after: string, limit: number): Promise<readonly string[]> {
    try {
      const names = await readdir(folder === '' ? this.#root : this.#at(folder))
      // Other files there, such as `lost+found`, may have names that are no paths.
      return names
        .filter((name) => name > after && PATH.test(name))
        .filter((name) => !(folder === '' && name === TEMPORARY))
        .toSorted()
        .slice(0, limit)
    } catch (error) {
      if (isMissing(error)) return []
      throw error
    }
  }

  /** Removes what is left of writes that were cut short before this time. */
  async tidy(before: number): Promise<void> {
    const folder = join(this.#root, TEMPORARY)
    for (const name of await namesIn(folder)) {
      const path = join(folder, name)
      const found = await stat(path).catch(() => null)
      if (found !== null && found.mtimeMs < before) await rm(path, { recursive: true, force: true })
    }
  }

  async #temporary(): Promise<string> {
    const folder = join(this.#root, TEMPORARY)
    const first = await mkdir(folder, { recursive: true })
    // The root is there for good when the folders above it say so.
    if (first !== undefined) {
      for (let at = folder; at.length >= first.length; at = dirname(at)) {
        await syncFolder(dirname(at))
      }
    }
    return join(folder, newFileName())
  }

  /**
   * A name is durable when its folder is, and that one when the one above it is. All of them, up
   * to the root: another writer may have made one of them and not synced it yet.
   */
  async #sync(folder: string): Promise<void> {
    for (let at = folder; ; at = dirname(at)) {
      await syncFolder(at)
      if (at === this.#root) return
    }
  }

  async #open(path: string): Promise<FileHandle> {
    try {
      return await open(this.#at(path), 'r')
    } catch (error) {
      throw isMissing(error) ? new ArtifactMissing(path) : error
    }
  }

  /** References come out of stored outputs: none may lead out of the folder. */
  #at(path: string): string {
    if (PATH.test(path) && !path.split('/').includes('..')) return join(this.#root, path)
    throw new InvalidDefinition(`${JSON.stringify(path)} is no path of an artifact.`, { path })
  }
}

const PATH = /^[A-Za-z0-9._~-]+(?:\/[A-Za-z0-9._~-]+)*$/

async function writeWhole(path: string, content: AsyncIterable<Uint8Array>): Promise<void> {
  const file = await open(path, 'wx')
  try {
    for await (const bytes of content) await file.writeFile(bytes)
    await file.sync()
  } finally {
    await file.close()
  }
}

async function syncFolder(path: string): Promise<void> {
  // Windows has no such thing, and needs none.
  if (process.platform === 'win32') return
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}

function isMissing(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException
  return code === 'ENOENT' || code === 'ENOTDIR'
}

export function memoryPlace(): ArtifactPlace {
  return new MemoryPlace()
}

class MemoryPlace implements ArtifactPlace {
  readonly #files = new Map<string, Uint8Array>()

  async write(path: string, content: AsyncIterable<Uint8Array>): Promise<void> {
    const parts: Uint8Array[] = []
    for await (const bytes of content) parts.push(Uint8Array.from(bytes))
    this.#files.set(path, Buffer.concat(parts))
  }

  async size(path: string): Promise<number | null> {
    return this.#files.get(path)?.length ?? null
  }

  async *read(path: string): AsyncGenerator<Uint8Array, void, void> {
    const bytes = this.#files.get(path)
    if (bytes === undefined) throw new ArtifactMissing(path)
    yield Uint8Array.from(bytes)
  }

  async remove(folder: string): Promise<void> {
    for (const path of this.#files.keys()) {
      if (path.startsWith(`${folder}/`)) this.#files.delete(path)
    }
  }

  async list(folder: string, after: string, limit: number): Promise<readonly string[]> {
    const head = folder === '' ? '' : `${folder}/`
    const names = new Set<string>()
    for (const path of this.#files.keys()) {
      if (!path.startsWith(head)) continue
      const [name = ''] = path.slice(head.length).split('/')
      if (name > after) names.add(name)
    }
    return [...names].toSorted().slice(0, limit)
  }
}

/** Writing is refused with this. */
export function noPlace(why: string): ArtifactPlace {
  return {
    write: () => Promise.reject(new InvalidDefinition(why)),
    size: () => Promise.resolve(null),
    // oxlint-disable-next-line require-yield
    async *read(path) {
      throw new ArtifactMissing(path)
    },
    remove: () => Promise.resolve(),
    list: () => Promise.resolve([]),
  }
}
