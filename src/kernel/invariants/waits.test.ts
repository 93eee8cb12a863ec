/**
 * Every check of waits and messages can fail: of records that are damaged in one place, and of entries
 * that should never have been written.
 */
import { describe, expect, it } from 'vitest'
import { Authority, snapshot } from '../../../test/support/authority.ts'
import { pipeline, plain, promise, stage } from '../../../test/support/specs.ts'
import type { Entry, EntryOf, EntryType, Message, Task, Wait, Waiting, World } from '../index.ts'
import { countTallies, fold, jobViolations, stepViolations, taskViolations } from '../index.ts'

type Damaged<T> = { -readonly [K in keyof T]: T[K] }

const answer = {
  name: 'answer',
  message: 'go',
  schema: null,
  ask: null,
  delayMs: 5,
  dueAt: null,
  callee: null,
}
const nap = { ...answer, name: 'nap', message: null }

function leased(): Authority {
  const a = new Authority()
  a.advance(100).must({ type: 'SubmitJob', spec: plain() })
  a.must({ type: 'SendMessage', id: 'other', name: 'other', value: '1' })
  a.must({ type: 'GrantLease', started: true })
  return a
}

function suspended(): Authority {
  const a = leased()
  a.must({ type: 'SuspendExecution', waits: [answer, nap] })
  return a
}

function answered(): Authority {
  const a = suspended()
  a.must({ type: 'SendMessage', id: 'm1', name: 'go', value: '1' })
  a.must({ type: 'GrantLease', request: 2 })
  return a
}

type Damage = (parts: {
  task: Damaged<Task>
  waiting: Damaged<Waiting>
  wait: Damaged<Wait>
  message: Damaged<Message>
}) => void

describe('the records of a task are damaged', () => {
  it.each<[what: string, healthy: () => Authority, damage: Damage]>([
    ['a name is recorded twice', suspended, ({ wait }) => (wait.name = 'nap')],
    [
      'a message is recorded twice',
      suspended,
      ({ waiting, message }) => waiting.messages.push({ ...message }),
    ],
    ['a message that is settled has a value', suspended, ({ message }) => (message.value = null)],
    ["wait 'answer' ended, and by nothing", suspended, ({ wait }) => (wait.endedAt = 100)],
    [
      "wait 'answer' was ended by its time, which was not over",
      answered,
      ({ wait }) => (wait.endedBy = 'time'),
    ],
    ['LEASED in a suspension', answered, ({ waiting }) => (waiting.suspended = 'any')],
    [
      'in a suspension that no lease ended by',
      suspended,
      ({ task }) => (task.leases = [{ ...task.leases[0]!, endedBy: 'LeaseReleased' }]),
    ],
    ['in a suspension that waits for nothing', suspended, ({ waiting }) => (waiting.waits = [])],
    ['due at 7, but its waits say 105', suspended, ({ task }) => (task.dueAt = 7)],
    [
      "wait 'answer' is open, and its message is kept",
      suspended,
      ({ waiting, message }) => (waiting.messages = [{ ...message, name: 'go' }]),
    ],
    [
      "wait 'endless' is open, and its message is kept",
      () => {
        const a = leased()
        a.must({ type: 'SuspendExecution', waits: [{ ...answer, name: 'endless', delayMs: null }] })
        return a
      },
      ({ waiting, message }) => (waiting.messages = [{ ...message, name: 'go' }]),
    ],
  ])('%s', (what, healthy, damage) => {
    const a = healthy()
    const task = a.task()
    expect(taskViolations(task)).toEqual([])
    const waiting = task.waiting as Waiting
    damage({
      task,
      waiting,
      wait: waiting.waits[0] as Wait,
      message: waiting.messages[0] as Message,
    })
    const found = taskViolations(task).map((one) => one.what)
    expect(
      found.some((one) => one.includes(what)),
      found.join('; '),
    ).toBe(true)
  })

  it('a stage is open, and its job still keeps a message for it', () => {
    const a = new Authority()
    a.must({ type: 'SubmitJob', spec: pipeline([stage('only')]) })
    a.must({ type: 'SendMessage', id: 'm', name: 'go', value: '1' })
    const job = a.world.jobs.get('a')!
    const { messages } = job
    a.must({ type: 'OpenStage' })
    job.messages = [...messages]
    expect(
      jobViolations(a.world, job, countTallies(a.world, job), 0).map((one) => one.what),
    ).toContain("a: message 'm' was not handed over to its stage")
  })
})

/** The next entry of job a, legitimate or not. */
function next<T extends EntryType>(
  a: Authority,
  type: T,
  fields: Partial<Omit<EntryOf<T>, 'type'>>,
): EntryOf<T> {
  const { version, attempt } = a.task()
  const address = { job: 'a', stage: 0, segment: 0, lease: attempt, definitionVersion: 1 }
  return {
    type,
    at: a.now,
    version: version + 1,
    ...address,
    unfit: [],
    by: 'ops',
    reason: '',
    ...fields,
  } as unknown as EntryOf<T>
}

function audit(a: Authority, entry: Entry, meddle: (world: World) => void = () => {}): string {
  const before = snapshot(a.world)
  const after = snapshot(a.world)
  fold(after, entry)
  meddle(after)
  return stepViolations(before, entry, after)
    .map((one) => `${one.invariant} ${one.what}`)
    .join('; ')
}

const pending = {
  name: 'more',
  message: 'other',
  schema: null,
  ask: null,
  until: null,
  callee: null,
}
const sent = { id: 'm9', name: 'go', value: '1', wait: null, dueAt: 100 }

describe('an entry is seen for what it is', () => {
  it('when a grant ends no wait although its time is over', () => {
    const a = suspended()
    a.advance(5)
    const grant = { lease: 2, worker: 'w1', request: 2, expiresAt: 200, started: true }
    const entry = next(a, 'LeaseGranted', { ...grant, timedOut: false })
    expect(audit(a, entry)).toContain('12 LeaseGranted: a grant ended no wait')
  })

  it('when a message ends a wait after its time, or comes after the commit', () => {
    const a = suspended()
    a.advance(5)
    const entry = next(a, 'MessageSent', { ...sent, wait: 'answer' })
    expect(audit(a, entry)).toContain("wait 'answer' was ended by a message, and was not open")
    const b = leased()
    b.must({ type: 'CommitExecution', effects: [promise()] })
    expect(audit(b, next(b, 'MessageSent', sent))).toContain('3 MessageSent: a message was sent')
  })

  it('when what waits in a suspension is rescheduled', () => {
    const a = suspended()
    const to = { dueAt: 105, startBy: null, priority: 3, toQueue: 'default' }
    const entry = next(a, 'TaskRescheduled', { ...to, attempt: 1, by: 'me', reason: '' })
    expect(audit(a, entry)).toBe('12 TaskRescheduled: a task was rescheduled in a suspension')
  })

  it('when a wait ends in place after the commit, or passes a message over', () => {
    const b = leased()
    b.must({ type: 'CommitExecution', effects: [promise()] })
    const ended = { wait: pending, message: 'other' }
    expect(audit(b, next(b, 'WaitEnded', ended))).toContain('a wait ended after the commit')
    const a = leased()
    a.must({ type: 'SendMessage', id: 'next', name: 'other', value: '2' })
    const passed = { wait: pending, message: 'next' }
    expect(audit(a, next(a, 'WaitEnded', passed))).toContain('12 WaitEnded: a message was passed')
  })

  it('when an older version of the definition records', () => {
    const a = leased()
    a.must({ type: 'RecordStep', name: 's', value: '1', definitionVersion: 3 })
    const entry = next(a, 'WaitEnded', { wait: pending, message: 'other' })
    expect(audit(a, entry)).toContain('version 1 of the definition recorded after version 3')
  })

  it('when a wait that ended is changed, or a message is settled again, or gone', () => {
    const a = answered()
    const entry = next(a, 'StepRecorded', { name: 's', value: '1' })
    expect(audit(a, entry)).toBe('')
    const meddled = audit(a, entry, (world) => {
      const task = world.jobs.get('a')?.task as Task
      const { waits, messages } = task.waiting as Waiting
      waits[0]!.value = '2'
      messages[1]!.state = 'SKIPPED'
      messages.shift()
    })
    expect(meddled).toContain("wait 'answer' ended, and then was changed")
    expect(meddled).toContain("message 'm1' was TAKEN, and is SKIPPED")
    expect(meddled).toContain("message 'other' was KEPT, and is gone")
  })

  it('when a job that is ending keeps a message', () => {
    const a = new Authority()
    a.must({ type: 'SubmitJob', spec: pipeline([stage('one'), stage('two', { after: ['one'] })]) })
    a.must({ type: 'OpenStage' })
    a.must({ type: 'CancelJob' })
    const message = {
      stage: 1,
      segment: 0,
      id: 'm',
      name: 'go',
      value: '1',
      at: 0,
      by: '',
      reason: '',
    }
    const entry: Entry = { type: 'MessageKept', at: 0, version: 4, job: 'a', message }
    expect(audit(a, entry)).toContain('10 MessageKept: a message was kept for a job that is ending')
  })
})
