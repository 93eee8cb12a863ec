/**
 * Part `noting`: what a look costs by which a server notes figures over time. At rest it looks every ten seconds. Many looks are taken
 * one after the other: the cost of one in ten seconds is less than what an engine at rest differs by from one time to the next.
 */
import { median } from '../ratio.ts'
import { Machine } from './machine.ts'
import type { BenchStore } from './stores.ts'

const LOOKS = 200
const SETTLE_MS = 10_000

/** Microseconds of CPU of a look, of engine and server, and of the database. */
export interface Noting {
  readonly engineUs: number
  readonly databaseUs: number
}

export async function measureNoting(store: BenchStore, rounds: number): Promise<Noting> {
  const machine = await Machine.open(store.address)
  // What an engine does once, after it was opened, is no part of it; nor is code that is not compiled yet.
  await machine.rest(SETTLE_MS)
  await machine.look(LOOKS)
  const found: { engine: number; database: number }[] = []
  for (let round = 0; round < rounds; round++) {
    const before = store.serverUs()
    const { cpuUs } = await machine.look(LOOKS)
    found.push({ engine: cpuUs / LOOKS, database: (store.serverUs() - before) / LOOKS })
  }
  await machine.close()
  return {
    engineUs: median(found.map(({ engine }) => engine)),
    databaseUs: median(found.map(({ database }) => database)),
  }
}
