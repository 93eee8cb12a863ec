/** What the page offers to do to a job, the server does: in every state, each action on a job of its own. */
import { describe, expect, it, onTestFinished } from 'vitest'
import type { AnyJob, Pawl } from '../../../index.ts'
import { job, message, typed } from '../../../index.ts'
import { deferred } from '../../../../test/support/engines.ts'
import type { Server } from '../../../../test/support/server-calls.ts'
import { serverInFront } from '../../../../test/support/server-calls.ts'
import { fieldValues } from '../action.ts'
import type { OfferedAction } from './job-actions.ts'
import { offeredActions } from './job-actions.ts'

const note = job('note', { input: typed<unknown>(), run: () => 'noted' })
const fails = job('fails', {
  input: typed<unknown>(),
  retry: { max: 0 },
  run: () => {
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

/** Of each state, how a job comes to be in it, and what is offered then. */
const CASES: readonly (readonly [
  state: string,
  labels: readonly string[],
  make: (pawl: Pawl) => Promise<string>,
])[] = [
  [
    'CREATED',
    ['Reschedule', 'Cancel', 'Force'],
    async (pawl) => (await pawl.submit(note, 1, { delay: '1h' })).id,
  ],
  [
    'CREATED',
    ['Release', 'Reschedule', 'Cancel', 'Force'],
    async (pawl) => (await pawl.submit(note, 1, { hold: true })).id,
  ],
  [
    'QUEUED',
    ['Reschedule', 'Cancel', 'Force'],
    async (pawl) => (await pawl.submit(note, 1, { queue: 'unserved' })).id,
  ],
  ['RUNNING', ['Take from its worker', 'Cancel', 'Force'], running],
  ['SUSPENDED', ['Cancel', 'Force'], (pawl) => worked(pawl, waits, 'SUSPENDED')],
  ['RETRYING', ['Reschedule', 'Cancel', 'Force'], (pawl) => worked(pawl, later, 'RETRYING')],
  ['QUARANTINED', ['Retry', 'Discard', 'Force'], (pawl) => worked(pawl, fails, 'QUARANTINED')],
  ['SUCCEEDED', ['Run again', 'Erase'], (pawl) => worked(pawl, note, 'SUCCEEDED')],
]

async function worked(pawl: Pawl, definition: AnyJob, state: string): Promise<string> {
  const { id } = await pawl.submit(definition as typeof note, 1)
  const worker = pawl.work([definition])
  await expect.poll(async () => (await pawl.get(id))?.state).toBe(state)
  await worker.stop()
  return id
}

async function running(pawl: Pawl): Promise<string> {
  const [inside, gate] = [deferred(), deferred()]
  onTestFinished(() => gate.resolve())
  const slow = job('slow', {
    input: typed<unknown>(),
    run: async () => {
      inside.resolve()
      await gate.promise
    },
  })
  const { id } = await pawl.submit(slow, 1)
  pawl.work([slow])
  await inside.promise
  return id
}

async function offered({ call }: Server, id: string) {
  const shown = await call('jobs.show', { job: id })
  const why = await call('jobs.explain', { job: id })
  return offeredActions(shown.body as never, why.body as never)
}

/** What the dialog would send if nothing but what is needed was filled in. */
const FILLED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'jobs.reschedule': { delay: '2h' },
}

describe('the actions that are offered', () => {
  it.each(CASES)(
    'to a %s job are %j, and the server does each of them',
    async (state, labels, make) => {
      for (const label of labels) {
        const server = await serverInFront()
        const id = await make(server.pawl)
        expect((await server.pawl.get(id))?.state).toBe(state)
        const actions = await offered(server, id)
        expect(actions.map((one) => one.label)).toEqual(labels)
        const { action } = actions[labels.indexOf(label)] as OfferedAction
        const { operation, input, fields = [] } = action
        const values = fieldValues(fields, FILLED[operation] ?? {})
        const { status, body } = await server.call(operation, { ...input, ...values, by: 'ada' })
        expect({ label, status, why: body['detail'] }).toMatchObject({ label, status: 200 })
      }
    },
    30_000,
  )
})
