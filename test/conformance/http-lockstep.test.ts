/**
 * A store over HTTP beside a bare ledger, command by command: whatever stands behind the server, it gives the same answers and
 * holds the same state, however often the server is closed and another one stands in front of the store.
 */
import { describe, expect, it } from 'vitest'
import type { Clock, Store } from '../../src/store/index.ts'
import { openDirectory } from '../../src/store/index.ts'
import { openPostgres, openSqliteStore } from '../../src/store/sql/open-sql.ts'
import { SimDisk } from '../faults/sim/sim-disk.ts'
import { Dice } from '../model/properties/dice.ts'
import { IS_LONG } from '../support/campaign.ts'
import { freshSchema } from '../support/postgres.ts'
import { servedStore } from '../support/served-store.ts'
import { freshFile } from '../support/sqlite.ts'
import { simulated } from './bench.ts'
import { InStep } from './in-step.ts'

const STEPS = IS_LONG ? 1_500 : 400
const SEEDS = IS_LONG ? 10 : 1

class Pair extends InStep {
  override store!: Store
}

/** Each gives a way to open the same store again and again. */
const BEHIND: Readonly<Record<string, () => Promise<(clock: Clock) => Promise<Store>>>> = {
  'a directory': async () => {
    const disk = new SimDisk()
    return (clock) => openDirectory('/store', { ...simulated(clock), disk })
  },
  SQLite: async () => {
    const path = await freshFile()
    return (clock) => openSqliteStore({ path, clock })
  },
  PostgreSQL: async () => {
    const place = await freshSchema()
    return (clock) => openPostgres({ ...place, clock })
  },
}

describe.each(Object.keys(BEHIND))('a store over HTTP, with %s behind it,', (name) => {
  const seeds = Array.from({ length: SEEDS }, (_, i) => i + 1)

  it.each(seeds)('goes in step with a ledger that never stops (seed %i)', async (seed) => {
    const dice = new Dice(seed)
    const pair = new Pair()
    const openBehind = await (BEHIND[name] as (typeof BEHIND)[string])()
    const clock = { now: () => pair.now }
    const open = async (): Promise<Store> =>
      servedStore(await openBehind(clock), () => Math.floor(clock.now()))
    pair.store = await open()
    for (let count = 1; count <= STEPS; count++) {
      await pair.step(dice, count)
      if (dice.chance(1)) {
        await pair.store.close()
        pair.store = await open()
      }
      if (count % 100 === 0) await pair.compare()
    }
    expect(pair.counted).toBeGreaterThan(STEPS / 10)
    await pair.store.close()
  })
})
