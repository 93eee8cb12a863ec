/**
 * PostgreSQL: an id that is submitted again in the very moment in which the job that had it is
 * forgotten. Whichever comes first, the events say it in that order.
 */
import { expect, it } from 'vitest'
import type { Connection } from '../../../src/store/sql/connection.ts'
import { verifySql } from '../../../src/store/sql/verify/verify-database.ts'
import { plain } from '../../support/specs.ts'
import { dialectOf, openAt } from './addresses.ts'
import { freshAddress } from './stores.ts'

it('a submit whose position was drawn before the id was free is done again', async () => {
  const address = await freshAddress('PostgreSQL')
  let hold: Promise<void> | null = null
  let isHeld = false
  const held = (inner: Connection): Connection => ({
    close: () => inner.close(),
    async run(asks) {
      if (asks.at(-1)?.sql === 'commit' && hold !== null) {
        isHeld = true
        await hold
      }
      return inner.run(asks)
    },
  })
  const slow = await openAt(address, {}, held)
  const other = await openAt(address)
  const submit = { type: 'SubmitJob', job: 'nightly', spec: plain({}, { queue: 'q' }) } as const
  const channels = [{ queue: 'q', type: submit.spec.type, stage: null }]
  await other.execute([submit])
  const claim = { worker: 'w', request: 1, channels, max: 1, started: true }
  const [claimed] = await other.claim(claim)
  const at = { job: 'nightly', stage: 0, segment: 0, lease: claimed?.lease ?? 0 }
  await other.execute([{ type: 'CommitExecution', ...at, worker: 'w', output: '1', effects: [] }])
  await slow.execute([{ ...submit, job: 'another' }])

  let letGo!: () => void
  hold = new Promise((resolve) => (letGo = resolve))
  const submitting = slow.execute([submit])
  await expect.poll(() => isHeld).toBe(true)
  const forget = { type: 'ForgetJob', job: 'nightly', endedBefore: Date.now() - 1 } as const
  expect(await other.execute([forget])).toMatchObject([{ verdict: 'committed' }])
  hold = null
  letGo()
  expect(await submitting).toMatchObject([{ verdict: 'committed' }])

  const { problems } = await verifySql(dialectOf(address))
  expect(problems).toEqual([])
  const history = await other.query({ kind: 'history', job: 'nightly', limit: 10 })
  expect(history.map(({ entry }) => entry.type)).toEqual(['JobSubmitted'])
  await Promise.all([slow.close(), other.close()])
})
