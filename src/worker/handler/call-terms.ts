/**
 * Waits for the end of another job, which the wait itself has submitted: under an id made of the caller and
 * the name, so that it is one job however often the caller runs.
 */
import type { AnyJob, CallOptions, FailedAt, SubmitDefaults } from '../../definition/index.ts'
import {
  inputOf,
  InvalidDefinition,
  isDefinition,
  isPipeline,
  JobDeadlinePassed,
  JobFailed,
  JobWasCancelled,
  JobWasErased,
  KnownOptions,
  outputFrom,
  pipelineResult,
  specOf,
} from '../../definition/index.ts'
import type {
  Cancelled,
  CallerRef,
  Failure,
  JobSpec,
  JobState,
  Payload,
} from '../../kernel/index.ts'
import { calleeId } from '../../kernel/index.ts'
import type { CalleePort } from './wait-port.ts'
import type { WaitTerms } from './wait-nodes.ts'

const CALL_OPTIONS = new KnownOptions<CallOptions>({
  cancel: true,
  priority: true,
  queue: true,
  group: true,
  limits: true,
  tags: true,
  metadata: true,
  deadline: true,
  retention: true,
})

/** What the record says of how a callee ended. */
interface CallAnswer {
  readonly state: JobState
  readonly output?: unknown
  readonly cancelled?: Cancelled | null
  readonly error?: Failure | null
  readonly erased?: true
}

export interface CallTermsParts {
  /** Which task calls. */
  readonly from: Omit<CallerRef, 'name' | 'withCaller'>
  /** As the record has it; null: it was not called yet. */
  readonly known: JobSpec | null
  readonly defaults: SubmitDefaults
  readonly port: CalleePort
}

export function callTerms(
  { from, known, defaults, port }: CallTermsParts,
  name: string,
  definition: AnyJob,
  input: unknown,
  options: CallOptions = {},
): WaitTerms {
  assertCall(name, definition, options)
  const { cancel, ...others } = options
  const caller: CallerRef = { ...from, name, withCaller: cancel === 'with-caller' }
  const callee = async (): Promise<JobSpec> => {
    if (known !== null) return known
    const text = await inputOf(definition, input)
    return { ...specOf(definition, input, text, others, defaults), caller }
  }
  const id = calleeId(known?.caller ?? caller)
  return {
    name,
    written: `call('${name}', …)`,
    inPlaceMs: null,
    message: null,
    spec: async () => ({ name, ...NO_MESSAGE, callee: await callee() }),
    read: ({ value }) => resultOf(id, definition, JSON.parse(value as Payload), port),
    misfit: () => null,
  }
}

const NO_MESSAGE = { message: null, schema: null, ask: null, delayMs: null, dueAt: null } as const

function assertCall(name: string, definition: AnyJob, options: CallOptions): void {
  if (!isDefinition(definition)) {
    throw new InvalidDefinition(
      `call('${name}', …) was given no job to call: write call('${name}', job, input).`,
    )
  }
  CALL_OPTIONS.assert(options, `call('${name}', …)`, `call('${name}', job, input, { queue: '…' })`)
  const { cancel } = options
  if (cancel === undefined || cancel === 'with-caller') return
  throw new InvalidDefinition(
    `\`cancel\` of call('${name}', …) is 'with-caller', or left out, not ${String(cancel)}.`,
  )
}

/** What the callee resulted in, or it throws what says why it did not. */
async function resultOf(
  id: string,
  definition: AnyJob,
  { state, output, cancelled, error = null, erased }: CallAnswer,
  port: CalleePort,
): Promise<unknown> {
  const { name: type } = definition
  if (erased === true) throw new JobWasErased(id, type, state, null)
  if (cancelled?.deadline === true) throw new JobDeadlinePassed(id, type, { error, at: null })
  if (cancelled != null) throw new JobWasCancelled(id, type, cancelled.by, cancelled.reason)
  if (state !== 'SUCCEEDED') throw await failureOf(id, type, error, port)
  if (!isPipeline(definition)) {
    const what = `The output of job ${id} ('${type}')`
    return outputFrom(definition.output, JSON.stringify(output ?? null), what)
  }
  const { last } = await port.callee(id)
  return pipelineResult(id, last ?? [], definition, (stage, after) => {
    return port.outputs(stage, after, id)
  })
}

/** The answer has the error of a plain job; that of a pipeline is with its tasks. */
async function failureOf(
  id: string,
  type: string,
  own: Failure | null,
  port: CalleePort,
): Promise<JobFailed> {
  const found: { error: Failure | null; at: FailedAt | null } =
    own === null ? await port.callee(id) : { error: own, at: null }
  const { error, at } = found
  const why = error === null ? 'stopped' : error.type === 'TERMINAL' ? 'terminal' : 'retries'
  const message = error === null ? 'No error is on record.' : `${error.code}: ${error.message}`
  return new JobFailed(id, type, { error, at }, { why, by: null, reason: null, message })
}
