/**
 * What became of a task: read off the list of accepted commands, from its first to its last.
 *
 * What follows from a command (another attempt, DEAD, FAILED; a settled effect) was not written
 * down when it was accepted; it is worked out here from the policy.
 */
import type {
  CommandOf,
  CommandType,
  EffectPromise,
  EffectState,
  JobSpec,
  RetryPolicy,
  TaskAddress,
  TaskPolicy,
  TaskState,
  WaitSpec,
} from '../../../src/kernel/index.ts'
import { retryDelayMs } from '../../../src/kernel/index.ts'
import type { Fact, JobHistory, TaskHistory } from './naive-history.ts'
import { jobDueAt } from './naive-history.ts'

/** Further than any clock goes. */
const NEVER = 8_640_000_000_000_000

export interface LeaseReading {
  readonly number: number
  readonly worker: string
  readonly request: number
  readonly grantedAt: number
  /** That it was given from. */
  readonly queue: string
  /** It was given to finish what an earlier lease committed. */
  readonly resumes: boolean
  expiresAt: number
  extension: number
  started: boolean
  endedBy: CommandType | null
  /** It goes on after a wait. */
  readonly afterWait: boolean
  /** So many came after it that it is out of mind. */
  forgotten: boolean
}

export interface WaitReading {
  readonly message: string | null
  readonly callee: JobSpec | null
  schema: string | null
  readonly until: number | null
  lease: number
  /** That lease suspended for it. */
  pending: boolean
  end: {
    readonly at: number
    readonly by: 'time' | 'message' | 'callee'
    readonly value: string | null
  } | null
}

export interface MessageReading {
  readonly id: string
  readonly name: string
  readonly value: string
  state: 'KEPT' | 'TAKEN' | 'SKIPPED'
}

export interface EffectReading {
  readonly promise: EffectPromise
  state: EffectState
  readonly starts: number[]
  readonly failedBy: number[]
  readonly finishedBy: number[]
  readonly resolved: { readonly start: number; readonly outcome: string }[]
  retries: number
  budget: number
}

export interface TaskReading {
  state: TaskState
  dueAt: number
  /** Never granted from this time on, if nobody took it before. */
  startBy: number
  priority: number
  queue: string
  retries: number
  budget: number
  snoozes: number
  readonly leases: LeaseReading[]
  readonly steps: Map<string, { readonly value: string; readonly lease: number }>
  /** By name, for each value the lease that appended it. */
  readonly streams: Map<string, number[]>
  readonly waits: Map<string, WaitReading>
  readonly messages: MessageReading[]
  suspended: 'any' | 'all' | null
  firstDueAt: number | null
  definitionVersion: number
  committedBy: number | null
  effects: EffectReading[]
  output: string | null
  /** Their names: what tells one from another. */
  readonly interventions: string[]
  endedAt: number | null
}

export function taskPolicy(job: JobHistory, stage: number): TaskPolicy {
  return (job.spec.policy ?? job.spec.stages?.[stage]?.policy) as TaskPolicy
}

/** The lease that is held, whether or not its time is over. */
export function heldLease(task: TaskReading): LeaseReading | undefined {
  return task.leases.find((lease) => lease.endedBy === null)
}

/** Never granted from this time on, if nobody took it before. */
function startBy(job: JobHistory, task: TaskHistory): number {
  const { startWithinMs, stages } = job.spec
  const stage = stages?.[task.stage]
  const later = stage !== undefined && (stage.after.length > 0 || stage.onFailure)
  if (startWithinMs === null || later) return Infinity
  return Math.max(jobDueAt(job), task.openedAt) + startWithinMs
}

/** Histories only grow, so a reading stands until its list is longer. */
const readings = new WeakMap<TaskHistory, { readonly length: number; readonly is: TaskReading }>()

export function readTask(job: JobHistory, task: TaskHistory): TaskReading {
  const known = readings.get(task)
  if (known?.length === task.facts.length) return known.is
  const policy = taskPolicy(job, task.stage)
  const reading: TaskReading = {
    state: task.bornFailed ? 'FAILED' : 'WAITING',
    dueAt: Math.max(jobDueAt(job), task.openedAt),
    startBy: startBy(job, task),
    priority: job.spec.priority,
    queue: policy.queue,
    retries: 0,
    budget: policy.retry.max,
    snoozes: 0,
    leases: [],
    steps: new Map(job.spec.steps.map(({ name, value }) => [name, { value, lease: 0 }])),
    streams: new Map(),
    waits: new Map(),
    messages: [],
    suspended: null,
    firstDueAt: null,
    definitionVersion: 0,
    committedBy: null,
    effects: [],
    output: null,
    interventions: [],
    endedAt: task.bornFailed ? task.openedAt : null,
  }
  if (!task.bornFailed) for (const fact of task.sentBefore) readFact(reading, policy, fact)
  for (const fact of task.facts) {
    const before = reading.state
    if (fact.command.type === 'ReplaceJob') readReplaced(reading, job, fact)
    else readFact(reading, policy, fact)
    if (reading.state !== before) {
      reading.endedAt = reading.state === 'WAITING' || reading.state === 'LEASED' ? null : fact.at
    }
  }
  if (job.erased !== null) reading.steps.clear()
  readings.set(task, { length: task.facts.length, is: reading })
  return reading
}

/** As if it was submitted then: nothing of the old input is left. */
function readReplaced(reading: TaskReading, job: JobHistory, { at, command }: Fact): void {
  const { delayMs, dueAt } = command as CommandOf<'ReplaceJob'>
  reading.dueAt = Math.max(at + delayMs, dueAt ?? 0)
  reading.startBy = reading.dueAt + (job.spec.startWithinMs ?? Infinity)
  reading.steps.clear()
}

/** What a task is called; its effects add their number. */
function nameOf({ job, stage, segment }: TaskAddress): string {
  return [job, stage, segment].join('/')
}

function readFact(
  task: TaskReading,
  policy: TaskPolicy,
  { at, command, answer = null }: Fact,
): void {
  switch (command.type) {
    case 'GrantLease':
      return readGrant(task, policy, command, at)
    case 'StartExecution':
      return void (leaseOf(task, command.lease).started = true)
    case 'ExtendLease': {
      const lease = leaseOf(task, command.lease)
      lease.extension = command.extension
      lease.expiresAt = at + policy.leaseMs
      return
    }
    case 'RecordStep':
      leaseOf(task, command.lease).started = true
      noteVersion(task, command)
      return void task.steps.set(command.name, { value: command.value, lease: command.lease })
    case 'AppendStream': {
      leaseOf(task, command.lease).started = true
      const before = task.streams.get(command.name) ?? []
      return void task.streams.set(command.name, [
        ...before,
        ...command.values.map(() => command.lease),
      ])
    }
    case 'EndWait':
    case 'SuspendExecution':
      leaseOf(task, command.lease).started = true
      noteVersion(task, command)
      return readWait(task, policy, command, at, answer)
    case 'AnswerCall':
      return readAnswer(task, command.name, at, answer)
    case 'ContinueExecution':
      return readContinuation(task, policy, command, at)
    case 'SendMessage':
      return readMessage(task, command, at)
    case 'FailTask':
      leaseOf(task, command.lease).started = true
      return readFailure(task, policy, command, at)
    case 'ReleaseLease':
    case 'ExpireLease':
    case 'RevokeLease':
      return readLostLease(task, policy, command, at)
    case 'CommitExecution':
      leaseOf(task, command.lease).started = true
      return readCommit(task, command, at)
    case 'StartEffect':
    case 'FinishEffect':
    case 'FailEffect':
    case 'ResolveEffect':
      return readEffect(task, command, at)
    case 'RetryTask':
    case 'ForceTask':
      return readIntervention(task, policy, command, at)
    case 'RescheduleTask': {
      const { dueAt, priority, toQueue } = command
      // It may be begun as long after its new time as after the old one.
      if (dueAt !== null && task.leases.length === 0) {
        task.startBy += Math.max(dueAt, at) - task.dueAt
      }
      task.dueAt = dueAt ?? task.dueAt
      task.priority = priority ?? task.priority
      task.queue = toQueue ?? task.queue
      return
    }
    case 'StopTask':
    case 'CancelJob':
      endLease(task, command.type)
      task.state = 'FAILED'
      task.suspended = null
      return
    default:
      throw new Error(`${command.type} is no fact of a task`)
  }
}

function leaseOf(task: TaskReading, number: number): LeaseReading {
  return task.leases[number - 1] as LeaseReading
}

function endLease(task: TaskReading, by: CommandType): void {
  const lease = heldLease(task)
  if (lease !== undefined) lease.endedBy = by
}

function readGrant(
  task: TaskReading,
  policy: TaskPolicy,
  command: CommandOf<'GrantLease'>,
  at: number,
): void {
  task.state = 'LEASED'
  task.leases.push({
    number: task.leases.length + 1,
    worker: command.worker,
    request: command.request,
    grantedAt: at,
    queue: task.queue,
    resumes: task.committedBy !== null,
    expiresAt: at + policy.leaseMs,
    extension: 0,
    started: command.started,
    endedBy: null,
    afterWait: task.suspended !== null,
    forgotten: false,
  })
  if (task.suspended === null) return
  for (const wait of pendingWaits(task)) {
    if (wait.until !== null && wait.until <= at) wait.end = { at, by: 'time', value: null }
  }
  task.suspended = null
  task.dueAt = task.firstDueAt as number
}

function noteVersion(task: TaskReading, command: { readonly definitionVersion: number }): void {
  task.definitionVersion = Math.max(task.definitionVersion, command.definitionVersion)
}

/** Waits of the newest suspension that nothing ended. */
export function pendingWaits(task: TaskReading): WaitReading[] {
  return suspendedFor(task).filter((wait) => wait.end === null)
}

function suspendedFor(task: TaskReading): WaitReading[] {
  if (task.suspended === null) return []
  const number = task.leases.findLast((lease) => lease.endedBy === 'SuspendExecution')?.number
  return [...task.waits.values()].filter((wait) => wait.pending && wait.lease === number)
}

/** When it ends if nobody says anything. A wait that is known keeps the time that it was given first. */
export function timeOf(task: TaskReading, spec: WaitSpec, from: number): number | null {
  const known = task.waits.get(spec.name)
  if (known !== undefined) return known.until
  if (spec.delayMs === null) return spec.dueAt
  return Math.max(from + spec.delayMs, spec.dueAt ?? 0)
}

function goesOnAt(task: TaskReading): number {
  const times = suspendedFor(task).map(({ end, until }) => end?.at ?? until ?? NEVER)
  times.sort((a, b) => a - b)
  return (task.suspended === 'any' ? times[0] : times.at(-1)) as number
}

function readWait(
  task: TaskReading,
  policy: TaskPolicy,
  command: CommandOf<'EndWait' | 'SuspendExecution'>,
  at: number,
  answer: string | null,
): void {
  const lease = leaseOf(task, command.lease)
  const suspends = command.type === 'SuspendExecution'
  for (const spec of suspends ? command.waits : [command.wait]) {
    const until = timeOf(task, spec, suspends ? at : lease.grantedAt)
    const { name, message, schema } = spec
    task.waits.set(name, {
      message,
      callee: task.waits.get(name)?.callee ?? spec.callee,
      schema,
      until,
      lease: lease.number,
      pending: suspends,
      end: null,
    })
  }
  for (const message of task.messages) {
    if (command.unfit.includes(message.id)) message.state = 'SKIPPED'
  }
  if (!suspends) {
    const taken = task.messages.find(({ id }) => id === command.message)
    if (taken !== undefined) taken.state = 'TAKEN'
    const by = answer !== null ? 'callee' : taken === undefined ? 'time' : 'message'
    const wait = task.waits.get(command.wait.name) as WaitReading
    wait.end = { at, by, value: answer ?? taken?.value ?? null }
    return
  }
  lease.endedBy = command.type
  task.state = 'WAITING'
  task.suspended = command.needs
  task.firstDueAt ??= task.dueAt
  task.budget = task.retries + policy.retry.max
  task.dueAt = goesOnAt(task)
  for (const old of task.leases.slice(0, -16)) old.forgotten = true
}

function readAnswer(task: TaskReading, name: string, at: number, value: string | null): void {
  const wait = task.waits.get(name) as WaitReading
  wait.end = { at, by: 'callee', value }
  task.dueAt = goesOnAt(task)
}

/** It begins again with nothing but its input and what nobody took. */
function readContinuation(
  task: TaskReading,
  policy: TaskPolicy,
  command: CommandOf<'ContinueExecution'>,
  at: number,
): void {
  const lease = leaseOf(task, command.lease)
  lease.started = true
  lease.endedBy = command.type
  noteVersion(task, command)
  task.steps.clear()
  task.waits.clear()
  task.firstDueAt = null
  task.state = 'WAITING'
  task.dueAt = at
  task.budget = task.retries + policy.retry.max
  for (const old of task.leases.slice(0, -16)) old.forgotten = true
}

/** The wait that a message ends now. */
export function endedBy(task: TaskReading, name: string, now: number): WaitReading | undefined {
  return pendingWaits(task).find(
    (wait) =>
      wait.callee === null && wait.message === name && (wait.until === null || now < wait.until),
  )
}

function readMessage(task: TaskReading, command: CommandOf<'SendMessage'>, at: number): void {
  const { id, name, value } = command
  const wait = endedBy(task, name, at)
  task.messages.push({ id, name, value, state: wait === undefined ? 'KEPT' : 'TAKEN' })
  if (wait === undefined) return
  wait.end = { at, by: 'message', value }
  task.dueAt = goesOnAt(task)
}

/** How long to wait before the given retry, 1 being the first, of what has this name. */
function delayBefore(retry: number, policy: RetryPolicy, name: string): number {
  const most = longestDelay(retry, policy)
  if (policy.jitter === 0) return most
  // Which part of the jitter it is follows from a hash, which is the kernel's own.
  const delay = retryDelayMs(policy, retry, name)
  if (delay < Math.floor(most * (1 - policy.jitter)) || delay > most || !Number.isInteger(delay)) {
    throw new Error(`a delay of ${delay} ms, with jitter ${policy.jitter} of ${most} ms`)
  }
  return delay
}

function longestDelay(retry: number, policy: RetryPolicy): number {
  if (policy.backoff === 'fixed') return policy.delayMs
  if (policy.backoff === 'list') {
    return policy.delaysMs[retry - 1] ?? policy.delaysMs.at(-1) ?? 0
  }
  let delay = policy.delayMs
  for (let i = 1; i < retry; i++) delay = Math.min(policy.capMs, delay * 2)
  return Math.min(policy.capMs, delay)
}

/** One more attempt if the budget allows it, else as the policy says. True: another attempt. */
function chargeRetry(task: TaskReading, policy: TaskPolicy): boolean {
  if (task.retries < task.budget) {
    task.retries += 1
    task.state = 'WAITING'
    return true
  }
  task.state = policy.quarantine === 'never' ? 'FAILED' : 'DEAD'
  return false
}

function readFailure(
  task: TaskReading,
  policy: TaskPolicy,
  command: CommandOf<'FailTask'>,
  at: number,
): void {
  endLease(task, command.type)
  if (command.error.type === 'TERMINAL') return void (task.state = 'FAILED')
  const next = task.retries + 1
  // A thousand times it is put off for nothing.
  const free = command.free === true && task.snoozes < 1_000
  if (free) task.snoozes += 1
  if (free) task.state = 'WAITING'
  else if (!chargeRetry(task, policy)) return
  const own = command.delayMs ?? null
  task.dueAt = at + (own ?? delayBefore(next, policy.retry, nameOf(command)))
}

function readLostLease(
  task: TaskReading,
  policy: TaskPolicy,
  command: CommandOf<'ReleaseLease' | 'ExpireLease' | 'RevokeLease'>,
  at: number,
): void {
  const by = command.type
  const lease = heldLease(task) as LeaseReading
  lease.endedBy = by
  task.state = 'WAITING'
  const before = task.leases.at(-2)?.endedBy ?? null
  const isSecond = before === 'ExpireLease' || before === 'RevokeLease'
  const { retries } = task
  // Before the commit it is due since when it was: it keeps its place.
  if (task.committedBy !== null) {
    task.dueAt = at
    settleEffects(task, by !== 'ReleaseLease')
  } else if (by !== 'ReleaseLease' && (lease.started || isSecond)) {
    // What was not started is free to lose once, but not twice in a row.
    chargeRetry(task, policy)
  }
  // A process that died twice with it may have died of it.
  if (by === 'RevokeLease' && command.presence === true && isSecond && task.state === 'WAITING') {
    task.dueAt = at + delayBefore(retries + 1, policy.retry, nameOf(command))
  }
  const own = by === 'RevokeLease' ? (command.delayMs ?? null) : null
  if (own !== null && task.state === 'WAITING') task.dueAt = at + own
}

/**
 * A started effect that nobody finished has an unknown outcome, and is charged one failure. So is
 * one whose outcome is still unknown when a lease is lost, unless it may just be run again.
 */
function settleEffects(task: TaskReading, isLost = false): void {
  for (const effect of task.effects) {
    const unsolved = isLost && effect.state === 'UNKNOWN' && !effect.promise.idempotent
    if (effect.state !== 'STARTED' && !unsolved) continue
    const answerable = effect.promise.idempotent || effect.promise.reconcile
    const affordable = effect.retries < effect.budget
    if (affordable) effect.retries += 1
    effect.state = answerable && affordable ? 'UNKNOWN' : 'HELD'
  }
  if (task.effects.some((effect) => effect.state === 'HELD')) task.state = 'DEAD'
}

function readCommit(task: TaskReading, command: CommandOf<'CommitExecution'>, at: number): void {
  task.committedBy = command.lease
  task.output = command.output
  task.effects = command.effects.map((promise) => ({
    promise,
    state: 'PROMISED',
    starts: [],
    failedBy: [],
    finishedBy: [],
    resolved: [],
    retries: 0,
    budget: promise.retry.max,
  }))
  afterEffects(task, command.type, at)
}

function readEffect(
  task: TaskReading,
  command: CommandOf<'StartEffect' | 'FinishEffect' | 'FailEffect' | 'ResolveEffect'>,
  at: number,
): void {
  const effect = task.effects[command.effect] as EffectReading
  switch (command.type) {
    case 'StartEffect':
      effect.state = 'STARTED'
      effect.starts.push(command.lease)
      return
    case 'FinishEffect':
      effect.state = 'FINISHED'
      effect.finishedBy.push(command.lease)
      return afterEffects(task, command.type, at)
    case 'ResolveEffect':
      effect.resolved.push({ start: command.start, outcome: command.outcome })
      // Only what was given up gets a fresh budget: the rest goes on by itself.
      if (command.outcome === 'again' && effect.state === 'HELD') {
        effect.budget = effect.retries + effect.promise.retry.max
      }
      effect.state = command.outcome === 'happened' ? 'FINISHED' : 'PROMISED'
      return afterEffects(task, command.type, at)
    case 'FailEffect': {
      endLease(task, command.type)
      effect.failedBy.push(command.lease)
      const again = command.error.type === 'RETRYABLE' && effect.retries < effect.budget
      if (again) effect.retries += 1
      effect.state = again ? 'PROMISED' : 'HELD'
      task.state = 'WAITING'
      const name = `${nameOf(command)}/${command.effect}`
      const wait = (): number => delayBefore(effect.retries, effect.promise.retry, name)
      task.dueAt = at + (again ? (command.delayMs ?? wait()) : 0)
      return settleEffects(task)
    }
  }
}

/** COMPLETED when every effect is finished; DEAD no longer when none is held. */
function afterEffects(task: TaskReading, by: CommandType, at: number): void {
  if (task.effects.every((effect) => effect.state === 'FINISHED')) {
    endLease(task, by)
    task.state = 'COMPLETED'
    return
  }
  if (task.state !== 'DEAD' || task.effects.some((effect) => effect.state === 'HELD')) return
  task.state = 'WAITING'
  task.dueAt = at
}

/** An intervention is the same if the operator saw the same attempt and wanted the same. */
export function interventionName(command: CommandOf<'RetryTask' | 'ForceTask'>): string {
  const { type, attempt } = command
  if (type === 'RetryTask') return `${type} ${attempt} ${command.input}`
  const output = command.to === 'COMPLETED' ? (command.output ?? 'null') : ''
  return `${type} ${attempt} ${command.to} ${output}`
}

function readIntervention(
  task: TaskReading,
  policy: TaskPolicy,
  command: CommandOf<'RetryTask' | 'ForceTask'>,
  at: number,
): void {
  const to = command.type === 'RetryTask' ? 'WAITING' : command.to
  task.interventions.push(interventionName(command))
  endLease(task, command.type)
  task.state = to
  task.budget = task.retries + policy.retry.max
  if (to === 'WAITING') task.dueAt = at
  if (command.type === 'RetryTask' && command.input !== null) {
    task.steps.clear()
    task.waits.clear()
    task.firstDueAt = null
    task.definitionVersion = 0
    const untaken = task.messages.filter(({ state }) => state === 'KEPT')
    task.messages.splice(0, task.messages.length, ...untaken)
  }
  if (to !== 'WAITING') task.suspended = null
  if (command.type === 'ForceTask' && to === 'COMPLETED') task.output = command.output ?? 'null'
}
