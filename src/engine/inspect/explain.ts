/**
 * "Why is this job not running?": every reason that holds now, and what to do about it.
 *
 * All reasons come from the store, but for the workers: those of other processes are known by what they
 * say, and without presence not at all.
 */
import type { Job, JobState, LimitSpec, StageSpec, Task } from '../../kernel/index.ts'
import {
  isEnding,
  isFinal,
  isHeldBack,
  isLost,
  isSettled,
  isSuspended,
  mayStartAt,
  missedDeadline,
  NEVER_DUE,
} from '../../kernel/index.ts'
import type { Holder, InUse, JobOverview, StageOverview, Store } from '../../store/index.ts'
import type { StalledTask } from '../../worker/index.ts'
import { UnknownJob } from '../errors.ts'
import { failureReason } from '../failure-reason.ts'
import type { HolderInfo } from './holder-info.ts'
import { holderInfo } from './holder-info.ts'
import { lossOf, lossText } from '../lost-lease.ts'
import { pendingWaits, waitsText } from './wait-info.ts'
import type { WorkerInfo } from './worker-info.ts'
import { servesChannel } from './worker-info.ts'

export type Obstacle =
  | 'over'
  | 'running'
  | 'stalled'
  | 'quarantined'
  | 'held'
  | 'prerequisites'
  | 'not-due'
  | 'waits-for-retry'
  | 'suspended'
  | 'start-by-passed'
  | 'deadline-passed'
  | 'queue-paused'
  | 'queue-limit'
  | 'limit'
  | 'no-worker'
  | 'workers-busy'
  | 'next'

export interface Reason {
  readonly what: Obstacle
  /** Of a pipeline: the stage that this is about. */
  readonly stage: string | null
  /** For people: what is in the way, and what would help. */
  readonly message: string
  /** When it will be gone by itself, if that is known. */
  readonly until: Date | null
  /** The tasks that hold what this one waits for. */
  readonly holders: readonly HolderInfo[]
}

export interface Explanation {
  readonly job: string
  readonly state: JobState
  /** Whether it could be handed to a worker at this moment. */
  readonly isRunnable: boolean
  readonly reasons: readonly Reason[]
}

/** What an explanation is made from. */
interface ExplainParts {
  readonly store: Store
  /** Of all processes; without presence, of this one. */
  readonly workers: readonly WorkerInfo[]
  readonly now: number
  /** Tasks of the job of which nothing is heard. */
  readonly stalled: readonly StalledTask[]
}

export async function explain(parts: ExplainParts, id: string): Promise<Explanation> {
  const over = await explainOver(parts.store, id)
  if (over !== null) return over
  const view = await parts.store.query({ kind: 'overview', job: id })
  if (view === null) throw new UnknownJob(id)
  const { state, job } = view
  // It may be over since.
  if (isFinal(state)) return explain(parts, id)
  const stalled = parts.stalled.map((task) => stalledReason(job, task))
  if (job.task === null) {
    const { isRunnable, reasons } = await explainPipeline(parts, view)
    return { job: id, state, isRunnable, reasons: [...reasons, ...stalled] }
  }
  const settled = await notWaitingReason(parts, job.task)
  if (settled !== null) {
    return { job: id, state, isRunnable: false, reasons: [settled, ...stalled] }
  }
  const reasons = await waitingReasons(parts, job, job.task, null)
  const isRunnable = reasons.length === 0
  return { job: id, state, isRunnable, reasons: isRunnable ? [NEXT] : reasons }
}

/** Null: it is not over. On a database, how a pipeline stands is read without its segments, however many they are. */
async function explainOver(store: Store, id: string): Promise<Explanation | null> {
  const outcome = await store.query({ kind: 'outcome', job: id })
  if (outcome === null) throw new UnknownJob(id)
  const { state } = outcome
  if (!isFinal(state)) return null
  const over = `It is ${state}, and never runs again.`
  const answer = { job: id, state, isRunnable: false }
  if (state !== 'FAILED') return { ...answer, reasons: [reason('over', over)] }
  // In the words of `get` and `result()`.
  const { stage, message } = await failureReason(store, id, outcome)
  return { ...answer, reasons: [inStage(stage, reason('over', `${over} ${message}`))] }
}

/** Why no worker has a task that waits: no reason, if nothing is in its way. */
async function waitingReasons(
  parts: ExplainParts,
  job: Job,
  task: Task,
  stage: string | null,
): Promise<Reason[]> {
  // A clock that is only estimated may be behind what the task itself has seen.
  const now = Math.max(parts.now, task.time)
  const reasons = [
    ...(await ownReasons(parts.store, job, task, now)),
    ...(await limitReasons({ ...parts, now }, task)),
    ...workerReasons(parts, job.spec.type, task, stage),
  ]
  return reasons.map((one) => inStage(stage, one))
}

export function reason(
  what: Obstacle,
  message: string,
  until: number | null = null,
  holders: readonly Holder[] = [],
): Reason {
  const isKnown = until !== null && Number.isFinite(until)
  return {
    what,
    stage: null,
    message,
    until: isKnown ? new Date(until) : null,
    holders: holders.map(holderInfo),
  }
}

function inStage(stage: string | null, about: Reason): Reason {
  return { ...about, stage }
}

export const NEXT = reason('next', 'Nothing is in its way: it is next, or others come before it.')

/** It is not waiting at all. */
async function notWaitingReason({ store }: ExplainParts, task: Task): Promise<Reason | null> {
  if (task.lease !== null) {
    const { worker, grantedAt, number, expiresAt } = task.lease
    const since = new Date(grantedAt).toISOString()
    return reason(
      'running',
      `Worker ${worker} has it since ${since}, as attempt ${number}.`,
      expiresAt,
    )
  }
  return task.state === 'DEAD'
    ? reason('quarantined', `Job ${task.job} waits for an operator. ${await whyDead(store, task)}`)
    : null
}

function stalledReason(job: Job, { since, worker, stage }: StalledTask): Reason {
  const when = new Date(since).toISOString()
  const about = reason(
    'stalled',
    `Nothing was heard of it since ${when}, and worker ${worker} lives: look at the handler, or revoke its lease.`,
  )
  return inStage(job.spec.stages?.[stage]?.name ?? null, about)
}

async function whyDead(store: Store, task: Task): Promise<string> {
  const held = (task.commit?.effects ?? []).filter((effect) => effect.state === 'HELD')
  if (held.length > 0) {
    return `What became of ${held.map(({ promise }) => `'${promise.name}'`).join(', ')} is for a person to say: resolve the effect.`
  }
  const { error, leases } = task
  const endedBy = leases.at(-1)?.endedBy ?? null
  const failed = error === null ? '' : ` (${error.code}: ${error.message})`
  const why = `It used up its retries${failed}: retry, force or discard it.`
  if (error !== null && !isLost(endedBy)) return why
  return `${why} ${lossText(endedBy, isLost(endedBy) ? await lossOf(store, task) : null)}`
}

async function ownReasons(store: Store, job: Job, task: Task, now: number): Promise<Reason[]> {
  const reasons: Reason[] = []
  if (isHeldBack(job)) {
    reasons.push(reason('held', 'It was submitted with `hold`: release it.'))
  }
  if (task.dueAt > now && isSuspended(task)) reasons.push(await suspension(store, task))
  else if (task.dueAt > now) {
    const at = new Date(task.dueAt).toISOString()
    reasons.push(
      task.attempt > 0
        ? reason('waits-for-retry', `It is tried again at ${at}.`, task.dueAt)
        : reason('not-due', `It is not due before ${at}.`, task.dueAt),
    )
  }
  if (task.startBy !== null && task.attempt === 0 && task.startBy <= now) {
    reasons.push(reason('start-by-passed', 'No worker took it in time: it is about to fail.'))
  }
  if (missedDeadline(job, task, now)) {
    reasons.push(reason('deadline-passed', 'Its deadline has passed: it is about to fail.'))
  }
  return reasons
}

/** What it waits for, since when and until when: a wait without a time has no end of its own. */
async function suspension(store: Store, task: Task): Promise<Reason> {
  const [first] = pendingWaits(task)
  const since = first === undefined ? '' : ` since ${new Date(first.since).toISOString()}`
  const what = await waitsText(store, task)
  if (task.dueAt === NEVER_DUE) {
    return reason('suspended', `It waits${since}, without a limit of time, for ${what}.`)
  }
  const at = new Date(task.dueAt).toISOString()
  return reason('suspended', `It waits${since} for ${what}, until ${at} at the latest.`, task.dueAt)
}

/** A committed task is finished whatever pause and limits say. */
async function limitReasons({ store, now }: ExplainParts, task: Task): Promise<Reason[]> {
  if (task.commit !== null) return []
  const { queue: name, limits } = task.policy
  const view = await store.query({ kind: 'queue', queue: name })
  const reasons: Reason[] = []
  if (view.queue.paused) {
    const since = new Date(view.queue.pausedAt).toISOString()
    reasons.push(reason('queue-paused', `Queue '${name}' is paused since ${since}: resume it.`))
  }
  const { concurrency, rate } = view.queue
  const own = limitReason(
    'queue-limit',
    `queue '${name}'`,
    { key: name, concurrency, rate },
    view,
    now,
  )
  if (own !== null) reasons.push(own)
  for (const limit of limits) {
    const used = await store.query({ kind: 'limit', key: limit.key })
    const found = limitReason('limit', `limit '${limit.key}'`, limit, used, now)
    if (found !== null) reasons.push(found)
  }
  return reasons
}

function limitReason(
  what: 'queue-limit' | 'limit',
  name: string,
  limit: LimitSpec,
  { held, fullAt, holders }: InUse,
  now: number,
): Reason | null {
  const at = mayStartAt(limit, { held, fullAt }, now)
  if (at <= now) return null
  if (limit.concurrency === 0) {
    return reason(what, `The ${name} lets nothing run (concurrency 0): configure() it.`)
  }
  if (at === Infinity) {
    const message = `${held} of ${limit.concurrency} places of ${name} are taken, by ${holdersText(holders, held)}.`
    return reason(what, message, null, holders)
  }
  const { count, perMs } = limit.rate ?? { count: 0, perMs: 0 }
  const next = new Date(at).toISOString()
  const message = `The rate of ${name}, ${count} in ${perMs} ms, is used up: the next may start at ${next}.`
  return reason(what, message, at)
}

const FEW_HOLDERS = 3

/** Each job once, with how many of its tasks hold a place. */
function holdersText(holders: readonly Holder[], held: number): string {
  const tasks = new Map<string, number>()
  for (const { job } of holders) tasks.set(job, (tasks.get(job) ?? 0) + 1)
  const named = [...tasks].slice(0, FEW_HOLDERS)
  const count = named.reduce((sum, [, of]) => sum + of, 0)
  const words = named.map(([job, of]) => (of === 1 ? job : `${of} tasks of ${job}`))
  return `${words.join(', ')}${held > count ? ' and others' : ''}`
}

function workerReasons(
  { workers, store }: ExplainParts,
  type: string,
  task: Task,
  stage: string | null,
): Reason[] {
  const { queue } = task.policy
  // Other processes may have workers that are not known here.
  const hasUnknownWorkers = store.onNews !== undefined && store.presence === undefined
  const serving = workers.filter((worker) => servesChannel(worker, type, queue, stage))
  if (serving.length === 0) {
    const what = stage === null ? `jobs '${type}'` : `stage '${stage}' of pipeline '${type}'`
    const others = ', and whether one of another process does is not known here'
    const message = hasUnknownWorkers
      ? `No worker of this process takes ${what} from queue '${queue}'${others}`
      : `No worker takes ${what} from queue '${queue}'`
    return [reason('no-worker', `${message}: start one with work([…]).`)]
  }
  if (serving.some(({ free }) => free > 0)) return []
  if (serving.every(({ isDraining }) => isDraining)) {
    const names = serving.map(({ id }) => id).join(', ')
    const message = serving.every(({ drained }) => drained !== null)
      ? `Its workers are drained, and take nothing more until they are resumed: ${names}.`
      : `Its workers take nothing more, or stop: ${names}.`
    return [reason('workers-busy', message)]
  }
  const places = serving.reduce((sum, { used, free }) => sum + used + free, 0)
  const here = hasUnknownWorkers ? ' in this process' : ''
  return [reason('workers-busy', `All ${places} places of its workers${here} are taken.`)]
}

type StageReasons = Pick<Explanation, 'isRunnable' | 'reasons'>

async function explainPipeline(parts: ExplainParts, view: JobOverview): Promise<StageReasons> {
  const { job, stages } = view
  const tallies = stages.map(({ tally }) => tally)
  const ending = isEnding(job, tallies)
  const settled = isSettled(job, tallies)
  const reasons: Reason[] = []
  let isRunnable = false
  if (isHeldBack(job)) reasons.push(reason('held', 'It was submitted with `hold`: release it.'))
  for (const [i, spec] of (job.spec.stages ?? []).entries()) {
    const stage = stages[i] as StageOverview
    if (stage.segments === null) {
      const waits = spec.onFailure ? ending && !settled : !ending && !isHeldBack(job)
      if (waits) reasons.push(unopened(spec, stages))
      continue
    }
    const found = await openReasons(parts, view, stage, ending)
    isRunnable ||= found.isRunnable
    reasons.push(...found.reasons)
  }
  return { isRunnable, reasons: reasons.length === 0 ? [NEXT] : reasons }
}

function unopened({ name, after, onFailure }: StageSpec, stages: readonly StageOverview[]): Reason {
  if (onFailure) {
    const message = `Stage '${name}' waits until everything else has settled.`
    return inStage(name, reason('prerequisites', message))
  }
  const missing = stages.filter((one) => after.includes(one.name) && one.state !== 'DONE')
  if (missing.length === 0) {
    return inStage(name, reason('next', `Stage '${name}' is about to be opened.`))
  }
  const message = `Stage '${name}' waits for ${missing.map(progressOf).join(' and ')}.`
  return inStage(name, reason('prerequisites', message))
}

function progressOf({ name, state, segments, tally }: StageOverview): string {
  if (segments === null) return `'${name}', which is not open yet`
  const { completed, failed, dead } = tally
  const lost = failed + dead === 0 ? '' : `, ${failed} failed, ${dead} dead`
  return `'${name}' (${state}: ${completed} of ${segments} done${lost})`
}

/** A stage that is open: which workers have its tasks, what keeps the others, and which need a person. */
async function openReasons(
  parts: ExplainParts,
  view: JobOverview,
  { name, state, tally, holders, next, troubled }: StageOverview,
  ending: boolean,
): Promise<StageReasons> {
  const reasons: Reason[] = []
  let isRunnable = false
  if (tally.leased > 0) {
    const workers = [...new Set(holders.map(({ worker }) => worker))].slice(0, 3).join(', ')
    const message = `${tally.leased} of its tasks run, with ${workers}.`
    reasons.push(inStage(name, reason('running', message, null, holders)))
  }
  if (next !== null) {
    const waiting = await waitingReasons(parts, view.job, next, name)
    isRunnable = waiting.length === 0
    reasons.push(...(isRunnable ? [inStage(name, NEXT)] : waiting))
  }
  // Once the job is ending, only what is committed needs a person: the rest is given up with it.
  const dead = troubled.find((task) => task.state === 'DEAD' && (!ending || task.commit !== null))
  if (dead !== undefined && state === 'ERROR') {
    const count = ending ? tally.deadCommitted : tally.dead
    const which = `${count} of its tasks wait for an operator, the first is segment ${dead.segment}.`
    reasons.push(
      inStage(name, reason('quarantined', `${which} ${await whyDead(parts.store, dead)}`)),
    )
  }
  return { isRunnable, reasons }
}
