/**
 * What operators, dashboards and people do over HTTP: counts, many jobs at once, messages and questions, streams, time travel,
 * schedules, limits and erasure.
 */
import { describe, expect, it } from 'vitest'
import { effect, job, message, open, typed } from '../../../src/index.ts'
import { deferred } from '../../support/engines.ts'
import { serverInFront } from '../../support/server-calls.ts'

const STATES = {
  CREATED: 0,
  QUEUED: 0,
  RUNNING: 0,
  SUSPENDED: 0,
  RETRYING: 0,
  QUARANTINED: 0,
  SUCCEEDED: 0,
  FAILED: 0,
}

const fails = job('fails', {
  retry: { max: 0 },
  run: () => {
    throw new Error('no such mailbox')
  },
})

describe('many jobs over HTTP', () => {
  it('are counted, looked at first, cancelled, and reported about', async () => {
    const { pawl, call, events } = await serverInFront()
    const note = job('note', { input: typed<number>(), run: () => null })
    await pawl.submitMany(
      note,
      Array.from({ length: 250 }, (_, input) => ({ input })),
    )
    const counts = await call('counts', { by: 'type' })
    const states = { ...STATES, QUEUED: 250 }
    expect(counts.body).toMatchObject({ total: 250, states, groups: [{ name: 'note', states }] })
    const preview = await call('bulk.preview', { action: 'cancel', type: 'note' })
    expect(preview.body).toMatchObject({ matched: 250, done: 0, isComplete: true })
    const unclear = await call('bulk.run', { action: 'cancel' })
    expect(unclear).toMatchObject({ status: 400, body: { code: 'InvalidDefinition' } })
    const moved = await call('bulk.run', { action: 'reschedule', type: 'note', toQueue: 'later' })
    expect(moved.body).toMatchObject({ matched: 250, done: 250 })
    expect((await call('queues.list')).body['queues']).toMatchObject([{ name: 'later', states }])
    const seen = await events('bulk.events', { action: 'cancel', all: true, reason: 'a mistake' })
    expect(seen.at(-1)?.data).toMatchObject({ matched: 250, done: 250, isComplete: true })
    expect(seen.map(({ data }) => data['isLast'])).toEqual(
      seen.map((_, i) => i === seen.length - 1),
    )
    expect((await call('counts')).body['states']).toEqual({ ...STATES, FAILED: 250 })
  })

  it('in quarantine are redriven, and given up, by what went wrong', async () => {
    const { pawl, call, events } = await serverInFront()
    const worker = pawl.work([fails])
    await pawl.submitMany(fails, [{}, {}, {}])
    await expect.poll(async () => (await call('quarantine.list')).body['jobs']).toHaveLength(3)
    await worker.stop()
    const [group] = (await call('quarantine.groups')).body['groups'] as [{ fingerprint: string }]
    const { fingerprint } = group
    const dry = await call('quarantine.redrive', { fingerprint, dryRun: true })
    expect(dry.body).toMatchObject({ matched: 3, done: 3 })
    const ids = (dry.body['samples'] as string[]).slice(0, 1)
    expect((await call('quarantine.discard', { ids })).body).toMatchObject({ done: 1 })
    expect((await call('quarantine.redrive', { fingerprint })).body).toMatchObject({ done: 2 })
    const again = pawl.work([fails])
    await expect.poll(async () => (await call('quarantine.list')).body['jobs']).toHaveLength(2)
    await again.stop()
    const told = await events('quarantine.redrive.events', { fingerprint, input: 7 })
    expect(told.at(-1)?.data).toMatchObject({ matched: 2, done: 2, isComplete: true, isLast: true })
    const unclear = await call('quarantine.discard')
    expect(unclear).toMatchObject({ status: 400, body: { code: 'InvalidDefinition' } })
  })
})

const paid = message('paid', { input: typed<number>() })
const approve = message('approve', { input: typed<boolean>() })

describe('people over HTTP', () => {
  it('send messages to a job, whose type the server may not know, and wait for its result', async () => {
    const { pawl, call } = await serverInFront()
    const order = job('order', {
      messages: [paid],
      run: async ({ waitFor }) => waitFor(paid),
    })
    const { body } = await call('jobs.submit', { type: 'order' })
    const id = body['job'] as string
    const early = await call('jobs.result', { job: id, waitMs: 1 })
    expect(early.body).toEqual({ state: 'QUEUED', isOver: false, result: null, error: null })
    const sent = { job: id, message: 'paid', value: 70, id: 'payment-1' }
    expect((await call('messages.send', sent)).body).toEqual({ id: 'payment-1' })
    expect((await call('messages.send', sent)).body).toEqual({ id: 'payment-1' })
    pawl.work([order])
    expect((await pawl.history(id))[0]).toMatchObject({ type: 'JobSubmitted', by: 'client' })
    const result = await call('jobs.result', { job: id, waitMs: 20_000 })
    expect(result.body).toEqual({ state: 'SUCCEEDED', isOver: true, result: 70, error: null })
    const late = await call('messages.send', { ...sent, id: 'payment-2' })
    expect(late).toMatchObject({ status: 409, body: { code: 'TaskFinal' } })
    expect((await call('messages.send', { ...sent, job: 'none' })).status).toBe(404)
    const other = await call('messages.send', { ...sent, message: 'unheard' })
    expect(other.body['detail']).toMatch(/no message 'unheard'/)
  })

  it('find a question, and answer it', async () => {
    const { pawl, call } = await serverInFront()
    const refund = job('refund', {
      messages: [approve],
      run: async ({ waitFor }) => waitFor(approve, { ask: 'Refund 70?', for: ['finance'] }),
    })
    pawl.work([refund])
    const { id } = await pawl.submit(refund)
    await expect
      .poll(async () => (await call('inbox.list', { for: 'finance' })).body['questions'])
      .toMatchObject([{ job: id, name: 'approve', ask: 'Refund 70?' }])
    expect((await call('inbox.list', { for: 'legal' })).body['questions']).toEqual([])
    const answer = { job: id, name: 'approve', value: true, by: 'ada' }
    expect((await call('inbox.answer', answer)).status).toBe(200)
    expect(await pawl.handle(id).result({ timeout: '20s' })).toBe(true)
    const late = await call('inbox.answer', answer)
    expect(late).toMatchObject({ status: 409, body: { code: 'AnswerRefused' } })
  })
})

describe('a job over HTTP', () => {
  it('has a stream, to be read page by page and as it grows', async () => {
    const { pawl, call, events } = await serverInFront()
    const gate = deferred()
    const talks = job('talks', {
      run: async ({ emit }) => {
        await emit('log', 'a')
        await emit('log', 'b')
        await gate.promise
        await emit('log', 'c')
      },
    })
    pawl.work([talks])
    const { id } = await pawl.submit(talks)
    const asked = { job: id, stream: 'log' }
    const read = async (): Promise<unknown> =>
      ((await call('jobs.stream', asked)).body['items'] as { value: unknown }[]).map(
        ({ value }) => value,
      )
    await expect.poll(read).toEqual(['a', 'b'])
    const page = await call('jobs.stream', { ...asked, from: 1, limit: 1 })
    expect(page.body).toMatchObject({ items: [{ offset: 1, value: 'b' }], next: 2, isEnd: true })
    const growing = events('jobs.stream.events', asked, { last: 0 })
    gate.resolve()
    expect((await growing).map(({ id: at, data }) => [at, data['value']])).toEqual([
      ['1', 'b'],
      ['2', 'c'],
    ])
    expect((await call('jobs.stream', { job: 'none', stream: 'log' })).status).toBe(404)
  })

  it('tells what happens to it until it is over, and goes on behind what was seen', async () => {
    const { pawl, call, events } = await serverInFront()
    const { id } = await pawl.submit(job('note', { run: () => null }))
    const following = events('jobs.events', { job: id })
    await call('jobs.cancel', { job: id })
    const all = await following
    expect(all.map(({ data }) => data['type'])).toEqual(['JobSubmitted', 'JobCancelled'])
    const last = Number(all[0]?.id)
    expect(await events('jobs.events', { job: id }, { last })).toEqual(all.slice(1))
    expect((await call('jobs.executions', { job: id })).body).toEqual({
      executions: [],
      next: null,
    })
  })

  it('was in another state before, by its position and by its time', async () => {
    const { pawl, call } = await serverInFront()
    const { id } = await pawl.submit(job('note', { run: () => null }))
    const { body } = await call('jobs.history', { job: id })
    const [{ position }] = body['items'] as [{ position: number }]
    await call('jobs.cancel', { job: id })
    const past = await call('past.show', { job: id, position })
    expect(past.body).toMatchObject({ id, state: 'QUEUED' })
    expect((await call('past.show', { job: id })).body['detail']).toMatch(/`time` or by `position`/)
    const now = Date.now() + 60_000
    expect((await call('past.show', { job: id, time: now })).body['state']).toBe('FAILED')
    const listed = await call('past.list', { position, limit: 1 })
    expect(listed.body).toMatchObject({ jobs: [{ id, state: 'QUEUED' }], next: null })
    const counts = await call('past.counts', { position })
    expect(counts.body).toMatchObject({ total: 1, types: [{ name: 'note', total: 1 }] })
  })

  it('is erased, and says so; an effect of its is resolved', async () => {
    const { pawl, call } = await serverInFront()
    const pay = effect('pay', {
      input: typed<number>(),
      run: () => {
        throw new Error('the bank is closed')
      },
      retry: { max: 0 },
    })
    const order = job('order', { effects: [pay], run: ({ commit }) => commit('paid', [pay(7)]) })
    pawl.work([order])
    const { id } = await pawl.submit(order)
    await expect.poll(async () => (await pawl.get(id))?.state).toBe('QUARANTINED')
    const refused = await call('jobs.erase', { job: id })
    expect(refused).toMatchObject({ status: 409, body: { code: 'JobNotFinal' } })
    const resolved = { job: id, effect: 0, outcome: 'happened', reason: 'seen at the bank' }
    expect(await call('jobs.resolve', resolved)).toMatchObject({ status: 200 })
    await expect.poll(async () => (await pawl.get(id))?.state).toBe('SUCCEEDED')
    expect((await call('jobs.erase', { job: id })).body).toEqual({ erased: [id] })
    expect((await call('jobs.show', { job: id })).body['erasedAt']).not.toBe(null)
    expect((await call('store.compact')).status).toBe(200)
  })
})

describe('schedules and limits over HTTP', () => {
  it('a schedule is set by the name of a type, shown with its next times, and removed', async () => {
    const { pawl, call } = await serverInFront()
    const terms = { schedule: 'nightly', type: 'report', input: { days: 1 }, cron: '0 3 * * *' }
    expect((await call('schedules.set', { ...terms, tags: ['a'] })).status).toBe(200)
    const shown = await call('schedules.show', { schedule: 'nightly', times: 3 })
    expect(shown.body).toMatchObject({ id: 'nightly', type: 'report', input: { days: 1 } })
    expect(shown.body['nextTimes']).toHaveLength(3)
    const run = await call('schedules.run', { schedule: 'nightly', by: 'ada', reason: 'late' })
    expect(await pawl.get(run.body['job'] as string)).toMatchObject({
      type: 'report',
      input: { days: 1 },
      asked: { by: 'ada', reason: "late (run now from schedule 'nightly')" },
    })
    expect((await call('schedules.run', { schedule: 'never' })).status).toBe(404)
    const both = await call('schedules.set', { ...terms, every: '1h' })
    expect(both).toMatchObject({ status: 400, body: { code: 'InvalidDefinition' } })
    expect((await call('schedules.remove', { schedule: 'nightly' })).status).toBe(200)
    expect(await pawl.schedules()).toEqual([])
    expect((await call('schedules.show', { schedule: 'nightly' })).status).toBe(404)
  })

  it('what is used of a limit is shown, and limits are listed', async () => {
    const { pawl, call } = await serverInFront()
    const gate = deferred()
    const slow = job('slow', {
      limits: [{ key: 'tenant-7', concurrency: 2 }],
      run: () => gate.promise,
    })
    pawl.work([slow])
    await pawl.submit(slow)
    await expect
      .poll(async () => (await call('limits.show', { limit: 'tenant-7' })).body['held'])
      .toBe(1)
    const bounds = { concurrency: 2, rate: null }
    const one = { key: 'tenant-7', held: 1, wholeAt: null, bounds }
    expect((await call('limits.list', { prefix: 'tenant' })).body).toEqual({
      limits: [one],
      next: null,
    })
    expect((await call('limits.list', { prefix: 'user' })).body['limits']).toEqual([])
    gate.resolve()
  })
})

describe('the server in front of a server', () => {
  it('does the same: the operations are those of any engine', async () => {
    const { server } = await serverInFront()
    const far = await open(server.url)
    const second = await serverInFront({}, server.url)
    await far.submit(job('note', { run: () => null }))
    expect((await second.call('counts')).body['total']).toBe(1)
    expect((await second.call('bulk.run', { action: 'cancel', all: true })).body['done']).toBe(1)
    await far.close()
  })
})
