/**
 * Part `waiting`: what a claim costs with a thousand and with very many waiting jobs, and after as many
 * have come and gone.
 */
import { atMost, figure } from '../log/aim.ts'
import { spread } from '../spread.ts'
import { table, whole } from '../table.ts'
import type { Database } from './databases.ts'
import { StoreLoad } from './load.ts'

const FEW = 1_000
const AT_ONCE = 10
const CLAIMS = 60
const WARM_UPS = 10
const BATCH = 500
const CALLERS = 4
const AIM = 1.5

interface Cost {
  /** Of one claim with its commits, half of them take no longer. */
  readonly ms: number
  readonly cpuUs: number
}

export async function benchWaiting(
  database: Database,
  say: (line: string) => void,
  jobs: number,
): Promise<string[]> {
  const store = await database.store()
  const load = new StoreLoad(store)
  for (let i = 0; i < WARM_UPS; i++) {
    await load.submit(FEW, BATCH, CALLERS)
    await cost(database, load)
    await load.drain(BATCH, CALLERS)
  }
  await load.submit(FEW, BATCH, CALLERS)
  const few = await cost(database, load)
  say(`${database.name}: ${whole(jobs)} jobs that wait …`)
  await load.submit(jobs, BATCH, CALLERS)
  await cost(database, load)
  const many = await cost(database, load)
  say(`${database.name}: all of them run …`)
  await load.drain(BATCH, CALLERS)
  await load.submit(FEW, BATCH, CALLERS)
  const after = await cost(database, load)
  await store.close()
  return [
    '',
    `${database.name}: claims of ${AT_ONCE}, each with its commits`,
    ...table(
      ['', 'p50 ms', 'of the first', 'cpu us', 'of the first'],
      [
        row(`${whole(FEW)} waiting`, few, few),
        row(`${whole(jobs)} waiting`, many, few),
        row(`${whole(FEW)} waiting, ${whole(jobs)} have come and gone`, after, few),
      ],
    ),
    atMost(
      `a claim at ${whole(jobs)} waiting, cpu, of one at ${whole(FEW)}`,
      many.cpuUs / few.cpuUs,
      AIM,
    ),
    atMost(`a claim after ${whole(jobs)}, cpu, of one before`, after.cpuUs / few.cpuUs, AIM),
  ]
}

async function cost(database: Database, load: StoreLoad): Promise<Cost> {
  const times: number[] = []
  const own = process.cpuUsage()
  const others = database.cpuUs()
  for (let i = 0; i < CLAIMS; i++) {
    const started = performance.now()
    await load.run(AT_ONCE)
    times.push(performance.now() - started)
  }
  const { user, system } = process.cpuUsage(own)
  const cpuUs = (user + system + database.cpuUs() - others) / CLAIMS
  return { ms: spread(times).p50, cpuUs }
}

function row(name: string, { ms, cpuUs }: Cost, first: Cost): string[] {
  return [name, ms.toFixed(2), figure(ms / first.ms), whole(cpuUs), figure(cpuUs / first.cpuUs)]
}
