/**
 * Makes a ledger from what is on the disk: the newest checkpoint that checks, and the log
 * behind it; without a checkpoint, the whole log. All three ways give the same state.
 */
import type { Entry, Job } from '../../kernel/index.ts'
import type { Disk, LogFound, Manifest } from '../../log/index.ts'
import {
  ByteReader,
  CorruptLog,
  decodeEntry,
  findMark,
  Interning,
  listCheckpoints,
  MalformedBytes,
  readJob,
  readLog,
  readRecords,
  MARKER_CODE,
} from '../../log/index.ts'
import { COPYING_FILE, CopyUnfinished } from '../errors.ts'
import { FinishedJobs } from './finished-jobs.ts'
import { JobList } from '../state/job-list.ts'
import { LiveJobSpecs } from './live-job-specs.ts'
import type { Journal } from '../state/ledger.ts'
import { Ledger } from '../state/ledger.ts'
import type { StoreNotice } from '../notice.ts'

/** A ledger, and what goes with it. */
export interface LoadedDirectory {
  readonly ledger: Ledger
  readonly list: JobList
  readonly ended: FinishedJobs
  readonly live: LiveJobSpecs
  /** Null: there was no log. */
  readonly log: LogFound | null
  /** Newest first, the one that was used at their head. */
  readonly manifests: readonly Manifest[]
  /** Entries that were replayed. */
  readonly entries: number
}

type Book = Pick<LoadedDirectory, 'ledger' | 'list' | 'ended' | 'live'>

export async function loadDirectory(
  disk: Disk,
  folder: string,
  append: (entry: Entry, before: number) => number,
  onNotice: (notice: StoreNotice) => void,
): Promise<LoadedDirectory> {
  if ((await disk.list(folder)).includes(COPYING_FILE)) throw new CopyUnfinished(folder)
  const { manifests, bad } = await listCheckpoints(disk, folder)
  for (const position of bad) {
    onNotice({ kind: 'checkpoint-damaged', position, why: 'its manifest does not check.' })
  }
  await mustBelong(disk, folder, manifests, bad)
  const good = [...manifests]
  const told = new Set<string>()
  // Once a file: checkpoints share their shelves, and each that is made reads them again.
  const onRebuilt = (file: string): void => {
    if (told.has(file)) return
    told.add(file)
    onNotice({ kind: 'shelf-tables-rebuilt', file })
  }
  const onUnreadable = (error: Error): void => {
    if (told.has(error.message)) return
    told.add(error.message)
    onNotice({ kind: 'job-unreadable', error })
  }
  for (;;) {
    const [manifest] = good
    const book = newBook(disk, folder, append)
    book.ended.onRebuilt = onRebuilt
    book.ended.onUnreadable = onUnreadable
    if (manifest === undefined) return replayed(disk, folder, book, [], 0)
    try {
      await restore(disk, folder, book, manifest)
    } catch (error) {
      await letGo(book)
      if (!isDamage(error)) throw error
      const why = (error as Error).message
      onNotice({ kind: 'checkpoint-damaged', position: manifest.position, why })
      good.shift()
      continue
    }
    try {
      return await replayed(disk, folder, book, good, manifest.position)
    } catch (error) {
      await letGo(book)
      throw error
    }
  }
}

/** Checkpoints without a log, or of another store, are no accident: a person must look. */
async function mustBelong(
  disk: Disk,
  folder: string,
  manifests: readonly Manifest[],
  bad: readonly number[],
): Promise<void> {
  const mark = await findMark(disk, folder)
  const file = `${folder}/MARK`
  if (mark.kind === 'none' && manifests.length + bad.length > 0) {
    const why = 'it is missing, but there is a checkpoint.'
    throw new CorruptLog({ file, offset: 0, position: null }, why)
  }
  if (mark.kind !== 'mark') return
  const foreign = manifests.find(({ storeId }) => storeId !== mark.storeId)
  if (foreign === undefined) return
  const why = `the checkpoint at position ${foreign.position} is of another store.`
  throw new CorruptLog({ file, offset: 0, position: foreign.position }, why)
}

async function letGo({ ended, live }: Book): Promise<void> {
  await ended.close()
  await live.close()
}

/** The checkpoint's own bytes are wrong, or not there: another one may do. */
function isDamage(error: unknown): boolean {
  return (
    error instanceof CorruptLog ||
    error instanceof MalformedBytes ||
    (error as NodeJS.ErrnoException).code === 'ENOENT'
  )
}

function newBook(
  disk: Disk,
  folder: string,
  append: (entry: Entry, before: number) => number,
): Book {
  const ended = new FinishedJobs(disk, folder)
  const journal: Journal = (entry, job) => {
    const position = append(entry, job === null ? 0 : job.lastPosition)
    if (job !== null) note(book, entry, job, position)
  }
  const ledger = new Ledger(journal, ended)
  ended.ledger = ledger
  const list = new JobList()
  const book = { ledger, list, ended, live: new LiveJobSpecs(disk, folder) }
  return book
}

/** AFTER an entry was applied: where it stands, and whether the job is over. */
function note({ ledger, list, ended }: Book, entry: Entry, job: Job, position: number): void {
  if (entry.type === 'JobForgotten') return ended.forgot(job)
  job.lastPosition = position
  switch (entry.type) {
    case 'JobSubmitted':
      job.firstPosition = position
      list.add(job)
      return
    case 'ReportRefused':
      // The one thing that can still be noted about a job that is over.
      if (ledger.isOver(job)) ended.changed(job)
      return
    default:
      if (!ledger.isOver(job)) return
      list.remove(job)
      ended.ended(job)
  }
}

async function restore(
  disk: Disk,
  folder: string,
  { ledger, list, ended, live }: Book,
  manifest: Manifest,
): Promise<void> {
  const { marker, queues, schedules } = manifest
  ledger.tick(marker.now)
  // Copies: the manifest is what the next checkpoint is folded from.
  for (const queue of queues) ledger.restoreQueue({ ...queue })
  for (const schedule of schedules) ledger.restoreSchedule({ ...schedule })
  ledger.ready.restoreBuckets(marker.queues, marker.limits)
  await ended.adopt(manifest)
  const interning = new Interning()
  await live.use(manifest)
  const jobs: Job[] = []
  await readRecords(disk, folder, manifest.live, (bytes, body, length) => {
    const { job, stages } = readJob(new ByteReader(bytes, body, body + length), interning)
    const stored = live.store(job)
    ledger.restore({ job: stored, stages })
    jobs.push(stored)
    // Everything that the indexes need was asked for: the rest can be read when it is wanted.
    stored.loaded = null
  })
  list.addAll(jobs)
}

async function replayed(
  disk: Disk,
  folder: string,
  book: Book,
  manifests: readonly Manifest[],
  from: number,
): Promise<LoadedDirectory> {
  const interning = new Interning()
  let entries = 0
  const log = await readLog(disk, folder, from, (record, position, bytes, body) => {
    const { code, length, version } = record
    if (code === MARKER_CODE) return
    const { entry } = decodeEntry(bytes, body, length, code, version, position, interning)
    const job = book.ledger.apply(entry)
    if (job !== null) note(book, entry, job, position)
    entries += 1
  })
  if (log === null && from > 0) {
    const place = { file: folder, offset: 0, position: from }
    throw new CorruptLog(place, 'there is a checkpoint, and no log.')
  }
  const first = log?.segments[0]
  if (first !== undefined && first.head.base > from) {
    const place = { file: first.path, offset: 0, position: from }
    throw new CorruptLog(
      place,
      'the log before it is gone, and no checkpoint that checks goes so far.',
    )
  }
  return { ...book, log, manifests, entries }
}
