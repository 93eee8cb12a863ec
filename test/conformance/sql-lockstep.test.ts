/**
 * Stores on a database beside a bare ledger, command by command: they give the same answers and hold
 * the same state, however often they are closed and opened again.
 */
import { describe, expect, it } from 'vitest'
import type { Clock } from '../../src/store/index.ts'
import { openPostgres, openSqliteStore } from '../../src/store/sql/open-sql.ts'
import type { SqlStore } from '../../src/store/sql/sql-store.ts'
import { Dice } from '../model/properties/dice.ts'
import { freshSchema } from '../support/postgres.ts'
import { freshFile } from '../support/sqlite.ts'
import { InStep } from './in-step.ts'
import { IS_LONG } from '../support/campaign.ts'

const STEPS = IS_LONG ? 1_500 : 600
const SEEDS = IS_LONG ? 40 : 1

class Pair extends InStep {
  override store!: SqlStore
}

/** Each gives a way to open the same store again and again. */
const PLACES: Readonly<Record<string, () => Promise<(clock: Clock) => Promise<SqlStore>>>> = {
  SQLite: async () => {
    const path = await freshFile()
    return (clock) => openSqliteStore({ path, clock })
  },
  PostgreSQL: async () => {
    const place = await freshSchema()
    return (clock) => openPostgres({ ...place, clock })
  },
}

describe.each(Object.keys(PLACES))('the store on %s', (name) => {
  const seeds = Array.from({ length: SEEDS }, (_, i) => i + 1)

  it.each(seeds)('goes in step with a ledger that never stops (seed %i)', async (seed) => {
    const dice = new Dice(seed)
    const pair = new Pair()
    const open = await (PLACES[name] as (typeof PLACES)[string])()
    const clock = { now: () => pair.now }
    pair.store = await open(clock)
    for (let count = 1; count <= STEPS; count++) {
      await pair.step(dice, count)
      if (dice.chance(2)) {
        await pair.store.close()
        pair.store = await open(clock)
      }
      if (count % 50 === 0) await pair.compare()
    }
    expect(pair.quarantined).toBeGreaterThan(0)
    expect(pair.held).toBeGreaterThan(0)
    expect(pair.counted).toBeGreaterThan(STEPS / 5)
    await pair.store.close()
  })
})
