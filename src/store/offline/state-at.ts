/**
 * Time travel: the state as it was after any entry, or at any time, from the newest checkpoint
 * that is not later and the log behind it, without what was erased since. It changes nothing.
 *
 * It goes back to the beginning of the log, or, where that was removed, to the oldest
 * checkpoint, and refuses what is before that. Damage behind the moment that is asked for does not
 * matter.
 */
import type { Entry, Job, World } from '../../kernel/index.ts'
import { createWorld, fold, redactJob, redactTask } from '../../kernel/index.ts'
import type { Disk, JobRecord, Manifest } from '../../log/index.ts'
import {
  damageIn,
  decodeEntry,
  ENTRY_CODES,
  Interning,
  listCheckpoints,
  listSegments,
  readCheckpoint,
  readLog,
  MARKER_CODE,
} from '../../log/index.ts'
import type { Moment } from '../moment.ts'
import { BeforeHistory } from '../moment.ts'
import type { OfflineOptions } from './owned-folder.ts'
import { withOwnedFolder } from './owned-folder.ts'

export interface StateAt {
  readonly world: World
  /** Of the last entry in it; of the checkpoint, if no entry came behind that; 0: of none. */
  readonly position: number
  /** When that was. */
  readonly time: number
}

export async function stateAt(
  path: string,
  moment: Moment,
  options: OfflineOptions = {},
): Promise<StateAt> {
  return withOwnedFolder(path, options, (folder, { disk }) => foldUntil(disk, folder, moment))
}

async function foldUntil(disk: Disk, folder: string, moment: Moment): Promise<StateAt> {
  const begin = (await listSegments(disk, folder))[0]?.head.base ?? 0
  const { manifests } = await listCheckpoints(disk, folder)
  let damage: unknown = null
  for (const manifest of manifests) {
    if (isLater(manifest, moment) || manifest.position < begin) continue
    const start = await stateOfCheckpoint(disk, folder, manifest).catch((error: unknown) => {
      // Its own bytes are wrong: an older one, with more of the log, may do.
      if (damageIn(error, folder) === null) throw error
      damage ??= error
      return null
    })
    if (start !== null) return foldLog(disk, folder, start, moment, manifests)
  }
  if (begin === 0) {
    const start = { world: createWorld(), position: 0, time: 0 }
    return foldLog(disk, folder, start, moment, manifests)
  }
  if (damage !== null) throw damage
  const oldest = manifests.findLast(({ position }) => position >= begin)
  const position = oldest?.position ?? begin
  throw new BeforeHistory(moment, { position, time: oldest?.marker.now ?? 0 })
}

/** Whether a checkpoint may hold something that is behind the moment. */
function isLater({ position, marker }: Manifest, moment: Moment): boolean {
  if ('time' in moment) return marker.now > moment.time
  return position > moment.position + 1
}

async function stateOfCheckpoint(disk: Disk, folder: string, manifest: Manifest): Promise<StateAt> {
  const { position, marker, queues, schedules } = manifest
  const records: JobRecord[] = []
  await readCheckpoint(disk, folder, manifest, ({ record }) => records.push(record))
  const world = createWorld()
  // In the order in which the log would have created them.
  for (const { job, stages } of records.toSorted(bySubmission)) {
    world.jobs.set(job.id, job)
    if (stages !== null) world.tasks.set(job.id, stages)
  }
  for (const queue of queues) world.queues.set(queue.name, queue)
  for (const schedule of schedules) world.schedules.set(schedule.id, schedule)
  return { world, position, time: marker.now }
}

function bySubmission(a: JobRecord, b: JobRecord): number {
  return a.job.firstPosition - b.job.firstPosition
}

async function foldLog(
  disk: Disk,
  folder: string,
  start: StateAt,
  moment: Moment,
  manifests: readonly Manifest[],
): Promise<StateAt> {
  const { world } = start
  let { position: last, time } = start
  const interning = new Interning()
  let isPast = false
  /** Ids of jobs in the world that have gone to other jobs since. */
  const reused = new Set<string>()
  try {
    await readLog(disk, folder, start.position, (record, position, bytes, body) => {
      const { code, length, version } = record
      if ('position' in moment && position > moment.position) isPast = true
      if (code === MARKER_CODE || (isPast && !TELLS_OF_ERASED.has(code))) return
      const { entry } = decodeEntry(bytes, body, length, code, version, position, interning)
      if ('time' in moment && entry.at > moment.time) isPast = true
      if (isPast) return noteErased(world, entry, reused)
      applyEntry(world, entry, position)
      last = position
      time = entry.at
    })
  } catch (error) {
    // Behind the moment, the manifests may still tell what was erased.
    if (!isPast || damageIn(error, folder) === null) throw error
  }
  for (const { job: id, from, through } of manifests.flatMap(({ erased }) => erased)) {
    const job = world.jobs.get(id)
    if (job !== undefined && from <= job.firstPosition && job.firstPosition <= through) {
      redactRecord(world, job)
    }
  }
  return { world, position: last, time }
}

/** Of the entries behind the moment, these tell which jobs were erased since. */
const TELLS_OF_ERASED: ReadonlySet<number> = new Set([
  ENTRY_CODES.JobSubmitted,
  ENTRY_CODES.JobErased,
])

function noteErased(world: World, entry: Entry, reused: Set<string>): void {
  if (entry.type === 'JobSubmitted') reused.add(entry.job)
  if (entry.type !== 'JobErased' || reused.has(entry.job)) return
  const job = world.jobs.get(entry.job)
  if (job !== undefined) redactRecord(world, job)
}

function redactRecord(world: World, job: Job): void {
  redactJob(job)
  for (const task of world.tasks.get(job.id)?.flat() ?? []) if (task !== null) redactTask(task)
}

function applyEntry(world: World, entry: Entry, position: number): void {
  fold(world, entry)
  const job = 'job' in entry ? world.jobs.get(entry.job) : undefined
  if (job === undefined) return
  if (entry.type === 'JobSubmitted') job.firstPosition = position
  job.lastPosition = position
}
