/**
 * The parts of a small world: jobs, the tasks of pipelines, a queue, a schedule, the clock.
 *
 * A command changes one part (opening a stage and forgetting a job change a few). It `sees` only
 * some of the others, and of them only what is `visible`. So the explorer asks the kernel once for
 * each distinct part in each distinct surrounding, and not once for each combination.
 *
 * The time is always NOW: when the clock ticks, every record grows older instead. Two states
 * that differ only in how long ago something happened are the same state, unless it matters.
 */
import type {
  Effect,
  Job,
  Lease,
  Queue,
  Schedule,
  Task,
  Wait,
  Waiting,
  World,
} from '../../../src/kernel/index.ts'
import {
  copyJob,
  copyTask,
  createWorld,
  findTask,
  isPending,
  isSuspended,
  jobState,
  NEVER_DUE,
  NO_TALLIES,
  NOT_OPENED,
  waitsOfSuspension,
} from '../../../src/kernel/index.ts'
import type { Scope } from './scope.ts'

export const NOW = 1_000_000

/** A plain job with its task, or a pipeline without its tasks. */
export interface JobPart {
  readonly kind: 'job'
  readonly slot: number
  /** How often the id was submitted. */
  readonly life: number
  readonly job: Job | null
  readonly past: Past
}

/** A task of a pipeline; null before its stage is opened. */
export interface TaskPart {
  readonly kind: 'task'
  readonly slot: number
  readonly stage: number
  readonly segment: number
  readonly task: Task | null
  readonly past: Past
}

/** How many ticks of the past still matter: as many as the clock may yet go back. */
type Past = number

export interface QueuePart {
  readonly kind: 'queue'
  readonly queue: Queue | null
}

export interface SchedulePart {
  readonly kind: 'schedule'
  readonly schedule: Schedule | null
}

export interface ClockPart {
  readonly kind: 'clock'
  /** How often it may still go back. */
  readonly back: number
}

export type Part = JobPart | TaskPart | QueuePart | SchedulePart | ClockPart

/** In these worlds an `each` always has two elements. */
export const SEGMENTS = 2

export function initialParts(scope: Scope): Part[] {
  const parts: Part[] = []
  const past = scope.clockBack
  scope.slots.forEach(({ specs }, slot) => {
    parts.push({ kind: 'job', slot, life: 0, job: null, past })
    specs[0]?.stages?.forEach(({ each }, stage) => {
      for (let segment = 0; segment < (each === null ? 1 : SEGMENTS); segment++) {
        parts.push({ kind: 'task', slot, stage, segment, task: null, past })
      }
    })
  })
  if (scope.queue) parts.push({ kind: 'queue', queue: null })
  if (scope.schedule) parts.push({ kind: 'schedule', schedule: null })
  if (scope.clockBack > 0) parts.push({ kind: 'clock', back: scope.clockBack })
  return parts
}

/** The parts put together; records are shared, not copied. */
export function assemble(scope: Scope, parts: readonly Part[]): World {
  const world = createWorld()
  for (const part of parts) {
    if (part.kind === 'job' && part.job !== null) {
      world.jobs.set(part.job.id, part.job)
      const { opened } = part.job
      if (opened === null) continue
      const stages = opened.map((segments): Task[] | null => (segments === NOT_OPENED ? null : []))
      world.tasks.set(part.job.id, stages)
    }
    if (part.kind === 'task' && part.task !== null) {
      world.tasks.get(scope.slots[part.slot]?.id ?? '')?.[part.stage]?.push(part.task)
    }
    if (part.kind === 'queue' && part.queue !== null) world.queues.set(part.queue.name, part.queue)
    if (part.kind === 'schedule' && part.schedule !== null) {
      world.schedules.set(part.schedule.id, part.schedule)
    }
  }
  return world
}

export function copyPart(part: Part): Part {
  switch (part.kind) {
    case 'job':
      return { ...part, job: part.job === null ? null : copyJob(part.job) }
    case 'task':
      return { ...part, task: part.task === null ? null : copyTask(part.task) }
    case 'queue':
      return { kind: 'queue', queue: part.queue === null ? null : { ...part.queue } }
    case 'schedule':
      return { kind: 'schedule', schedule: part.schedule === null ? null : { ...part.schedule } }
    case 'clock':
      return part
  }
}

/** The part as it is in a world that was changed. */
export function takeBack(scope: Scope, part: Part, world: World): Part {
  switch (part.kind) {
    case 'job': {
      const job = world.jobs.get(scope.slots[part.slot]?.id ?? '') ?? null
      const born = part.job === null && job !== null
      return { ...part, life: part.life + (born ? 1 : 0), job }
    }
    case 'task': {
      const job = scope.slots[part.slot]?.id ?? ''
      return { ...part, task: findTask(world, job, part.stage, part.segment) ?? null }
    }
    case 'queue':
      return { kind: 'queue', queue: world.queues.get('default') ?? null }
    case 'schedule':
      return { kind: 'schedule', schedule: world.schedules.get('s') ?? null }
    case 'clock':
      return part
  }
}

/** The part when the clock has ticked, or gone back. */
export function age(part: Part, ticks: 1 | -1): Part {
  return shiftRecords(ticks > 0 ? part : goneBack(part), ticks)
}

/** Going back uses up what may be gone back. */
export function goneBack(part: Part): Part {
  if (part.kind === 'clock') return { kind: 'clock', back: part.back - 1 }
  return part.kind === 'job' || part.kind === 'task' ? { ...part, past: part.past - 1 } : part
}

/** Everything happened `ticks` longer ago. */
export function shiftRecords(part: Part, ticks: number): Part {
  const copy = copyPart(part)
  if (copy.kind === 'queue' && copy.queue !== null) {
    copy.queue.time -= ticks
    copy.queue.pausedAt -= ticks
  }
  if (copy.kind === 'schedule' && copy.schedule !== null) copy.schedule.time -= ticks
  if (copy.kind === 'task' && copy.task !== null) ageTask(copy.task, ticks)
  if (copy.kind === 'job' && copy.job !== null) {
    const { job } = copy
    shift<Aged>(job, ['time', 'submittedAt', 'dueAt', 'deadlineAt'], ticks)
    if (job.cancelled !== null) job.cancelled = { ...job.cancelled, at: job.cancelled.at - ticks }
    if (job.replaced !== null) job.replaced = { ...job.replaced, at: job.replaced.at - ticks }
    if (job.erased !== null) {
      const { at, timeBefore } = job.erased
      job.erased = { ...job.erased, at: at - ticks, timeBefore: timeBefore - ticks }
    }
    if (job.task !== null) ageTask(job.task, ticks)
    job.messages = job.messages.map((one) => Object.assign({}, one, { at: one.at - ticks }))
  }
  return copy
}

/** What of a job is a time. */
type Aged = Pick<Job, 'time' | 'submittedAt' | 'dueAt' | 'deadlineAt'>

function ageTask(task: Task, ticks: number): void {
  shift(task, ['time', 'startBy', 'endedAt'], ticks)
  if (task.dueAt !== NEVER_DUE) task.dueAt -= ticks
  if (task.waiting !== null) ageWaiting(task.waiting, ticks)
  for (const lease of task.leases) {
    shift(lease, ['grantedAt', 'expiresAt', 'startedAt', 'endedAt'], ticks)
  }
  if (task.commit !== null) task.commit = { ...task.commit, at: task.commit.at - ticks }
}

function ageWaiting(waiting: Waiting, ticks: number): void {
  shift(waiting, ['firstDueAt'], ticks)
  // Copies: what is older now is another state.
  waiting.waits = waiting.waits.map((wait) => Object.assign({}, wait, agedWait(wait, ticks)))
  waiting.messages = waiting.messages.map((one) => Object.assign({}, one, { at: one.at - ticks }))
}

function agedWait({ since, until, endedAt }: Wait, ticks: number): Partial<Wait> {
  return {
    since: since - ticks,
    until: until === null ? null : until - ticks,
    endedAt: endedAt === null ? null : endedAt - ticks,
  }
}

function shift<T extends object>(record: T, fields: readonly (keyof T)[], ticks: number): void {
  for (const field of fields) {
    const value = record[field]
    if (typeof value === 'number') record[field] = (value - ticks) as T[keyof T]
  }
}

/** How far ahead a time is; what is past is past, unless the clock may go back to it. */
function ahead(time: number, past: Past): number {
  return Math.max(-past, time - NOW)
}

/** Text that is the same for parts that behave the same from here on. */
export function encode(part: Part, scope: Scope): string {
  switch (part.kind) {
    case 'clock':
      return `clock ${part.back}`
    case 'queue':
      return part.queue === null
        ? 'queue'
        : `queue ${part.queue.paused} ${part.queue.pausedAt < NOW} ${ahead(part.queue.time, scope.clockBack)}`
    case 'schedule':
      return part.schedule === null
        ? 'schedule'
        : `schedule ${part.schedule.definition !== null} ${part.schedule.firedTick} ${ahead(part.schedule.time, scope.clockBack)}`
    case 'job':
      return `job ${part.slot} ${part.past} ${part.life} ${part.job === null ? '' : encodeJob(part.job, part.past, scope)}`
    case 'task':
      return `task ${part.slot} ${part.past} ${part.stage} ${part.task === null ? '' : encodeTask(part.task, part.past, scope)}`
  }
}

function encodeJob(job: Job, past: Past, scope: Scope): string {
  const deadline = job.deadlineAt === null ? '' : ahead(job.deadlineAt, past)
  const times = `${ahead(job.dueAt, past)} ${ahead(job.time, past)} ${deadline}`
  const own = job.task === null ? (job.opened ?? []).join(',') : encodeTask(job.task, past, scope)
  const kept = job.messages.map(({ stage, id }) => `${stage}:${id}`).join('+')
  const replaced = job.replaced?.ids.toSorted().join('+') ?? ''
  const erased = job.erased === null ? '' : `erased ${ahead(job.erased.timeBefore, past)}`
  return `${job.spec.priority} ${job.held} ${job.cancelled !== null} ${erased} ${times} ${own} ${kept} ${replaced}`
}

/**
 * Left out on purpose: what only answers to repeats depend on (how an old lease ended, but for a loss
 * that makes the next one cost a retry; who resolved what). Repeats change nothing, so states that
 * differ in it go the same ways.
 */
function encodeTask(task: Task, past: Past, scope: Scope): string {
  const { commit } = task
  return [
    task.state,
    ahead(task.dueAt, past),
    task.startBy === null || task.attempt > 0 ? '' : ahead(task.startBy, past),
    task.budget - task.retries,
    ahead(task.time, past),
    task.attempt,
    task.leases.map((lease) => encodeLease(task, lease, past)).join('+'),
    (scope.presence ? lostBefore(task) : nextLossCosts(task)) ? 'lost' : '',
    task.steps.length,
    scope.reschedules ? task.policy.queue : '',
    commit === null ? '' : `${commit.lease}:${commit.effects.map(encodeEffect).join('+')}`,
    task.interventions.length,
    task.definitionVersion,
    task.waiting === null ? '' : encodeWaiting(task, task.waiting, past),
    task.streams.map(({ name, next }) => `${name}/${next}`).join('+'),
    // Only what ended before now can be forgotten.
    scope.lives > 1 && task.endedAt === NOW ? 'now' : '',
  ].join(',')
}

/** When a wait began, and what its message said, is not asked for any more. */
function encodeWaiting(task: Task, waiting: Waiting, past: Past): string {
  const pending = new Set(waitsOfSuspension(task))
  const waits = waiting.waits.map((wait) => {
    const { name, until, endedAt } = wait
    if (endedAt !== null) return `${name}/over${pending.has(wait) ? '/pending' : ''}`
    const time = until === null ? '' : ahead(until, past)
    return `${name}/${time}${pending.has(wait) ? '/pending' : ''}`
  })
  const messages = waiting.messages.map(({ id, state }) => `${id}/${state}`)
  const first = waiting.firstDueAt === null ? '' : ahead(waiting.firstDueAt, past)
  return [waiting.suspended ?? '', first, ...waits, ...messages].join('+')
}

/** The newest lease that is over was lost, so the next one that is lost costs a retry, started or not. */
function nextLossCosts(task: Task): boolean {
  const { commit, lease } = task
  if (commit !== null || (lease !== null && lease.startedAt !== null)) return false
  return lostBefore(task)
}

/** So the next one that presence takes waits for its retry delay. */
function lostBefore({ state, leases }: Task): boolean {
  if (state === 'COMPLETED' || state === 'FAILED') return false
  const before = leases.findLast(({ endedBy }) => endedBy !== null)?.endedBy
  return before === 'LeaseExpired' || before === 'LeaseRevoked'
}

function encodeLease(task: Task, lease: Lease, past: Past): string {
  const started = lease.startedAt === null ? '' : 's'
  const refused = lease.refused ? 'r' : ''
  const worker = lease.worker
  if (lease.endedBy === null) {
    return `${worker}/${started}/${refused}/${lease.extension}/${ahead(lease.expiresAt, past)}`
  }
  if (lease.number === task.attempt) {
    const over = task.state === 'COMPLETED' || task.state === 'FAILED'
    return `${worker}/${over ? '' : started}/${refused}`
  }
  const starter = task.commit?.effects.some((effect) => effect.starts.includes(lease.number))
  // A refusal moves the time of the log, which matters only if the clock may go back.
  return `${starter === true ? worker : ''}${past > 0 ? refused : ''}`
}

function encodeEffect(effect: Effect): string {
  const left = effect.budget - effect.retries
  return `${effect.state}/${effect.starts.join(';')}/${left}/${effect.resolutions.length}`
}

/** Jobs that share nothing do not see each other. Whoever belongs to no job sees all, and is seen. */
export function sees(scope: Scope, part: Part, other: Part): boolean {
  return scope.linked || !('slot' in part) || !('slot' in other) || part.slot === other.slot
}

/** What a part shows to the others: everything that a decision about them could depend on. */
export function visible(scope: Scope, part: Part): string {
  switch (part.kind) {
    case 'clock':
      return ''
    case 'queue':
    case 'schedule':
      return encode(part, scope)
    case 'task': {
      if (part.task === null) return '-'
      const { state, commit, attempt, dueAt } = part.task
      const waits = state === 'WAITING' && attempt > 0 ? ahead(dueAt, part.past) : 0
      const suspended = isSuspended(part.task) ? 's' : ''
      return `${state[0]}${commit === null ? '' : 'c'}${attempt > 0 ? 'g' : ''}${suspended}${waits}`
    }
    case 'job':
      return visibleJob(scope, part)
  }
}

function visibleJob(scope: Scope, part: JobPart): string {
  if (part.job === null) return `${part.life}`
  const { task, spec, erased } = part.job
  if (task === null) return encode(part, scope)
  if (!scope.linked) return ''
  const state = jobState(part.job, NO_TALLIES, NOW)
  const over = state === 'SUCCEEDED' || state === 'FAILED'
  const effects = (task.commit?.effects ?? []).map((effect) => effect.state).join('+')
  const calls = encodeCalls(task, part.past)
  return `${part.life} ${over} ${erased !== null} ${task.lease !== null} ${spec.priority} ${effects} ${calls}`
}

/** Whether a callee may be submitted, or forgotten, is up to the waits of its caller; how it ended it says itself. */
function encodeCalls(task: Task, past: Past): string {
  const calls = (task.waiting?.waits ?? []).filter(({ callee }) => callee !== null)
  const waits = calls.map((wait) => `${wait.name}/${isPending(task, wait)}`)
  return `${task.state} ${waits.join('+')} ${past}`
}
