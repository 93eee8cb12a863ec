/**
 * Which jobs that are over a store on a database asks to forget: by age and by number, of all and of
 * a type, and by what a job says of itself.
 */
import { describe, expect, it } from 'vitest'
import type { Retention } from '../../../src/store/index.ts'
import { plain } from '../../support/specs.ts'
import { openAt } from './addresses.ts'
import { DATABASE_NAMES, freshAddress } from './stores.ts'

const HOUR_MS = 3_600_000

describe.each(DATABASE_NAMES)('a store on %s', (name) => {
  /** One job ends each millisecond: `a` is over at 1,001. What is to go after so long? */
  async function forgotten(retention: Partial<Retention>, afterMs: number): Promise<string[]> {
    let now = 1_000
    const store = await openAt(await freshAddress(name), { clock: { now: () => now }, retention })
    const jobs = [
      { job: 'a', type: 'red', retainMs: null },
      { job: 'b', type: 'red', retainMs: 10 },
      { job: 'c', type: 'blue', retainMs: 2 * HOUR_MS },
      { job: 'd', type: 'blue', retainMs: null },
      { job: 'e', type: 'blue', retainMs: 10 },
    ]
    for (const { job, type, retainMs } of jobs) {
      await store.execute([{ type: 'SubmitJob', job, spec: plain({ type, retainMs }) }])
      now += 1
      await store.execute([{ type: 'CancelJob', job, by: 'me', reason: '' }])
    }
    now += afterMs
    const commands = await store.query({ kind: 'upkeep', limit: 10 })
    const answers = await store.execute(commands)
    expect(answers.map(({ verdict }) => verdict)).toEqual(commands.map(() => 'committed'))
    await store.close()
    return commands.map((command) => (command as { job: string }).job)
  }

  it('forgets what is older than it or its job says', async () => {
    expect(await forgotten({ ageMs: HOUR_MS }, 1)).toEqual([])
    expect(await forgotten({ ageMs: HOUR_MS }, 100)).toEqual(['b', 'e'])
    expect(await forgotten({ ageMs: HOUR_MS }, HOUR_MS + 100)).toEqual(['a', 'b', 'd', 'e'])
    const types = { red: { ageMs: 50 } }
    expect(await forgotten({ ageMs: HOUR_MS, types }, 100)).toEqual(['a', 'b', 'e'])
  })

  it('forgets those that ended first if there are too many, of all or of a type', async () => {
    expect(await forgotten({ ageMs: HOUR_MS, count: 3 }, 1)).toEqual(['a', 'b'])
    const types = { blue: { count: 1 } }
    expect(await forgotten({ ageMs: HOUR_MS, types }, 1)).toEqual(['c', 'd'])
  })
})
