/**
 * A process that works on a store that others work on too, until it is killed. Each line that it
 * says is something that was acknowledged.
 */
import { writeSync } from 'node:fs'
import { SqlFailed } from '../../../src/store/sql/failures.ts'
import type { SqlStore } from '../../../src/store/sql/sql-store.ts'
import { Dice } from '../../model/properties/dice.ts'
import type { Told } from './load.ts'
import { Load } from './load.ts'
import type { Address } from './addresses.ts'
import { openAt } from './addresses.ts'

export interface LoadTask {
  readonly address: Address
  readonly name: string
  readonly seed: number
}

/** At once: what stays in the memory of this process is lost with it. */
function say(told: Told): void {
  const bytes = Buffer.from(`${JSON.stringify(told)}\n`)
  for (let done = 0; done < bytes.length;) {
    try {
      done += writeSync(1, bytes, done)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
    }
  }
}

/** The parent starts a process again if the database was away. */
async function openWhenThere(address: Address): Promise<SqlStore> {
  for (let tries = 1; ; tries++) {
    try {
      return await openAt(address)
    } catch (error) {
      const isAway = error instanceof SqlFailed && /^(?:lost|unreachable)$/.test(error.reason)
      if (!isAway || tries === 100) throw error
      await new Promise((resolve) => {
        setTimeout(resolve, 100)
      })
    }
  }
}

const task = JSON.parse(process.argv[2] as string) as LoadTask
const store = await openWhenThere(task.address)
const load = new Load(store, new Dice(task.seed), task.name, say)
// Two at once, as in any process that does more than one thing.
const forever = async (): Promise<never> => {
  for (;;) await load.step()
}
await Promise.all([forever(), forever()])
