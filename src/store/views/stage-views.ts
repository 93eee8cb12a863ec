/**
 * What is asked about the stages of a pipeline: their outputs page by page, which come before
 * another and which come last, and what went wrong in one.
 */
import type { Job, Payload, StageSpec, StageTasks, Tallies, Task } from '../../kernel/index.ts'
import {
  copyTask,
  eachPath,
  emptyTally,
  NOT_OPENED,
  segmentsOf,
  stagesOf,
  stageState,
  tallyOf,
} from '../../kernel/index.ts'
import type { Holder, OutputsPage, PriorStage, StageOverview, Trouble } from '../store.ts'

/** A page ends behind the output that reaches it: outputs may be large. */
const PAGE_CHARS = 1_048_576

/** `after`: the last segment of the page before; -1: from the first. */
export function outputsPage(tasks: readonly Task[], after: number, limit: number): OutputsPage {
  const outputs: { segment: number; output: Payload }[] = []
  let chars = 0
  for (let segment = after + 1; segment < tasks.length; segment++) {
    const { output } = tasks[segment] as Task
    if (output === null) continue
    if (outputs.length >= limit || chars >= PAGE_CHARS) {
      return { outputs, next: outputs.at(-1)?.segment ?? after }
    }
    outputs.push({ segment, output })
    chars += output.length
  }
  return { outputs, next: null }
}

/** The tasks of a stage that was opened; none of another. */
export function tasksIn(job: Job, stages: StageTasks | null, stage: number): readonly Task[] {
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
export function lastStages(job: Job): PriorStage[] {
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

export const NO_TROUBLE: Trouble = { error: null, held: [], endedBy: null, at: null }
/** Names of effects that are held, in one answer. */
const MOST_HELD = 20

/**
 * Why a pipeline FAILED, or waits for a person: the first task that is to blame. `blamed`: the state
 * that did it, FAILED or DEAD. There may be tasks in the other one, too.
 */
export function troubleIn(
  job: Job,
  stages: StageTasks | null,
  tallies: Tallies,
  blamed: 'FAILED' | 'DEAD',
): Trouble {
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
  return first === null ? NO_TROUBLE : troubleOf(job, first, held)
}

/** A task that was only stopped is FAILED without an error: it says less than any that has one. */
function blameOf({ state, error }: Task, blamed: 'FAILED' | 'DEAD'): number {
  const [isIt, hasError] = [state === blamed ? 1 : 0, error === null ? 0 : 1]
  return blamed === 'FAILED' ? isIt + 2 * hasError : 2 * isIt + hasError
}

function troubleOf(job: Job, task: Task, held: readonly string[]): Trouble {
  const { error, segment, leases, stage } = task
  const spec = stagesOf(job)[stage]
  return {
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

export function stageOverviews(
  job: Job,
  stages: StageTasks | null,
  tallies: Tallies,
): StageOverview[] {
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
