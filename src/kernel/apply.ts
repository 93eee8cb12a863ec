/**
 * Changes one aggregate by one entry, in place.
 *
 * Has nothing to decide: the entry carries what follows. Trusts the entry, because `decide`
 * made it; an entry that does not fit its record (a corrupt or foreign log) throws
 * `BrokenEntry`, and the invariants say what is wrong with the rest.
 */
import type {
  Aftermath,
  EffectFailed,
  EffectResolved,
  Entry,
  ExecutionCommitted,
  ExecutionContinued,
  ExecutionSuspended,
  JobEntry,
  JobReplaced,
  LeaseGranted,
  MessageSent,
  QueueEntry,
  ScheduleEntry,
  StageOpened,
  StreamAppended,
  TaskEntry,
  TaskForced,
  TaskRescheduled,
  TaskRetried,
  WaitEnded,
} from './entries.ts'
import { createTask, NONE, startByOf } from './create.ts'
import { LIMITS } from './limits.ts'
import type {
  Effect,
  Job,
  KeptMessage,
  Lease,
  LeaseEnd,
  Message,
  PendingWait,
  Queue,
  Schedule,
  Task,
  TaskState,
  Wait,
  WaitEnd,
  Waiting,
} from './model.ts'
import { deadlineOf, headOf } from './model.ts'
import { PawlError } from './pawl-error.ts'
import { redactJob } from './user-data.ts'
import { findMessage, findWait, timedOutAt } from './waits.ts'

/** The log holds an entry that cannot be applied to the record it names. */
export class BrokenEntry extends PawlError {
  readonly entry: Entry
  constructor(entry: Entry, why: string) {
    const what = `${entry.type} at version ${entry.version} cannot be applied: ${why}`
    super('BrokenEntry', 'corrupt', what)
    this.entry = entry
  }
}

/** The tasks that an opened stage consists of. BEFORE the entry is applied to the job, which keeps messages for them. */
export function createStageTasks(job: Job, entry: StageOpened): Task[] {
  const tasks: Task[] = []
  // Once: it may have to be read.
  const { spec } = job
  for (let segment = 0; segment < entry.segments; segment++) {
    const task = createTask(job, spec, entry.stage, segment, entry.at, 1)
    if (entry.error !== null) {
      task.error = entry.error
      endTask(task, 'FAILED', entry.at)
    }
    tasks.push(task)
  }
  for (const message of job.messages) {
    if (message.stage === entry.stage) handOver(tasks[message.segment], message)
  }
  return tasks
}

/** A message for a segment that there is not is dropped, and so is one for a task that is over. */
function handOver(task: Task | undefined, message: KeptMessage): void {
  if (task === undefined || task.state !== 'WAITING') return
  const { id, name, value, at, by, reason } = message
  const { messages } = waitingOf(task)
  messages.push({ id, name, value, at, by, reason, state: 'KEPT' })
}

function stamp(head: { version: number; time: number }, entry: Entry): void {
  head.version = entry.version
  head.time = entry.at
}

/**
 * Entries of the job itself. Creating and forgetting a job, and redacting the tasks of a pipeline that is
 * erased, is up to the world that holds them.
 */
export function applyToJob(job: Job, entry: JobEntry): void {
  const timeBefore = job.time
  stamp(headOf(job), entry)
  switch (entry.type) {
    case 'JobReleased':
      job.held = false
      return
    case 'JobReplaced':
      return replace(job, entry)
    case 'JobCancelled':
      job.cancelled = {
        at: entry.at,
        by: entry.by,
        reason: entry.reason,
        deadline: entry.deadline,
      }
      if (job.task !== null) {
        endLease(job.task, entry.at, 'JobCancelled')
        endTask(job.task, 'FAILED', entry.at)
      }
      return
    case 'StageOpened':
      if (job.opened === null) throw new BrokenEntry(entry, 'a plain job has no stages')
      job.opened[entry.stage] = entry.segments
      if (job.messages.length > 0) {
        const others = job.messages.filter(({ stage }) => stage !== entry.stage)
        job.messages = others.length === 0 ? NONE : others
      }
      return
    case 'MessageKept':
      if (job.opened === null) throw new BrokenEntry(entry, 'a plain job has no stages')
      job.messages = kept(job.messages, entry.message, LIMITS.messages)
      return
    case 'JobErased': {
      const { at, by, reason } = entry
      job.erased = { at, by, reason, timeBefore }
      redactJob(job)
      return
    }
    case 'JobSubmitted':
    case 'JobForgotten':
      return
  }
}

/** As if it were submitted now. What it was rescheduled to, but for the time, stays. */
function replace(job: Job, entry: JobReplaced): void {
  const { at, dueAt, input, definitionVersion, replacement } = entry
  const ids = [...(job.replaced?.ids ?? NONE), replacement].slice(-LIMITS.replacements)
  const { spec, task } = job
  job.replaced = { ids, at, input, definitionVersion }
  job.dueAt = dueAt
  job.deadlineAt = deadlineOf(spec, at)
  if (task === null) return
  task.dueAt = dueAt
  task.startBy = startByOf(spec, dueAt)
  // They were made of the input that is gone.
  task.steps = NONE
}

/** Entries of a task. A plain job's version and time are those of its task. */
export function applyToTask(task: Task, entry: TaskEntry): void {
  stamp(task, entry)
  switch (entry.type) {
    case 'LeaseGranted':
      return grant(task, entry)
    case 'ExecutionStarted':
      return noteStart(task, entry)
    case 'LeaseExtended': {
      const lease = leaseOf(task, entry.lease, entry)
      lease.expiresAt = entry.expiresAt
      lease.extension = entry.extension
      return
    }
    case 'StepRecorded':
      noteStart(task, entry)
      noteDefinition(task, entry)
      task.steps = kept(
        task.steps,
        { name: entry.name, value: entry.value, lease: entry.lease },
        LIMITS.steps,
      )
      return
    case 'StreamAppended':
      return appendTo(task, entry)
    case 'WaitEnded':
      return endWaitInPlace(task, entry)
    case 'ExecutionSuspended':
      return suspend(task, entry)
    case 'ExecutionContinued':
      return continueAnew(task, entry)
    case 'MessageSent':
      return receive(task, entry)
    case 'ExecutionCommitted':
      return commit(task, entry)
    case 'EffectStarted': {
      const effect = effectOf(task, entry.effect, entry)
      effect.state = 'STARTED'
      effect.starts = kept(effect.starts, entry.lease, LIMITS.leasesRemembered)
      return
    }
    case 'EffectFinished':
      effectOf(task, entry.effect, entry).state = 'FINISHED'
      return moveOn(task, entry.next, entry.at, entry.type)
    case 'EffectFailed':
      return failEffect(task, entry)
    case 'EffectResolved':
      return resolve(task, entry)
    case 'TaskFailed':
      noteStart(task, entry)
      task.error = entry.error
      if (entry.free) task.snoozes += 1
      return conclude(task, entry)
    case 'LeaseReleased':
    case 'LeaseExpired':
    case 'LeaseRevoked':
      return conclude(task, entry)
    case 'ReportRefused':
      leaseOf(task, entry.lease, entry).refused = true
      return
    case 'TaskStopped':
      endLease(task, entry.at, entry.type)
      return endTask(task, 'FAILED', entry.at)
    case 'TaskRetried':
      return retry(task, entry)
    case 'TaskForced':
      return force(task, entry)
    case 'TaskRescheduled':
      return reschedule(task, entry)
  }
}

export function applyToQueue(queue: Queue, entry: QueueEntry): void {
  stamp(queue, entry)
  switch (entry.type) {
    case 'QueueConfigured':
      queue.concurrency = entry.concurrency
      queue.rate = entry.rate
      queue.ageingMs = entry.ageingMs
      return
    case 'QueuePaused':
      queue.paused = true
      queue.pausedAt = entry.at
      queue.pausedBy = entry.by
      queue.pauseReason = entry.reason
      return
    case 'QueueResumed':
      queue.paused = false
      queue.pausedBy = null
      queue.pauseReason = null
      return
  }
}

export function applyToSchedule(schedule: Schedule, entry: ScheduleEntry): void {
  stamp(schedule, entry)
  switch (entry.type) {
    case 'ScheduleSet':
      schedule.definition = entry.definition
      return
    case 'ScheduleFired':
      schedule.firedTick = entry.tick
      return
    case 'ScheduleRemoved':
      schedule.definition = null
      return
  }
}

function grant(task: Task, entry: LeaseGranted): void {
  const lease: Lease = {
    number: entry.lease,
    worker: entry.worker,
    request: entry.request,
    session: entry.session,
    queue: task.policy.queue,
    grantedAt: entry.at,
    expiresAt: entry.expiresAt,
    extension: 0,
    startedAt: entry.started ? entry.at : null,
    endedAt: null,
    endedBy: null,
    endedByEffect: null,
    refused: false,
  }
  // BEFORE the attempt is the next one: they are those of the one before.
  const timedOut = entry.timedOut ? timedOutAt(task, entry.at) : NONE
  task.state = 'LEASED'
  task.attempt = entry.lease
  task.lease = lease
  task.leases = kept(task.leases, lease, LIMITS.leasesRemembered)
  const { waiting } = task
  if (waiting === null || waiting.suspended === null) return
  for (const wait of timedOut) endWait(wait, 'time', null, entry.at)
  waiting.suspended = null
  // Lost or given back, it has the place that it had.
  task.dueAt = waiting.firstDueAt as number
}

/** The work has begun, as this entry says or shows: the first one that does counts. */
function noteStart(task: Task, entry: TaskEntry & { readonly lease: number }): void {
  const lease = leaseOf(task, entry.lease, entry)
  lease.startedAt ??= entry.at
}

function noteDefinition(task: Task, entry: { readonly definitionVersion: number }): void {
  if (entry.definitionVersion > task.definitionVersion) {
    task.definitionVersion = entry.definitionVersion
  }
}

/** Offsets go on from attempt to attempt, whatever becomes of input and steps: readers have seen them. */
function appendTo(task: Task, entry: StreamAppended): void {
  noteStart(task, entry)
  const { name, offset, lease, values } = entry
  const stream = task.streams.find((one) => one.name === name)
  const next = offset + values.length
  if (stream === undefined) {
    task.streams = kept(task.streams, { name, next, lease, since: offset }, LIMITS.streams)
    return
  }
  stream.next = next
  if (stream.lease === lease) return
  stream.lease = lease
  stream.since = offset
}

function waitingOf(task: Task): Waiting {
  task.waiting ??= { suspended: null, firstDueAt: null, waits: [], messages: [] }
  return task.waiting
}

function waitOf(task: Task, name: string, entry: Entry): Wait {
  const wait = findWait(task, name)
  if (wait === undefined) throw new BrokenEntry(entry, `the task has no wait '${name}'`)
  return wait
}

function endWait(wait: Wait, by: WaitEnd, value: string | null, at: number): void {
  wait.endedAt = at
  wait.endedBy = by
  wait.value = value
}

/** A wait that is asked for again keeps when it began and its time; what is asked is the newest. */
function recordWait(
  waiting: Waiting,
  asked: PendingWait,
  { lease, at }: { readonly lease: number; readonly at: number },
  suspends: boolean,
): Wait {
  const index = waiting.waits.findIndex((one) => one.name === asked.name)
  const { name, message, schema, ask, until, callee } = asked
  const since = waiting.waits[index]?.since ?? at
  const wait: Wait = {
    name,
    message,
    schema,
    ask,
    until,
    callee,
    since,
    lease,
    suspends,
    endedAt: null,
    endedBy: null,
    value: null,
  }
  if (index === -1) waiting.waits.push(wait)
  else waiting.waits[index] = wait
  return wait
}

/** What a message said is with the wait that it ended, or was skipped: its id is for repeats. */
function settleMessage(task: Task, id: string, state: 'TAKEN' | 'SKIPPED', entry: Entry): string {
  const message = findMessage(task, id)
  if (message === undefined) throw new BrokenEntry(entry, `the task has no message '${id}'`)
  const { value } = message
  message.state = state
  message.value = null
  return value as string
}

function endWaitInPlace(task: Task, entry: WaitEnded): void {
  noteStart(task, entry)
  noteDefinition(task, entry)
  const wait = recordWait(waitingOf(task), entry.wait, entry, false)
  for (const id of entry.unfit) settleMessage(task, id, 'SKIPPED', entry)
  const { message, answer } = entry
  if (answer !== null) return endWait(wait, 'callee', answer, entry.at)
  if (message === null) return endWait(wait, 'time', null, entry.at)
  endWait(wait, 'message', settleMessage(task, message, 'TAKEN', entry), entry.at)
}

function suspend(task: Task, entry: ExecutionSuspended): void {
  noteStart(task, entry)
  noteDefinition(task, entry)
  const waiting = waitingOf(task)
  for (const wait of entry.waits) recordWait(waiting, wait, entry, true)
  for (const id of entry.unfit) settleMessage(task, id, 'SKIPPED', entry)
  endLease(task, entry.at, entry.type)
  waiting.firstDueAt ??= task.dueAt
  task.state = 'WAITING'
  task.dueAt = entry.dueAt
  task.budget = entry.budget
  dropOldLeases(task)
  waiting.suspended = entry.needs
}

function dropOldLeases(task: Task): void {
  if (task.leases.length > LIMITS.leasesAfterSuspension) {
    task.leases = task.leases.slice(-LIMITS.leasesAfterSuspension)
  }
}

/** It stands in line as what has just come: a run that ends by beginning anew gives others their turn. */
function continueAnew(task: Task, entry: ExecutionContinued): void {
  noteStart(task, entry)
  noteDefinition(task, entry)
  endLease(task, entry.at, entry.type)
  dropRecord(task, true)
  task.input = entry.input
  task.state = 'WAITING'
  task.dueAt = entry.at
  task.budget = entry.budget
  dropOldLeases(task)
}

/**
 * New input: neither steps nor waits are about it. What was sent and not taken stays. `keepsSettled`: so do
 * the ids of messages that were, so that a repeat of one is not taken for a new one.
 */
function dropRecord(task: Task, keepsSettled: boolean): void {
  task.steps = NONE
  if (task.waiting === null) return
  const messages = task.waiting.messages.filter(({ state }) => keepsSettled || state === 'KEPT')
  task.waiting =
    messages.length === 0 ? null : { suspended: null, firstDueAt: null, waits: [], messages }
}

function receive(task: Task, entry: MessageSent): void {
  const { id, name, value, at, by, reason } = entry
  const wait = entry.wait === null ? null : waitOf(task, entry.wait, entry)
  task.dueAt = entry.dueAt
  if (wait !== null && wait.callee !== null) return endWait(wait, 'callee', value, at)
  const waiting = waitingOf(task)
  const isTaken = wait !== null
  const state = isTaken ? 'TAKEN' : 'KEPT'
  const message: Message = { id, name, value: isTaken ? null : value, at, by, reason, state }
  waiting.messages.push(message)
  if (waiting.messages.length > LIMITS.messagesRemembered) dropOldestSettled(waiting)
  if (wait !== null) endWait(wait, 'message', value, at)
}

/** There is one: fewer than are remembered may be kept. */
function dropOldestSettled({ messages }: Waiting): void {
  const index = messages.findIndex(({ state }) => state !== 'KEPT')
  messages.splice(index, 1)
}

function promised(promise: Effect['promise']): Effect {
  return {
    promise,
    state: 'PROMISED',
    starts: NONE,
    retries: 0,
    budget: promise.retry.max,
    error: null,
    resolutions: NONE,
  }
}

function failEffect(task: Task, entry: EffectFailed): void {
  const effect = effectOf(task, entry.effect, entry)
  effect.state = entry.to
  effect.retries = entry.effectRetries
  effect.error = entry.error
  const lease = task.lease
  conclude(task, entry)
  if (lease !== null) lease.endedByEffect = entry.effect
}

function resolve(task: Task, entry: EffectResolved): void {
  const { start, outcome, at, by, reason } = entry
  const effect = effectOf(task, entry.effect, entry)
  effect.state = outcome === 'happened' ? 'FINISHED' : 'PROMISED'
  effect.budget = entry.budget
  effect.resolutions = kept(
    effect.resolutions,
    { start, outcome, at, by, reason },
    LIMITS.interventions,
  )
  moveOn(task, entry.next, at, entry.type)
}

function commit(task: Task, entry: ExecutionCommitted): void {
  noteStart(task, entry)
  task.output = entry.output
  task.commit = {
    lease: entry.lease,
    at: entry.at,
    effects: entry.effects.length === 0 ? NONE : entry.effects.map(promised),
  }
  if (entry.effects.length === 0) {
    endLease(task, entry.at, entry.type)
    endTask(task, 'COMPLETED', entry.at)
  }
}

function retry(task: Task, entry: TaskRetried): void {
  task.state = 'WAITING'
  task.dueAt = entry.at
  task.budget = entry.budget
  task.endedAt = null
  if (entry.input !== null) {
    task.input = entry.input
    // An operator begins it all over: what was answered before may be answered again.
    dropRecord(task, false)
    task.definitionVersion = 0
  }
  const { attempt, input: payload, at, by, reason } = entry
  const intervention = { kind: 'retry', attempt, to: 'WAITING', payload, at, by, reason } as const
  task.interventions = kept(task.interventions, intervention, LIMITS.interventions)
}

function force(task: Task, entry: TaskForced): void {
  endLease(task, entry.at, entry.type)
  task.budget = entry.budget
  task.output = entry.output
  if (entry.to === 'WAITING') {
    task.state = 'WAITING'
    task.dueAt = entry.at
    task.endedAt = null
  } else {
    endTask(task, entry.to, entry.at)
  }
  const { attempt, to, output: payload, at, by, reason } = entry
  const intervention = { kind: 'force', attempt, to, payload, at, by, reason } as const
  task.interventions = kept(task.interventions, intervention, LIMITS.interventions)
}

function reschedule(task: Task, entry: TaskRescheduled): void {
  const { dueAt, startBy, priority, toQueue: queue } = entry
  task.dueAt = dueAt
  task.startBy = startBy
  task.priority = priority
  // Tasks share their policies, so it is not changed in place.
  if (queue !== task.policy.queue) task.policy = { ...task.policy, queue }
}

/** A lease ended without a result: the entry says what becomes of the task and its effects. */
function conclude(task: Task, entry: TaskEntry & Aftermath & { type: LeaseEnd }): void {
  const { at, next } = entry
  endLease(task, at, entry.type)
  for (const { effect: index, to, retries } of entry.settled) {
    const effect = effectOf(task, index, entry)
    effect.state = to
    effect.retries = retries
  }
  task.retries = entry.retries
  if (next === 'WAITING') {
    task.state = 'WAITING'
    task.dueAt = entry.dueAt
  } else {
    endTask(task, next, at)
  }
}

/** An effect came to its end: the task stays where it is, becomes whole, or is let out of DEAD. */
function moveOn(task: Task, next: TaskState, at: number, by: LeaseEnd): void {
  if (next === task.state) return
  endLease(task, at, by)
  if (next === 'COMPLETED') return endTask(task, 'COMPLETED', at)
  task.state = next
  task.dueAt = at
  task.endedAt = null
}

function endLease(task: Task, at: number, by: LeaseEnd): void {
  if (task.lease === null) return
  task.lease.endedAt = at
  task.lease.endedBy = by
  task.lease = null
}

function endTask(task: Task, state: 'COMPLETED' | 'FAILED' | 'DEAD', at: number): void {
  if (task.waiting !== null) task.waiting.suspended = null
  task.state = state
  task.endedAt = at
}

/** The lease with this number, if it is still remembered. */
export function findLease(task: Task, number: number): Lease | undefined {
  if (task.lease !== null && task.lease.number === number) return task.lease
  // Numbers are dense and newest last, so the place follows from the number.
  return task.leases[task.leases.length - 1 - (task.attempt - number)]
}

function leaseOf(task: Task, number: number, entry: Entry): Lease {
  const lease = findLease(task, number)
  if (lease === undefined) throw new BrokenEntry(entry, `the task has no lease ${number}`)
  return lease
}

function effectOf(task: Task, index: number, entry: Entry): Effect {
  const effect = task.commit?.effects[index]
  if (effect === undefined) throw new BrokenEntry(entry, `the commit promised no effect ${index}`)
  return effect
}

function kept<T>(list: T[], item: T, most: number): T[] {
  if (list.length === 0) return [item]
  list.push(item)
  if (list.length > most) list.shift()
  return list
}
