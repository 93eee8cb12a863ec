/**
 * Time travel on every store, while it is open: what a snapshot says is what the kernel makes of the entries
 * up to that moment, whatever happened since.
 */
import { describe, expect, it, onTestFinished } from 'vitest'
import type { World } from '../../src/kernel/index.ts'
import { copyJob, copyTask, countTallies, jobState, replay } from '../../src/kernel/index.ts'
import type {
  Clock,
  JobSummary,
  Moment,
  PositionedEntry,
  Store,
  StoreSnapshot,
} from '../../src/store/index.ts'
import { MemoryStore, openDirectory } from '../../src/store/index.ts'
import { openPostgres, openSqliteStore } from '../../src/store/sql/open-sql.ts'
import { Dice } from '../model/properties/dice.ts'
import { temporaryFolder } from '../support/engines.ts'
import { freshSchema } from '../support/postgres.ts'
import { freshFile } from '../support/sqlite.ts'
import { InStep } from './in-step.ts'
import { IS_LONG } from '../support/campaign.ts'

const STEPS = 700
const SEEDS = IS_LONG ? 20 : 1

class Pair extends InStep {
  override store!: Store
}

type Opened = Store & { checkpoint?: () => Promise<void> }

/** Far fewer jobs at once than there are, so that the log is read again and again. */
const SMALL = { segmentBytes: 16 * 1_024, checkpointBytes: Infinity, snapshotJobs: 3 }

const STORES: Readonly<Record<string, (clock: Clock) => Promise<Opened>>> = {
  'in memory': async (clock) => new MemoryStore(clock),
  'in a directory': async (clock) =>
    openDirectory(await temporaryFolder(), { ...SMALL, clock, historyMs: Infinity }),
  'on SQLite': async (clock) => openSqliteStore({ path: await freshFile(), clock }),
  'on PostgreSQL': async (clock) => openPostgres({ ...(await freshSchema()), clock }),
}

/** Everything that was written so far. */
async function entriesOf(store: Store): Promise<PositionedEntry[]> {
  const entries: PositionedEntry[] = []
  await store.execute([
    { type: 'PauseQueue', queue: 'the-end', by: 'test', reason: 'the last entry' },
  ])
  for await (const one of store.watch(0)) {
    entries.push(one)
    if (one.entry.type === 'QueuePaused' && one.entry.queue === 'the-end') return entries
  }
  return entries
}

async function listOf(snapshot: StoreSnapshot): Promise<JobSummary[]> {
  const jobs: JobSummary[] = []
  for await (const job of snapshot.jobs({})) jobs.push(job)
  return jobs
}

/** In order of submission: an id that was used again stands where it was submitted last. */
function summaries(world: World, time: number): unknown[] {
  return [...world.jobs.values()].map((job) => ({
    id: job.id,
    type: job.spec.type,
    state: jobState(job, countTallies(world, job), time),
    attempt: job.task?.attempt ?? 0,
    submittedAt: job.submittedAt,
  }))
}

function shown({ id, type, state, attempt, submittedAt }: JobSummary): unknown {
  return { id, type, state, attempt, submittedAt }
}

const NOWHERE = { firstPosition: 0, lastPosition: 0 }

async function compare(
  store: Store,
  moment: Moment,
  past: readonly PositionedEntry[],
): Promise<number> {
  const world = replay(past.map(({ entry }) => entry))
  const snapshot = await store.at(moment)
  const time = 'time' in moment ? moment.time : (past.at(-1)?.entry.at ?? 0)
  // Before the first entry there is no time to derive anything at.
  if (past.length > 0) expect(snapshot.time).toBe(time)
  // Up to there, and behind no other entry.
  const reached = await snapshot.position()
  expect(reached).toBeGreaterThanOrEqual(past.at(-1)?.position ?? 0)
  const again = await listOf(await store.at({ position: reached }))
  const list = await listOf(snapshot)
  expect(again.map(({ id }) => id)).toEqual(list.map(({ id }) => id))
  expect(list.map(shown)).toEqual(summaries(world, time))
  for (const id of ['never', ...someIds(past)]) {
    const job = world.jobs.get(id)
    const found = await snapshot.job(id)
    expect(found === null).toBe(job === undefined)
    if (found === null || job === undefined) continue
    expect({ ...copyJob(found.record.job), ...NOWHERE }).toEqual({ ...copyJob(job), ...NOWHERE })
    const tasks = (world.tasks.get(id) ?? []).map((stage) => stage?.map(copyTask) ?? null)
    expect((found.record.stages ?? []).map((stage) => stage?.map(copyTask) ?? null)).toEqual(tasks)
    const own = past.filter(({ entry }) => 'job' in entry && entry.job === id)
    const begin = own.findLastIndex(({ entry }) => entry.type === 'JobSubmitted')
    // What a checkpoint holds is no longer read entry by entry.
    expect(own.slice(Math.max(begin, own.length - found.entries.length))).toEqual(found.entries)
  }
  return list.length
}

/** A few of the ids, also of jobs that were forgotten. */
function someIds(past: readonly PositionedEntry[]): string[] {
  const ids = new Set(past.flatMap(({ entry }) => ('job' in entry ? [entry.job] : [])))
  return [...ids].filter((_, i) => i % 7 === 0)
}

describe.each(Object.entries(STORES))('a snapshot %s', (_name, open) => {
  const seeds = Array.from({ length: SEEDS }, (_, i) => i + 1)

  it.each(seeds)('is the fold of all entries up to its moment (seed %i)', async (seed) => {
    const dice = new Dice(seed)
    const pair = new Pair()
    const store = await open({ now: () => pair.now })
    onTestFinished(() => store.close())
    pair.store = store
    for (let count = 1; count <= STEPS; count++) {
      await pair.step(dice, count)
      if (count % 250 === 0) await store.checkpoint?.()
    }
    const entries = await entriesOf(store)
    const forgotten = entries.filter(({ entry }) => entry.type === 'JobForgotten')
    expect(forgotten.length).toBeGreaterThan(0)
    let seen = 0
    for (const [i, { position, entry }] of entries.entries()) {
      if (i % 41 !== 0 && i !== entries.length - 1) continue
      seen += await compare(store, { position }, entries.slice(0, i + 1))
      const until = entries.filter((one) => one.entry.at <= entry.at)
      seen += await compare(store, { time: entry.at }, until)
    }
    expect(seen).toBeGreaterThan(40)
    await compare(store, { position: 0 }, [])
    await compare(store, { time: 0 }, [])
  })

  it('is of now if its moment is still to come', async () => {
    const store = await open({ now: () => 5_000 })
    onTestFinished(() => store.close())
    const snapshot = await store.at({ time: 99_000 })
    expect(snapshot.time).toBe(5_000)
    expect(await listOf(snapshot)).toEqual([])
  })
})
