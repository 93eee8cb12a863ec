/**
 * Runs a handler once, wherever it is to run: in this thread, in another, or in a process of
 * its own. What it needs from the outside comes through a small port, and what comes of it is
 * plain data.
 */
import { inspect } from 'node:util'
import type {
  AnyEffect,
  ArtifactDraft,
  ArtifactPlace,
  ArtifactRef,
  ChildCall,
  HandlerCommit,
  CommitWrites,
  EffectCall,
  JobDetails,
  RunContext,
  Runnable,
  StageDefinition,
  StoredArtifact,
} from '../../definition/index.ts'
import {
  fromJson,
  inputFor,
  inputOf,
  InvalidDefinition,
  isCommit,
  makeCommit,
  nameOf,
  specOf,
  toJson,
  validated,
} from '../../definition/index.ts'
import type { EffectPromise, Failure, Payload } from '../../kernel/index.ts'
import { DEFAULT_RETRY } from '../../kernel/index.ts'
import type { OutputsPage } from '../../store/index.ts'
import type { TaskOnFile } from '../artifact/index.ts'
import { Drafts, isArtifactStep, openStored, withinReach } from '../artifact/index.ts'
import { failureOf } from './failure.ts'
import type { SharedValues } from './shared-values.ts'
import type { StageRequest } from './stage-context.ts'
import { stageContextFor } from './stage-context.ts'
import type { AbortHandle } from './abort-handle.ts'

/** All that is known about the attempt: plain data. */
export interface HandlerRequest {
  readonly job: JobDetails
  /** Which store it is in; null: one that is lost with its process. */
  readonly store: string | null
  /** With the id it stands for one job: an id may be used again once it is forgotten. */
  readonly submittedAt: number
  readonly version: number
  /** Null for a segment: many have it in common, and it is asked for once. */
  readonly input: Payload | null
  readonly steps: readonly { readonly name: string; readonly value: Payload }[]
  /** Null: a plain job. */
  readonly stage: StageRequest | null
}

/** The way back to the worker that holds the lease. */
export interface HandlerPort {
  /** Durable when it returns; the value that stands: another may have been first. */
  record(name: string, value: Payload): Promise<Payload>
  progress(value: Payload): void
  log(line: string): void
  /** The call goes on, although nothing was said of this job. */
  heard(): void
  /** What the job was submitted with. */
  input(): Promise<Payload>
  /** Some outputs of a stage's segments behind this one. */
  outputs(stage: number, after: number): Promise<OutputsPage>
  /** Where the handler runs, and as long as its worker lives. */
  readonly shared: SharedValues
  /** Null: they are out of reach from where the handler runs. */
  readonly artifacts: ArtifactPlace | null
  /** Why nothing of the user's can be written with the commit; null: it can. */
  readonly noWrites: string | null
}

export type HandlerOutcome =
  | {
      readonly kind: 'commit'
      readonly output: Payload
      readonly effects: readonly EffectPromise[]
      /** Never from another thread or process: there, it is refused. */
      readonly writes: CommitWrites | null
    }
  | { readonly kind: 'failure'; readonly failure: Failure }

export async function runHandler(
  definition: Runnable,
  request: HandlerRequest,
  port: HandlerPort,
  abortHandle: AbortHandle,
): Promise<HandlerOutcome> {
  try {
    // Most of it is there at once, and a promise that nobody needs costs as much as any.
    const made = contextFor(definition, request, port, abortHandle)
    const context = made instanceof Promise ? await made : made
    const running = definition.run(context as unknown as RunContext<never, []>)
    const returned = isThenable(running) ? await running : running
    const outcome = conclude(definition, context, returned)
    return outcome instanceof Promise ? await outcome : outcome
  } catch (error) {
    return failed(definition, error)
  }
}

/** What the handler gets, once its input is what it should be. */
export function contextFor(
  definition: Runnable,
  request: HandlerRequest,
  port: HandlerPort,
  abortHandle: AbortHandle,
): Context | Promise<Context> {
  const { stage } = request
  if (stage !== null) {
    return stageContextFor(definition as StageDefinition, request, stage, port, abortHandle)
  }
  const checked = inputFor(definition, request.version, fromJson(request.input ?? 'null'))
  return checked instanceof Promise
    ? checked.then((input) => new Context(definition, request, port, abortHandle, input))
    : new Context(definition, request, port, abortHandle, checked)
}

/** What the handler returned, as it is to be committed. */
export function conclude(
  definition: Runnable,
  context: Context,
  returned: unknown,
): HandlerOutcome | Promise<HandlerOutcome> {
  const commit = context.committed(returned)
  const { effects, children } = commit
  const output = outputOf(definition, commit.output)
  const isPlain = effects.length === 0 && children.length === 0
  if (isPlain && typeof output === 'string') {
    return { kind: 'commit', output, effects: NOTHING, writes: commit.writes }
  }
  return promised(definition, commit, output)
}

async function promised(
  definition: Runnable,
  commit: HandlerCommit<unknown>,
  output: Payload | Promise<Payload>,
): Promise<HandlerOutcome> {
  return {
    kind: 'commit',
    output: await output,
    effects: await promisesOf(definition, commit),
    writes: commit.writes,
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as PromiseLike<unknown> | null | undefined)?.then === 'function'
}

export function failed({ classify }: Runnable, error: unknown): HandlerOutcome {
  return { kind: 'failure', failure: failureOf(error, classify ?? undefined) }
}

export class Context {
  readonly input: unknown
  readonly job: JobDetails
  readonly #abortHandle: AbortHandle
  readonly #definition: Runnable
  readonly #port: HandlerPort
  readonly #request: HandlerRequest
  #drafts: Drafts | null = null
  #names: Set<string> | null = null
  #commit: HandlerCommit<unknown> | null = null

  constructor(
    definition: Runnable,
    request: HandlerRequest,
    port: HandlerPort,
    abortHandle: AbortHandle,
    input: unknown,
  ) {
    this.input = input
    this.job = request.job
    this.#abortHandle = abortHandle
    this.#definition = definition
    this.#port = port
    this.#request = request
  }

  get signal(): AbortSignal {
    return this.#abortHandle.signal
  }

  // Handlers take them apart, so each is bound; and made only if it is asked for.

  get step(): (name: string, work: () => unknown) => Promise<unknown> {
    return (name, work) => this.#step(name, work)
  }

  get progress(): (value: unknown) => void {
    return (value) => this.#progress(value)
  }

  get log(): (line: string) => void {
    return (line) => this.#port.log(textOf(line))
  }

  get artifact(): (name: string) => ArtifactDraft {
    return (name) => this.#draft(name)
  }

  get openArtifact(): (ref: ArtifactRef) => Promise<StoredArtifact> {
    return async (ref) => openStored(this.#place(), ref)
  }

  get commit(): (
    output: unknown,
    effects?: readonly EffectCall[],
    children?: readonly ChildCall[],
  ) => HandlerCommit<unknown> {
    return (output, effects = [], children = []) => this.#promise(output, effects, children)
  }

  /** It is only for onlookers: what cannot be shown is no reason to fail. */
  #progress(value: unknown): void {
    try {
      this.#port.progress(toJson(value, `The progress of job ${this.job.id}`, 'progress'))
    } catch (error) {
      this.#port.log((error as Error).message)
    }
  }

  #draft(name: string): ArtifactDraft {
    const { steps } = this.#request
    this.#drafts ??= new Drafts({
      place: this.#place(),
      task: taskOnFile(this.#definition, this.#request),
      steps,
      record: (step, value) => this.#port.record(step, value),
      log: (line) => this.#port.log(line),
      abortHandle: this.#abortHandle,
    })
    return this.#drafts.draft(name)
  }

  #place(): ArtifactPlace {
    return withinReach(this.#port.artifacts, this.job.id)
  }

  async #step(name: string, work: () => unknown): Promise<unknown> {
    if (typeof name !== 'string' || typeof work !== 'function') {
      throw new InvalidDefinition(
        `A step of job ${this.job.id} has no name or nothing to do: write step('name', () => …).`,
        { job: this.job.id },
      )
    }
    const what = `step '${name}' of job ${this.job.id}`
    this.#names ??= new Set()
    if (isArtifactStep(name)) {
      throw new InvalidDefinition(
        `No ${what}: names that begin with 'artifact:' or 'artifact-reused:' are those of artifacts.`,
        { job: this.job.id, step: name },
      )
    }
    if (this.#names.has(name)) {
      throw new InvalidDefinition(
        `There are two steps named '${name}' in one execution of job ${this.job.id}: a step is known by its name alone, so give each its own, e.g. '${name}-2'.`,
        { job: this.job.id, step: name },
      )
    }
    this.#names.add(name)
    const before = this.#request.steps.find((step) => step.name === name)
    if (before !== undefined) return fromJson(before.value)
    this.#abortHandle.throwIfStopped()
    const value = toJson(await work(), `The value of ${what}`, name)
    this.#abortHandle.throwIfStopped()
    return fromJson(await this.#port.record(name, value))
  }

  #promise(
    output: unknown,
    effects: readonly EffectCall[],
    children: readonly ChildCall[],
  ): HandlerCommit<unknown> {
    for (const { effect } of effects) {
      if (this.#definition.effects.has(effect)) continue
      throw new InvalidDefinition(
        `Job '${this.job.type}' promised the effect '${effect}', which is not in its \`effects\`: list it there, so that any worker can finish it.`,
        { job: this.job.id, effect },
      )
    }
    this.#commit = makeCommit(output, effects, children, this.#port.noWrites)
    return this.#commit
  }

  /** What was returned, as a commit. */
  committed(returned: unknown): HandlerCommit<unknown> {
    if (isCommit(returned)) return returned
    if (this.#commit !== null) {
      throw new InvalidDefinition(
        `Job ${this.job.id} made a commit and did not return it: write \`return commit(…)\`. Nothing was committed.`,
        { job: this.job.id },
      )
    }
    return makeCommit(returned, [], [])
  }
}

/** It is only for onlookers: what is no text is shown as well as it can be. */
function textOf(line: unknown): string {
  if (typeof line === 'string') return line
  try {
    return inspect(line)
  } catch (error) {
    return `A line that cannot be shown: ${String(error)}`
  }
}

function taskOnFile(definition: Runnable, request: HandlerRequest): TaskOnFile {
  const { job, store, submittedAt, stage } = request
  const { id, attempt } = job
  // Of the code that runs, not of the submit: another version may write something else.
  const version = stage === null ? definition.version : (definition as StageDefinition).spec.version
  const name = stage?.name ?? null
  const segment = stage?.segment ?? 0
  return { store, job: id, submittedAt, stage: name, version, segment, attempt }
}

function outputOf(definition: Runnable, output: unknown): Payload | Promise<Payload> {
  const what = `The output of ${nameOf(definition)}`
  const checked = validated(definition.output, output, what)
  return checked instanceof Promise
    ? checked.then(() => toJson(output, what, 'output'))
    : toJson(output, what, 'output')
}

const NOTHING: readonly EffectPromise[] = []

async function promisesOf(
  definition: Runnable,
  { effects, children }: HandlerCommit<unknown>,
): Promise<readonly EffectPromise[]> {
  const promises: EffectPromise[] = []
  for (const { effect, input } of effects) {
    promises.push(await promiseOf(definition.effects.get(effect) as AnyEffect, input))
  }
  for (const one of children) promises.push(await childPromise(one))
  return promises
}

async function promiseOf(definition: AnyEffect, given: unknown): Promise<EffectPromise> {
  const { effectName: name, schema, idempotent, reconcile, retry } = definition
  const what = `The input of effect '${name}'`
  await validated(schema, given, what)
  const input = toJson(given, what, 'input')
  return { name, input, idempotent, reconcile: reconcile !== null, retry, child: null }
}

async function childPromise({ definition, input, options }: ChildCall): Promise<EffectPromise> {
  const spec = specOf(definition, await inputOf(definition, input), options)
  return {
    name: definition.name,
    input: 'null',
    idempotent: true,
    reconcile: false,
    retry: DEFAULT_RETRY,
    child: spec,
  }
}
