/**
 * What a pipeline results in: what its last stages put out, read from the store.
 *
 * Which stages are the last is up to the job, which keeps the shape it was submitted with. The
 * definition only says how their outputs are checked.
 */
import type { AnyJob } from '../../definition/index.ts'
import { isPipeline, outputFrom, StageOutputs } from '../../definition/index.ts'
import type { OutputsPage, PriorStage, Store } from '../../store/index.ts'
import { UnknownJob } from '../errors.ts'

/** Outputs that are read at once. */
const PAGE = 256

/** Of one last stage its output; of several an object, by their names. */
export async function pipelineResult(
  store: Store,
  id: string,
  last: readonly PriorStage[],
  definition: AnyJob | null,
): Promise<unknown> {
  const [first] = last
  if (first !== undefined && last.length === 1) return resultOf(store, id, first, definition)
  const results: [string, unknown][] = []
  for (const one of last) results.push([one.name, await resultOf(store, id, one, definition)])
  // Not by assignment: a stage may have any name, `__proto__` too.
  return Object.fromEntries(results)
}

async function resultOf(
  store: Store,
  job: string,
  { name, stage, segments }: PriorStage,
  definition: AnyJob | null,
): Promise<unknown> {
  const schema =
    definition !== null && isPipeline(definition)
      ? definition.stages.find((one) => one.stage === name)?.output
      : undefined
  const what = `The output of stage '${name}' of job ${job}`
  const limit = segments === null ? 1 : PAGE
  const read = async (after: number): Promise<OutputsPage> => {
    const page = await store.query({ kind: 'outputs', job, stage, after, limit })
    // Forgotten meanwhile: that is not the same as having put out nothing.
    if (page === null) throw new UnknownJob(job)
    return page
  }
  if (segments !== null) return new StageOutputs(segments, read, schema, what)
  const [only] = (await read(-1)).outputs
  return only === undefined ? undefined : outputFrom(schema, only.output, what)
}
