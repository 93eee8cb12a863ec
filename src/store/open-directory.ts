/**
 * Opens a directory as a store: takes ownership, reads what is there, makes its end firm.
 */
import { hostname } from 'node:os'
import { resolve } from 'node:path'
import type { Disk, Owner, Torn } from '../log/index.ts'
import {
  createMark,
  decodeEntry,
  Interning,
  LogReader,
  LogWriter,
  readLog,
  realDisk,
  settleTail,
  takeOwnership,
  WAYPOINT_CODE,
} from '../log/index.ts'
import type { Clock } from './clock.ts'
import { systemClock } from './clock.ts'
import { DirectoryStore } from './directory.ts'
import { JobList } from './job-list.ts'
import { Ledger } from './ledger.ts'
import { newStoreId } from './random.ts'

export interface DirectoryOptions {
  readonly clock?: Clock
  readonly disk?: Disk
  /** Bytes of a segment file of the log. Default 32 MiB. Smaller ones are changed more often. */
  readonly segmentBytes?: number
  /** Room in the log that new work leaves for reports when the disk is full. Default 2 MiB. */
  readonly reserveBytes?: number
  /** Who makes sure that there is one owner. Default: a lock of the operating system. */
  readonly own?: (folder: string) => Promise<Owner>
}

const SEGMENT_BYTES = 32 * 1_024 * 1_024
const RESERVE_BYTES = 2 * 1_024 * 1_024

export async function openDirectory(
  path: string,
  options: DirectoryOptions = {},
): Promise<DirectoryStore> {
  const folder = resolve(path)
  const clock = options.clock ?? systemClock
  const disk = options.disk ?? realDisk
  const own = options.own ?? ((at) => takeOwnership(at, { pid: process.pid, host: hostname(), since: clock.now() }))
  await disk.makeFolder(folder)
  const owner = await own(folder)
  try {
    return await load(folder, clock, disk, options, () => owner.release())
  } catch (error) {
    await owner.release()
    throw error
  }
}

async function load(
  folder: string,
  clock: Clock,
  disk: Disk,
  options: DirectoryOptions,
  release: () => Promise<void>,
): Promise<DirectoryStore> {
  let writer: LogWriter | null = null
  const ledger: Ledger = new Ledger((entry, job) => {
    const position = (writer as LogWriter).append(entry, job === null ? 0 : job.lastPosition)
    if (job === null) return
    if (entry.type === 'JobSubmitted') {
      job.firstPosition = position
      list.add(job)
    } else if (entry.type === 'JobForgotten') {
      list.left()
    }
    job.lastPosition = position
  })
  const list = new JobList((job) => ledger.world.jobs.get(job.id) === job)
  const interning = new Interning()
  const found = await readLog(disk, folder, 0, ({ code, length, version }, position, bytes, body) => {
    if (code === WAYPOINT_CODE) return
    const { entry } = decodeEntry(bytes, body, length, code, version, position, interning)
    const job = ledger.apply(entry)
    if (job === null) return
    if (entry.type === 'JobSubmitted') {
      job.firstPosition = position
      list.add(job)
    }
    job.lastPosition = position
  })
  let torn: Torn | null = null
  let start = { segments: [], storeId: newStoreId(), end: 0, link: 0 } as Parameters<typeof LogWriter.open>[3]
  if (found === null) await createMark(disk, folder, start.storeId)
  else {
    torn = await settleTail(disk, folder, found)
    start = found
  }
  writer = await LogWriter.open(
    disk,
    folder,
    {
      segmentBytes: options.segmentBytes ?? SEGMENT_BYTES,
      reserveBytes: options.reserveBytes ?? RESERVE_BYTES,
    },
    start,
  )
  const open = writer
  const reader = new LogReader(disk, () => open.segments)
  void torn
  return new DirectoryStore({ folder, clock, writer, reader, ledger, list, release })
}
