/**
 * A process that opens a store and works on it until it is killed, and says what it does:
 * `kill-child <folder> <name> <seed> <disk>`.
 *
 * - telling: the real disk, and each of its calls is said.
 * - plain: the real disk as it is, which makes checkpoints in a thread.
 * - early: a disk that answers too soon.
 */
import { writeSync } from 'node:fs'
import type { DirectoryOptions } from '../../src/store/open-directory.ts'
import { openDirectory } from '../../src/store/open-directory.ts'
import { Dice } from '../properties/dice.ts'
import type { Line } from './lines.ts'
import { lineText } from './lines.ts'
import { Load } from './load.ts'
import { STORE_OPTIONS } from './store-options.ts'
import { tellingDisk } from './telling-disk.ts'

export type DiskKind = 'telling' | 'plain' | 'early'

const [folder = '', name = '', seed = '1', kind = 'telling'] = process.argv.slice(2)

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

function optionsFor(): DirectoryOptions {
  const options: DirectoryOptions = {
    ...STORE_OPTIONS,
    onNotice: (notice) => say({ kind: 'n', notice: notice.kind, about: JSON.stringify(notice) }),
  }
  const tell = (call: string): void => say({ kind: '.', call })
  switch (kind as DiskKind) {
    case 'plain':
      return options
    case 'telling':
      return { ...options, disk: tellingDisk(tell, false) }
    case 'early':
      // A checkpoint reads the log back, and would find what is held back missing.
      return { ...options, disk: tellingDisk(tell, true), checkpointBytes: Infinity }
  }
}

try {
  const store = await openDirectory(folder, optionsFor())
  say({ kind: 'o' })
  await new Load(store, say, new Dice(Number(seed)), name).run()
} catch (error) {
  say({ kind: '!', error: error instanceof Error ? String(error.stack) : String(error) })
  process.exitCode = 1
}
