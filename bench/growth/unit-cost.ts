/**
 * What a unit costs in CPU of process and server, so that two sizes can be compared:
 *
 * - BEFORE a unit is measured, the store comes to rest: a checkpoint, a vacuum or a report that earlier work left
 *   behind would count as the cost of what happens to run beside it.
 * - A call is repeated until its code is compiled, and a round has so many calls that the clock can tell: that of a
 *   server ticks every 10 ms.
 * - The median of the rounds counts, so that one collection of garbage does not decide.
 */
import { median } from '../ratio.ts'
import type { Place, StoreName } from './place.ts'
import { cpuOf } from './place.ts'

const ROUNDS = 7
/** Of work in rounds: with more jobs a store may read them from another place, with code that did not run before. */
const WARM_ROUNDS = 3
/** What a round spends, at least. */
const ROUND_US: Readonly<Record<StoreName, number>> = {
  directory: 40_000,
  sqlite: 60_000,
  postgres: 150_000,
}
/** A call that takes long, on a server that does little, must not make the bench endless. */
const ROUND_MS = 2_000
/** Until code is compiled. */
const WARM_CALLS = 300
const WARM_MS = 1_500

/** Microseconds of one call. */
export async function callUs(place: Place, call: () => Promise<unknown>): Promise<number> {
  await warmUp(call)
  const calls = await callsOfRound(place, call)
  const us = await medianOf(place, async () => {
    for (let i = 0; i < calls; i++) await call()
  })
  return us / calls
}

/** Microseconds of one run of it, which is long enough. */
export async function roundUs(place: Place, run: () => Promise<unknown>): Promise<number> {
  for (let round = 0; round < WARM_ROUNDS; round++) await run()
  return medianOf(place, run)
}

async function medianOf(place: Place, run: () => Promise<unknown>): Promise<number> {
  const each: number[] = []
  for (let round = 0; round < ROUNDS; round++) each.push(await cpuOf(place, run))
  return median(each)
}

async function warmUp(call: () => Promise<unknown>): Promise<void> {
  const began = performance.now()
  for (let i = 0; i < WARM_CALLS && performance.now() - began < WARM_MS; i++) await call()
}

/** Twice as many as before, until they spend as much as a round has to. */
async function callsOfRound(place: Place, call: () => Promise<unknown>): Promise<number> {
  for (let calls = 1; ; calls *= 2) {
    const began = performance.now()
    const us = await cpuOf(place, async () => {
      for (let i = 0; i < calls; i++) await call()
    })
    if (us >= ROUND_US[place.store] || performance.now() - began > ROUND_MS) return calls
  }
}

const LOOK_MS = 250
/** Of such a look: an engine that has nothing to do spends less. */
const REST_US = 15_000
const LOOKS = 3
const MOST_LOOKS = 480

/** Resolves when process and server have done next to nothing for a while. */
export async function atRest(place: Place): Promise<void> {
  let quiet = 0
  for (let look = 0; look < MOST_LOOKS && quiet < LOOKS; look++) {
    const us = await cpuOf(place, () => pause(LOOK_MS))
    quiet = us < REST_US ? quiet + 1 : 0
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms))
}
