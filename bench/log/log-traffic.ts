/**
 * Counts what is really written to the log's files: groups, and their bytes.
 *
 * It stands in the real disk itself and not in one that wraps it, because the store gives
 * checkpoints a thread of their own only on the very disk that threads have too.
 */
import { basename } from 'node:path'
import { realDisk } from '../../src/log/index.ts'

export interface Traffic {
  /** Writes that are durable when they return. */
  groups: number
  bytes: number
}

let counted: Traffic | null = null

/** From now on, of all stores in this process together. */
export function logTraffic(): Readonly<Traffic> {
  counted ??= startCounting()
  return counted
}

function startCounting(): Traffic {
  const traffic = { groups: 0, bytes: 0 }
  const open = realDisk.open.bind(realDisk)
  realDisk.open = async (path, access) => {
    const file = await open(path, access)
    if (access !== 'write-through' || !basename(path).startsWith('log-')) return file
    const write = file.write.bind(file)
    file.write = (bytes, at) => {
      traffic.groups += 1
      traffic.bytes += bytes.length
      return write(bytes, at)
    }
    return file
  }
  return traffic
}
