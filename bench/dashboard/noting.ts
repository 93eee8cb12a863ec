/**
 * Part `noting`: what it costs a server that nothing asks to note figures over time, beside one without a dashboard, by turns on
 * one engine that rests.
 */
import { Machine } from './machine.ts'
import type { BenchStore } from './stores.ts'

/** Two looks. */
const TURN_MS = 20_000
const SETTLE_MS = 10_000

/** Milliseconds of CPU a second, of engine, server and database, in each round. */
export interface Noting {
  readonly without: readonly number[]
  readonly with: readonly number[]
}

export async function measureNoting(
  store: BenchStore,
  rounds: number,
  say: (line: string) => void,
): Promise<Noting> {
  const machine = await Machine.open(store.address)
  const resting = async (isNoting: boolean): Promise<number> => {
    await machine.note(isNoting)
    const server = store.serverUs()
    const { ms, cpuUs } = await machine.rest(TURN_MS)
    return (cpuUs + store.serverUs() - server) / ms
  }
  // What an engine does once, after it was opened, is no part of it.
  await machine.rest(SETTLE_MS)
  const [on, off]: [number[], number[]] = [[], []]
  for (let round = 0; round < rounds; round++) {
    // Each round begins with the other one.
    for (const isNoting of round % 2 === 0 ? [false, true] : [true, false]) {
      const ms = await resting(isNoting)
      ;(isNoting ? on : off).push(ms)
      say(`at rest, ${isNoting ? 'noting' : 'not noting'}: ${ms.toFixed(2)} ms of CPU a second`)
    }
  }
  await machine.close()
  return { without: off, with: on }
}
