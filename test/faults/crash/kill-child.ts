/**
 * A process that opens a store and works on it until it is killed, and says what it does.
 *
 * It waits for its task on the standard input, so that it can be started ahead, and ends with
 * whoever started it.
 */
import { writeSync } from 'node:fs'
import type { DirectoryOptions } from '../../../src/store/directory/open-directory.ts'
import { openDirectory } from '../../../src/store/directory/open-directory.ts'
import { Dice } from '../../model/properties/dice.ts'
import type { Line } from './lines.ts'
import { lineText } from './lines.ts'
import { Load } from './load.ts'
import { STORE_OPTIONS } from './store-options.ts'
import { reportingDisk } from './reporting-disk.ts'

/**
 * - telling: the real disk, and each of its calls is said.
 * - plain: the real disk as it is, which makes checkpoints in a thread.
 * - early: a disk that answers too soon.
 */
export type DiskKind = 'telling' | 'plain' | 'early'

export interface LoadTask {
  readonly folder: string
  /** Of this process alone. */
  readonly name: string
  readonly seed: number
  readonly disk: DiskKind
}

/** At once: a stream would keep it in the memory of this process, and lose it. */
function say(line: Line): void {
  const bytes = Buffer.from(lineText(line))
  let done = 0
  while (done < bytes.length) {
    try {
      done += writeSync(1, bytes, done)
    } catch (error) {
      // A thread makes the pipe one that does not wait; whoever reads it makes room.
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
    }
  }
}

function tell(call: string): void {
  say({ kind: '.', call })
}

function optionsFor(disk: DiskKind): DirectoryOptions {
  const options: DirectoryOptions = {
    ...STORE_OPTIONS,
    onNotice: (notice) => say({ kind: 'n', notice: notice.kind, about: JSON.stringify(notice) }),
  }
  switch (disk) {
    case 'plain':
      return options
    case 'telling':
      return { ...options, disk: reportingDisk(tell, false) }
    case 'early':
      // A checkpoint reads the log back, and would find what is held back missing.
      return { ...options, disk: reportingDisk(tell, true), checkpointBytes: Infinity }
  }
}

async function run({ folder, name, seed, disk }: LoadTask): Promise<void> {
  try {
    const store = await openDirectory(folder, optionsFor(disk))
    say({ kind: 'o' })
    await new Load(store, say, new Dice(seed), name).run()
  } catch (error) {
    say({ kind: '!', error: error instanceof Error ? String(error.stack) : String(error) })
    process.exit(1)
  }
}

process.stdin.once('data', (bytes: Buffer) => void run(JSON.parse(bytes.toString()) as LoadTask))
// oxlint-disable-next-line unicorn/no-process-exit -- it must not outlive the test.
process.stdin.once('end', () => process.exit())
