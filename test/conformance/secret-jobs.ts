/** Jobs that have a secret in everything that a job can have one in, and that have ended. */
import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import type { Command, JobSpec } from '../../src/kernel/index.ts'
import { childId } from '../../src/kernel/index.ts'
import type { Claimed } from '../../src/store/index.ts'
import { child, failure, pipeline, plain, promise, stage } from '../support/specs.ts'
import type { Bench } from './bench.ts'
import { CHANNEL, claim, commit, reportOf } from './bench.ts'

/** No other test has it: a search through the files of a server that they share finds what is of this one. */
export const SECRET_TEXT = `a-secret-${randomUUID()}`
export const SECRET = JSON.stringify(SECRET_TEXT)
const { queue, type } = CHANNEL
const STAGES = ['one', 'each'].map((name) => ({ queue, type, stage: name }))

const SPEC: Partial<JobSpec> = {
  input: SECRET,
  metadata: SECRET,
  key: 'k',
  asked: { by: 'ops', reason: SECRET },
}

/** Takes the next lease. */
async function leased({ store, clock }: Bench, request: number): Promise<Claimed> {
  clock.time += 5_000
  const [found] = await store.claim(claim({ request, channels: [CHANNEL, ...STAGES] }))
  if (found === undefined) throw new Error('Nothing is ready')
  return found
}

export async function endPlain(bench: Bench, id = 'a', spec: Partial<JobSpec> = {}): Promise<void> {
  const { send } = bench
  await send({ type: 'SubmitJob', job: id, spec: plain({ ...SPEC, ...spec }) })
  const first = reportOf(await leased(bench, 1))
  const step = { type: 'RecordStep', ...first, definitionVersion: 1 } as const
  await send({ ...step, name: 'one', value: SECRET })
  await send({ ...step, name: 'two', value: JSON.stringify(`${'x'.repeat(3_000)} ${SECRET_TEXT}`) })
  await send({ type: 'AppendStream', ...first, name: 'log', offset: 0, values: [SECRET, SECRET] })
  const message = { id: 'm', name: 'go', value: SECRET, checked: null, by: 'app', reason: SECRET }
  await send({ type: 'SendMessage', job: id, stage: 0, segment: 0, ...message })
  const wait = {
    name: 'ask',
    message: 'no',
    schema: SECRET,
    ask: SECRET,
    delayMs: 1,
    dueAt: null,
    callee: null,
  }
  const waits = { waits: [wait], needs: 'any', unfit: [], definitionVersion: 1 } as const
  await send({ type: 'SuspendExecution', ...first, ...waits })
  const second = reportOf(await leased(bench, 2))
  const error = failure({ message: SECRET, stack: SECRET })
  await send({ type: 'FailTask', ...second, error })
  const last = reportOf(await leased(bench, 3))
  const effects = [
    promise({ name: 'mail', input: SECRET, idempotent: true }),
    child(plain({ type: 'other', input: SECRET })),
  ]
  await send({ type: 'CommitExecution', ...last, output: SECRET, effects })
  for (const effect of [0, 1]) {
    await send({ type: 'StartEffect', ...last, effect })
    if (effect === 1) await send(childOf(id, effects[1]?.child as JobSpec))
    expect((await send({ type: 'FinishEffect', ...last, effect })).verdict).toBe('committed')
  }
  expect(await stateOf(bench, id)).toBe('SUCCEEDED')
}

function childOf(id: string, spec: JobSpec): Command {
  const parent = { job: id, stage: 0, segment: 0, effect: 1 }
  return { type: 'SubmitJob', job: childId(parent), spec: { ...spec, parent } }
}

export async function endPipeline(bench: Bench): Promise<void> {
  const { send } = bench
  const stages = [stage('one'), stage('each', { after: ['one'], each: 'one', tolerate: 1 })]
  await send({ type: 'SubmitJob', job: 'p', spec: pipeline(stages, { ...SPEC, key: 'k-p' }) })
  await send({ type: 'OpenStage', job: 'p', stage: 0 })
  await send(commit(await leased(bench, 11), `[${SECRET},${SECRET},${SECRET}]`))
  await send({ type: 'OpenStage', job: 'p', stage: 1 })
  await send(commit(await leased(bench, 12), SECRET))
  const second = reportOf(await leased(bench, 13))
  const value = SECRET
  await send({ type: 'RecordStep', ...second, name: 's', value, definitionVersion: 1 })
  await send({ type: 'CommitExecution', ...second, output: SECRET, effects: [] })
  const error = failure({ type: 'TERMINAL', message: SECRET })
  await send({ type: 'FailTask', ...reportOf(await leased(bench, 14)), error })
  expect(await stateOf(bench, 'p')).toBe('SUCCEEDED')
}

export async function stateOf({ store }: Bench, job: string): Promise<string | undefined> {
  return (await store.query({ kind: 'job', job }))?.state
}
