/**
 * Every validation guard says no by name, with a code and a message that names the thing and
 * the fix. (What the safety guards are good for is shown by leaving them out.)
 */
import { describe, expect, it } from 'vitest'
import { Authority } from '../../test/support/authority.ts'
import { failure, pipeline, plain, promise, stage } from '../../test/support/specs.ts'
import type { Command, CommandType, RejectionCode, WaitSpec } from './index.ts'
import { LIMITS, listGuards, rulesWithout } from './index.ts'

interface Case {
  readonly code: RejectionCode
  readonly message: RegExp
  /** What must have happened before. */
  readonly before?: (a: Authority) => void
  readonly fields?: Partial<Record<string, unknown>>
}

const submitted = (a: Authority) => void a.must({ type: 'SubmitJob', spec: plain() })
const started = (a: Authority) => {
  submitted(a)
  a.must({ type: 'GrantLease', started: true })
}
const committed = (a: Authority) => {
  started(a)
  a.must({ type: 'CommitExecution', effects: [promise()] })
}

/** As large as each of them may be. */
const fullEffects = (count: number) =>
  Array.from({ length: count }, () => promise({ input: 'x'.repeat(LIMITS.payloadChars) }))

const noTask: Case = { code: 'UnknownTask', message: /no task a\/0\/0.*stage is not open/ }
const noLease: Case = {
  code: 'UnknownLease',
  message: /Lease 2 of task a\/0\/0 was never granted; the newest is 1/,
  before: started,
  fields: { lease: 2 },
}
const noJob: Case = { code: 'UnknownJob', message: /no job a: check the id/ }
const noEffect: Case = {
  code: 'UnknownEffect',
  message: /commit of task a\/0\/0 promised no effect 7/,
  before: committed,
  fields: { effect: 7 },
}

/** What a command needs that the defaults of a test do not give it. */
const FIELDS: { readonly [T in CommandType]?: Record<string, unknown> } = {
  RecordStep: { name: 'step', value: '1' },
  AppendStream: { name: 'log', values: ['1'] },
  ReplaceJob: { input: '{}' },
  FailTask: { error: failure() },
  FailEffect: { error: failure() },
  ResolveEffect: { start: 1, outcome: 'happened' },
  ForceTask: { to: 'FAILED', output: null },
  EndWait: {
    wait: {
      name: 'w',
      message: null,
      schema: null,
      ask: null,
      delayMs: 5,
      dueAt: null,
      callee: null,
    },
  },
  SuspendExecution: {
    waits: [
      { name: 'w', message: null, schema: null, ask: null, delayMs: 5, dueAt: null, callee: null },
    ],
  },
  ContinueExecution: { input: '1' },
  AnswerCall: { name: 'w' },
  SendMessage: { id: 'm', name: 'go', value: '1' },
}

const wait = (changes: Partial<WaitSpec> = {}): WaitSpec => {
  return {
    name: 'w',
    message: null,
    schema: null,
    ask: null,
    delayMs: 5,
    dueAt: null,
    callee: null,
    ...changes,
  }
}
const asked = (changes: Partial<WaitSpec> = {}): WaitSpec => {
  return wait({ message: 'go', delayMs: null, ...changes })
}
const suspended = (a: Authority) => {
  started(a)
  a.must({ type: 'SuspendExecution', waits: [asked({ schema: '{"type":"number"}' })] })
}
const manyWaits = (a: Authority) => {
  started(a)
  for (let i = 0; i < LIMITS.waits; i++) {
    a.must({ type: 'EndWait', wait: wait({ name: `wait ${i}`, delayMs: 0 }) })
  }
}
const stepNamed = (a: Authority) => {
  started(a)
  a.must({ type: 'RecordStep', name: 'w', value: '1' })
}
const tooManyWaits: Case = {
  code: 'LimitExceeded',
  message: /Task a\/0\/0 would have more than 1024 waits: continue with a new input/,
  before: manyWaits,
}

const CASES: Readonly<Record<string, Case>> = {
  'RecordStep.name-free': {
    code: 'NameTaken',
    message: /Task a\/0\/0 waits, or waited, under the name 'step': give the step another one/,
    before: (a) => {
      started(a)
      a.must({ type: 'EndWait', wait: wait({ name: 'step', delayMs: 0 }) })
    },
  },
  'EndWait.task-known': noTask,
  'EndWait.lease-known': noLease,
  'EndWait.valid-waits': {
    code: 'InvalidWait',
    message: /Wait 'w' has neither a message nor a callee nor a time: it would not end/,
    before: started,
    fields: { wait: wait({ delayMs: null }) },
  },
  'EndWait.name-free': {
    code: 'NameTaken',
    message: /Task a\/0\/0 has a step 'w': give the wait another name/,
    before: stepNamed,
  },
  'EndWait.room-for-waits': tooManyWaits,
  'SuspendExecution.task-known': noTask,
  'SuspendExecution.lease-known': noLease,
  'SuspendExecution.valid-waits': {
    code: 'InvalidWait',
    message: /Two waits are named 'w': give each its own name/,
    before: started,
    fields: { waits: [wait(), wait()] },
  },
  'SuspendExecution.name-free': {
    code: 'NameTaken',
    message: /Task a\/0\/0 has a step 'w': give the wait another name/,
    before: stepNamed,
  },
  'SuspendExecution.room-for-waits': tooManyWaits,
  'ContinueExecution.task-known': noTask,
  'ContinueExecution.lease-known': noLease,
  'AnswerCall.task-known': noTask,
  'SendMessage.receiver-known': {
    code: 'UnknownJob',
    message: /no task a\/0\/0 to send a message to: check the job, the stage and the segment/,
  },
  'SendMessage.room-for-message': {
    code: 'LimitExceeded',
    message: /256 messages wait for task a\/0\/0, which is the most: send it later/,
    before: (a) => {
      submitted(a)
      for (let i = 0; i < LIMITS.messages; i++) {
        a.must({ type: 'SendMessage', id: `m${i}`, name: 'go', value: '1' })
      }
    },
  },
  'SendMessage.value-checked': {
    code: 'MessageNotChecked',
    message: /Wait 'w' of task a\/0\/0 asks for something else.*check it against this schema/,
    before: suspended,
  },
  'RetryTask.not-suspended': {
    code: 'TaskSuspended',
    message: /Task a\/0\/0 waits, and goes on when its wait ends: send the message, cancel the job/,
    before: suspended,
  },
  'SubmitJob.valid-fields': {
    code: 'InvalidSpec',
    message: /The job's priority must be a whole number from -1000 to 1000/,
    fields: { spec: plain({ priority: 9_999 }) },
  },
  'SubmitJob.valid-shape': {
    code: 'InvalidShape',
    message: /Stage 'join' comes after 'encode', which is no stage; the stages are: join/,
    fields: { spec: pipeline([stage('join', { after: ['encode'] })]) },
  },
  'ReleaseJob.job-known': noJob,
  'ReplaceJob.job-known': noJob,
  'ReplaceJob.valid-shape': {
    code: 'InvalidShape',
    message:
      /Stage 'work': each: 'input' is not an array; give the job an input with such an array/,
    before: (a) =>
      void a.must({
        type: 'SubmitJob',
        spec: pipeline([stage('work', { each: 'input' })], { input: '[]' }),
      }),
  },
  'AppendStream.task-known': noTask,
  'AppendStream.lease-known': noLease,
  'AppendStream.room-for-values': {
    code: 'LimitExceeded',
    message: /Task a\/0\/0 has 16 streams, which is the most: append to one of them/,
    before: (a) => {
      started(a)
      for (let i = 0; i < LIMITS.streams; i++) {
        a.must({ type: 'AppendStream', name: `stream ${i}`, values: ['1'] })
      }
    },
  },
  'OpenStage.job-known': noJob,
  'OpenStage.stage-known': {
    code: 'UnknownStage',
    message: /Job a has no stage 3/,
    before: (a) => void a.must({ type: 'SubmitJob', spec: pipeline([stage('only')]) }),
    fields: { stage: 3 },
  },
  'GrantLease.task-known': noTask,
  'StartExecution.task-known': noTask,
  'StartExecution.lease-known': noLease,
  'ExtendLease.task-known': noTask,
  'ExtendLease.lease-known': noLease,
  'ReleaseLease.task-known': noTask,
  'ReleaseLease.lease-known': noLease,
  'RecordStep.task-known': noTask,
  'RecordStep.lease-known': noLease,
  'RecordStep.room-for-step': {
    code: 'LimitExceeded',
    message: /Task a\/0\/0 has 1024 steps, which is the most: record fewer, larger ones/,
    before: (a) => {
      started(a)
      for (let i = 0; i < LIMITS.steps; i++) {
        a.must({ type: 'RecordStep', name: `step ${i}`, value: '1' })
      }
    },
  },
  'CommitExecution.task-known': noTask,
  'CommitExecution.lease-known': noLease,
  'CommitExecution.valid-promises': {
    code: 'InvalidSpec',
    message: /Effect 1 must be an object whose name is a text of 1 to 256 characters/,
    before: started,
    fields: { effects: [promise(), promise({ name: '' })] },
  },
  'CommitExecution.room-for-commit': {
    code: 'LimitExceeded',
    message: /commit of task a\/0\/0 has 8388609 characters, more than 8388608: put large data/,
    before: started,
    fields: { output: '1', effects: fullEffects(LIMITS.commitChars / LIMITS.payloadChars) },
  },
  'FailTask.task-known': noTask,
  'FailTask.lease-known': noLease,
  'StartEffect.task-known': noTask,
  'StartEffect.lease-known': noLease,
  'StartEffect.effect-known': noEffect,
  'FinishEffect.task-known': noTask,
  'FinishEffect.lease-known': noLease,
  'FinishEffect.effect-known': noEffect,
  'FailEffect.task-known': noTask,
  'FailEffect.lease-known': noLease,
  'FailEffect.effect-known': noEffect,
  'ResolveEffect.task-known': noTask,
  'ResolveEffect.effect-known': noEffect,
  'ExpireLease.task-known': noTask,
  'ExpireLease.lease-known': noLease,
  'RevokeLease.task-known': noTask,
  'RevokeLease.attempt-seen': {
    code: 'TaskChanged',
    message: /Task a\/0\/0 is at attempt 1, not 2: look again first/,
    before: started,
    fields: { lease: 2 },
  },
  'CancelJob.job-known': noJob,
  'EraseJob.job-known': noJob,
  'CancelJob.attempt-seen': {
    code: 'TaskChanged',
    message: /Job a is at attempt 1, not 2: look again first/,
    before: started,
    fields: { attempt: 2 },
  },
  'CancelJob.task-dead': {
    code: 'TaskNotDead',
    message: /Job a is RUNNING: only what is in quarantine is discarded/,
    before: started,
    fields: { attempt: 1 },
  },
  'StopTask.task-known': noTask,
  'RetryTask.task-known': noTask,
  'ForceTask.task-known': noTask,
  'ForceTask.start-by': {
    code: 'StartByPassed',
    message: /Task a\/0\/0 was to start by 5: submit it again instead/,
    before: (a) => {
      a.must({ type: 'SubmitJob', spec: plain({ startWithinMs: 5 }) })
      a.advance(5)
    },
    fields: { to: 'WAITING' },
  },
  'RescheduleTask.task-known': noTask,
  'RescheduleTask.start-by': {
    code: 'StartByPassed',
    message: /Task a\/0\/0 was to start by 5: submit it again instead/,
    before: (a) => {
      a.must({ type: 'SubmitJob', spec: plain({ startWithinMs: 5 }) })
      a.advance(5)
    },
    fields: { dueAt: 9 },
  },
  'ForgetJob.old-enough': {
    code: 'JobTooYoung',
    message: /Job a ended at 0: ask with a time after that, and not after now/,
    before: (a) => {
      started(a)
      a.must({ type: 'CommitExecution' })
    },
    fields: { endedBefore: 0 },
  },
  'SetSchedule.version-seen': {
    code: 'ScheduleChanged',
    message: /Schedule s is at version 1, not 0: look again first/,
    before: (a) => void a.must({ type: 'SetSchedule', definition: 'daily' }),
    fields: { definition: 'hourly', seen: 0 },
  },
  'FireSchedule.schedule-known': {
    code: 'UnknownSchedule',
    message: /no schedule s: set it first/,
    fields: { tick: 1 },
  },
}

/** These answer `cancelled`: a worker that lost its authority made no mistake. */
const REFUSING: Readonly<Record<string, (a: Authority) => void>> = {
  'FinishEffect.lease-or-starter': (a) => {
    committed(a)
    a.advance(30_000)
  },
}

function rejectionOf(id: string, { before, fields }: Case) {
  const type = id.split('.')[0] as CommandType
  const a = new Authority()
  before?.(a)
  const entries = a.log.length
  const decision = a.send({ type, ...FIELDS[type], ...fields } as Command)
  expect(a.log.length, 'nothing is written').toBe(entries)
  expect(decision.verdict).toBe('rejected')
  return decision.rejection
}

describe('a validation guard says no', () => {
  it.each(Object.entries(CASES))('%s', (id, one) => {
    const rejection = rejectionOf(id, one)
    expect(rejection?.code).toBe(one.code)
    expect(`${id.split('.')[0]}.${rejection?.check}`).toBe(id)
    expect(rejection?.message).toMatch(one.message)
  })

  it('and each of those that exist has such a test', () => {
    const existing = listGuards().filter(({ kind }) => kind === 'validation')
    const tested = [...Object.keys(CASES), ...Object.keys(REFUSING)]
    expect(tested.toSorted()).toEqual(existing.map(({ id }) => id).toSorted())
    expect(tested.length).toBe(73)
  })
})

describe('a validation guard tells a worker to stop', () => {
  it.each(Object.entries(REFUSING))('%s', (id, before) => {
    const type = id.split('.')[0] as CommandType
    const [first, without] = [new Authority(), new Authority(rulesWithout(id))].map((a) => {
      before(a)
      return a.send({ type } as Command)
    })
    expect(first?.verdict).toBe('cancelled')
    expect(first?.entry).toMatchObject({ type: 'ReportRefused', report: type })
    expect(without?.verdict).toBe('rejected')
  })
})

describe('the list of guards', () => {
  it('names each guard once', () => {
    const ids = listGuards().map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
  })

  it('says of each in a sentence what holds when it lets through', () => {
    for (const { holds } of listGuards()) expect(holds).toMatch(/^[A-Z].*\.$/)
  })
})

describe('an effect of a task that is not committed', () => {
  it.each(['StartEffect', 'FinishEffect', 'FailEffect', 'ResolveEffect'] as const)(
    'is refused by %s, because there is none yet',
    (type) => {
      const a = new Authority()
      started(a)
      const { rejection } = a.send({ type, ...FIELDS[type] })
      expect(rejection?.code).toBe('NotCommitted')
      expect(rejection?.check).toBe('effect-known')
      expect(rejection?.message).toMatch(/Task a\/0\/0 is not committed/)
    },
  )
})
