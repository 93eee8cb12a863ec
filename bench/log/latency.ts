/**
 * Part `latency`: how long a submit of one job takes, alone and among 64, beside the time that
 * the disk takes for a write and a sync.
 *
 * They take turns, so that whatever else the machine does falls on all of them.
 */
import type { Store } from '../../src/store/index.ts'
import { idsFrom, payload, specOf } from '../lives.ts'
import type { Spread } from '../spread.ts'
import { spread } from '../spread.ts'
import { table, whole } from '../table.ts'
import { figure } from './aim.ts'
import { ZeroFile } from './raw-disk.ts'
import type { Scratch } from './scratch.ts'
import { openStore } from './store.ts'

const ROUNDS = 3
const ROUND_MS = 1_000
const BARE_BYTES = 300
const WARM_UP_MS = 1_000
const IN_FLIGHT = [1, 64]
const INPUT = payload('latency', 200)

export async function benchLatency(
  scratch: Scratch,
  say: (line: string) => void,
): Promise<string[]> {
  say('latency of a submit …')
  const zeros = new ZeroFile(scratch.fresh('zeros'))
  const folder = scratch.fresh('latency')
  const store = await openStore(folder)
  const submits = new Submits(store)
  for (const inFlight of IN_FLIGHT) await submits.times(inFlight, WARM_UP_MS)
  const bare: number[] = []
  const aside: number[] = []
  const ours: number[][] = IN_FLIGHT.map(() => [])
  for (let round = 0; round < ROUNDS; round++) {
    for (const time of zeros.syncTimes(BARE_BYTES, ROUND_MS)) bare.push(time)
    for (const time of await zeros.syncTimesAside(BARE_BYTES, ROUND_MS)) aside.push(time)
    for (const [i, inFlight] of IN_FLIGHT.entries()) {
      for (const time of await submits.times(inFlight, ROUND_MS)) ours[i]?.push(time)
    }
  }
  await store.close()
  scratch.drop(folder)
  zeros.remove()
  const bares = [spread(bare), spread(aside)] as const
  const base = bares[0].p50 < bares[1].p50 ? bares[0] : bares[1]
  return [
    '',
    'Latency of a submit of one job, until it is durable and answered',
    ...table(
      ['', 'calls', 'per second', 'p50 ms', 'p99 ms', 'p50 × bare', 'p99 × bare'],
      [
        row(`bare write of ${BARE_BYTES} bytes and fdatasync`, bares[0], base),
        row('the same, by threads of Node', bares[1], base),
        ...ours.map((times, i) => row(`submit, ${IN_FLIGHT[i]} in flight`, spread(times), base)),
      ],
    ),
    '× bare: against the quicker of the two',
  ]
}

function row(name: string, { count, p50, p99 }: Spread, bare: Spread): string[] {
  return [
    name,
    whole(count),
    whole(count / ((ROUNDS * ROUND_MS) / 1e3)),
    p50.toFixed(3),
    p99.toFixed(3),
    figure(p50 / bare.p50),
    figure(p99 / bare.p99),
  ]
}

class Submits {
  readonly #store: Store
  #submitted = 0

  constructor(store: Store) {
    this.#store = store
  }

  /** Milliseconds of each submit, with so many callers that each wait for their own. */
  async times(inFlight: number, forMs: number): Promise<number[]> {
    const times: number[] = []
    const end = performance.now() + forMs
    const caller = async (): Promise<void> => {
      while (performance.now() < end) {
        const [job] = idsFrom(this.#submitted, 1) as [string]
        this.#submitted += 1
        const command = { type: 'SubmitJob', job, spec: specOf(INPUT) } as const
        const before = performance.now()
        const [answer] = await this.#store.execute([command])
        times.push(performance.now() - before)
        if (answer?.verdict !== 'committed') throw new Error(`${answer?.verdict}`)
      }
    }
    await Promise.all(Array.from({ length: inFlight }, caller))
    return times
  }
}
