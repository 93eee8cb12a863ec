/**
 * Which task of a job an operator means: the one of a plain job, or one segment of one stage.
 */
import { InvalidDefinition } from '../../definition/index.ts'
import type { Task } from '../../kernel/index.ts'
import { stageIndex } from '../../kernel/index.ts'
import type { JobView } from '../../store/index.ts'

/** Of a pipeline: which stage, and which of its segments. */
export interface TaskChoice {
  /** The name of the stage. */
  readonly stage?: string | undefined
  /** From 0. */
  readonly segment?: number | undefined
}

/** The one that is meant; refused if it could be another. */
export function oneTask(view: JobView, choice: TaskChoice): Task {
  const all = chosen(view, choice)
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

/** All that fit: without a choice, all there are. */
export function chosen(view: JobView, { stage, segment }: TaskChoice): Task[] {
  const { job, stages } = view
  if (job.task !== null) {
    const isOther = stage !== undefined || (segment ?? 0) !== 0
    if (!isOther) return stages.flatMap(({ tasks }) => tasks)
    throw new InvalidDefinition(`Job ${job.id} is a plain job: it has neither stages nor segments.`)
  }
  if (stage === undefined && segment !== undefined) {
    throw new InvalidDefinition(
      `Segment ${segment} of which stage of job ${job.id}? Give a \`stage\`.`,
    )
  }
  const only = stage === undefined ? null : stageIndex(job, stage)
  if (only === -1) {
    throw new InvalidDefinition(
      `Job ${job.id} has no stage '${stage}': its stages are ${stagesText(view)}.`,
      { job: job.id, stage },
    )
  }
  return stages
    .flatMap(({ tasks }, i) => (only === null || only === i ? tasks : []))
    .filter((task) => segment === undefined || task.segment === segment)
}

function stagesText({ stages }: JobView): string {
  return stages
    .map(({ name, state, tasks }) => `'${name}' (${state}, ${tasks.length} segments)`)
    .join(', ')
}
