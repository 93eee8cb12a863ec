/**
 * Part `phases`: bulk submit, drain, and single submits in flight, beside the least SQL that any queue
 * needs for the same, measured in the same run.
 */
import { atLeast, figure } from '../log/aim.ts'
import { table, whole } from '../table.ts'
import type { Database } from './databases.ts'
import { FloorQueue } from './floor.ts'
import { StoreLoad } from './load.ts'

const BATCH = 500
const CALLERS = 4
const IN_FLIGHT = 64
/** Of the floor, in each phase. */
const AIM = 0.5
const SQLITE_LIVES_AIM = 20_000
const SINGLE_AIM = 10_000

interface Measured {
  readonly perSecond: number
  /** Microseconds on a core for each job: of this process, and of the database. */
  readonly ownUs: number
  readonly databaseUs: number
}

export async function benchPhases(
  database: Database,
  say: (line: string) => void,
  jobs: number,
): Promise<string[]> {
  const singles = Math.ceil(jobs / 4)
  say(`${database.name}: the floor, ${whole(jobs)} jobs …`)
  const connections = await Promise.all(
    Array.from({ length: database.connections }, () => database.connect()),
  )
  const floor = new FloorQueue(database.floor, connections)
  await floor.prepare()
  await floor.submit(BATCH * 4, BATCH)
  await floor.drain(BATCH)
  const floorSubmit = await measure(database, jobs, () => floor.submit(jobs, BATCH))
  const floorDrain = await measure(database, jobs, () => floor.drain(BATCH))
  const floorSingle = await measure(database, singles, () => floor.submitSingly(singles, IN_FLIGHT))
  for (const connection of connections) await connection.close()
  say(`${database.name}: the store …`)
  const store = await database.store()
  const load = new StoreLoad(store)
  await load.submit(BATCH * 4, BATCH, CALLERS)
  await load.drain(BATCH, CALLERS)
  const submit = await measure(database, jobs, () => load.submit(jobs, BATCH, CALLERS))
  const drain = await measure(database, jobs, () => load.drain(BATCH, CALLERS))
  const single = await measure(database, singles, () => load.submit(singles, 1, IN_FLIGHT))
  await store.close()
  const lives = 1 / (1 / submit.perSecond + 1 / drain.perSecond)
  return [
    '',
    `${database.name}, every commit synced: batches of ${BATCH}, ${CALLERS} at once; payloads of 200 bytes`,
    ...table(
      ['', 'jobs/s', 'floor jobs/s', 'of the floor', 'cpu us own + database', 'floor cpu us'],
      [
        row('bulk submit', submit, floorSubmit),
        row('drain: claim and commit', drain, floorDrain),
        row(`single submits, ${IN_FLIGHT} in flight`, single, floorSingle),
      ],
    ),
    atLeast('bulk submit, of the floor', submit.perSecond / floorSubmit.perSecond, AIM),
    atLeast('drain, of the floor', drain.perSecond / floorDrain.perSecond, AIM),
    ...(database.name === 'SQLite'
      ? [atLeast('lives per second (submit, claim, commit)', lives, SQLITE_LIVES_AIM)]
      : [atLeast('single submits per second', single.perSecond, SINGLE_AIM)]),
  ]
}

async function measure(
  database: Database,
  jobs: number,
  work: () => Promise<unknown>,
): Promise<Measured> {
  const before = process.cpuUsage()
  const databaseUs = database.cpuUs()
  const started = performance.now()
  await work()
  const seconds = (performance.now() - started) / 1e3
  const { user, system } = process.cpuUsage(before)
  return {
    perSecond: jobs / seconds,
    ownUs: (user + system) / jobs,
    databaseUs: (database.cpuUs() - databaseUs) / jobs,
  }
}

function row(name: string, measured: Measured, floor: Measured): string[] {
  return [
    name,
    whole(measured.perSecond),
    whole(floor.perSecond),
    figure(measured.perSecond / floor.perSecond),
    cpu(measured),
    cpu(floor),
  ]
}

function cpu({ ownUs, databaseUs }: Measured): string {
  return `${ownUs.toFixed(1)} + ${databaseUs.toFixed(1)}`
}
