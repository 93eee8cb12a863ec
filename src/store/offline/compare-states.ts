/**
 * Whether two states are the same, record by record: a job by the very bytes that a checkpoint
 * would hold of it, positions included. It says what differs, and changes nothing.
 */
import type { Job, StageTasks } from '../../kernel/index.ts'
import { sameContent } from '../../kernel/index.ts'
import type { Disk, Manifest, StoredCheckpoint } from '../../log/index.ts'
import { ByteWriter, readCheckpoint, writeJob } from '../../log/index.ts'
import type { Ledger } from '../state/ledger.ts'
import type { DirectoryState } from '../directory/directory-state.ts'

/** What differs, and where, if it has a place of its own. */
export interface Difference {
  readonly what: string
  readonly file: string | null
  readonly offset: number | null
}

/** A checkpoint beside the state that the log makes up to its position. */
export async function compareCheckpoint(
  disk: Disk,
  folder: string,
  manifest: Manifest,
  ledger: Ledger,
): Promise<Difference[]> {
  const found: Difference[] = []
  const seen = new Set<string>()
  const encoder = new Encoder()
  await readCheckpoint(disk, folder, manifest, (stored) => {
    const { id } = stored.record.job
    const { file, offset } = stored
    const add = (what: string): number => found.push({ what: `${id} ${what}`, file, offset })
    if (seen.has(id)) add('is in the checkpoint twice')
    seen.add(id)
    const job = ledger.world.jobs.get(id)
    if (job === undefined) add('is in the checkpoint, and not in what the log says')
    else checkJob(ledger, job, stored, encoder, add)
  })
  const plain = (what: string): number => found.push({ what, file: null, offset: null })
  for (const id of ledger.world.jobs.keys()) {
    if (!seen.has(id)) plain(`${id} is not in the checkpoint`)
  }
  const { queues, schedules, marker } = manifest
  checkAll(
    'queue',
    queues.map((one) => [one.name, one]),
    ledger.world.queues,
    plain,
  )
  checkAll(
    'schedule',
    schedules.map((one) => [one.id, one]),
    ledger.world.schedules,
    plain,
  )
  const buckets = ledger.ready.buckets(marker.now)
  if (!sameBuckets(marker.queues, buckets.queues)) plain('what rates of queues have used differs')
  if (!sameBuckets(marker.limits, buckets.limits)) plain('what rates of limits have used differs')
  return found
}

function checkJob(
  ledger: Ledger,
  job: Job,
  { bytes, isShelved }: StoredCheckpoint,
  encoder: Encoder,
  add: (what: string) => void,
): void {
  const expected = encoder.encode(job, ledger.world.tasks.get(job.id) ?? null)
  if (!expected.equals(bytes)) add('is not in the checkpoint as the log says')
  const isOver = ledger.isOver(job)
  if (isOver !== isShelved)
    add(isOver ? 'is over, and not on a shelf' : 'is on a shelf, and not over')
}

/** What opening gives beside the state that the whole log makes. */
export function compareLoaded(state: DirectoryState, ledger: Ledger): Difference[] {
  const found: Difference[] = []
  const plain = (what: string): number => found.push({ what, file: null, offset: null })
  const { live, finished, ledger: other } = state
  const here = new Encoder()
  const there = new Encoder()
  for (const job of ledger.world.jobs.values()) {
    const inMemory = other.inMemory(job.id)
    const record =
      inMemory === undefined
        ? finished.find(job.id)
        : { job: inMemory, stages: other.world.tasks.get(job.id) ?? null }
    if (record === null) {
      plain(`${job.id} is not there when the store is opened`)
      continue
    }
    const expected = here.encode(job, ledger.world.tasks.get(job.id) ?? null)
    if (!expected.equals(there.encode(record.job, record.stages))) {
      plain(`${job.id} is another when the store is opened than the log says`)
    }
  }
  const ids = new Set<string>()
  for (const job of live.after(0)) ids.add(job.id)
  for (const { job } of finished.after(0)) ids.add(job.id)
  for (const id of ids) {
    if (!ledger.world.jobs.has(id))
      plain(`${id} is there when the store is opened, and not in the log`)
  }
  checkAll('queue', other.world.queues, ledger.world.queues, plain)
  checkAll('schedule', other.world.schedules, ledger.world.schedules, plain)
  compareUse(other, ledger, plain)
  return found
}

function checkAll(
  kind: string,
  found: Iterable<readonly [string, unknown]>,
  expected: ReadonlyMap<string, unknown>,
  add: (what: string) => void,
): void {
  const records = new Map(found)
  for (const name of new Set([...records.keys(), ...expected.keys()])) {
    if (!sameContent(records.get(name), expected.get(name))) {
      add(`${kind} ${name} is not as the log says`)
    }
  }
}

/** What is held and used of queues and limits follows from the log, so it must be the same. */
function compareUse(other: Ledger, ledger: Ledger, add: (what: string) => void): void {
  const now = Math.max(other.now, ledger.now)
  const left = other.ready.buckets(now)
  const right = ledger.ready.buckets(now)
  if (!sameBuckets(left.queues, right.queues)) add('what rates of queues have used differs')
  if (!sameBuckets(left.limits, right.limits)) add('what rates of limits have used differs')
  const keys = new Set([...other.usage.keys(), ...ledger.usage.keys()])
  for (const key of keys) {
    const held = ledger.usage.get(key)?.held ?? 0
    if ((other.usage.get(key)?.held ?? 0) !== held) add(`limit ${key} is held by another number`)
  }
  for (const queue of ledger.world.queues.keys()) {
    const held = ledger.queueUsage(queue)?.held ?? 0
    if ((other.queueUsage(queue)?.held ?? 0) !== held) add(`queue ${queue} has another number held`)
  }
}

interface Named {
  readonly name: string
  readonly fullAt: number
}

function sameBuckets(a: readonly Named[], b: readonly Named[]): boolean {
  const other = new Map(b.map(({ name, fullAt }) => [name, fullAt]))
  return a.length === b.length && a.every(({ name, fullAt }) => other.get(name) === fullAt)
}

/** A job as a checkpoint holds it. The bytes are only lent until the next one. */
class Encoder {
  readonly #writer = new ByteWriter()

  encode(job: Job, stages: StageTasks | null): Buffer {
    this.#writer.at = 0
    writeJob(this.#writer, job, stages)
    return this.#writer.buffer.subarray(0, this.#writer.at)
  }
}
