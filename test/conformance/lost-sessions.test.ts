/** What every store keeps of the process that claimed, and how it takes a lease from one that died. */
import { describe, expect, it } from 'vitest'
import type { CommandOf } from '../../src/kernel/index.ts'
import type { Claimed } from '../../src/store/index.ts'
import { BadRequest } from '../../src/store/index.ts'
import { onRecord, plain, promise, retry } from '../support/specs.ts'
import type { Bench } from './bench.ts'
import { claim, commit, reportOf, setUp, STORES } from './bench.ts'

const DELAYED = plain({}, { retry: retry({ max: 5, delayMs: 500 }) })

async function claimOne({ store }: Bench, request: number): Promise<Claimed | undefined> {
  const [claimed] = await store.claim(claim({ request, session: `p${request}` }))
  return claimed
}

function takenByPresence(claimed: Claimed | undefined, seen: number): CommandOf<'RevokeLease'> {
  const { job, stage, segment, lease } = claimed as Claimed
  const address = { job, stage, segment, lease }
  return { type: 'RevokeLease', ...address, seen, presence: true, ...onRecord }
}

describe.each(Object.keys(STORES))('of processes that may die, the %s store', (kind) => {
  it('keeps the session with each lease that it grants', async () => {
    const bench = await setUp(kind)
    const { store, send } = bench
    for (const job of ['a', 'b']) await send({ type: 'SubmitJob', job, spec: plain() })
    await store.claim(claim({ max: 1, ahead: 1, session: 'p1' }))
    for (const job of ['a', 'b']) {
      const history = await store.query({ kind: 'history', job, limit: 9 })
      expect(history?.at(-1)?.entry).toMatchObject({ type: 'LeaseGranted', session: 'p1' })
    }
    const odd = claim({ request: 2, session: 'x'.repeat(300) })
    await expect(store.claim(odd)).rejects.toThrow(BadRequest)
  })

  it('keeps a lease that was extended since, and takes one that was not', async () => {
    const bench = await setUp(kind)
    const { send } = bench
    await send({ type: 'SubmitJob', job: 'a', spec: plain() })
    const claimed = await claimOne(bench, 1)
    await send({ type: 'ExtendLease', ...reportOf(claimed as Claimed), extension: 1 })
    const refused = await send(takenByPresence(claimed, 0))
    expect(refused.rejection?.code).toBe('LeaseChanged')
    expect((await send(takenByPresence(claimed, 1))).verdict).toBe('committed')
    expect(await claimOne(bench, 2)).toMatchObject({ job: 'a', lease: 2 })
  })

  it('leaves an effect that may be on its way to time', async () => {
    const bench = await setUp(kind)
    const { send } = bench
    await send({ type: 'SubmitJob', job: 'a', spec: plain() })
    const claimed = (await claimOne(bench, 1)) as Claimed
    await send({ ...commit(claimed), effects: [promise()] } as ReturnType<typeof commit>)
    await send({ type: 'StartEffect', ...reportOf(claimed), effect: 0 })
    expect((await send(takenByPresence(claimed, 0))).rejection?.code).toBe('EffectUnderWay')
  })

  it('offers a task at once after the first loss, and after its delay from the second', async () => {
    const bench = await setUp(kind)
    const { send, clock } = bench
    await send({ type: 'SubmitJob', job: 'a', spec: DELAYED })
    await send(takenByPresence(await claimOne(bench, 1), 0))
    await send(takenByPresence(await claimOne(bench, 2), 0))
    expect(await claimOne(bench, 3)).toBeUndefined()
    clock.time += 500
    expect(await claimOne(bench, 4)).toMatchObject({ lease: 3 })
  })
})
