/**
 * The least that durability costs on this disk: bytes written and synced by a bare loop, into
 * a file that was filled with zeros before, so that nothing but its content changes.
 */
import {
  closeSync,
  constants,
  fdatasync,
  fdatasyncSync,
  fsyncSync,
  openSync,
  rmSync,
  write,
  writeSync,
} from 'node:fs'

const FILE_BYTES = 256 * 1_024 * 1_024
const { O_DSYNC, O_RDWR } = constants

export class ZeroFile {
  readonly #path: string

  constructor(path: string) {
    this.#path = path
    const zeros = Buffer.alloc(1_024 * 1_024)
    const file = openSync(path, 'wx')
    for (let at = 0; at < FILE_BYTES; at += zeros.length)
      writeSync(file, zeros, 0, zeros.length, at)
    fsyncSync(file)
    closeSync(file)
  }

  /** Bytes per second, in groups of this size, each durable before the next one begins. */
  async append(groupBytes: number, forMs: number): Promise<number> {
    const file = openSync(this.#path, O_RDWR | O_DSYNC)
    try {
      const group = Buffer.alloc(
        Math.max(1, Math.round(groupBytes)),
        'some bytes that are no zeros',
      )
      const started = performance.now()
      const written = await appendUntil(file, group, started + forMs)
      return (written / (performance.now() - started)) * 1e3
    } finally {
      closeSync(file)
    }
  }

  /** Milliseconds of each write and fdatasync of a few bytes. */
  syncTimes(bytes: number, forMs: number): number[] {
    const file = openSync(this.#path, O_RDWR)
    try {
      const group = Buffer.alloc(bytes, 'some bytes that are no zeros')
      const times: number[] = []
      const started = performance.now()
      let at = 0
      for (let before = started; before - started < forMs; before = performance.now()) {
        writeSync(file, group, 0, bytes, at)
        fdatasyncSync(file)
        times.push(performance.now() - before)
        at = next(at, bytes)
      }
      return times
    } finally {
      closeSync(file)
    }
  }

  /** The same in the way of a program that must not stand still: by threads of Node. */
  async syncTimesAside(bytes: number, forMs: number): Promise<number[]> {
    const file = openSync(this.#path, O_RDWR)
    try {
      const group = Buffer.alloc(bytes, 'some bytes that are no zeros')
      return await syncUntil(file, group, performance.now() + forMs)
    } finally {
      closeSync(file)
    }
  }

  remove(): void {
    rmSync(this.#path, { force: true })
  }
}

function next(at: number, bytes: number): number {
  return at + 2 * bytes > FILE_BYTES ? 0 : at + bytes
}

/** By callback: a promise for each write would be more than the least. */
function appendUntil(file: number, group: Buffer, end: number): Promise<number> {
  return new Promise((resolve, reject) => {
    let at = 0
    let total = 0
    const step = (error: Error | null, written: number): void => {
      if (error !== null) return reject(error)
      total += written
      if (performance.now() >= end) return resolve(total)
      at = next(at, group.length)
      write(file, group, 0, group.length, at, step)
    }
    step(null, 0)
  })
}

function syncUntil(file: number, group: Buffer, end: number): Promise<number[]> {
  return new Promise((resolve, reject) => {
    const times: number[] = []
    let at = 0
    const step = (): void => {
      const before = performance.now()
      if (before >= end) return resolve(times)
      write(file, group, 0, group.length, at, (failed) => {
        if (failed !== null) return reject(failed)
        fdatasync(file, (unsynced) => {
          if (unsynced !== null) return reject(unsynced)
          times.push(performance.now() - before)
          at = next(at, group.length)
          step()
        })
      })
    }
    step()
  })
}
