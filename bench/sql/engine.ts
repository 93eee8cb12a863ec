/**
 * Part `engine`: full cycles a second, and how soon a job runs, with clients and a worker in one
 * process, on a database.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { job, open, typed } from '../../src/index.ts'
import type { Pawl } from '../../src/index.ts'
import { atLeast, atMost } from '../log/aim.ts'
import { spread } from '../spread.ts'
import { table, whole } from '../table.ts'
import type { Database } from './databases.ts'

const IN_FLIGHT = 64
const CONCURRENCY = 64
const WARM_UP_MS = 2_000
const FOR_MS = 6_000
const PER_SECOND = 100
const WARM_UP = 100
const COUNT = 800
const CYCLES_AIM = 6_000
const P50_AIM_MS = 3

const nothing = job('nothing', { input: typed<{ text: string }>(), run: () => undefined })
const INPUT = { text: 'x'.repeat(188) }

export async function benchDatabaseEngine(
  database: Database,
  say: (line: string) => void,
): Promise<string[]> {
  say(`${database.name}: full cycles, ${IN_FLIGHT} in flight …`)
  const perSecond = await cycles(await opened(database))
  say(`${database.name}: submit to start at ${PER_SECOND} jobs a second …`)
  const { p50, p99, most } = spread(await starts(await opened(database)))
  const isAim = database.name === 'PostgreSQL'
  return [
    '',
    `${database.name}: an engine, a worker with ${CONCURRENCY} places in the same process`,
    ...table(
      ['', 'jobs/s', 'p50 ms', 'p99 ms', 'longest ms'],
      [
        [`full cycles, ${IN_FLIGHT} submits in flight`, whole(perSecond), '', '', ''],
        [
          `submit to the start of the handler`,
          whole(PER_SECOND),
          p50.toFixed(2),
          p99.toFixed(2),
          most.toFixed(2),
        ],
      ],
    ),
    ...(isAim
      ? [
          atLeast('full cycles per second', perSecond, CYCLES_AIM),
          atMost('submit to start, p50 ms', p50, P50_AIM_MS),
        ]
      : []),
  ]
}

function opened(database: Database): Promise<Pawl> {
  const { location, ...options } = database.location()
  return open(location, options)
}

async function cycles(pawl: Pawl): Promise<number> {
  pawl.work([nothing], { concurrency: CONCURRENCY })
  let done = 0
  const clients = { areOver: false }
  const all = Promise.all(
    Array.from({ length: IN_FLIGHT }, async () => {
      while (!clients.areOver) {
        const handle = await pawl.submit(nothing, INPUT)
        await handle.result()
        done += 1
      }
    }),
  )
  await delay(WARM_UP_MS)
  const from = { done, at: performance.now() }
  await delay(FOR_MS)
  const perSecond = ((done - from.done) / (performance.now() - from.at)) * 1e3
  clients.areOver = true
  await all
  await pawl.close()
  return perSecond
}

/** Milliseconds from the call of submit to the start of its handler. */
async function starts(pawl: Pawl): Promise<number[]> {
  const times: number[] = []
  const timed = job('timed', {
    input: typed<number>(),
    run: ({ input }) => {
      times.push(performance.now() - input)
    },
  })
  pawl.work([timed], { concurrency: CONCURRENCY })
  const begin = performance.now()
  const all: Promise<unknown>[] = []
  for (let i = 0; i < WARM_UP + COUNT; i++) {
    const wait = begin + (i * 1e3) / PER_SECOND - performance.now()
    if (wait > 0) await delay(wait)
    all.push(pawl.submit(timed, performance.now()))
  }
  await Promise.all(all)
  await delay(500)
  await pawl.close()
  return times.slice(WARM_UP)
}
