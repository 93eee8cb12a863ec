/**
 * What the handler of a stage is given: the input, what earlier stages put out, and, with
 * `each`, its own element.
 *
 * The shape is the one that the job was submitted with. The worker's definition says how values
 * are checked, and may be a newer one.
 */
import type { PipelineFailure, StageDefinition } from '../../definition/index.ts'
import {
  fromJson,
  inputFor,
  InvalidDefinition,
  nameOf,
  outputFrom,
  StageOutputs,
} from '../../definition/index.ts'
import { eachPath } from '../../kernel/index.ts'
import type { ClaimedSegment, Ending, PriorStage } from '../../store/index.ts'
import type { AbortHandle } from '../abort-handle.ts'
import type { HandlerPort, HandlerRequest, StageRequest } from './handler-context.ts'
import { HandlerContext } from './handler-context.ts'

export async function stageContextFor(
  definition: StageDefinition,
  request: HandlerRequest,
  asked: StageRequest,
  port: HandlerPort,
  abortHandle: AbortHandle,
): Promise<HandlerContext> {
  assertVersion(definition, asked)
  const values = new StageValues(definition, request, asked, port)
  const input = await values.input()
  const outputs = await values.outputs()
  const { name, version, each, ending, segment: index } = asked
  const added: Record<string, unknown> = { stage: { name, version }, outputs }
  if (ending !== null) added['failure'] = failureIn(ending)
  if (each !== null) {
    added['segment'] = await values.segment(each, input, outputs)
    added['index'] = index
  }
  return Object.assign(new HandlerContext(definition, request, port, abortHandle, input), added)
}

function failureIn({ error, at, cancelled }: Ending): PipelineFailure {
  return {
    cancelled: cancelled === null ? null : { by: cancelled.by, reason: cancelled.reason },
    stage: at?.stage ?? null,
    segment: at?.segment ?? null,
    error,
  }
}

function assertVersion(definition: StageDefinition, { version }: StageRequest): void {
  const current = definition.spec.version
  if (version <= current) return
  throw new InvalidDefinition(
    `This job wants version ${version} of ${nameOf(definition)}, and this worker knows versions up to ${current}: deploy the newer definition.`,
    { version, current },
  )
}

type Outputs = Record<string, unknown>

class StageValues {
  readonly #definition: StageDefinition
  readonly #request: HandlerRequest
  readonly #asked: StageRequest
  readonly #port: HandlerPort

  constructor(
    definition: StageDefinition,
    request: HandlerRequest,
    asked: StageRequest,
    port: HandlerPort,
  ) {
    this.#definition = definition
    this.#request = request
    this.#asked = asked
    this.#port = port
  }

  async input(): Promise<unknown> {
    const { version, input } = this.#request
    if (input !== null) return inputFor(this.#definition, version, fromJson(input))
    return this.#shared('input', async () => {
      const text = await this.#port.input()
      const value: unknown = await inputFor(this.#definition, version, fromJson(text))
      return { value, chars: text.length }
    })
  }

  async outputs(): Promise<Outputs> {
    const outputs: [string, unknown][] = []
    for (const prior of this.#asked.prior) {
      const { name, segments } = prior
      outputs.push([name, segments === null ? await this.#one(prior) : this.#many(prior)])
    }
    // Not by assignment: a stage may have any name, `__proto__` too.
    return Object.fromEntries(outputs)
  }

  /** The element of one segment. Undefined: the segment it is made from has no output. */
  async segment(each: ClaimedSegment, input: unknown, outputs: Outputs): Promise<unknown> {
    const { source, path } = eachPath(each.source)
    const prior = this.#asked.prior.find(({ name }) => name === source)
    const isChained = prior !== undefined && prior.segments !== null
    if (each.element !== null) {
      return isChained
        ? outputFrom(this.#schemaOf(source), each.element, this.#outputName(source))
        : fromJson(each.element)
    }
    if (isChained) return undefined
    return this.#elementOf(each, path, source === 'input' ? input : outputs[source])
  }

  #elementOf(
    { source, segments }: ClaimedSegment,
    path: readonly string[],
    value: unknown,
  ): unknown {
    let array = value
    for (const field of path) array = (array as Record<string, unknown> | null)?.[field]
    const { segment } = this.#asked
    if (Array.isArray(array) && segment < array.length) return array[segment]
    const found = Array.isArray(array) ? `one of ${array.length} elements` : 'no array'
    throw new InvalidDefinition(
      `This is segment ${segment} of ${segments} of ${nameOf(this.#definition)}, and '${source}' is ${found} once its schema and upgrades have seen it: they must keep what \`each\` names.`,
      { each: source, segment },
    )
  }

  /** Of a stage that runs once; undefined if it failed, and that was tolerated. */
  async #one({ name, stage }: PriorStage): Promise<unknown> {
    const read = async (): Promise<{ value: unknown; chars: number }> => {
      const { outputs } = await this.#port.outputs(stage, -1)
      const text = outputs[0]?.output
      if (text === undefined) return { value: undefined, chars: 0 }
      const value: unknown = await outputFrom(this.#schemaOf(name), text, this.#outputName(name))
      return { value, chars: text.length }
    }
    return this.#asked.each === null ? (await read()).value : this.#shared(name, read)
  }

  #many({ name, stage, segments }: PriorStage): StageOutputs<unknown> {
    const read = (after: number): ReturnType<HandlerPort['outputs']> =>
      this.#port.outputs(stage, after)
    return new StageOutputs(segments ?? 0, read, this.#schemaOf(name), this.#outputName(name))
  }

  /** Shared by the segments of a job. */
  #shared(what: string, make: () => Promise<{ value: unknown; chars: number }>): Promise<unknown> {
    const { job, submittedAt } = this.#request
    const { id } = job
    const { name: type } = this.#definition
    // An id may have any characters, so its length comes first.
    const key = `${id.length} ${id} ${submittedAt} ${type} ${what}`
    return this.#port.shared.get(key, make)
  }

  #schemaOf(stage: string): StageDefinition['output'] {
    return this.#definition.outputs.get(stage)
  }

  #outputName(stage: string): string {
    return `The output of ${nameOf({ name: this.#definition.name, stage })}`
  }
}
