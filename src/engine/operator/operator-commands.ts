/**
 * The commands that operators send about a job, and which job or task each is for. What is sent and what is offered is made
 * here, so that both are the same.
 */
import { InvalidDefinition, JobWasErased } from '../../definition/index.ts'
import type {
  CancelJob,
  ForceTask,
  Job,
  JobState,
  Payload,
  ReleaseJob,
  RescheduleTask,
  ResolveEffect,
  RetryTask,
  RevokeLease,
  StageState,
  Task,
  TaskAddress,
} from '../../kernel/index.ts'
import { stageIndex } from '../../kernel/index.ts'
import type { JobView } from '../../store/index.ts'
import type { Actor } from '../actor.ts'
import { Refused } from '../errors.ts'

type KnownActor = Required<Actor>

/** What a job is forced to, and what that is for its task. */
export const TO_TASK = { SUCCEEDED: 'COMPLETED', FAILED: 'FAILED', QUEUED: 'WAITING' } as const
export type ForcedState = keyof typeof TO_TASK

export function cancelOf(job: string, actor: KnownActor): CancelJob {
  return { type: 'CancelJob', job, ...actor }
}

/** `attempt`: of a plain job; null: a pipeline, each of whose tasks has attempts of its own. */
export function discardOf(job: string, attempt: number | null, actor: KnownActor): CancelJob {
  return { type: 'CancelJob', job, attempt, ...actor }
}

export function releaseOf(job: string, actor: KnownActor): ReleaseJob {
  return { type: 'ReleaseJob', job, ...actor }
}

export function retryOf(
  task: Task,
  seen: number | undefined,
  input: Payload | null,
  actor: KnownActor,
): RetryTask {
  const attempt = seen ?? task.attempt
  return { type: 'RetryTask', ...addressOf(task), attempt, input, ...actor }
}

export function forceOf(
  task: Task,
  seen: number | undefined,
  to: ForcedState,
  output: Payload | null,
  actor: KnownActor,
): ForceTask {
  const attempt = seen ?? task.attempt
  return { type: 'ForceTask', ...addressOf(task), attempt, to: TO_TASK[to], output, ...actor }
}

/** The lease of the newest attempt, or of the one that was seen. */
export function revokeOf(task: Task, seen: number | undefined, actor: KnownActor): RevokeLease {
  return { type: 'RevokeLease', ...addressOf(task), lease: seen ?? task.attempt, ...actor }
}

export function rescheduleOf(
  task: Task,
  seen: number | undefined,
  wanted: Pick<RescheduleTask, 'dueAt' | 'priority' | 'toQueue'>,
  actor: KnownActor,
): RescheduleTask {
  const attempt = seen ?? task.attempt
  return { type: 'RescheduleTask', ...addressOf(task), attempt, ...wanted, ...actor }
}

/** The newest start of the effect, or the one that was seen. */
export function resolveOf(
  task: Task,
  effect: number,
  seen: number | undefined,
  outcome: 'happened' | 'again',
  actor: KnownActor,
): ResolveEffect {
  const start = seen ?? task.commit?.effects[effect]?.starts.at(-1) ?? 0
  return { type: 'ResolveEffect', ...addressOf(task), effect, start, outcome, ...actor }
}

function addressOf({ job, stage, segment }: Task): TaskAddress {
  return { job, stage, segment }
}

interface JobInState {
  readonly job: Job
  readonly state: JobState
}

/** Null: it may be discarded as a whole. One that is FAILED already stays as it is. */
export function whyNotDiscarded({ job, state }: JobInState): Refused | null {
  return state === 'QUARANTINED' || state === 'FAILED'
    ? null
    : notDead(`Discarding job ${job.id}`, state, { job: job.id })
}

export function notDead(what: string, state: string, details: { readonly job: string }): Refused {
  const isOver = state === 'SUCCEEDED' || state === 'COMPLETED' || state === 'FAILED'
  const advice = isOver ? 'it is over' : 'cancel the job, or force the task'
  return new Refused(what, {
    code: 'TaskNotDead',
    check: 'discard',
    message: `It is ${state}, and only what is in quarantine is discarded: ${advice}.`,
    details: { job: details.job, state },
  })
}

/** Null: it may be. One in quarantine is retried; but a step that was recorded can only be taken back by a new job. */
export function whyNotRerun(
  { job, state }: JobInState,
  isFromStep: boolean,
): Refused | JobWasErased | null {
  if (job.erased !== null) return new JobWasErased(job.id, job.spec.type, state, job.erased)
  const isOver = state === 'FAILED' || state === 'SUCCEEDED'
  if (isOver || (isFromStep && state === 'QUARANTINED')) return null
  return new Refused(`Running job ${job.id} again`, {
    code: 'JobNotFinal',
    check: 'rerun',
    message: isFromStep
      ? `It is ${state}: only a job that is over, or in quarantine, is run again from a step.`
      : `It is ${state}: only a job that is over is run again as a new one. One in quarantine is retried, or run again \`from\` a step.`,
    details: { job: job.id, state },
  })
}

/** The names of the effects that its commits promised: a new job promises them anew. */
export function promisedEffects(tasks: readonly Task[]): readonly string[] {
  const promises = tasks.flatMap(({ commit }) => commit?.effects ?? [])
  return [...new Set(promises.map(({ promise }) => promise.name))]
}

/** A commit is resolved, not run again; and a stage that is done needs none of its tasks. */
export function isRetriable(
  stages: readonly { readonly state: StageState }[],
  { state, stage, commit }: Task,
): boolean {
  return state === 'DEAD' && commit === null && stages[stage]?.state !== 'DONE'
}

/** Of a pipeline: which stage, and which of its segments. */
export interface TaskChoice {
  /** The name of the stage. */
  readonly stage?: string | undefined
  /** From 0. */
  readonly segment?: number | undefined
}

/** Refused if the choice fits none, or several. */
export function onlyTask(view: JobView, choice: TaskChoice): Task {
  const all = tasksOf(view, choice)
  const [first] = all
  if (first !== undefined && all.length === 1) return first
  const { job } = view
  throw new InvalidDefinition(
    all.length === 0
      ? `Job ${job.id} has no such task now: its stages are ${stagesText(view)}.`
      : `Job ${job.id} has ${all.length} tasks that could be meant: give a \`stage\` and, if it has several, a \`segment\`. Its stages are ${stagesText(view)}.`,
    { job: job.id, ...choice },
  )
}

/** All that the choice fits; without one, all there are. */
export function tasksOf(view: JobView, choice: TaskChoice): Task[] {
  const { stages } = view
  const stage = chosenStage(view.job, choice, () => stagesText(view))
  return stages
    .flatMap(({ tasks }, i) => (stage === null || stage === i ? tasks : []))
    .filter((task) => choice.segment === undefined || task.segment === choice.segment)
}

/** Null: any. */
export function chosenStage(
  job: Job,
  { stage, segment }: TaskChoice,
  stagesInWords: () => string,
): number | null {
  if (job.task !== null) {
    const isOther = stage !== undefined || (segment ?? 0) !== 0
    if (!isOther) return null
    throw new InvalidDefinition(`Job ${job.id} is a plain job: it has neither stages nor segments.`)
  }
  if (stage === undefined && segment !== undefined) {
    throw new InvalidDefinition(
      `Segment ${segment} of which stage of job ${job.id}? Give a \`stage\`.`,
    )
  }
  const only = stage === undefined ? null : stageIndex(job, stage)
  if (only !== -1) return only
  throw new InvalidDefinition(
    `Job ${job.id} has no stage '${stage}': its stages are ${stagesInWords()}.`,
    { job: job.id, stage },
  )
}

function stagesText({ stages }: JobView): string {
  return stages
    .map(({ name, state, tasks }) => `'${name}' (${state}, ${tasks.length} segments)`)
    .join(', ')
}
