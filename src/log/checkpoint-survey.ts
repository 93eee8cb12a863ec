/**
 * A survey of the checkpoints: which there are, and what is wrong with the bytes of each.
 *
 * Every record is read and every table compared with the records it is about. Whether the
 * records say the right thing is for verify to say, which knows the log. It only looks.
 */
import { jobEndedAt, sameContent } from '../kernel/index.ts'
import { ByteReader } from './bytes.ts'
import { Interning } from './interning.ts'
import { LiveFile } from './live-file.ts'
import type { Manifest } from './manifest.ts'
import { manifestName, manifestPosition, readManifest } from './manifest.ts'
import type { Disk } from './port.ts'
import type { JobRecord } from './record-codec.ts'
import { readJob, recordTallies } from './record-codec.ts'
import { damaged, readRecords } from './record-file.ts'
import { Shelf } from './shelf.ts'
import type { ShelfFile } from './shelf-tables.ts'
import type { Problem } from './survey.ts'
import { damageIn } from './survey.ts'

export interface CheckpointFound {
  readonly position: number
  /** Null: it does not check. */
  readonly manifest: Manifest | null
  /** None: every byte of it checks. */
  readonly problems: readonly Problem[]
  /** Shelves whose tables do not check, and follow from records that do. */
  readonly tables: readonly ShelfFile[]
}

/** Whether everything that it holds can be read: tables alone are made again. */
export function isReadable({ manifest, problems, tables }: CheckpointFound): boolean {
  return manifest !== null && problems.length === tables.length
}

/** A job's record in a checkpoint; the bytes are only lent. */
export interface Stored {
  readonly record: JobRecord
  readonly bytes: Buffer
  readonly file: string
  readonly offset: number
  readonly isShelved: boolean
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
    if (position !== null) found.push(await look(disk, folder, position, storeId))
  }
  return found
}

async function look(
  disk: Disk,
  folder: string,
  position: number,
  storeId: string | null,
): Promise<CheckpointFound> {
  const file = `${folder}/${manifestName(position)}`
  const problems: Problem[] = []
  const tables: ShelfFile[] = []
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
  if (manifest === null) return { position, manifest, problems, tables }
  const { live, shelves } = manifest
  await attempt(`${folder}/${live.name}`, () => checkLive(disk, folder, manifest))
  for (const about of shelves) {
    const path = `${folder}/${about.name}`
    const isRebuilt = await attempt(path, () => checkShelf(disk, folder, about))
    if (isRebuilt !== true) continue
    const what = 'its tables do not check. All of its records do.'
    problems.push({ what, file: path, offset: about.end, position: null })
    tables.push(about)
  }
  return { position, manifest, problems, tables }
}

/** Every job of a checkpoint, live ones first; throws where something does not check. */
export async function readCheckpoint(
  disk: Disk,
  folder: string,
  manifest: Manifest,
  onJob: (stored: Stored) => void,
): Promise<void> {
  await readLive(disk, folder, manifest, onJob)
  for (const about of manifest.shelves) await readShelf(disk, folder, about, onJob)
}

async function readLive(
  disk: Disk,
  folder: string,
  { live }: Manifest,
  onJob: (stored: Stored) => void,
): Promise<void> {
  const interning = new Interning()
  const file = `${folder}/${live.name}`
  await readRecords(disk, folder, live, (lent, body, length, offset) => {
    const bytes = lent.subarray(body, body + length)
    const record = readJob(new ByteReader(bytes), interning)
    onJob({ record, bytes, file, offset, isShelved: false })
  })
}

/** The records of a shelf stand in the order of its rows; those that no longer count are left out. */
async function readShelf(
  disk: Disk,
  folder: string,
  about: ShelfFile,
  onJob: (stored: Stored, row: number) => void,
): Promise<void> {
  const gone = new Set(about.gone)
  const interning = new Interning()
  const file = `${folder}/${about.name}`
  let row = 0
  await readRecords(disk, folder, about, (lent, body, length, offset) => {
    const bytes = lent.subarray(body, body + length)
    const record = readJob(new ByteReader(bytes), interning)
    if (!gone.has(row)) onJob({ record, bytes, file, offset, isShelved: true }, row)
    row += 1
  })
}

async function checkLive(disk: Disk, folder: string, manifest: Manifest): Promise<void> {
  const { live } = manifest
  const table = await LiveFile.open(disk, folder, live)
  try {
    await readLive(disk, folder, manifest, ({ record, offset, file }) => {
      const { id, spec, firstPosition } = record.job
      if (table.has(firstPosition) && sameContent(table.spec(firstPosition), spec)) return
      throw damaged(file, offset, `its table is wrong about ${id}.`)
    })
  } finally {
    await table.close()
  }
}

/** Whether its tables had to be made again; throws where more is wrong. */
async function checkShelf(disk: Disk, folder: string, about: ShelfFile): Promise<boolean> {
  const shelf = await Shelf.open(disk, folder, about)
  try {
    const interning = new Interning()
    const wrong = (offset: number, id: string, what: string): Error =>
      damaged(`${folder}/${about.name}`, offset, `its tables are wrong about ${id}: ${what}.`)
    await readShelf(disk, folder, about, ({ record, offset }, row) => {
      const { id, spec, firstPosition } = record.job
      if (shelf.find(id) !== row) throw wrong(offset, id, 'it is not found by its id')
      if (shelf.firstPosition(row) !== firstPosition) throw wrong(offset, id, 'its position')
      if (shelf.endedAt(row) !== jobEndedAt(record.job, recordTallies(record)))
        throw wrong(offset, id, 'the time of its end')
      const { kind } = shelf.row(row)
      if (kind.type !== spec.type || kind.retainMs !== spec.retainMs)
        throw wrong(offset, id, 'how long it is kept')
      if (spec.key === null || spec.unique) return
      const holder = shelf.findKey(spec.type, spec.key, interning)
      if (holder !== row) throw wrong(offset, id, 'it is not found by its key')
    })
    checkOrders(shelf, `${folder}/${about.name}`)
    return shelf.isRebuilt
  } finally {
    await shelf.close()
  }
}

/** Both orders name every row once, in ascending order of what they are by. */
function checkOrders(shelf: Shelf, file: string): void {
  const { records, end } = shelf.about
  const submitted = Array.from({ length: records }, (_, n) => shelf.nthSubmitted(n))
  const ended = shelf.kinds.map(({ rows }, kind) =>
    Array.from({ length: rows }, (_, n) => shelf.nthEnded(kind, n)),
  )
  const isRight =
    isInOrder(submitted, (row) => shelf.firstPosition(row)) &&
    ended.every((rows) => isInOrder(rows, (row) => shelf.endedAt(row))) &&
    [submitted, ended.flat()].every((rows) => new Set(rows).size === records)
  if (!isRight) throw damaged(file, end, 'its tables are out of order.')
}

function isInOrder(rows: readonly number[], by: (row: number) => number): boolean {
  return rows.every((row, n) => n === 0 || by(rows[n - 1] as number) <= by(row))
}
