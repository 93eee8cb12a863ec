/**
 * Counts what a process asks of its disk and of its server, beneath the code that is measured: a
 * build of Pawl needs nothing inside it for that.
 *
 * A counter stands in the way of `node:fs` and `node:net` of the thread that made it, so it is made
 * BEFORE that code is loaded. What cannot be told on a system is undefined, never 0.
 */
import fs, { closeSync, openSync, readFileSync, readSync } from 'node:fs'
import promises from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { Socket } from 'node:net'

/** Since counting began. */
export type Count = () => number | undefined

type Method = (this: unknown, ...args: unknown[]) => unknown
type Methods = Record<string, Method>

/**
 * How often this thread has asked the disk to keep something: calls of `fsync` and `fdatasync`, and
 * writes to files that were opened with `O_DSYNC`. Threads that Pawl starts, such as the one that
 * writes a checkpoint, are not counted.
 */
export async function countSyncs(): Promise<Count> {
  let syncs = 0
  const throughFds = new Set<unknown>()
  const noteOpened = (fd: number, flags: unknown): void => {
    if (typeof flags === 'number' && (flags & fs.constants.O_DSYNC) !== 0) throughFds.add(fd)
    else throughFds.delete(fd)
  }
  patch(promises, ['open'], (open) => async (...args) => {
    const handle = (await open(...args)) as FileHandle
    noteOpened(handle.fd, args[1])
    return handle
  })
  patch(fs, ['openSync'], (open) => (...args) => {
    const fd = open(...args) as number
    noteOpened(fd, args[1])
    return fd
  })
  const handle = await promises.open(process.execPath)
  const prototype = Object.getPrototypeOf(handle) as object
  await handle.close()
  patch(prototype, ['sync', 'datasync'], (sync) => {
    return function (this: unknown, ...args) {
      syncs += 1
      return sync.apply(this, args)
    }
  })
  patch(prototype, ['write', 'writev'], (write) => {
    return function (this: unknown, ...args) {
      if (throughFds.has((this as FileHandle).fd)) syncs += 1
      return write.apply(this, args)
    }
  })
  patch(fs, ['fsync', 'fdatasync', 'fsyncSync', 'fdatasyncSync'], (sync) => (...args) => {
    syncs += 1
    return sync(...args)
  })
  patch(fs, ['write', 'writev', 'writeSync', 'writevSync'], (write) => (...args) => {
    if (throughFds.has(args[0])) syncs += 1
    return write(...args)
  })
  syncBuiltinESMExports()
  return () => syncs
}

function patch(target: object, names: readonly string[], by: (method: Method) => Method): void {
  const methods = target as Methods
  for (const name of names) methods[name] = by(methods[name] as Method)
}

/**
 * How often a connection heard from its server after it had sent something. Messages that travel
 * together count once, on each connection.
 */
export function countRoundTrips(): Count {
  let trips = 0
  patch(Socket.prototype, ['connect'], (connect) => {
    return function (this: unknown, ...args) {
      const socket = connect.apply(this, args) as Socket
      let isAsked = false
      // AFTER connecting, which puts a socket's own `write` back.
      patch(socket, ['write'], (write) => (...written) => {
        isAsked = true
        return write.apply(socket, written)
      })
      socket.on('data', () => {
        if (isAsked) trips += 1
        isAsked = false
      })
      return socket
    }
  })
  return () => trips
}

/** Bytes that all threads of this process gave to write calls, of files and of all else. */
export function writtenBytes(): number | undefined {
  try {
    return Number(/^wchar: (\d+)/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1])
  } catch {
    return undefined
  }
}

/** Where SQLite's index of its log counts transactions: see "WAL-Index Header" in its file format. */
const CHANGES_AT = 8

/**
 * Transactions that were written to a SQLite file, by all processes: SQLite syncs its log once for
 * each, and more for its checkpoints, which are not counted.
 */
export function sqliteCommits(path: string): number | undefined {
  try {
    const fd = openSync(`${path}-shm`, 'r')
    try {
      const bytes = Buffer.alloc(4)
      readSync(fd, bytes, 0, bytes.length, CHANGES_AT)
      return new Uint32Array(bytes.buffer, bytes.byteOffset, 1)[0]
    } finally {
      closeSync(fd)
    }
  } catch {
    return undefined
  }
}
