/**
 * Part `phases`: bulk submit, drain, and single submits in flight, beside the least SQL that any queue
 * needs for the same, measured by turns.
 */
import { atLeast, figure } from '../log/aim.ts'
import { table, whole as count } from '../table.ts'
import type { Database } from './databases.ts'
import { FloorQueue } from './floor.ts'
import { StoreLoad } from './load.ts'

const BATCH = 500
const CALLERS = 4
const IN_FLIGHT = 64
/**
 * Machines are not as quick in one second as in the next: what is compared is measured by turns, and the turns
 * are short.
 */
const ROUNDS = 20
/** Jobs of all rounds together, as a multiple of those that are asked for. */
const TIMES = 5
/** Of the floor on PostgreSQL, in each phase. */
const AIM = 0.5
const SQLITE_LIVES_AIM = 20_000
const SINGLE_AIM = 10_000

interface Measured {
  readonly perSecond: number
  /** Microseconds on a core for each job: of this process, and of the database. */
  readonly ownUs: number
  readonly databaseUs: number
}

type PhaseName = 'submit' | 'drain' | 'single' | 'floorSubmit' | 'floorDrain' | 'floorSingle'
type Round = Readonly<Record<PhaseName, Measured>>

interface Phase {
  readonly own: Measured
  readonly floor: Measured
  /** The store's rate beside the floor's of the same round. */
  readonly share: number
}

export async function benchPhases(
  database: Database,
  say: (line: string) => void,
  asked: number,
): Promise<string[]> {
  // Whole batches for each caller: else some of them are idle at the end of each turn.
  const whole = BATCH * CALLERS
  const jobs = Math.max(1, Math.floor((asked * TIMES) / ROUNDS / whole)) * whole
  const singles = Math.ceil(jobs / 4)
  const connections = await Promise.all(
    Array.from({ length: database.connections }, () => database.connect()),
  )
  const floor = new FloorQueue(database.floor, connections)
  await floor.prepare()
  const store = await database.store()
  const load = new StoreLoad(store)
  await floor.submit(BATCH * 4, BATCH)
  await floor.drain(BATCH)
  await load.submit(BATCH * 4, BATCH, CALLERS)
  await load.drain(BATCH, CALLERS)
  const rounds: Round[] = []
  for (let round = 1; round <= ROUNDS; round++) {
    say(
      `${database.name}: the floor and the store by turns, ${count(jobs)} jobs, ${round}/${ROUNDS} …`,
    )
    const of = (many: number, work: () => Promise<unknown>): Promise<Measured> =>
      measure(database, many, work)
    rounds.push({
      floorSubmit: await of(jobs, () => floor.submit(jobs, BATCH)),
      submit: await of(jobs, () => load.submit(jobs, BATCH, CALLERS)),
      floorDrain: await of(jobs, () => floor.drain(BATCH)),
      drain: await of(jobs, () => load.drain(BATCH, CALLERS)),
      floorSingle: await of(singles, () => floor.submitSingly(singles, IN_FLIGHT)),
      single: await of(singles, () => load.submit(singles, 1, IN_FLIGHT)),
    })
    await floor.drain(BATCH)
    await load.drain(BATCH, CALLERS)
  }
  for (const connection of connections) await connection.close()
  await store.close()
  return report(database, rounds)
}

function report(database: Database, rounds: readonly Round[]): string[] {
  const submit = phase(rounds, 'submit', 'floorSubmit')
  const drain = phase(rounds, 'drain', 'floorDrain')
  const single = phase(rounds, 'single', 'floorSingle')
  const lives = 1 / (1 / submit.own.perSecond + 1 / drain.own.perSecond)
  return [
    '',
    `${database.name}, every commit synced: batches of ${BATCH}, ${CALLERS} at once; payloads of 200 bytes;`,
    `  the median of ${rounds.length} rounds, in each of which the floor and the store take turns`,
    ...table(
      ['', 'jobs/s', 'floor jobs/s', 'of the floor', 'cpu us own + database', 'floor cpu us'],
      [
        row('bulk submit', submit),
        row('drain: claim and commit', drain),
        row(`single submits, ${IN_FLIGHT} in flight`, single),
      ],
    ),
    ...(database.name === 'SQLite'
      ? [atLeast('lives per second (submit, claim, commit)', lives, SQLITE_LIVES_AIM)]
      : [
          atLeast('bulk submit, of the floor', submit.share, AIM),
          atLeast('drain, of the floor', drain.share, AIM),
          atLeast('single submits per second', single.own.perSecond, SINGLE_AIM),
        ]),
  ]
}

function phase(rounds: readonly Round[], own: PhaseName, floor: PhaseName): Phase {
  return {
    own: typical(rounds.map((round) => round[own])),
    floor: typical(rounds.map((round) => round[floor])),
    share: median(rounds.map((round) => round[own].perSecond / round[floor].perSecond)),
  }
}

function typical(all: readonly Measured[]): Measured {
  return {
    perSecond: median(all.map(({ perSecond }) => perSecond)),
    ownUs: median(all.map(({ ownUs }) => ownUs)),
    databaseUs: median(all.map(({ databaseUs }) => databaseUs)),
  }
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] as number
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

function row(name: string, { own, floor, share }: Phase): string[] {
  return [name, count(own.perSecond), count(floor.perSecond), figure(share), cpu(own), cpu(floor)]
}

function cpu({ ownUs, databaseUs }: Measured): string {
  return `${ownUs.toFixed(1)} + ${databaseUs.toFixed(1)}`
}
