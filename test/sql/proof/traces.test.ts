/**
 * Random commands of every kind, sent to one database by several stores at once: whatever the order
 * in which they come to be, each entry was legitimate, and the rows are what the entries say.
 */
import { describe, expect, it } from 'vitest'
import { LogAudit } from '../../../src/store/offline/verify-directory.ts'
import { Records } from '../../../src/store/sql/rows/records.ts'
import type { Connection } from '../../../src/store/sql/connection.ts'
import { Dice } from '../../model/properties/dice.ts'
import { plausibleCommand } from '../../model/properties/plausible.ts'
import { dialectOf, openAt } from './addresses.ts'
import { checkLog } from './log-check.ts'
import { DATABASE_NAMES, freshAddress } from './stores.ts'
import { IS_LONG } from '../../support/campaign.ts'

const SEED = Number(process.env['PAWL_SEED'] ?? 1)
const STORES = 3
const STEPS = IS_LONG ? 5_000 : 80
const PAGE = 1_000
/** What is picked from grows with the steps, and so does each of them. */
const timeout = IS_LONG ? 1_800_000 : 300_000

/** The world as a reader of the events knows it, a little late. */
class Reader {
  readonly #audit = new LogAudit()
  readonly #records = new Records()
  #after = 0

  get world() {
    return this.#audit.ledger.world
  }

  async catchUp(connection: Connection, sql: string): Promise<void> {
    const [answered] = await connection.run([{ sql, values: [this.#after, PAGE] }])
    for (const [position, record] of answered?.rows ?? []) {
      this.#after = position as number
      this.#audit.apply(this.#records.entry(record as Uint8Array, this.#after), this.#after)
    }
  }
}

describe.each(DATABASE_NAMES)('stores on one %s', (name) => {
  it('take any commands at once, and nothing illegitimate comes of it', { timeout }, async () => {
    const address = await freshAddress(name)
    let now = 1_000
    const clock = { now: () => now }
    const stores = await Promise.all(
      Array.from({ length: STORES }, () => openAt(address, { clock })),
    )
    const dialect = dialectOf(address)
    const connection = await dialect.connect()
    const reader = new Reader()
    const dice = new Dice(SEED)
    let committed = 0
    for (let step = 1; step <= STEPS; step++) {
      if (dice.chance(30)) now += dice.below(12)
      const sent = stores.map((store, i) => {
        // Several of one store are decided together.
        const commands = Array.from({ length: 1 + dice.below(3) }, () =>
          plausibleCommand(dice, reader.world, now, step * STORES + i),
        )
        return store.execute(commands)
      })
      const answers = (await Promise.all(sent)).flat()
      committed += answers.filter(({ verdict }) => verdict === 'committed').length
      await reader.catchUp(connection, dialect.statements.eventsAfter)
    }
    await connection.close()
    await Promise.all(stores.map((store) => store.close()))
    const { problems, entries } = await checkLog(dialect)
    expect(problems).toEqual([])
    expect(committed).toBeGreaterThan(STEPS)
    expect(new Set(entries.map(({ type }) => type)).size).toBeGreaterThan(20)
  })
})
