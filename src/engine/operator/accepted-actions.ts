/**
 * What an operator could do to a job, or to one task of a pipeline, at this moment: each command that the calls of an
 * operator would send is decided by the kernel, on a copy of the records, and goes no further.
 *
 * The answer may be old when it arrives, like everything that is read: the call itself is decided anew.
 */
import { InvalidDefinition } from '../../definition/index.ts'
import type { Command, Job, Tallies, Task } from '../../kernel/index.ts'
import { decide, isFinal, noReads, NO_TALLIES, stagesOf } from '../../kernel/index.ts'
import type { JobOverview, StageOverview, Store } from '../../store/index.ts'
import { UnknownJob } from '../errors.ts'
import type { ForcedState, TaskChoice } from './operator-commands.ts'
import {
  cancelOf,
  chosenStage,
  discardOf,
  forceOf,
  isRetriable,
  releaseOf,
  rescheduleOf,
  resolveOf,
  retryOf,
  revokeOf,
  TO_TASK,
  whyNotDiscarded,
  whyNotRerun,
} from './operator-commands.ts'

export type AcceptedAction =
  | {
      readonly action:
        | 'release'
        | 'retry'
        | 'discard'
        | 'revoke'
        | 'reschedule'
        | 'cancel'
        | 'erase'
    }
  | { readonly action: 'force'; readonly to: readonly ForcedState[] }
  | {
      readonly action: 'rerun'
      /** False: only from one of the steps. */
      readonly isWhole: boolean
      /** The steps that it can be run again from. */
      readonly from: readonly string[]
      /** It is only accepted if the call says that they are promised again. */
      readonly effects: readonly string[]
    }
  | { readonly action: 'resolve'; readonly effects: readonly UnresolvedEffect[] }

export interface UnresolvedEffect {
  /** Its place in the commit, from 0. */
  readonly effect: number
  /** To be given as `start`, so that no later start is hit. */
  readonly start: number
}

export interface AcceptedActions {
  readonly job: string
  /** Of a task: its stage and its segment. Null: these are of the job as a whole. */
  readonly stage: string | null
  readonly segment: number | null
  /** To be given as `attempt`, so that no other attempt is hit. Null: of a pipeline as a whole. */
  readonly attempt: number | null
  readonly actions: readonly AcceptedAction[]
}

/** What the commands are decided on. */
interface Ground {
  readonly view: JobOverview
  readonly task: Task | null
  readonly tallies: Tallies
  readonly now: number
}

const WHO = { by: 'client', reason: 'Is it accepted?' } as const

export async function acceptedActions(
  store: Store,
  now: number,
  id: string,
  choice: TaskChoice,
): Promise<AcceptedActions> {
  const view = await store.query({ kind: 'overview', job: id })
  if (view === null) throw new UnknownJob(id)
  const { job, stages } = view
  const stage = chosenStage(job, choice, () => stagesText(stages))
  const task =
    stage === null ? await soleTask(store, view) : await taskAt(store, job, stage, choice)
  const ground: Ground = {
    view,
    task,
    tallies: job.task === null ? stages.map(({ tally }) => tally) : NO_TALLIES,
    // A clock that is only estimated may be behind what the job itself has seen.
    now: Math.max(now, view.updatedAt),
  }
  const isWhole = stage === null
  const actions = [
    ...(isWhole ? jobActions(ground) : []),
    ...(task === null ? [] : taskActions(ground, task)),
    ...(isWhole ? [] : discardOfTask(ground, task)),
    ...(isWhole ? endActions(ground) : []),
  ]
  return {
    job: id,
    stage: isWhole ? null : (choice.stage ?? null),
    segment: isWhole ? null : (task?.segment ?? null),
    // A pipeline has none: each of its tasks has attempts of its own.
    attempt: (isWhole ? job.task : task)?.attempt ?? null,
    actions,
  }
}

function stagesText(stages: readonly StageOverview[]): string {
  return stages
    .map(({ name, state, segments }) => `'${name}' (${state}, ${segments ?? 0} segments)`)
    .join(', ')
}

/** That calls for the whole job are about: of a pipeline, if there is only one now. */
async function soleTask(store: Store, { job, stages }: JobOverview): Promise<Task | null> {
  if (job.task !== null) return job.task
  const opened = stages.flatMap(({ segments }, stage) =>
    segments === null || segments === 0 ? [] : [{ stage, segments }],
  )
  const [only] = opened
  if (only === undefined || opened.length > 1 || only.segments > 1) return null
  return store.query({ kind: 'task', job: job.id, stage: only.stage, segment: 0 })
}

async function taskAt(
  store: Store,
  job: Job,
  stage: number,
  { segment }: TaskChoice,
): Promise<Task> {
  const spec = stagesOf(job)[stage]
  if (segment === undefined && spec?.each != null) {
    throw new InvalidDefinition(`Which segment of stage '${spec.name}' of job ${job.id}?`, {
      job: job.id,
      stage: spec.name,
    })
  }
  const task = await store.query({ kind: 'task', job: job.id, stage, segment: segment ?? 0 })
  if (task !== null) return task
  throw new InvalidDefinition(
    `Job ${job.id} has no segment ${segment ?? 0} of stage '${spec?.name}' now.`,
    { job: job.id, stage: spec?.name, segment },
  )
}

/** Accepted, and not done before. */
function isAccepted({ view, tallies, now }: Ground, command: Command, task: Task | null): boolean {
  const reads = { ...noReads(), job: view.job, task, tallies }
  const { rejection, entry } = decide(command, reads, now)
  return rejection === null && entry !== null
}

function jobActions(ground: Ground): AcceptedAction[] {
  const { view } = ground
  const { id } = view.job
  const attempt = view.job.task?.attempt ?? null
  const actions: AcceptedAction[] = []
  if (isAccepted(ground, releaseOf(id, WHO), null)) actions.push({ action: 'release' })
  // One task alone is among the actions on it.
  if (ground.task === null && areRetried(ground)) actions.push({ action: 'retry' })
  if (whyNotDiscarded(view) === null && isAccepted(ground, discardOf(id, attempt, WHO), null)) {
    actions.push({ action: 'discard' })
  }
  if (isAccepted(ground, cancelOf(id, WHO), null)) actions.push({ action: 'cancel' })
  return actions
}

/** Of a pipeline: every task that waits for a person and may run again. */
function areRetried(ground: Ground): boolean {
  const { stages } = ground.view
  const dead = stages.flatMap(({ troubled }) => troubled.filter((one) => isRetriable(stages, one)))
  return (
    dead.length > 0 &&
    dead.every((task) => isAccepted(ground, retryOf(task, undefined, null, WHO), task))
  )
}

const UNCHANGED = { priority: null, toQueue: null }
const STATES = Object.keys(TO_TASK) as ForcedState[]

function taskActions(ground: Ground, task: Task): AcceptedAction[] {
  const accepts = (command: Command): boolean => isAccepted(ground, command, task)
  const later = { dueAt: ground.now + 1, ...UNCHANGED }
  const to = STATES.filter((state) => accepts(forceOf(task, undefined, state, null, WHO)))
  const promised = [...(task.commit?.effects ?? []).keys()]
  const effects = promised
    .map((effect) => resolveOf(task, effect, undefined, 'happened', WHO))
    .filter(accepts)
    .map(({ effect, start }) => ({ effect, start }))
  const actions: AcceptedAction[] = []
  if (accepts(retryOf(task, undefined, null, WHO))) actions.push({ action: 'retry' })
  if (accepts(revokeOf(task, undefined, WHO))) actions.push({ action: 'revoke' })
  if (accepts(rescheduleOf(task, undefined, later, WHO))) actions.push({ action: 'reschedule' })
  if (to.length > 0) actions.push({ action: 'force', to })
  if (effects.length > 0) actions.push({ action: 'resolve', effects })
  return actions
}

/** By force: whether the job goes on is for `tolerate`. */
function discardOfTask(ground: Ground, task: Task | null): AcceptedAction[] {
  if (task?.state !== 'DEAD') return []
  const command = forceOf(task, undefined, 'FAILED', null, WHO)
  return isAccepted(ground, command, task) ? [{ action: 'discard' }] : []
}

/** Of a job that is over; a plain one in quarantine, too, is run again from a step. */
function endActions(ground: Ground): AcceptedAction[] {
  const { view } = ground
  const { job, state } = view
  const actions: AcceptedAction[] = []
  const isWhole = whyNotRerun(view, false) === null
  const isFromStep = job.task !== null && whyNotRerun(view, true) === null
  const from = isFromStep ? (job.task?.steps ?? []).map(({ name }) => name) : []
  if (isWhole || from.length > 0) {
    actions.push({ action: 'rerun', isWhole, from, effects: view.effects })
  }
  const erasure: Command = { type: 'EraseJob', job: job.id, ...WHO }
  if (isFinal(state) && isAccepted(ground, erasure, null)) actions.push({ action: 'erase' })
  return actions
}
