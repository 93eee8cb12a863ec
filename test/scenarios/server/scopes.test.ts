/**
 * Tokens that are held to some types or queues, that see no payloads, or that are for one message: nothing that they are
 * answered says a word of what is not theirs, and nothing that they send changes it.
 */
import { describe, expect, it } from 'vitest'
import { child, effect, job, message, open, pipeline, typed } from '../../../src/index.ts'
import type { Pawl } from '../../../src/index.ts'
import { OPERATIONS, ROLES } from '../../../src/protocol/index.ts'
import type { Operation, OperationName } from '../../../src/protocol/index.ts'
import { messageLink } from '../../../src/server/index.ts'
import { deferred } from '../../support/engines.ts'
import type { Server } from '../../support/server-calls.ts'
import { serverInFront } from '../../support/server-calls.ts'

/** In every text of what the scope does not let through. */
const SECRET = 'secret-of-another-tenant'
const MAIL = 'token-held-to-the-type-mail'
const SLOW = 'token-held-to-the-queue-slow'
const BLIND = 'token-that-sees-no-payloads'
const KEY = 'key-of-links-that-is-long-enough-0123456789'
const ALL_BUT_ADMIN = ROLES.filter((role) => role !== 'admin')

const mail = job('mail', { input: typed<string>(), retry: { max: 0 }, run: () => null })
/** Its id, type, queue, input, tags, error and all are not for the tokens. */
const other = job(SECRET, {
  input: typed<string>(),
  retry: { max: 0 },
  queue: SECRET,
  limits: [{ key: SECRET, concurrency: 1 }],
  run: ({ input }) => {
    throw new Error(input)
  },
})

const pay = effect(`${SECRET}-pay`, {
  retry: { max: 0 },
  run: () => {
    throw new Error(SECRET)
  },
})

const approve = message('approve', { input: typed<boolean>() })

/** Waits for a person: what it asks is not for the tokens. */
const asks = job(`${SECRET}-asks`, {
  messages: [approve],
  queue: SECRET,
  run: async ({ waitFor }) => waitFor(approve, { ask: SECRET, for: [SECRET] }),
})

/** A person has to say what became of its effect. */
const pays = job(`${SECRET}-pays`, {
  queue: SECRET,
  effects: [pay],
  run: ({ commit }) => commit(SECRET, [pay()]),
})

async function prepared(): Promise<Server & { readonly ids: Record<'mail' | 'slow', string> }> {
  const one = await serverInFront({
    tokens: [
      { token: MAIL, roles: ALL_BUT_ADMIN, name: 'mailer', types: ['mail'] },
      { token: SLOW, roles: ALL_BUT_ADMIN, name: 'slowly', queues: ['slow'] },
      { token: BLIND, roles: ['read', 'operate'], payloads: false },
    ],
    linkKeys: [KEY],
  })
  const { pawl } = one
  const others = pawl.work([other, asks, pays])
  await pawl.submit(pays, undefined, { id: `${SECRET}-pays` })
  await expect.poll(async () => (await pawl.counts({ heldEffects: true })).total).toBe(1)
  await pawl.submit(asks, undefined, { id: `${SECRET}-asks` })
  await expect.poll(async () => (await pawl.inbox()).questions.length).toBe(1)
  await pawl.submit(other, SECRET, { id: SECRET, tags: [SECRET], group: SECRET, metadata: SECRET })
  await expect.poll(async () => (await pawl.get(SECRET))?.state).toBe('QUARANTINED')
  await others.stop()
  await pawl.schedule(SECRET, { cron: '0 3 * * *', job: other, input: SECRET })
  const ids = {
    mail: (await pawl.submit(mail, 'mine')).id,
    slow: (await pawl.submit(mail, 'mine', { queue: 'slow' })).id,
  }
  return { ...one, ids }
}

/** An input that means the job of another tenant. */
function inputAbout(operation: Operation): Record<string, unknown> {
  const example = { ...(operation.example.input as Record<string, unknown>) }
  const properties = operation.input.properties ?? {}
  for (const name of ['job', 'queue', 'schedule', 'limit', 'worker', 'key']) {
    if (name in properties && properties[name]?.type === 'string') example[name] = SECRET
  }
  if ('type' in properties) example['type'] = SECRET
  if ('jobs' in properties) example['jobs'] = [SECRET]
  if ('ids' in properties) example['ids'] = [SECRET]
  if ('waitMs' in example) example['waitMs'] = 0
  if ('channels' in properties) {
    example['channels'] = [{ queue: SECRET, type: SECRET, stage: null }]
  }
  if (operation.name === 'store.execute') {
    const commit = { stage: 0, segment: 0, lease: 1, worker: 'w', output: '1', effects: [] }
    example['commands'] = [{ type: 'CommitExecution', job: SECRET, ...commit }]
  }
  return example
}

const CALLS = Object.values(OPERATIONS).filter(
  ({ kind, roles }) => kind !== 'events' && roles.length > 0,
)
/** Without a filter, and with what is allowed to be asked for. */
const WIDE: readonly [OperationName, Record<string, unknown>][] = [
  ['jobs.list', {}],
  ['counts', {}],
  ['counts', { by: 'type' }],
  ['counts', { by: 'queue' }],
  ['counts', { by: 'error' }],
  ['past.list', { position: 1_000 }],
  ['past.counts', { position: 1_000 }],
  ['quarantine.list', {}],
  ['jobs.list', { heldEffects: true }],
  ['counts', { heldEffects: true, by: 'type' }],
  ['quarantine.list', { heldEffects: true }],
  ['query.quarantine', { limit: 10, heldEffects: true }],
  ['quarantine.groups', {}],
  ['inbox.list', {}],
  ['inbox.list', { job: `${SECRET}-asks` }],
  ['inbox.list', { for: SECRET }],
  ['query.questions', { limit: 10, job: `${SECRET}-asks` }],
  ['query.quarantine', { limit: 10, jobs: [SECRET] }],
  ['quarantine.redrive', { ids: [SECRET] }],
  ['quarantine.discard', { ids: [SECRET] }],
  ['jobs.list', { group: SECRET }],
  ['jobs.list', { tag: SECRET }],
  ['bulk.preview', { action: 'cancel', all: true }],
  ['query.jobs', { limit: 100 }],
  ['query.counts', { by: 'type', limit: 100 }],
  ['query.counts', { by: 'error', limit: 100 }],
  ['query.quarantine', { limit: 100 }],
  ['query.ended', { jobs: [SECRET] }],
  ['store.at.jobs', { moment: { position: 1_000 }, skip: 0, limit: 100 }],
  ['presence.heard', {}],
]

/** As `past.entries` has it. */
interface PastEntry {
  readonly position: number
  readonly type: string
  readonly job: string | null
}

/** The inbox goes by types, and not by queues. */
function isOfTypesOnly(name: OperationName): boolean {
  return name === 'inbox.list' || name === 'query.questions'
}

describe('a token that is held to some jobs', () => {
  it.each([
    ['a type', MAIL],
    ['a queue', SLOW],
  ])('is told nothing of others by any operation, and changes nothing: %s', async (_, token) => {
    const { pawl, call } = await prepared()
    // It says of itself what it serves.
    pawl.work([other])
    const before = JSON.stringify([await pawl.history(SECRET), await pawl.schedules()])
    for (const operation of CALLS) {
      const name = operation.name as OperationName
      const input = inputAbout(operation)
      const { status, body } = await call(name, input, token)
      // What was asked with is said back in what is wrong with it.
      if (status !== 200) continue
      expect([name, JSON.stringify(body).includes(SECRET)]).toEqual([name, false])
    }
    for (const [name, input] of WIDE) {
      const { status, body } = await call(name, input, token)
      if (isOfTypesOnly(name) && token === SLOW) expect(status).toBe(403)
      else expect([name, status]).toEqual([name, 200])
      // It was asked with its id, which a report of what was left says back.
      const said = JSON.stringify(body).replaceAll(`"id":"${SECRET}"`, '')
      expect([name, said.includes(SECRET)]).toEqual([name, false])
    }
    expect(JSON.stringify([await pawl.history(SECRET), await pawl.schedules()])).toBe(before)
    expect((await pawl.list({ type: SECRET })).jobs).toHaveLength(1)
  })

  it('sees and changes its own, and is on record by its name', async () => {
    const { pawl, call, ids } = await prepared()
    const listed = async (token: string): Promise<unknown> =>
      ((await call('jobs.list', {}, token)).body['jobs'] as { id: string }[]).map(({ id }) => id)
    expect(await listed(MAIL)).toEqual([ids.mail, ids.slow])
    expect(await listed(SLOW)).toEqual([ids.slow])
    expect((await call('counts', {}, MAIL)).body['total']).toBe(2)
    expect((await call('jobs.show', { job: ids.mail }, SLOW)).body['code']).toBe('UnknownJob')
    expect((await call('jobs.show', { job: ids.slow }, SLOW)).status).toBe(200)
    const asked = { job: `${SECRET}-asks`, name: 'approve' }
    expect((await call('inbox.show', asked, MAIL)).body['code']).toBe('UnknownJob')
    expect((await call('inbox.show', asked, SLOW)).body['code']).toBe('UnknownJob')
    const bulk = { action: 'cancel', all: true, reason: 'all of mine' }
    expect((await call('bulk.run', bulk, SLOW)).body).toMatchObject({ done: 1 })
    expect((await pawl.get(ids.slow))?.cancelled).toMatchObject({ by: 'slowly' })
    expect((await call('queues.pause', { queue: 'slow' }, SLOW)).status).toBe(200)
    expect((await call('queues.pause', { queue: 'slow' }, MAIL)).status).toBe(403)
    expect((await call('queues.pause', { queue: 'default' }, SLOW)).status).toBe(403)
  })

  it('hands in jobs of its scope only, by itself, by commands, as children, and by a move', async () => {
    const { pawl, server, call, ids } = await prepared()
    const submit = (input: Record<string, unknown>, token: string): Promise<unknown> =>
      call('jobs.submit', input, token).then(({ status }) => status)
    expect(await submit({ type: 'mail' }, MAIL)).toBe(200)
    expect(await submit({ type: 'note' }, MAIL)).toBe(403)
    expect(await submit({ type: 'note', queue: 'slow' }, SLOW)).toBe(200)
    expect(await submit({ type: 'note' }, SLOW)).toBe(403)
    const far = await open(server.url, { token: MAIL, onError: () => undefined })
    await expect(far.submit(job('note', { run: () => null }))).rejects.toThrow(/not in the scope/)
    const parent = job('mail', {
      run: ({ commit }) => commit(1, [], [child(job('note', { run: () => null }))]),
    })
    expect(parent.name).toBe('mail')
    const claim = {
      worker: 'w',
      request: 1,
      channels: [{ queue: 'default', type: 'mail', stage: null }],
      max: 1,
      started: true,
    }
    const { claimed } = (await call('store.claim', claim, MAIL)).body as {
      claimed: { job: string; lease: number }[]
    }
    const [lease] = claimed
    const spec = { type: 'note', policy: { queue: 'default' } }
    const promise = { name: 'child', key: null, input: '1', child: spec }
    const address = { job: lease?.job, stage: 0, segment: 0, lease: lease?.lease, worker: 'w' }
    const commit = { type: 'CommitExecution', ...address, output: '1', effects: [promise] }
    expect((await call('store.execute', { commands: [commit] }, MAIL)).body['detail']).toMatch(
      /`commands\[0\]` is not in the scope of this token: a job that it makes/,
    )
    const waits = [{ name: 'w', callee: spec }]
    const suspend = { type: 'SuspendExecution', ...address, needs: 'all', waits, unfit: [] }
    expect((await call('store.execute', { commands: [suspend] }, MAIL)).status).toBe(403)
    const move = { job: ids.slow, queue: 'default' }
    expect((await call('jobs.reschedule', move, SLOW)).status).toBe(403)
    const moves = { action: 'reschedule', all: true, toQueue: 'default' }
    expect((await call('bulk.run', moves, SLOW)).status).toBe(403)
    await far.close()
    expect((await pawl.list({ type: 'note' })).jobs).toHaveLength(1)
  })

  it('claims its own only, also by the request number of another worker', async () => {
    const { pawl, call } = await prepared()
    await pawl.retry(SECRET)
    const channel = { queue: SECRET, type: SECRET, stage: null }
    const claim = { worker: 'w', request: 1, channels: [channel], max: 1, started: true }
    expect((await call('store.claim', claim, MAIL)).status).toBe(403)
    const { claimed } = await pawlClaims(pawl, claim)
    expect(claimed).toHaveLength(1)
    const channels = [{ queue: 'default', type: 'mail', stage: null }]
    const again = await call('store.claim', { ...claim, channels }, MAIL)
    expect(again.body).toEqual({ claimed: [] })
  })

  it('is sent the entries of its own jobs only, also of those that come', async () => {
    const { pawl, events, ids } = await prepared()
    const watching = events('store.watch', {}, { token: SLOW, count: 2 })
    await pawl.discard(SECRET)
    await pawl.pause(SECRET)
    await pawl.cancel(ids.mail)
    await pawl.cancel(ids.slow)
    const seen = await watching
    expect(seen.map(({ data }) => [data['type'], data['job']])).toEqual([
      ['JobSubmitted', ids.slow],
      ['JobCancelled', ids.slow],
    ])
  })

  it('is given as many entries of its own as it asks for, whatever others wrote between them', async () => {
    const { pawl, call, ids } = await prepared()
    const others = Array.from({ length: 2_000 }, (_, i) => ({ id: `${SECRET}-${i}`, hold: true }))
    await Promise.all(others.map((options) => pawl.submit(other, SECRET, options)))
    await pawl.cancel(ids.slow)
    const own = [
      ['JobSubmitted', ids.slow],
      ['JobCancelled', ids.slow],
    ]
    const read = async (input: Record<string, unknown>) => {
      const { body } = await call('past.entries', input, SLOW)
      const { entries, next } = body as { entries: PastEntry[]; next: number | null }
      return { found: entries.map(({ type, job: about }) => [type, about]), next }
    }
    for (const newest of [false, true]) {
      expect(await read({ newest })).toEqual({ found: own, next: null })
      const inOrder = newest ? own.toReversed() : own
      const one = await read({ newest, limit: 1 })
      expect(one.found).toEqual([inOrder[0]])
      const two = await read({ newest, limit: 1, [newest ? 'through' : 'after']: one.next })
      expect(two.found).toEqual([inOrder[1]])
    }
  })

  it('is told where to go on if its own entries are rare', async () => {
    const { pawl, call } = await prepared()
    const others = Array.from({ length: 10_000 }, (_, i) => ({ id: `${SECRET}-${i}`, hold: true }))
    await Promise.all(others.map((options) => pawl.submit(other, SECRET, options)))
    const { id } = await pawl.submit(mail, 'mine', { queue: 'slow' })
    const [first] = (await call('past.entries', { limit: 1 }, SLOW)).body['entries'] as PastEntry[]
    let next: unknown = first?.position
    const found: unknown[] = []
    let pages = 0
    for (; next !== null; pages++) {
      const { body } = await call('past.entries', { after: next, limit: 1 }, SLOW)
      found.push(...(body['entries'] as PastEntry[]).map((one) => one.job))
      next = body['next']
    }
    expect(found).toEqual([id])
    expect(pages).toBeGreaterThan(1)
  })

  it('works over a store of its own: its worker runs its jobs, pipelines among them', async () => {
    const { server } = await prepared()
    const steps = pipeline('steps', { input: typed<number>(), queue: 'slow' }).stage('one', {
      run: ({ input }) => input + 1,
    })
    const errors: Error[] = []
    const far = await open(server.url, { token: SLOW, onError: (error) => errors.push(error) })
    far.work([steps])
    const handle = await far.submit(steps, 1)
    expect(await handle.result({ timeout: '20s' })).toBe(2)
    expect((await far.explain(handle.id)).state).toBe('SUCCEEDED')
    await far.close()
    expect(errors).toEqual([])
  })

  it('learns that its job waits for a place, and not who has it', async () => {
    const { pawl, call } = await prepared()
    const gate = deferred()
    const terms = { limits: [{ key: 'shared', concurrency: 1 }], run: () => gate.promise }
    const mine = job('mail', terms)
    pawl.work([mine, job('holder', terms)])
    await pawl.submit(job('holder', terms), undefined, { id: 'the-holder' })
    await expect.poll(async () => (await pawl.get('the-holder'))?.state).toBe('RUNNING')
    const { id } = await pawl.submit(mine)
    const all = JSON.stringify(await pawl.explain(id))
    expect(all).toContain('the-holder')
    const { body } = await call('jobs.explain', { job: id }, MAIL)
    expect(body['reasons']).toMatchObject([{ what: 'limit', holders: [] }])
    expect(JSON.stringify(body)).not.toContain('the-holder')
    gate.resolve()
  })
})

async function pawlClaims(
  pawl: Pawl,
  claim: Record<string, unknown>,
): Promise<{ claimed: unknown }> {
  const { serve } = await import('../../../src/server/index.ts')
  const server = await serve(pawl, { port: 0 })
  const response = await fetch(`${server.url}/v1/claims`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(claim),
  })
  const claimed = (await response.json()) as { claimed: unknown }
  await server.close()
  return claimed
}

describe('a token that sees no payloads', () => {
  it('sees that jobs are there and how they stand, and nothing of what they were given', async () => {
    const { pawl, call, events } = await prepared()
    const { id } = await pawl.submit(
      job('talk', { input: typed<string>(), run: () => null }),
      SECRET,
    )
    await pawl.cancel(id, { by: 'ada', reason: SECRET })
    for (const [name, input] of [
      ['jobs.show', { job: id }],
      ['jobs.history', { job: id }],
      ['past.show', { job: id, position: 1_000 }],
      ['jobs.executions', { job: id }],
      ['jobs.explain', { job: id }],
      ['jobs.list', { type: 'talk' }],
      ['jobs.result', { job: id }],
    ] as const) {
      const { status, body } = await call(name, input, BLIND)
      expect([name, status]).toEqual([name, 200])
      expect([name, JSON.stringify(body).includes(SECRET)]).toEqual([name, false])
    }
    expect((await call('jobs.show', { job: id }, BLIND)).body).toMatchObject({
      id,
      input: null,
      cancelled: { by: 'ada', reason: '' },
    })
    let from = 0
    for await (const { position, entry } of pawl.watch()) {
      if (entry.type === 'ScheduleSet') break
      from = position
    }
    const [set] = await events('store.watch', { from }, { token: BLIND, count: 1 })
    expect(set?.data).toMatchObject({ type: 'ScheduleSet', definition: '' })
    const seen = await events('jobs.events', { job: id }, { token: BLIND })
    expect(seen.map(({ data }) => data['type'])).toEqual(['JobSubmitted', 'JobCancelled'])
    expect(JSON.stringify(seen)).not.toContain(SECRET)
    const asked = await call('inbox.show', { job: `${SECRET}-asks`, name: 'approve' }, BLIND)
    expect(asked.body).toMatchObject({ state: 'OPEN', question: { ask: '', schema: null } })
    const failed = await call('jobs.show', { job: SECRET }, BLIND)
    expect(failed.body['error']).toMatchObject({ message: '' })
    expect((await call('query.job', { job: id }, BLIND)).status).toBe(403)
    expect((await call('store.at.job', { job: id, moment: { position: 9 } }, BLIND)).status).toBe(
      403,
    )
  })

  it('sees no words of handlers, and no reasons, in what processes of workers say and are asked', async () => {
    const { pawl, call, ids } = await prepared()
    const session = 'remote-1'
    const worker = {
      id: 'w-1',
      name: null,
      serves: [],
      used: 0,
      free: 1,
      isDraining: true,
      drained: { at: 1, by: 'ada', reason: SECRET },
      held: 0,
      holds: [],
      startedAt: 1,
    }
    const state = { host: 'h', pid: 1, version: '0.1.0', workers: [worker], stalled: [] }
    const report = { job: ids.mail, saidAt: 1, text: `{"progress":"${SECRET}","lines":[]}` }
    const said = { session, text: JSON.stringify(state), reports: [report] }
    expect((await call('presence.say', said, MAIL)).status).toBe(200)
    await pawl.drainWorker('w-1', { by: 'ada', reason: SECRET })
    const { body } = await call('store.news', { since: null, waitMs: 0, session }, MAIL)
    expect(JSON.stringify(body['asked'])).toContain(SECRET)

    const told = await call('store.news', { since: null, waitMs: 0, session }, BLIND)
    expect([told.status, 'asked' in told.body]).toEqual([200, false])
    expect((await call('presence.report', { job: ids.mail }, BLIND)).status).toBe(403)
    expect((await call('presence.heard', {}, BLIND)).status).toBe(403)
    const listed = await call('workers.list', {}, BLIND)
    expect(listed.body['workers']).toMatchObject([
      { id: 'w-1', drained: { by: 'ada', reason: '' } },
    ])
  })

  it('is told of no operation that it is refused', async () => {
    const { call } = await prepared()
    const { body } = await call('caller', {}, BLIND)
    const may = new Set(body['operations'] as readonly string[])
    expect(may.has('jobs.show') && may.has('jobs.cancel') && may.has('past.entries')).toBe(true)
    // Of commands, each is refused by itself.
    const calls = CALLS.filter(
      ({ name, kind }) => kind !== 'text' && name !== 'store.execute' && may.has(name),
    )
    for (const operation of calls) {
      const name = operation.name as OperationName
      const { status } = await call(name, inputAbout(operation), BLIND)
      expect([name, status === 403]).toEqual([name, false])
    }
    expect([...may].filter((name) => /^query\.|^store\.at\.|^presence\.heard/.test(name))).toEqual(
      [],
    )
  })
})

const waits = job('waits', {
  messages: [approve],
  run: async ({ waitFor }) => waitFor(approve, { ask: 'May it?' }),
})

describe('a token for one message', () => {
  const until = new Date(Date.now() + 3_600_000)

  it('sends it, once, as whom it was made for, and can do nothing else', async () => {
    const { pawl, call } = await prepared()
    const { id } = await pawl.submit(waits)
    const second = await pawl.submit(waits)
    const link = messageLink({
      key: KEY,
      job: id,
      message: 'approve',
      by: 'ada',
      until,
      value: true,
    })
    const send = (input: Record<string, unknown>, token = link): Promise<unknown> =>
      call('messages.send', { job: id, message: 'approve', ...input }, token).then(
        ({ status }) => status,
      )
    expect(await send({ value: false })).toBe(403)
    expect(await send({ by: 'bob' })).toBe(403)
    expect(await send({ stage: 'other' })).toBe(403)
    expect(await send({ message: 'reject' })).toBe(403)
    expect(await send({ job: second.id })).toBe(403)
    for (const operation of CALLS.filter(({ name }) => name !== 'messages.send')) {
      const name = operation.name as OperationName
      expect([name, (await call(name, inputAbout(operation), link)).status]).toEqual([name, 403])
    }
    expect(await send({})).toBe(200)
    expect(await send({})).toBe(200)
    pawl.work([waits])
    expect(await pawl.handle(id).result({ timeout: '20s' })).toBe(true)
    const kept = (await pawl.history(id)).filter(({ type }) => type === 'MessageSent')
    expect(kept).toMatchObject([{ by: 'ada' }])
    await expect.poll(async () => (await pawl.get(second.id))?.state).toBe('SUSPENDED')
  })

  it('reads the question that it is for, and nothing else, until it was answered and after', async () => {
    const { pawl, call } = await prepared()
    pawl.work([waits])
    const { id } = await pawl.submit(waits)
    const second = await pawl.submit(waits)
    await expect.poll(async () => (await pawl.inbox()).questions.length).toBe(3)
    const link = messageLink({ key: KEY, job: id, question: 'approve', by: 'ada', until })
    const show = (input: Record<string, unknown> = {}): Promise<Record<string, unknown>> =>
      call('inbox.show', { job: id, name: 'approve', ...input }, link).then(({ body }) => body)
    expect(await show()).toMatchObject({
      job: id,
      type: 'waits',
      state: 'OPEN',
      answers: [],
      question: { ask: 'May it?', quorum: 1, answers: 0 },
    })
    expect((await show({ job: second.id }))['code']).toBe('Forbidden')
    expect((await show({ name: 'reject' }))['code']).toBe('Forbidden')
    expect((await show({ stage: 'other' }))['code']).toBe('Forbidden')
    for (const operation of CALLS) {
      const name = operation.name as OperationName
      if (name === 'inbox.answer' || name === 'inbox.show') continue
      expect([name, (await call(name, inputAbout(operation), link)).status]).toEqual([name, 403])
    }
    const ofMessage = messageLink({ key: KEY, job: id, message: 'approve', by: 'ada', until })
    expect((await call('inbox.show', { job: id, name: 'approve' }, ofMessage)).status).toBe(403)
    await call('inbox.answer', { job: id, name: 'approve', value: true }, link)
    await pawl.handle(id).result({ timeout: '20s' })
    expect(await show()).toMatchObject({
      state: 'ANSWERED',
      endedAt: expect.any(String),
      answers: [{ by: 'ada' }],
      question: { ask: 'May it?', answers: 1 },
    })
  })

  it('is told of a question whose time is over, or that is not asked any more', async () => {
    const { pawl, call } = await prepared()
    const short = job('short', {
      messages: [approve],
      run: async ({ waitFor }) => waitFor(approve, { ask: 'Quick?', timeout: '50ms' }),
    })
    pawl.work([waits, short])
    const late = await pawl.submit(short)
    const gone = await pawl.submit(waits)
    await late.result({ timeout: '20s' })
    await expect.poll(async () => (await pawl.get(gone.id))?.state).toBe('SUSPENDED')
    await pawl.cancel(gone.id)
    const show = async (id: string): Promise<unknown> => {
      const link = messageLink({ key: KEY, job: id, question: 'approve', by: 'ada', until })
      return (await call('inbox.show', { job: id, name: 'approve' }, link)).body
    }
    expect(await show(late.id)).toMatchObject({ state: 'TIMED_OUT', endedAt: expect.any(String) })
    expect(await show(gone.id)).toMatchObject({ state: 'NOT_ASKED', endedAt: null, answers: [] })
    expect(await show('no-such-job')).toMatchObject({ code: 'UnknownJob' })
  })

  it('answers a question, and is of no use when its time is over, or with another key', async () => {
    const { pawl, call } = await prepared()
    pawl.work([waits])
    const { id } = await pawl.submit(waits)
    await expect.poll(async () => (await pawl.inbox()).questions.length).toBe(2)
    const made = { key: KEY, job: id, question: 'approve', by: 'ada' }
    const answer = { job: id, name: 'approve', value: true }
    const past = messageLink({ ...made, until: new Date(Date.now() - 1_000) })
    expect((await call('inbox.answer', answer, past)).status).toBe(401)
    const forged = messageLink({ ...made, key: 'k'.repeat(40), until })
    expect((await call('inbox.answer', answer, forged)).status).toBe(401)
    const good = messageLink({ ...made, until })
    const [head, body, signature] = good.split('.') as [string, string, string]
    const changed = Buffer.from(
      Buffer.from(body, 'base64url').toString().replace('ada', 'eve'),
    ).toString('base64url')
    expect((await call('inbox.answer', answer, `${head}.${changed}.${signature}`)).status).toBe(401)
    expect((await call('inbox.answer', answer, good)).status).toBe(200)
    expect(await pawl.handle(id).result({ timeout: '20s' })).toBe(true)
  })
})
