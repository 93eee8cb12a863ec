/**
 * What a definition has for a task: the job itself, or one stage of a pipeline.
 */
import type { AnyJob, Runnable } from '../../definition/index.ts'
import { isPipeline } from '../../definition/index.ts'

/** `stage`: null for a plain job. Null: the definition has nothing for it. */
export function runnableIn(definition: AnyJob, stage: string | null): Runnable | null {
  if (!isPipeline(definition)) return stage === null ? definition : null
  return definition.stages.find((one) => one.stage === stage) ?? null
}
