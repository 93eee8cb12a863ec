/**
 * What the page offers to do to a job or a segment, the server does, and nothing else: in every state, each action is tried
 * on a job of its own.
 */
import { describe, expect, it, onTestFinished } from 'vitest'
import type { AnyJob, Pawl } from '../../../index.ts'
import { effect, job, message, pipeline, typed } from '../../../index.ts'
import { deferred } from '../../../../test/support/engines.ts'
import type { Server } from '../../../../test/support/server-calls.ts'
import { serverInFront } from '../../../../test/support/server-calls.ts'
import type { OperationName } from '../../../protocol/index.ts'
import type { ActionField, Filled } from '../action.ts'
import { fieldsOf, fieldValues } from '../action.ts'
import type { Accepted } from './job-actions.ts'
import { offeredActions } from './job-actions.ts'

const note = job('note', {
  input: typed<unknown>(),
  run: async ({ step }) => step('one', () => 'noted'),
})
const fails = job('fails', {
  input: typed<unknown>(),
  retry: { max: 0 },
  run: async ({ step }) => {
    await step('one', () => 1)
    throw new Error('no')
  },
})
const later = job('later', {
  input: typed<unknown>(),
  retry: { max: 2, delay: '1h' },
  run: () => {
    throw new Error('busy')
  },
})
const go = message('go', { input: typed<unknown>() })
const waits = job('waits', {
  input: typed<unknown>(),
  messages: [go],
  run: ({ waitFor }) => waitFor(go),
})
const charge = effect('charge', {
  input: typed<number>(),
  retry: { max: 0 },
  run: () => {
    throw new Error('the bank hung up')
  },
})
const order = job('order', {
  input: typed<unknown>(),
  effects: [charge],
  retry: { max: 0 },
  run: ({ commit }) => commit({ ok: true }, [charge(1)]),
})
const paid = effect('paid', { input: typed<number>(), run: () => undefined })
const buy = job('buy', {
  input: typed<unknown>(),
  effects: [paid],
  run: ({ commit }) => commit({ ok: true }, [paid(1)]),
})

/** Its first stage runs once; of the second, what is odd fails. */
const parts = pipeline('parts', { input: typed<unknown>() })
  .stage('first', { run: () => [0, 1, 2] })
  .stage('each', {
    after: 'first',
    each: 'first',
    retry: { max: 0 },
    run: ({ index }) => {
      if (index % 2 === 1) throw new Error('odd')
      return index
    },
  })
  .stage('last', { after: 'each', run: () => 'all' })
const short = pipeline('short', { input: typed<unknown>() })
  .stage('only', {
    retry: { max: 0 },
    run: () => {
      throw new Error('no')
    },
  })
  .stage('next', { after: 'only', run: () => 1 })
const sells = pipeline('sells', { input: typed<unknown>() })
  .stage('sell', { effects: [charge], retry: { max: 0 }, run: order.run as never })
  .stage('ship', { after: 'sell', run: () => 'shipped' })

type Make = (pawl: Pawl) => Promise<string>

async function worked(pawl: Pawl, definition: AnyJob, state: string): Promise<string> {
  const { id } = await pawl.submit(definition as typeof note, 1)
  const worker = pawl.work([definition])
  await expect.poll(async () => (await pawl.get(id))?.state, { interval: 5 }).toBe(state)
  await worker.stop()
  return id
}

/** A worker has it until the test is over. */
async function running(pawl: Pawl, isPipeline: boolean): Promise<string> {
  const [inside, gate] = [deferred(), deferred()]
  onTestFinished(() => gate.resolve())
  const run = async () => {
    inside.resolve()
    await gate.promise
  }
  const slow = isPipeline
    ? pipeline('slow', { input: typed<unknown>() })
        .stage('one', { run: () => 1 })
        .stage('two', { after: 'one', run })
    : job('slow', { input: typed<unknown>(), run })
  const { id } = await pawl.submit(slow as AnyJob as typeof note, 1)
  pawl.work([slow])
  await inside.promise
  return id
}

/** Of each state, how a job comes to be in it, and what is offered then. */
const CASES: readonly (readonly [name: string, labels: readonly string[], make: Make])[] = [
  [
    'CREATED',
    ['Reschedule', 'Cancel', 'Force'],
    async (pawl) => (await pawl.submit(note, 1, { delay: '1h' })).id,
  ],
  [
    'CREATED, held',
    ['Release', 'Reschedule', 'Cancel', 'Force'],
    async (pawl) => (await pawl.submit(note, 1, { hold: true })).id,
  ],
  [
    'QUEUED',
    ['Reschedule', 'Cancel', 'Force'],
    async (pawl) => (await pawl.submit(note, 1, { queue: 'unserved' })).id,
  ],
  ['RUNNING', ['Take from its worker', 'Cancel', 'Force'], (pawl) => running(pawl, false)],
  ['SUSPENDED', ['Cancel', 'Force'], (pawl) => worked(pawl, waits, 'SUSPENDED')],
  ['RETRYING', ['Reschedule', 'Cancel', 'Force'], (pawl) => worked(pawl, later, 'RETRYING')],
  [
    'QUARANTINED',
    ['Retry', 'Run again', 'Discard', 'Cancel', 'Force'],
    (pawl) => worked(pawl, fails, 'QUARANTINED'),
  ],
  [
    'QUARANTINED, committed',
    ['Say what became of charge'],
    (pawl) => worked(pawl, order, 'QUARANTINED'),
  ],
  ['SUCCEEDED', ['Run again', 'Erase'], (pawl) => worked(pawl, note, 'SUCCEEDED')],
  ['SUCCEEDED, with an effect', ['Run again', 'Erase'], (pawl) => worked(pawl, buy, 'SUCCEEDED')],
  [
    'FAILED',
    ['Run again', 'Erase'],
    async (pawl) => {
      const { id } = await pawl.submit(note, 1, { delay: '1h' })
      await pawl.cancel(id)
      return id
    },
  ],
  [
    'erased',
    [],
    async (pawl) => {
      const id = await worked(pawl, note, 'SUCCEEDED')
      await pawl.erase(id)
      return id
    },
  ],
  [
    'QUEUED pipeline',
    ['Reschedule', 'Cancel', 'Force'],
    async (pawl) => {
      const { id } = await pawl.submit(parts, 1)
      const segments = async () => (await pawl.get(id))?.stages[0]?.segments
      await expect.poll(segments, { interval: 5 }).toBe(1)
      return id
    },
  ],
  [
    'held pipeline',
    ['Release', 'Cancel'],
    async (pawl) => (await pawl.submit(parts, 1, { hold: true })).id,
  ],
  ['RUNNING pipeline', ['Cancel'], (pawl) => running(pawl, true)],
  [
    'QUARANTINED pipeline',
    ['Retry', 'Discard', 'Cancel'],
    (pawl) => worked(pawl, parts, 'QUARANTINED'),
  ],
  [
    'QUARANTINED pipeline with one task',
    ['Retry', 'Discard', 'Cancel', 'Force'],
    (pawl) => worked(pawl, short, 'QUARANTINED'),
  ],
  [
    'pipeline whose effect is held',
    ['Say what became of charge', 'Discard', 'Cancel'],
    (pawl) => worked(pawl, sells, 'QUARANTINED'),
  ],
  [
    'FAILED pipeline',
    ['Run again', 'Erase'],
    async (pawl) => {
      const id = await worked(pawl, parts, 'QUARANTINED')
      await pawl.discard(id)
      return id
    },
  ],
]

const SEGMENTS: readonly (readonly [
  name: string,
  place: { readonly stage: string; readonly segment: number },
  labels: readonly string[],
  make: Make,
])[] = [
  ['COMPLETED', { stage: 'each', segment: 0 }, [], (pawl) => worked(pawl, parts, 'QUARANTINED')],
  [
    'DEAD',
    { stage: 'each', segment: 1 },
    ['Retry', 'Discard', 'Force'],
    (pawl) => worked(pawl, parts, 'QUARANTINED'),
  ],
  [
    'LEASED',
    { stage: 'two', segment: 0 },
    ['Take from its worker', 'Force'],
    (pawl) => running(pawl, true),
  ],
  [
    'held by its effect',
    { stage: 'sell', segment: 0 },
    ['Say what became of charge'],
    (pawl) => worked(pawl, sells, 'QUARANTINED'),
  ],
  [
    'FAILED, and the job is over',
    { stage: 'each', segment: 1 },
    [],
    async (pawl) => {
      const id = await worked(pawl, parts, 'QUARANTINED')
      await pawl.discard(id)
      return id
    },
  ],
]

/** Everything that an operator can send, with what has to be filled in. */
const EVERYTHING: readonly (readonly [OperationName, Record<string, unknown>])[] = [
  ['jobs.release', {}],
  ['jobs.retry', {}],
  ['jobs.discard', {}],
  ['jobs.revoke', {}],
  ['jobs.reschedule', { delay: '2h' }],
  ['jobs.cancel', {}],
  ['jobs.force', { to: 'SUCCEEDED' }],
  ['jobs.force', { to: 'FAILED' }],
  ['jobs.force', { to: 'QUEUED' }],
  ['jobs.rerun', { effects: 'again' }],
  ['jobs.rerun', { from: 'one' }],
  ['jobs.erase', {}],
  ['jobs.resolve', { effect: 0, outcome: 'happened' }],
]
const OF_SEGMENTS = new Set([
  'jobs.retry',
  'jobs.discard',
  'jobs.revoke',
  'jobs.reschedule',
  'jobs.force',
  'jobs.resolve',
])

function offersIt(
  { actions }: Accepted,
  operation: OperationName,
  { to, from }: Record<string, unknown>,
): boolean {
  const one = actions.find(({ action }) => `jobs.${action}` === operation)
  if (one === undefined) return false
  if (one.action === 'force') return one.to.includes(to as never)
  if (one.action === 'rerun') return from === undefined ? one.isWhole : one.from.includes('one')
  return true
}

async function acceptedOf({ call }: Server, id: string, place: object): Promise<Accepted> {
  const { status, body } = await call('jobs.actions', { job: id, ...place })
  expect(status).toBe(200)
  return body as never
}

/** Answered that it did it, and something is different. */
async function isDone(
  { pawl, call }: Server,
  id: string,
  operation: OperationName,
  input: Record<string, unknown>,
): Promise<boolean> {
  const before = (await pawl.history(id, { limit: 1_000 })).length
  const jobs = (await pawl.list()).jobs.length
  const { status } = await call(operation, { job: id, by: 'ada', ...input })
  if (status !== 200) return false
  const entries = (await pawl.history(id, { limit: 1_000 })).length
  return entries > before || (await pawl.list()).jobs.length > jobs
}

async function compareAll(make: Make, place: object): Promise<void> {
  const isSegment = 'stage' in place
  for (const [operation, given] of EVERYTHING) {
    if (isSegment && !OF_SEGMENTS.has(operation)) continue
    const server = await serverInFront()
    const id = await make(server.pawl)
    const accepted = await acceptedOf(server, id, place)
    const { attempt } = accepted
    const input = {
      ...given,
      ...place,
      ...(isSegment && attempt !== null && operation !== 'jobs.resolve' ? { attempt } : {}),
    }
    const isOffered = offersIt(accepted, operation, given)
    const what = `${operation} ${JSON.stringify(given)}`
    expect(`${what}: ${await isDone(server, id, operation, input)}`).toBe(`${what}: ${isOffered}`)
  }
}

const FILLED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'jobs.reschedule': { delay: '2h' },
  'jobs.rerun': { effects: 'again' },
  'jobs.resolve': { outcome: 'happened' },
}

/** Does what the dialog would send if nothing but what is needed was filled in. */
async function doEach(make: Make, place: object, labels: readonly string[]): Promise<void> {
  for (const label of ['', ...labels]) {
    const server = await serverInFront()
    const id = await make(server.pawl)
    const offered = offeredActions(await acceptedOf(server, id, place), ['charge'])
    expect(offered.map((one) => one.label)).toEqual(labels)
    const action = offered.find((one) => one.label === label)?.action
    if (action === undefined) continue
    const { operation, input } = action
    const filled = FILLED[operation] ?? {}
    const values = fieldValues(fieldsOf(action, filled), filled)
    const { status, body } = await server.call(operation, { ...input, ...values, by: 'ada' })
    expect({ label, status, why: body['detail'] }).toMatchObject({ label, status: 200 })
  }
}

describe('what is offered of a job', () => {
  it.each(CASES)(
    'that is %s is %j, and the server does each of them',
    async (_name, labels, make) => doEach(make, {}, labels),
    30_000,
  )

  it.each(CASES)(
    'that is %s is all that the server does of what operators can ask for',
    async (_name, _labels, make) => compareAll(make, {}),
    30_000,
  )
})

describe('what is offered of a segment', () => {
  it.each(SEGMENTS)(
    'that is %s (%j) is %j, and the server does each of them, and nothing else',
    async (_name, place, labels, make) => {
      await doEach(make, place, labels)
      await compareAll(make, place)
    },
    30_000,
  )

  it('that is not there is refused with what there is', async () => {
    const server = await serverInFront()
    const id = await worked(server.pawl, parts, 'QUARANTINED')
    const details = await Promise.all(
      [{ stage: 'none' }, { stage: 'each' }, { stage: 'each', segment: 9 }, { segment: 1 }].map(
        async (place) => (await server.call('jobs.actions', { job: id, ...place })).body['detail'],
      ),
    )
    expect(details).toEqual([
      expect.stringContaining("no stage 'none'"),
      expect.stringContaining("Which segment of stage 'each'"),
      expect.stringContaining("no segment 9 of stage 'each'"),
      expect.stringContaining('Give a `stage`'),
    ])
  })
})

describe('a job that is run again', () => {
  const names = Array.from({ length: 30 }, (_, i) => `step ${i}`)
  const accepted: Accepted = {
    job: 'a',
    stage: null,
    segment: null,
    attempt: 1,
    actions: [
      {
        action: 'rerun',
        isWhole: true,
        from: ['one', 'artifact:map:1', '__proto__', ...names],
        effects: [],
      },
    ],
  }
  const given = new Map([
    ['one', '1'],
    ['artifact:map:1', '{}'],
    ['__proto__', '"odd"'],
    ['step 0', '0'],
    ['step 1', `"${'x'.repeat(30_000)}"`],
    ...names.slice(3).map((name) => [name, 'true'] as const),
  ])
  const fieldsFor = (filled: Filled): readonly ActionField[] => {
    const [offer] = offeredActions(accepted, [], { input: '{"to":"ada"}', steps: given })
    return fieldsOf(offer?.action as never, filled)
  }
  const values = (filled: Filled) => fieldValues(fieldsFor(filled), filled)
  const hint = (from: string): string | undefined =>
    fieldsFor({ from }).find(({ name }) => name === 'from')?.hint
  const labels = (from: string): string[] =>
    fieldsFor({ from }).flatMap(({ label, within }) => (within === undefined ? [] : [label]))

  it('shows the values of the steps before the chosen one that are known, and are values, the nearest first of all', () => {
    expect(labels('')).toEqual([])
    expect(labels('one')).toEqual([])
    expect(labels('step 3')).toEqual(
      ['one', '__proto__', 'step 0'].map((name) => `Value of step ${name}`),
    )
    const shown = labels('step 29')
    expect([shown.length, shown.at(-1)]).toEqual([20, 'Value of step step 28'])
  })

  it('says how many can be changed, and that the others stay', () => {
    expect(hint('step 3')).toMatch(/^Steps before it keep their values. 3 of 6 can be changed/)
    expect(hint('artifact:map:1')).toBe(
      'Steps before it keep their values, or those that you write.',
    )
  })

  it('sends what was changed, under the name of its step, and nothing else', () => {
    expect(values({ from: 'step 3' })).toEqual({ from: 'step 3' })
    const changed = values({ from: 'step 3', 'step one': '2', 'step __proto__': 'null' })
    expect(JSON.stringify(changed)).toBe('{"from":"step 3","steps":{"one":2,"__proto__":null}}')
    // What was written for a step that is not kept any more is not sent.
    expect(values({ from: 'one', 'step one': '2' })).toEqual({ from: 'one' })
    expect(() => values({ from: 'step 3', 'step one': 'two' })).toThrow(/is no JSON/)
  })
})
