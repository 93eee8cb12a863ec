/**
 * What a pipeline results in: the output of its last stage, or, if there are several, of each by its name.
 */
import type { AnyJob } from './job-definition.ts'
import { isPipeline } from './job-definition.ts'
import type { StageOutputsPage } from './stage-outputs.ts'
import { outputFrom, StageOutputs } from './stage-outputs.ts'

/** A stage that no other comes after. */
export interface LastStage {
  readonly name: string
  readonly stage: number
  /** Null: it runs once, and has one output. */
  readonly segments: number | null
}

/** Reads outputs of the segments behind `after` (-1: from the first). */
export type ReadStage = (stage: number, after: number, limit: number) => Promise<StageOutputsPage>

/** Outputs that are read at once. */
const OUTPUTS_PAGE = 256

/** `definition`: says how outputs are checked; null: they are not. */
export async function pipelineResult(
  job: string,
  last: readonly LastStage[],
  definition: AnyJob | null,
  read: ReadStage,
): Promise<unknown> {
  const [first] = last
  if (first !== undefined && last.length === 1) return stageResult(job, first, definition, read)
  const results: [string, unknown][] = []
  for (const one of last) results.push([one.name, await stageResult(job, one, definition, read)])
  // Not by assignment: a stage may have any name, `__proto__` too.
  return Object.fromEntries(results)
}

async function stageResult(
  job: string,
  { name, stage, segments }: LastStage,
  definition: AnyJob | null,
  read: ReadStage,
): Promise<unknown> {
  const schema =
    definition !== null && isPipeline(definition)
      ? definition.stages.find((one) => one.stage === name)?.output
      : undefined
  const what = `The output of stage '${name}' of job ${job}`
  if (segments !== null) {
    const page = (after: number): Promise<StageOutputsPage> => read(stage, after, OUTPUTS_PAGE)
    return new StageOutputs(segments, page, schema, what)
  }
  const [only] = (await read(stage, -1, 1)).outputs
  return only === undefined ? undefined : outputFrom(schema, only.output, what)
}
