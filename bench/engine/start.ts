/**
 * Part `start`: from the call of submit to the start of its handler, when the engine has
 * little to do: two durable entries (submitted, granted) lie between.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { job, open, typed } from '../../src/index.ts'
import type { Spread } from '../spread.ts'
import { spread } from '../spread.ts'
import { table } from '../table.ts'
import { atMost } from '../log/aim.ts'
import { ZeroFile } from '../log/raw-disk.ts'
import type { Scratch } from '../log/scratch.ts'

const PER_SECOND = 100
const WARM_UP = 200
const COUNT = 1_500
const BARE_BYTES = 300
const BARE_COUNT = 300
const P50_AIM_MS = 1
const P99_AIM_MS = 5

export async function benchStart(scratch: Scratch, say: (line: string) => void): Promise<string[]> {
  say(`submit to start at ${PER_SECOND} jobs a second …`)
  const zeros = new ZeroFile(scratch.fresh('zeros'))
  // At the same pace: a core that was idle takes its time to wake up.
  const bares: number[] = []
  await paced(BARE_COUNT, async () => {
    for (const time of await zeros.syncTimesAside(BARE_BYTES, 0.05)) bares.push(time)
  })
  const bare = spread(bares)
  zeros.remove()
  const folder = scratch.fresh('start')
  const pawl = await open(folder)
  const times: number[] = []
  const timed = job('timed', {
    input: typed<number>(),
    run: ({ input }) => {
      times.push(performance.now() - input)
    },
  })
  pawl.work([timed], { concurrency: 64 })
  const answered: number[] = []
  await paced(WARM_UP + COUNT, async () => {
    const before = performance.now()
    await pawl.submit(timed, before)
    answered.push(performance.now() - before)
  })
  await delay(200)
  await pawl.close()
  scratch.drop(folder)
  const start = spread(times.slice(WARM_UP))
  return [
    '',
    `An idle engine, ${PER_SECOND} jobs a second`,
    ...table(
      ['', 'p50 ms', 'p99 ms', 'longest ms'],
      [
        row('one write of 300 bytes and fdatasync, by threads of Node', bare),
        row('submit to its answer', spread(answered.slice(WARM_UP))),
        row('submit to the start of the handler', start),
      ],
    ),
    atMost('submit to start, p50 ms', start.p50, P50_AIM_MS),
    atMost('submit to start, p99 ms', start.p99, P99_AIM_MS),
  ]
}

/** So often a second, whether the one before is through or not. */
async function paced(count: number, call: () => Promise<void>): Promise<void> {
  const begin = performance.now()
  const all: Promise<void>[] = []
  for (let i = 0; i < count; i++) {
    const wait = begin + (i * 1e3) / PER_SECOND - performance.now()
    if (wait > 0) await delay(wait)
    all.push(call())
  }
  await Promise.all(all)
}

function row(name: string, { p50, p99, most }: Spread): string[] {
  return [name, p50.toFixed(3), p99.toFixed(3), most.toFixed(3)]
}
