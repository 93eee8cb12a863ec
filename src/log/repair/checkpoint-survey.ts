/**
 * A survey of the checkpoints: which there are, and what is wrong with the bytes of each.
 *
 * Every record is read and every index compared with the records it is about. Whether the
 * records say the right thing, verify finds out, which knows the log. It only reads.
 */
import { jobEndedAt, jobState, sameContent } from '../../kernel/index.ts'
import { ByteReader } from '../format/bytes.ts'
import { Interning } from '../format/interning.ts'
import { LiveFile } from '../checkpoint/live-file.ts'
import type { Manifest } from '../checkpoint/manifest.ts'
import { manifestName, manifestPosition, readManifest } from '../checkpoint/manifest.ts'
import type { Disk } from '../disk/disk.ts'
import type { JobRecord } from '../format/record-codec.ts'
import { readJob, recordTallies } from '../format/record-codec.ts'
import { damaged, readRecords } from '../checkpoint/record-file.ts'
import { FinishedFile } from '../checkpoint/finished-table.ts'
import { cellOf } from '../checkpoint/finished-cells.ts'
import type { FinishedFileInfo } from '../checkpoint/finished-index.ts'
import type { Problem } from './log-survey.ts'
import { damageIn } from './log-survey.ts'

export interface CheckpointFound {
  readonly position: number
  /** Null: it does not check. */
  readonly manifest: Manifest | null
  /** None: every byte of it checks. */
  readonly problems: readonly Problem[]
  /** Files of finished jobs whose index does not check, and follows from records that do. */
  readonly badIndexes: readonly FinishedFileInfo[]
}

/** Whether everything that it holds can be read: an index alone is made again. */
export function isReadable({ manifest, problems, badIndexes }: CheckpointFound): boolean {
  return manifest !== null && problems.length === badIndexes.length
}

/** A job's record in a checkpoint; the bytes are only lent. */
export interface CheckpointJob {
  readonly record: JobRecord
  readonly bytes: Buffer
  readonly file: string
  readonly offset: number
  readonly isFinished: boolean
}

/** Oldest first. Newer formats throw. */
export async function surveyCheckpoints(
  disk: Disk,
  folder: string,
  storeId: string | null,
): Promise<CheckpointFound[]> {
  const found: CheckpointFound[] = []
  for (const name of await disk.list(folder)) {
    const position = manifestPosition(name)
    if (position !== null) found.push(await surveyCheckpoint(disk, folder, position, storeId))
  }
  return found
}

async function surveyCheckpoint(
  disk: Disk,
  folder: string,
  position: number,
  storeId: string | null,
): Promise<CheckpointFound> {
  const file = `${folder}/${manifestName(position)}`
  const problems: Problem[] = []
  const badIndexes: FinishedFileInfo[] = []
  const attempt = async <T>(about: string, task: () => Promise<T>): Promise<T | null> => {
    try {
      return await task()
    } catch (error) {
      const problem = damageIn(error, about)
      if (problem === null) throw error
      problems.push(problem)
      return null
    }
  }
  const manifest = await attempt(file, async () => {
    const read = await readManifest(disk, folder, position)
    if (read === null) throw damaged(file, 0, 'the manifest of a checkpoint does not check.')
    if (storeId !== null && read.storeId !== storeId) {
      throw damaged(file, 0, 'it belongs to another store.')
    }
    return read
  })
  if (manifest === null) return { position, manifest, problems, badIndexes }
  const { live, finishedFiles } = manifest
  await attempt(`${folder}/${live.name}`, () => checkLive(disk, folder, manifest))
  for (const about of finishedFiles) {
    const path = `${folder}/${about.name}`
    const isRebuilt = await attempt(path, () => checkFinishedFile(disk, folder, about))
    if (isRebuilt !== true) continue
    const what = 'its index does not check. All of its records do.'
    problems.push({ what, file: path, offset: about.end, position: null })
    badIndexes.push(about)
  }
  return { position, manifest, problems, badIndexes }
}

/** Every job of a checkpoint, live ones first; throws where something does not check. */
export async function readCheckpoint(
  disk: Disk,
  folder: string,
  manifest: Manifest,
  onJob: (stored: CheckpointJob) => void,
): Promise<void> {
  await readLive(disk, folder, manifest, onJob)
  for (const about of manifest.finishedFiles) await readFinishedFile(disk, folder, about, onJob)
}

async function readLive(
  disk: Disk,
  folder: string,
  { live }: Manifest,
  onJob: (stored: CheckpointJob) => void,
): Promise<void> {
  const interning = new Interning()
  const file = `${folder}/${live.name}`
  await readRecords(disk, folder, live, (lent, body, length, offset) => {
    const bytes = lent.subarray(body, body + length)
    const record = readJob(new ByteReader(bytes), interning)
    onJob({ record, bytes, file, offset, isFinished: false })
  })
}

/** The records of the file stand in the order of its rows; those that no longer count are left out. */
async function readFinishedFile(
  disk: Disk,
  folder: string,
  about: FinishedFileInfo,
  onJob: (stored: CheckpointJob, row: number) => void,
): Promise<void> {
  const gone = new Set(about.gone)
  const interning = new Interning()
  const file = `${folder}/${about.name}`
  let row = 0
  await readRecords(disk, folder, about, (lent, body, length, offset) => {
    const bytes = lent.subarray(body, body + length)
    const record = readJob(new ByteReader(bytes), interning)
    if (!gone.has(row)) onJob({ record, bytes, file, offset, isFinished: true }, row)
    row += 1
  })
}

async function checkLive(disk: Disk, folder: string, manifest: Manifest): Promise<void> {
  const { live } = manifest
  const opened = await LiveFile.open(disk, folder, live)
  try {
    await readLive(disk, folder, manifest, ({ record, offset, file }) => {
      const { id, spec, firstPosition } = record.job
      if (opened.has(firstPosition) && sameContent(opened.spec(firstPosition), spec)) return
      throw damaged(file, offset, `its index is wrong about ${id}.`)
    })
  } finally {
    await opened.close()
  }
}

/** Whether its index had to be made again; throws where more is wrong. */
async function checkFinishedFile(
  disk: Disk,
  folder: string,
  about: FinishedFileInfo,
): Promise<boolean> {
  const finishedFile = await FinishedFile.open(disk, folder, about)
  try {
    const interning = new Interning()
    const wrong = (offset: number, id: string, what: string): Error =>
      damaged(`${folder}/${about.name}`, offset, `its index is wrong about ${id}: ${what}.`)
    await readFinishedFile(disk, folder, about, ({ record, offset }, row) => {
      const { id, spec, firstPosition } = record.job
      if (finishedFile.find(id) !== row) throw wrong(offset, id, 'it is not found by its id')
      if (finishedFile.firstPosition(row) !== firstPosition) throw wrong(offset, id, 'its position')
      if (finishedFile.endedAt(row) !== jobEndedAt(record.job, recordTallies(record)))
        throw wrong(offset, id, 'the time of its end')
      const { kind, cell } = finishedFile.row(row)
      const state = jobState(record.job, recordTallies(record), 0)
      if (!sameContent(cell, cellOf(record.job, state)))
        throw wrong(offset, id, 'what it counts as')
      if (kind.type !== spec.type || kind.retainMs !== spec.retainMs)
        throw wrong(offset, id, 'how long it is kept')
      if (spec.key === null || spec.unique) return
      const holder = finishedFile.findKey(spec.type, spec.key, interning)
      if (holder !== row) throw wrong(offset, id, 'it is not found by its key')
    })
    checkOrders(finishedFile, `${folder}/${about.name}`)
    return finishedFile.isRebuilt
  } finally {
    await finishedFile.close()
  }
}

/** Both orders name every row once, in ascending order of what they are by. */
function checkOrders(finishedFile: FinishedFile, file: string): void {
  const { records, end } = finishedFile.about
  const submitted = Array.from({ length: records }, (_, n) => finishedFile.nthSubmitted(n))
  const ended = finishedFile.kinds.map(({ rows }, kind) =>
    Array.from({ length: rows }, (_, n) => finishedFile.nthEnded(kind, n)),
  )
  const isRight =
    isInOrder(submitted, (row) => finishedFile.firstPosition(row)) &&
    ended.every((rows) => isInOrder(rows, (row) => finishedFile.endedAt(row))) &&
    [submitted, ended.flat()].every((rows) => new Set(rows).size === records)
  if (!isRight) throw damaged(file, end, 'its index is out of order.')
}

function isInOrder(rows: readonly number[], by: (row: number) => number): boolean {
  return rows.every((row, n) => n === 0 || by(rows[n - 1] as number) <= by(row))
}
