/**
 * Claims that look first and grant in a message of their own, while a queue is stopped between the two.
 */
import { expect, it } from 'vitest'
import type { Command } from '../../../src/kernel/index.ts'
import type { Claimed } from '../../../src/store/index.ts'
import type { Statement, Connection } from '../../../src/store/sql/connection.ts'
import type { SqlStore } from '../../../src/store/sql/sql-store.ts'
import { SQLITE } from '../../../src/store/sql/sqlite/statements.ts'
import { onRecord, plain } from '../../support/specs.ts'
import type { Wrap } from './addresses.ts'
import { dialectOf, openAt } from './addresses.ts'
import { checkLog } from './log-check.ts'
import { freshAddress } from './stores.ts'

const by = { by: 'ops', reason: 'because' }

/** Calls `between` when a claim has looked, BEFORE it knows what it saw. */
function pausing(between: () => Promise<void>): Wrap {
  return (connection): Connection => ({
    run: async (asks: readonly Statement[]) => {
      const answers = await connection.run(asks)
      const isLook = asks.some(({ sql }) => sql === SQLITE.candidates)
      if (isLook && asks[0]?.sql !== SQLITE.begin) await between()
      return answers
    },
    close: () => connection.close(),
  })
}

function submit(job: string, key: string | null = null): Command {
  return { type: 'SubmitJob', job, spec: plain({ type: 'red', key }, { queue: 'q' }) }
}

function claim(store: SqlStore, request: number): Promise<readonly Claimed[]> {
  const channels = [{ queue: 'q', type: 'red', stage: null }]
  return store.claim({ worker: 'w', request, channels, max: 5, started: true })
}

/** A store that looks at job b, and what happens then. */
async function whileLooking(
  between: (own: SqlStore, other: SqlStore) => Promise<unknown>,
): Promise<{ leases: readonly Claimed[]; problems: readonly string[]; looks: number }> {
  const address = await freshAddress('SQLite')
  let looks = 0
  let isWanted = false
  const other = await openAt(address)
  const own: SqlStore = await openAt(
    address,
    {},
    pausing(async () => {
      if (!isWanted) return
      isWanted = false
      looks += 1
      await between(own, other)
    }),
  )
  await own.execute([submit('a')])
  expect(await claim(own, 1)).toHaveLength(1)
  await own.execute([submit('b')])
  isWanted = true
  const leases = await claim(own, 2)
  await Promise.all([own.close(), other.close()])
  const { problems } = await checkLog(dialectOf(address))
  return { leases, problems, looks }
}

it('grants nothing of a queue that another process paused, whatever was written here since', async () => {
  const { leases, problems, looks } = await whileLooking(async (own, other) => {
    await other.execute([{ type: 'PauseQueue', queue: 'q', ...by }])
    // With a key, it is looked up: from here on the next position is known again.
    await own.execute([submit('c', 'k')])
  })
  expect(looks).toBe(1)
  expect(problems).toEqual([])
  expect(leases).toEqual([])
})

it('grants nothing of a queue that was paused here', async () => {
  const { leases, problems, looks } = await whileLooking(async (own) => {
    await own.execute([{ type: 'PauseQueue', queue: 'q', ...by }])
  })
  expect(looks).toBe(1)
  expect(problems).toEqual([])
  expect(leases).toEqual([])
})

it('grants no more than a queue lets through that was limited meanwhile', async () => {
  const { leases, problems, looks } = await whileLooking(async (own, other) => {
    const rules = { concurrency: 1, rate: null, ageingMs: null }
    await other.execute([{ type: 'ConfigureQueue', queue: 'q', ...rules, ...onRecord }])
    await own.execute([submit('c', 'k')])
  })
  expect(looks).toBe(1)
  expect(problems).toEqual([])
  expect(leases).toEqual([])
})

it('grants what is there when nothing of it changed', async () => {
  const { leases, problems, looks } = await whileLooking(async (own) => {
    await own.execute([submit('c', 'k')])
  })
  expect(looks).toBe(1)
  expect(problems).toEqual([])
  expect(leases.map(({ job }) => job)).toEqual(['b'])
})
