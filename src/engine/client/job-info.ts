/**
 * A job as a client sees it: what was asked for, where it stands, and what came of it.
 */
import type { ExactTexts } from '../../definition/index.ts'
import { exactPart, fromJson, jsonWith } from '../../definition/index.ts'
import type {
  Cancelled,
  Erased,
  Failure,
  Job,
  JobState,
  LeaseEnd,
  StageSpec,
  StageState,
  Task,
  TaskState,
} from '../../kernel/index.ts'
import {
  effectKey,
  inexactNumber,
  inputOf,
  isFinal,
  isLost,
  jobEndedAt,
} from '../../kernel/index.ts'
import type { JobOverview, PriorStage, Queries, StageOverview } from '../../store/index.ts'
import { currentInput } from '../current-input.ts'
import type { FailureReason } from '../failure-reason.ts'
import { failureReason } from '../failure-reason.ts'
import type { ExecutionInfo } from '../inspect/executions.ts'
import { newestExecutions } from '../inspect/executions.ts'
import type { WaitInfo } from '../inspect/wait-info.ts'
import { pendingWaits, waitInfo } from '../inspect/wait-info.ts'
import { sentence } from '../lost-lease.ts'

export interface EffectInfo {
  readonly name: string
  readonly key: string
  readonly state: 'PROMISED' | 'STARTED' | 'UNKNOWN' | 'HELD' | 'FINISHED'
  readonly error: Failure | null
}

/** One task of a stage that failed or waits for a person. */
export interface SegmentInfo {
  /** From 0; of a stage that runs once, 0. */
  readonly segment: number
  readonly state: TaskState
  readonly attempt: number
  readonly error: Failure | null
  readonly effects: readonly EffectInfo[]
}

export interface StageInfo {
  readonly name: string
  readonly state: StageState
  readonly version: number
  readonly queue: string
  readonly after: readonly string[]
  readonly each: string | null
  readonly tolerate: number
  readonly onFailure: boolean
  /** How many segments it was opened with; null: not opened yet. */
  readonly segments: number | null
  /** Segments by their state. */
  readonly waiting: number
  readonly running: number
  readonly completed: number
  readonly failed: number
  readonly dead: number
  /** The first 20 that are DEAD or, if there is room, FAILED. */
  readonly troubled: readonly SegmentInfo[]
}

export interface JobInfo {
  readonly id: string
  readonly type: string
  readonly version: number
  readonly state: JobState
  /** Undefined once it was erased. */
  readonly input: unknown
  /**
   * Undefined until there is one. Of a pipeline as `result()` has it, with a list for a stage with
   * segments; undefined if that is more than one page, which only `result()` reads.
   */
  readonly output: unknown
  /**
   * Left out, unless JavaScript changed a number in one of these fields, as 9007199254740993 to
   * 9007199254740992: the JSON of each such field, as it is recorded.
   */
  readonly exact?: ExactTexts<'input' | 'output' | 'metadata' | 'progress'>
  /** The newest failure; null if it succeeded. */
  readonly error: Failure | null
  /** The same in words, with the lease that was lost since, if one was; null if it succeeded. */
  readonly lastError: string | null
  /** A lost lease is RETRYABLE. */
  readonly errorType: Failure['type'] | null
  /** Why it is FAILED; null: it is not. */
  readonly failure: FailureReason | null
  /** How many leases it had; of a pipeline, the most of any of its tasks. */
  readonly attempt: number
  /** How many retries it used; of a pipeline, all of its tasks. */
  readonly retryCount: number
  /** How many it may use, those of an operator's retry included; null: each task of a pipeline has its own. */
  readonly maxRetries: number | null
  /**
   * The attempts that run and, if there is room, the newest that ended, oldest first, 20 at most: `executions()` has all of
   * them.
   */
  readonly executions: readonly ExecutionInfo[]
  /** How many there were; of a pipeline, of all its tasks. */
  readonly executionCount: number
  readonly effects: readonly EffectInfo[]
  readonly steps: readonly string[]
  /** What its handler emitted, of a plain job: the names of its streams, and how many values each has. */
  readonly streams: readonly { readonly name: string; readonly length: number }[]
  /** What it waits for now; of a pipeline, what the task of each stage does that goes on first. */
  readonly waits: readonly WaitInfo[]
  /** Null for a pipeline: each of its stages has its own. */
  readonly queue: string | null
  /** Of a pipeline; none of a plain job. */
  readonly stages: readonly StageInfo[]
  readonly priority: number
  readonly key: string | null
  readonly group: string | null
  readonly tags: readonly string[]
  /** As its submit gave it. Undefined: it gave none, or it was erased. */
  readonly metadata: unknown
  readonly submittedAt: Date
  readonly dueAt: Date
  /** It must be committed by then; null: it has no deadline. */
  readonly deadlineAt: Date | null
  /** When its first attempt began; null: none did. */
  readonly startedAt: Date | null
  /** When it was over; null: it is not. */
  readonly completedAt: Date | null
  /** When something happened to it last, to its tasks included. */
  readonly updatedAt: Date
  readonly cancelled: { readonly at: Date; readonly by: string; readonly reason: string } | null
  /** When, by whom and why what it was given and made was erased: input and output are undefined. Null: it was not. */
  readonly erased: { readonly at: Date; readonly by: string; readonly reason: string } | null
  /** The id of the job whose commit promised this one. */
  readonly parent: string | null
  readonly rerunOf: string | null
  /** Who had that job run again, and why. */
  readonly asked: { readonly by: string; readonly reason: string } | null
  /** The schedule that made it, and the time that it stands for. */
  readonly schedule: { readonly id: string; readonly time: Date } | null
  /** What its handler said last, in whatever process it runs. Not durable, and up to a second old. */
  readonly progress: unknown
  /** The newest lines that its handler wrote. Not durable. */
  readonly lines: readonly string[]
  /** Since when its handler said nothing, if that is too long, in whatever process it runs. Not durable. */
  readonly stalledSince: Date | null
}

/** What only this process knows. */
export interface SoftReports {
  readonly progress: string | null
  readonly lines: readonly string[]
  readonly stalledSince: number | null
}

export async function jobInfo(
  store: Queries,
  view: JobOverview,
  { progress, lines, stalledSince }: SoftReports,
): Promise<JobInfo> {
  const { job, state, startedAt, updatedAt, attempt, retries } = view
  const { spec, cancelled, erased } = job
  const executions = await newestExecutions(store, view)
  const { output, ...ending } = await endingPart(store, view, executions)
  const input = job.task === null ? inputOf(job) : currentInput(job).input
  const began = isFirstKnown(view) ? startedAt : await firstStart(store, job.id)
  return {
    id: job.id,
    type: spec.type,
    version: currentInput(job).version,
    state,
    ...(job.task === null ? pipelinePart(view) : plainPart(view, job.task)),
    ...ending,
    output: output?.value,
    ...(erased === null
      ? exactPart({ input, output: output?.text ?? null, metadata: spec.metadata, progress })
      : ERASED_PART),
    attempt,
    retryCount: retries,
    executions,
    executionCount: view.executionCount,
    startedAt: dateOf(began),
    updatedAt: new Date(updatedAt),
    priority: job.task?.priority ?? spec.priority,
    key: spec.key,
    group: spec.group,
    tags: spec.tags,
    metadata: spec.metadata === null || erased !== null ? undefined : fromJson(spec.metadata),
    submittedAt: new Date(job.submittedAt),
    deadlineAt: dateOf(job.deadlineAt),
    cancelled: cancelled === null ? null : actorInfo(cancelled),
    erased: erased === null ? null : actorInfo(erased),
    parent: spec.parent?.job ?? null,
    rerunOf: spec.rerunOf,
    asked: spec.asked,
    schedule:
      spec.schedule === null ? null : { id: spec.schedule.id, time: new Date(spec.schedule.tick) },
    progress: progress === null || erased !== null ? undefined : fromJson(progress),
    lines: erased === null ? lines : [],
    stalledSince: dateOf(stalledSince),
  }
}

/** A record remembers the newest leases. */
function isFirstKnown({ job }: JobOverview): boolean {
  return (job.task?.leases[0]?.number ?? 1) === 1
}

/** Entries until the first attempt began: submitted, released, leased, started. */
const FIRST_ENTRIES = 20

/** Null: that is no longer kept. */
async function firstStart(store: Queries, job: string): Promise<number | null> {
  const page = await store.query({ kind: 'history', job, limit: FIRST_ENTRIES })
  const first = page.find(
    ({ entry }) =>
      entry.type === 'ExecutionStarted' || (entry.type === 'LeaseGranted' && entry.started),
  )
  return first?.entry.at ?? null
}

type JobPart = Pick<
  JobInfo,
  | 'input'
  | 'maxRetries'
  | 'effects'
  | 'steps'
  | 'streams'
  | 'waits'
  | 'queue'
  | 'stages'
  | 'dueAt'
  | 'completedAt'
>

function plainPart({ job, state }: JobOverview, task: Task): JobPart {
  return {
    input: fromJson(currentInput(job).input),
    maxRetries: task.budget,
    effects: effectsOf(task),
    steps: task.steps.map(({ name }) => name),
    streams: task.streams.map(({ name, next }) => ({ name, length: next })),
    waits: pendingWaits(task).map(waitInfo),
    queue: task.policy.queue,
    stages: [],
    dueAt: new Date(task.dueAt),
    completedAt: isFinal(state) ? dateOf(task.endedAt) : null,
  }
}

function actorInfo({ at, by, reason }: Cancelled | Erased): NonNullable<JobInfo['cancelled']> {
  return { at: new Date(at), by, reason }
}

/** What there was is gone, which is not the same as a `null` that a handler returned. */
const ERASED_PART: Pick<JobInfo, 'input' | 'output'> = { input: undefined, output: undefined }

/** What a single task has, a pipeline shows by its stages. */
function pipelinePart({ job, state, stages }: JobOverview): JobPart {
  const specs = job.spec.stages ?? []
  const tallies = stages.map(({ tally }) => tally)
  return {
    input: fromJson(inputOf(job)),
    maxRetries: null,
    effects: [],
    steps: [],
    streams: [],
    waits: stages.flatMap(({ next }) => (next === null ? [] : pendingWaits(next).map(waitInfo))),
    queue: null,
    stages: stages.map((stage, i) => stageInfo(specs[i] as StageSpec, stage)),
    dueAt: new Date(job.dueAt),
    completedAt: isFinal(state) ? new Date(jobEndedAt(job, tallies)) : null,
  }
}

interface EndingPart extends Pick<JobInfo, 'error' | 'lastError' | 'errorType' | 'failure'> {
  /** Null: there is none. */
  readonly output: ParsedOutput | null
}

interface ParsedOutput {
  readonly value: unknown
  /** What it was read from, if a number in it was changed by that; null: none was. */
  readonly text: string | null
}

function parsedOutput(text: string): ParsedOutput {
  return { value: fromJson(text), text: inexactNumber(text) === null ? null : text }
}

/** What came of it so far. */
async function endingPart(
  store: Queries,
  view: JobOverview,
  executions: readonly ExecutionInfo[],
): Promise<EndingPart> {
  const { job, state } = view
  const isPipeline = job.task === null
  const outcome =
    state === 'FAILED' || (isPipeline && state === 'SUCCEEDED')
      ? await store.query({ kind: 'outcome', job: job.id })
      : null
  if (state === 'SUCCEEDED') {
    const output = isPipeline
      ? await pipelineOutput(store, job.id, outcome?.last ?? [])
      : outputOf(job)
    return { output, error: null, lastError: null, errorType: null, failure: null }
  }
  const failure = outcome === null ? null : await failureReason(store, job.id, outcome)
  const error = outcome?.error ?? job.task?.error ?? troubledError(view)
  return { output: outputOf(job), error, ...lastErrorOf(error, executions), failure }
}

function outputOf({ task }: Job): ParsedOutput | null {
  const text = task?.output ?? null
  return text === null ? null : parsedOutput(text)
}

/** Of a pipeline that is not over: that of a task that is in quarantine, or else one that failed. */
function troubledError({ stages }: JobOverview): Failure | null {
  const troubled = stages.flatMap((stage) => stage.troubled).filter(({ error }) => error !== null)
  return (troubled.find(({ state }) => state === 'DEAD') ?? troubled[0])?.error ?? null
}

/** What went wrong last: an error that was reported, or a lease that was lost after it. */
function lastErrorOf(
  error: Failure | null,
  executions: readonly ExecutionInfo[],
): Pick<JobInfo, 'lastError' | 'errorType'> {
  const last = executions.findLast(({ endedBy }) => endedBy !== null && WENT_WRONG.has(endedBy))
  const text = error === null ? null : `${error.code}: ${error.message}`
  if (last === undefined || !isLost(last.endedBy)) {
    const own = last?.error ?? error
    return own === null
      ? { lastError: null, errorType: null }
      : { lastError: `${own.code}: ${own.message}`, errorType: own.type }
  }
  const how = last.endedBy === 'LeaseExpired' ? 'ran out' : 'was taken away'
  const why = last.reason === null ? 'history() says why' : last.reason
  const lost = sentence(`The lease of attempt ${last.attempt} ${how} (${last.endedBy}): ${why}`)
  return {
    lastError: text === null ? lost : `${lost} Before that: ${text}`,
    errorType: 'RETRYABLE',
  }
}

const WENT_WRONG: ReadonlySet<LeaseEnd> = new Set<LeaseEnd>([
  'TaskFailed',
  'EffectFailed',
  'LeaseExpired',
  'LeaseRevoked',
])

/** Outputs of a stage that are shown: of more, `result()` reads page by page. */
const MOST_OUTPUTS = 1_000

async function pipelineOutput(
  store: Queries,
  job: string,
  last: readonly PriorStage[],
): Promise<ParsedOutput | null> {
  const outputs: [string, ParsedOutput | undefined][] = []
  for (const { name, stage, segments } of last) {
    const limit = segments === null ? 1 : MOST_OUTPUTS
    const page = await store.query({ kind: 'outputs', job, stage, after: -1, limit })
    if (page === null || page.next !== null) return null
    const read = page.outputs.map((one) => [one.segment, parsedOutput(one.output)] as const)
    outputs.push([name, segments === null ? read[0]?.[1] : listed(segments, read)])
  }
  const [only] = outputs
  if (outputs.length === 1) return only?.[1] ?? null
  const values = outputs.map(([name, one]) => [name, one?.value] as const)
  const texts = outputs.map(([name, one]) => [name, one?.text] as const)
  // Not by assignment: a stage may have any name, `__proto__` too.
  const value = Object.fromEntries(values)
  const isExact = texts.every(([, text]) => text == null)
  return { value, text: isExact ? null : jsonWith(value, Object.fromEntries(texts)) }
}

/** What the segments put out; of one without an output, nothing. */
function listed(
  segments: number,
  read: readonly (readonly [segment: number, one: ParsedOutput])[],
): ParsedOutput {
  const value: unknown[] = Array.from({ length: segments })
  for (const [segment, one] of read) value[segment] = one.value
  if (read.every(([, { text }]) => text === null)) return { value, text: null }
  const texts = value.map((one) => JSON.stringify(one ?? null))
  for (const [segment, { text }] of read) if (text !== null) texts[segment] = text
  return { value, text: `[${texts.join(',')}]` }
}

function stageInfo(
  spec: StageSpec,
  { state, segments, tally, troubled }: StageOverview,
): StageInfo {
  const { name, version, policy, after, each, tolerate, onFailure } = spec
  const { waiting, leased: running, completed, failed, dead } = tally
  return {
    name,
    state,
    version,
    queue: policy.queue,
    after,
    each,
    tolerate,
    onFailure,
    segments,
    waiting,
    running,
    completed,
    failed,
    dead,
    troubled: troubled.map(segmentInfo),
  }
}

function segmentInfo(task: Task): SegmentInfo {
  const { segment, state, attempt, error } = task
  return { segment, state, attempt, error, effects: effectsOf(task) }
}

function dateOf(ms: number | null): Date | null {
  return ms === null ? null : new Date(ms)
}

function effectsOf({ job, stage, segment, commit }: Task): EffectInfo[] {
  return (commit?.effects ?? []).map(({ promise, state, error }, i) => ({
    name: promise.name,
    key: effectKey(job, stage, segment, i),
    state,
    error,
  }))
}
