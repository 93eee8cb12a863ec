/**
 * What a submit takes along beside its input: metadata, and what its definition says by the input. And contracts:
 * submits by a definition without a handler.
 */
import { describe, expect, it, onTestFinished } from 'vitest'
import { EVERY_ENGINE } from '../../../test/support/engines.ts'
import type { JobSpec } from '../../kernel/index.ts'
import type { Pawl } from '../../index.ts'
import { child, contract, effect, handle, job, open, pipeline, typed } from '../../index.ts'

async function specOf(pawl: Pawl, id: string): Promise<JobSpec> {
  for (const { entry } of await pawl.history(id)) {
    if (entry?.type === 'JobSubmitted') return entry.spec
  }
  throw new Error(`Job ${id} was not submitted.`)
}

async function inMemory(): Promise<Pawl> {
  const pawl = await open('memory:')
  onTestFinished(() => pawl.close())
  return pawl
}

interface Order {
  readonly tenant: string | null
}
const ofTenant = {
  input: typed<Order>(),
  group: ({ input }: { input: Order }) => input.tenant,
  limits: ({ input }: { input: Order }) =>
    input.tenant === null ? [] : [{ key: `tenant:${input.tenant}`, concurrency: 2 }],
}
const wrong = (options: object) => job('wrong', { run: () => null, ...options })
const limit = (key: string): object => ({ key, concurrency: 2, rate: null })

describe.each(EVERY_ENGINE)('metadata of a job %s', (_, openEngine) => {
  it('goes to its handler, to its children if they are given it, and to callers of get', async () => {
    const pawl = await openEngine()
    const seen: unknown[] = []
    const small = job('small', { run: ({ job: { metadata } }) => void seen.push(metadata) })
    const large = job('large', {
      run: ({ job: { metadata }, commit }) => {
        seen.push(metadata)
        return commit(null, [], [child(small, undefined, { metadata: { from: 'large' } })])
      },
    })
    const { id } = await pawl.submit(large, undefined, { metadata: { trace: '00-ab', n: [1] } })
    const none = await pawl.submit(small)
    pawl.work([large, small], { signals: [] })
    await expect.poll(() => seen.length).toBe(3)
    expect(seen).toEqual(
      expect.arrayContaining([{ trace: '00-ab', n: [1] }, { from: 'large' }, undefined]),
    )
    expect((await pawl.get(id))?.metadata).toEqual({ trace: '00-ab', n: [1] })
    expect((await pawl.get(none.id))?.metadata).toBeUndefined()
  })
})

describe('metadata', () => {
  it('is small, and JSON', async () => {
    const pawl = await inMemory()
    const quick = job('quick', { run: () => null })
    await expect(pawl.submit(quick, undefined, { metadata: 'x'.repeat(5_000) })).rejects.toThrow(
      /has 5002 characters as JSON, and at most 4096/,
    )
    await expect(pawl.submit(quick, undefined, { metadata: 1n })).rejects.toThrow(/metadata/)
  })
})

describe('limits and groups by the input', () => {
  it('are those of each job when it is submitted, and those of the submit count, too', async () => {
    const pawl = await inMemory()
    const order = job('order', { ...ofTenant, run: () => null })
    const [a, b] = await pawl.submitMany(order, [
      { input: { tenant: 'a' } },
      { input: { tenant: 'b' }, options: { limits: [{ key: 'all', concurrency: 9 }] } },
    ])
    expect(await specOf(pawl, a?.id as string)).toMatchObject({
      group: 'a',
      policy: { limits: [limit('tenant:a')] },
    })
    expect((await specOf(pawl, b?.id as string)).policy?.limits).toEqual([
      limit('tenant:b'),
      { key: 'all', concurrency: 9, rate: null },
    ])
    const said = await pawl.submit(order, { tenant: 'a' }, { group: 'other' })
    expect((await specOf(pawl, said.id)).group).toBe('other')
    const ungrouped = await specOf(pawl, (await pawl.submit(order, { tenant: null })).id)
    expect(ungrouped).toMatchObject({ group: null, policy: { limits: [] } })
  })

  it('are those of the stages of a pipeline that name none, of children, and of schedules', async () => {
    const pawl = await inMemory()
    const film = pipeline('film', ofTenant)
      .stage('one', { run: () => null })
      .stage('two', { after: 'one', limits: [{ key: 'gpu', concurrency: 2 }], run: () => null })
    const { id } = await pawl.submit(film, { tenant: 'a' })
    const { group, stages } = await specOf(pawl, id)
    expect(group).toBe('a')
    expect(stages?.map(({ policy }) => policy.limits)).toEqual([
      [limit('tenant:a')],
      [limit('gpu')],
    ])
    const order = job('order', { ...ofTenant, run: () => null })
    const parent = job('parent', {
      run: ({ commit }) => commit(null, [], [child(order, { tenant: 'c' })]),
    })
    const promised = await pawl.submit(parent)
    pawl.work([parent, order], { signals: [] })
    await promised.result()
    const [first] = (await pawl.list({ type: 'order' })).jobs
    expect(await specOf(pawl, first?.id as string)).toMatchObject({
      group: 'c',
      policy: { limits: [limit('tenant:c')] },
    })
    await pawl.schedule('nightly', { job: order, input: { tenant: 'd' }, every: '1s' })
    await expect.poll(async () => (await pawl.list({ group: 'd' })).jobs.length).toBe(1)
  })

  it('that are no limits or groups refuse the submit', async () => {
    const pawl = await inMemory()
    await expect(pawl.submit(wrong({ group: () => 7 }))).rejects.toThrow(
      "`group` of job 'wrong' gave 7: give a text, or null.",
    )
    await expect(pawl.submit(wrong({ limits: () => [{ key: 'k' }] }))).rejects.toThrow(
      "The limit 'k' of job 'wrong' bounds nothing",
    )
    await expect(pawl.submit(wrong({ limits: () => 'k' }))).rejects.toThrow(/is a list, not 'k'/)
    expect(() => wrong({ group: 'a' })).toThrow(
      "`group` of job 'wrong' is a function of its input, such as ({ input }) => input.tenant, not 'a'.",
    )
  })
})

describe('a contract', () => {
  const mail = contract('mail', {
    input: typed<{ to: string }>(),
    output: typed<number>(),
    queue: 'mails',
    retry: { max: 7 },
  })

  it('submits without a handler, with its policy, and a worker runs what handles it', async () => {
    const pawl = await inMemory()
    const submitted = await pawl.submit(mail, { to: 'ada' })
    expect((await specOf(pawl, submitted.id)).policy).toMatchObject({
      queue: 'mails',
      retry: { max: 7 },
    })
    const log = effect('log', { input: typed<string>(), idempotent: true, run: () => undefined })
    const sends = handle(mail, {
      effects: [log],
      run: ({ input, commit }) => commit(input.to.length, [log(input.to)]),
    })
    pawl.work([sends], { signals: [] })
    const result: number = await submitted.result()
    expect(result).toBe(3)
    expect(await (await pawl.submit(sends, { to: 'bo' })).result()).toBe(2)
  })

  it('of any input submits by a name that is known at run time', async () => {
    const pawl = await inMemory()
    const name: string = ['ma', 'il'].join('')
    const submitted = await pawl.submit(contract(name, { input: typed<unknown>() }), { to: 'eve' })
    pawl.work([handle(mail, ({ input }) => input.to.length)], { queues: ['default'], signals: [] })
    expect(await submitted.result()).toBe(3)
  })

  it('is refused as a handler, and a handler as a contract', async () => {
    const pawl = await inMemory()
    expect(() => pawl.work([mail])).toThrow("'mail' is a contract, which has no handler")
    expect(() => contract('mail', { run: () => null } as never)).toThrow(
      'A contract has no handler',
    )
    expect(() => contract('mail', { effects: [] } as never)).toThrow('effects')
    expect(() => handle(job('x', { run: () => null }) as never, () => null)).toThrow(
      'handle() takes what contract(',
    )
    expect(() => handle(mail, {} as never)).toThrow("Job 'mail' has no handler")
    expect(() => handle(mail, { run: () => 1, retry: { max: 1 } } as never)).toThrow('retry')
  })

  it('of a later version is handled with the upgrades from the earlier ones', () => {
    const second = contract('mail', { input: typed<{ to: string }>(), version: 2 })
    expect(() => handle(second, () => null)).toThrow('has no `upgrades[1]`')
    expect(handle(second, { upgrades: { 1: (to) => ({ to }) }, run: () => null }).version).toBe(2)
  })
})
