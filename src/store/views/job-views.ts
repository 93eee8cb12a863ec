/**
 * One job as a query shows it: whole, with its stages summed up, or only what became of it. Copies,
 * so that no caller sees a record change.
 */
import type {
  Failure,
  Job,
  JobState,
  Payload,
  StageSpec,
  StageTasks,
  Tallies,
  Task,
  TaskState,
} from '../../kernel/index.ts'
import {
  copyJob,
  copyTask,
  eachPath,
  emptyTally,
  isFinal,
  isSuspended,
  jobState,
  NOT_OPENED,
  segmentsOf,
  stageIndex,
  stagesOf,
  stageState,
  tallyOf,
} from '../../kernel/index.ts'
import type { JobRecord } from '../../log/index.ts'
import type { SegmentsPage, SegmentSummary } from '../read-model.ts'
import type {
  Ended,
  Holder,
  JobOverview,
  JobView,
  Outcome,
  OutputsPage,
  PriorStage,
  QueryOf,
  StageOverview,
  StageView,
  FailureDetails,
} from '../store.ts'
import { activityOf } from './job-activity.ts'
import { causeOf } from './failure-cause.ts'

export function jobView({ job, stages }: JobRecord, tallies: Tallies, now: number): JobView {
  return {
    job: copyJob(job),
    state: jobState(job, tallies, now),
    stages: job.task === null ? stageViews(job, stages ?? [], tallies) : [plainStage(job.task)],
  }
}

function plainStage(task: Task): StageView {
  return { name: null, state: stageState(1, tallyOf([task]), 0), tasks: [copyTask(task)] }
}

function stageViews(job: Job, stages: StageTasks, tallies: Tallies): StageView[] {
  return (job.spec.stages ?? []).map(({ name, tolerate }, i) => ({
    name,
    state: stageState(job.opened?.[i] ?? NOT_OPENED, tallies[i] ?? emptyTally(), tolerate),
    tasks: (stages[i] ?? []).map(copyTask),
  }))
}

export function jobOverview(
  { job, stages }: JobRecord,
  tallies: Tallies,
  now: number,
): JobOverview {
  const state = jobState(job, tallies, now)
  // Its spec may be read from the disk: once, for the copy.
  const copy = copyJob(job)
  const summedUp = stageOverviews(copy, stages, tallies)
  return { job: copy, state, stages: summedUp, ...activityOf(copy, stages) }
}

/** Those of the jobs that are through, or not there. */
export function endedOf(
  jobs: readonly string[],
  outcomeOfJob: (job: string) => Outcome | null,
): Ended[] {
  return jobs
    .map((job) => ({ job, outcome: outcomeOfJob(job) }))
    .filter(({ outcome: found }) => found === null || isSettled(found))
}

/** It is over, or waits for a person. */
export function isSettled({ state }: Pick<Outcome, 'state'>): boolean {
  return isFinal(state) || state === 'QUARANTINED'
}

/** `stages`: those tasks at least that went wrong. */
export function outcomeOf({ job, stages }: JobRecord, tallies: Tallies, now: number): Outcome {
  const { spec, task, cancelled, erased, lastPosition } = job
  const state = jobState(job, tallies, now)
  const isWrong = state === 'FAILED' || state === 'QUARANTINED'
  const blamed = state === 'FAILED' ? 'FAILED' : 'DEAD'
  const ofStages = isWrong ? failureIn(job, stages, tallies, blamed) : NO_FAILURE
  const { cause, error, held, endedBy, at } = task === null ? ofStages : plainFailure(task, state)
  // Spelled out: every caller that waits for a job asks for it, and spreading objects is slow.
  return {
    type: spec.type,
    state,
    cancelled,
    erased,
    lastPosition,
    output: task === null ? null : task.output,
    last: task === null ? lastStages(job) : null,
    cause,
    error,
    held,
    endedBy,
    at,
  }
}

function plainFailure(task: Task, state: JobState): FailureDetails {
  const { error, commit, leases } = task
  const held: string[] = []
  for (const effect of state === 'QUARANTINED' ? (commit?.effects ?? []) : []) {
    if (effect.state === 'HELD') held.push(effect.promise.name)
  }
  return { cause: causeOf(task), error, held, endedBy: leases.at(-1)?.endedBy ?? null, at: null }
}

export function taskView(record: JobRecord, stage: number, segment: number): Task | null {
  const task = tasksIn(record, stage)[segment]
  return task === undefined ? null : copyTask(task)
}

/** What a segment put out; null: nothing. */
export type TaskOutput = Pick<Task, 'segment' | 'output'>

/** A page ends behind the output that reaches it: outputs may be large. */
export const PAGE_CHARS = 1_048_576

/** Outputs of segments that are added in order, up to the end of the page. */
export class PageOfOutputs {
  readonly #outputs: { segment: number; output: Payload }[] = []
  readonly #after: number
  readonly #limit: number
  #chars = 0
  #isMore = false

  /** `after`: the last segment of the page before; -1: from the first. */
  constructor(after: number, limit: number) {
    this.#after = after
    this.#limit = limit
  }

  /** False: it is for the next page. */
  add({ segment, output }: TaskOutput): boolean {
    if (output === null) return true
    this.#isMore = this.#outputs.length >= this.#limit || this.#chars >= PAGE_CHARS
    if (this.#isMore) return false
    this.#outputs.push({ segment, output })
    this.#chars += output.length
    return true
  }

  get page(): OutputsPage {
    const last = this.#outputs.at(-1)?.segment ?? this.#after
    return { outputs: this.#outputs, next: this.#isMore ? last : null }
  }
}

/** `tasks`: all of the stage, by segment. */
export function outputsPage(
  tasks: readonly TaskOutput[],
  after: number,
  limit: number,
): OutputsPage {
  const page = new PageOfOutputs(after, limit)
  for (let segment = after + 1; segment < tasks.length; segment++) {
    if (!page.add(tasks[segment] as TaskOutput)) break
  }
  return page.page
}

/** Segments that are added in order, up to the end of the page. */
export class PageOfSegments {
  readonly #segments: SegmentSummary[] = []
  readonly #state: TaskState | undefined
  readonly #limit: number
  #isMore = false

  constructor({ state, limit }: Pick<QueryOf<'segments'>, 'state' | 'limit'>) {
    this.#state = state
    this.#limit = limit
  }

  /** False: it is for the next page. */
  add(task: Task): boolean {
    if (this.#state !== undefined && task.state !== this.#state) return true
    this.#isMore = this.#segments.length >= this.#limit
    if (this.#isMore) return false
    this.#segments.push(segmentSummary(task))
    return true
  }

  get page(): SegmentsPage {
    const last = this.#segments.at(-1)?.segment ?? -1
    return { segments: this.#segments, next: this.#isMore ? last : null }
  }
}

/** Null: it has no such stage. */
export function segmentsPage(
  record: JobRecord,
  query: Omit<QueryOf<'segments'>, 'kind'>,
): SegmentsPage | null {
  const stage = stageIndex(record.job, query.stage)
  if (stage === -1) return null
  const tasks = tasksIn(record, stage)
  const page = new PageOfSegments(query)
  for (let segment = query.after + 1; segment < tasks.length; segment++) {
    if (!page.add(tasks[segment] as Task)) break
  }
  return page.page
}

function segmentSummary(task: Task): SegmentSummary {
  const { segment, state, attempt, dueAt, endedAt, error, commit, streams } = task
  const last = task.leases.at(-1)
  return {
    segment,
    state,
    isSuspended: isSuspended(task),
    attempt,
    dueAt,
    worker: last?.worker ?? null,
    grantedAt: last?.grantedAt ?? null,
    endedAt,
    error: withoutStack(error),
    effects: (commit?.effects ?? []).map((one) => ({
      name: one.promise.name,
      state: one.state,
      error: withoutStack(one.error),
    })),
    streams: streams.map(({ name, next }) => ({ name, length: next })),
  }
}

function withoutStack(error: Failure | null): SegmentSummary['error'] {
  if (error === null) return null
  const { type, code, message } = error
  return { type, code, message }
}

/** The tasks of a stage that was opened; none of another. */
export function tasksIn({ job, stages }: JobRecord, stage: number): readonly Task[] {
  if (job.task !== null) return stage === 0 ? [job.task] : []
  return stages?.[stage] ?? []
}

/** Those whose outputs the handler of a stage may read. */
export function priorStages(job: Job, { after, each, onFailure }: StageSpec): PriorStage[] {
  const source = each === null ? '' : eachPath(each).source
  const prior: PriorStage[] = []
  stagesOf(job).forEach((one, stage) => {
    const isPrior = onFailure ? !one.onFailure : after.includes(one.name) || one.name === source
    if (isPrior) prior.push(priorStage(job, one, stage))
  })
  return prior
}

/** Those that no other comes after: what they put out is the result of the job. */
function lastStages(job: Job): PriorStage[] {
  const stages = stagesOf(job)
  const inner = new Set(stages.flatMap(({ after }) => after))
  return stages.flatMap((one, stage) =>
    one.onFailure || inner.has(one.name) ? [] : [priorStage(job, one, stage)],
  )
}

function priorStage(job: Job, { name, each }: StageSpec, stage: number): PriorStage {
  const opened = segmentsOf(job, stage)
  return { name, stage, segments: each === null ? null : opened === NOT_OPENED ? 0 : opened }
}

const NO_FAILURE: FailureDetails = { cause: null, error: null, held: [], endedBy: null, at: null }
/** Names of effects that are held, in one answer. */
const MOST_HELD = 20

/**
 * Why a pipeline FAILED, or waits for a person: the first task that is to blame. `blamed`: the state
 * that did it, FAILED or DEAD. There may be tasks in the other one, too.
 */
export function failureIn(
  job: Job,
  stages: StageTasks | null,
  tallies: Tallies,
  blamed: 'FAILED' | 'DEAD',
): FailureDetails {
  let first: Task | null = null
  const held: string[] = []
  for (const [i, { onFailure, tolerate }] of stagesOf(job).entries()) {
    const tasks = stages?.[i] ?? []
    const { failed, dead, deadCommitted } = tallies[i] ?? tallyOf(tasks)
    if (onFailure ? dead === 0 : failed + dead <= tolerate && deadCommitted === 0) continue
    for (const task of tasks) {
      if (task.state !== 'FAILED' && task.state !== 'DEAD') continue
      if (first === null || blameOf(task, blamed) > blameOf(first, blamed)) first = task
      for (const { state, promise } of task.commit?.effects ?? []) {
        if (state === 'HELD' && held.length < MOST_HELD) held.push(promise.name)
      }
    }
  }
  return first === null ? NO_FAILURE : failureDetails(job, first, held)
}

/** A task that was only stopped is FAILED for no reason of its own: it says less than any that has one. */
function blameOf(task: Task, blamed: 'FAILED' | 'DEAD'): number {
  const [isIt, hasCause] = [task.state === blamed ? 1 : 0, causeOf(task) === null ? 0 : 1]
  return blamed === 'FAILED' ? isIt + 2 * hasCause : 2 * isIt + hasCause
}

function failureDetails(job: Job, task: Task, held: readonly string[]): FailureDetails {
  const { error, segment, leases, stage } = task
  const spec = stagesOf(job)[stage]
  return {
    cause: causeOf(task),
    error,
    held,
    endedBy: leases.at(-1)?.endedBy ?? null,
    at:
      spec === undefined
        ? null
        : { stage: spec.name, segment: spec.each === null ? null : segment },
  }
}

/** More than a person looks at. */
const MOST_SHOWN = 20

function stageOverviews(job: Job, stages: StageTasks | null, tallies: Tallies): StageOverview[] {
  return stagesOf(job).map(({ name, tolerate }, i) => {
    const segments = segmentsOf(job, i)
    const tally = { ...(tallies[i] ?? emptyTally()) }
    const { troubled, holders, next } = samplesOf(stages?.[i] ?? [], tally)
    return {
      name,
      state: stageState(segments, tally, tolerate),
      segments: segments === NOT_OPENED ? null : segments,
      tally,
      troubled,
      holders,
      next,
    }
  })
}

/** Only looks for what the tally says is there. */
function samplesOf(
  tasks: readonly Task[],
  { waiting, leased, failed, dead }: StageOverview['tally'],
): Pick<StageOverview, 'troubled' | 'holders' | 'next'> {
  const troubled = { FAILED: [] as Task[], DEAD: [] as Task[] }
  const holders: Holder[] = []
  let next: Task | null = null
  if (waiting + leased + failed + dead === 0) return { troubled: [], holders, next }
  for (const task of tasks) {
    const { state, lease, dueAt } = task
    if (state === 'WAITING' && dueAt < (next?.dueAt ?? Infinity)) next = task
    if (lease !== null && holders.length < MOST_SHOWN) {
      const { job, stage, segment } = task
      holders.push({ job, stage, segment, worker: lease.worker, since: lease.grantedAt })
    }
    if ((state === 'FAILED' || state === 'DEAD') && troubled[state].length < MOST_SHOWN) {
      troubled[state].push(task)
    }
  }
  return { troubled: shown(troubled), holders, next: next === null ? null : copyTask(next) }
}

/** Those that wait for a person come first when there is not room for all. */
function shown({ DEAD, FAILED }: { readonly [K in 'DEAD' | 'FAILED']: readonly Task[] }): Task[] {
  const some = [...DEAD, ...FAILED].slice(0, MOST_SHOWN)
  return some.toSorted((a, b) => a.segment - b.segment).map(copyTask)
}
