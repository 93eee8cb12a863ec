/**
 * What a handler is given: the request that its worker makes of a claim, the port back to that
 * worker, and the context that the handler sees.
 *
 * A request is plain data, so that it can go to another thread or process.
 */
import { inspect } from 'node:util'
import type {
  AnyJob,
  AnyMessage,
  ArtifactDraft,
  ArtifactPlace,
  ArtifactRef,
  CallOptions,
  ChildCall,
  Continuation,
  Duration,
  EffectCall,
  HandlerCommit,
  HandlerWait,
  JobDetails,
  Runnable,
  StageDefinition,
  StageDetails,
  StoredArtifact,
  SubmitDefaults,
  WaitForOptions,
} from '../../definition/index.ts'
import {
  assertName,
  fromJson,
  InvalidDefinition,
  isArtifactRef,
  isCommit,
  isContinuation,
  makeCommit,
  makeContinuation,
  nameOf,
  NO_DEFAULTS,
  toJson,
  versionedInput,
} from '../../definition/index.ts'
import type { Payload } from '../../kernel/index.ts'
import type {
  Claimed,
  ClaimedSegment,
  ClaimedWaiting,
  Ending,
  PriorStage,
} from '../../store/index.ts'
import type { AbortHandle } from '../abort-handle.ts'
import { Drafts, isArtifactStep } from '../artifact/drafts.ts'
import type { TaskOnFile } from '../artifact/paths.ts'
import { openStored, withinReach } from '../artifact/stored-artifact.ts'
import { callTerms } from './call-terms.ts'
import { HandlerWaits } from './handler-waits.ts'
import { messageWait } from './message-terms.ts'
import type { SharedValues } from './shared-values.ts'
import { sleepTerms, sleepUntilTerms } from './sleep-terms.ts'
import { WaitNode } from './wait-nodes.ts'
import type { WaitPort } from './wait-port.ts'

/** What the worker knows of the attempt. */
export interface HandlerRequest {
  readonly job: JobDetails
  /** Which store it is in; null: one that is lost with its process. */
  readonly store: string | null
  /** Id and time name one job: an id may be used again once its job is forgotten. */
  readonly submittedAt: number
  /** Of the definition that the input was made under. */
  readonly version: number
  /** Of the definition that the job was submitted under. */
  readonly submittedUnder: number
  /** Null for a segment: many share it, and it is read once. */
  readonly input: Payload | null
  readonly steps: readonly { readonly name: string; readonly value: Payload }[]
  /** Null: nothing is on record. */
  readonly waiting: ClaimedWaiting | null
  /** The task, as jobs that it calls name it. */
  readonly caller: CallingTask
  /** Null: a plain job. */
  readonly stage: StageRequest | null
  /** Of the engine, for children whose definitions do not say all; null: it has none. */
  readonly defaults: SubmitDefaults | null
}

/** From the handler back to the worker that holds the lease. */
export interface HandlerPort extends WaitPort {
  /** Durable when it returns. Gives the recorded value: an earlier record of the same name stands. */
  record(name: string, value: Payload): Promise<Payload>
  /** Durable when it is resolved. */
  emit(name: string, value: Payload): Promise<void>
  progress(value: Payload): void
  log(line: string): void
  /** The handler goes on, although it said nothing of this job. */
  heard(): void
  /** What the job was submitted with. */
  input(): Promise<Payload>
  /** Shared by all runs of this worker in this thread. */
  readonly shared: SharedValues
  /** Null: they are out of reach from where the handler runs. */
  readonly artifacts: ArtifactPlace | null
  /** Why nothing of the user's can be written with the commit; null: it can. */
  readonly noWrites: string | null
}

export interface CallingTask {
  readonly stage: number
  readonly segment: number
  /** Of what it calls. */
  readonly depth: number
}

/** What a request has more if it is about a stage. */
export interface StageRequest extends StageDetails {
  readonly segment: number
  readonly each: ClaimedSegment | null
  readonly prior: readonly PriorStage[]
  readonly ending: Ending | null
}

export function requestOf(
  claimed: Claimed,
  store: string | null,
  defaults: SubmitDefaults | null,
): HandlerRequest {
  const { job: id, type, attempt, lease, queue, priority, steps } = claimed
  const { version, input } =
    claimed.input === null ? claimed : versionedInput(claimed.input, claimed.version)
  const { schedule: from } = claimed
  const schedule = from === null ? null : { id: from.id, time: new Date(from.tick) }
  const metadata = claimed.metadata === null ? undefined : fromJson(claimed.metadata)
  const job = { id, type, attempt, lease, queue, priority, metadata, schedule }
  const { submittedAt, waiting } = claimed
  const stage = stageRequestOf(claimed)
  const { stage: index, segment } = claimed
  const caller = { stage: index, segment, depth: (claimed.caller?.depth ?? 0) + 1 }
  const { version: submittedUnder } = claimed
  const record = { steps, waiting, caller, stage, defaults }
  return { job, store, submittedAt, version, submittedUnder, input, ...record }
}

function stageRequestOf(claimed: Claimed): StageRequest | null {
  const { stageName: name, stageVersion, segment, each, prior, ending } = claimed
  if (name === null) return null
  return { name, version: stageVersion ?? 1, segment, each, prior, ending }
}

export class HandlerContext {
  readonly input: unknown
  readonly job: JobDetails
  readonly #abortHandle: AbortHandle
  readonly #definition: Runnable
  readonly #port: HandlerPort
  readonly #request: HandlerRequest
  #drafts: Drafts | null = null
  #names: Set<string> | null = null
  /** Steps that were begun and are not over, by their names. */
  #steps: Map<string, Promise<unknown>> | null = null
  /** The step whose function was called, and has not come to its first pause. */
  #beginning: string | null = null
  /** Null: the run waits for nothing. */
  #waits: HandlerWaits | null = null
  /** That must be returned. */
  #commit: HandlerCommit<unknown> | Continuation | null = null

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

  /** The version of the definition that the job was submitted under. */
  get submittedUnder(): number {
    return this.#request.submittedUnder
  }

  /** For children whose definitions do not say all. */
  get defaults(): SubmitDefaults {
    return this.#request.defaults ?? NO_DEFAULTS
  }

  get signal(): AbortSignal {
    return this.#abortHandle.signal
  }

  // Handlers destructure them, so each is bound; and made only when it is read.

  get step(): (name: string, work: () => unknown) => Promise<unknown> {
    return (name, work) => this.#noteStep(name, this.#step(name, work))
  }

  get sleep(): (name: string, duration: Duration) => HandlerWait<void> {
    return (name, duration) =>
      this.#ownWaits().make(sleepTerms(name, duration)) as HandlerWait<void>
  }

  get sleepUntil(): (name: string, time: Date | number) => HandlerWait<void> {
    return (name, time) => this.#ownWaits().make(sleepUntilTerms(name, time)) as HandlerWait<void>
  }

  get waitFor(): (message: AnyMessage, options?: WaitForOptions) => HandlerWait<unknown> {
    return (message, options) => {
      const waits = this.#ownWaits()
      const parts = {
        definition: this.#definition,
        run: this.#run,
        known: (name: string) => waits.known(name),
      }
      const { terms, join } = messageWait(parts, message, options)
      return waits.makeJoined(terms, join)
    }
  }

  get call(): (
    name: string,
    job: AnyJob,
    input?: unknown,
    options?: CallOptions,
  ) => HandlerWait<unknown> {
    return (name, job, input, options) => {
      const waits = this.#ownWaits()
      const known = waits.known(name)?.callee ?? null
      const from = { job: this.job.id, ...this.#request.caller, run: this.#run }
      const parts = { from, known, defaults: this.defaults, port: this.#port }
      return waits.make(callTerms(parts, name, job, input, options))
    }
  }

  /** Of the attempt that asks or calls first, and of this life of the id: later ones find it on record. */
  get #run(): string {
    return `${this.#request.submittedAt}.${this.job.lease}`
  }

  get all(): (waits: unknown) => HandlerWait<unknown> {
    return (waits) => this.#ownWaits().join('all', waits)
  }

  get any(): (waits: unknown) => HandlerWait<unknown> {
    return (waits) => this.#ownWaits().join('any', waits)
  }

  get emit(): (name: string, value: unknown) => Promise<void> {
    return (name, value) => this.#emit(name, value)
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

  get continueWith(): (input?: unknown) => Continuation {
    return (input) => this.#continue(input)
  }

  get commit(): (
    output: unknown,
    effects?: readonly EffectCall[],
    children?: readonly ChildCall[],
  ) => HandlerCommit<unknown> {
    return (output, effects = [], children = []) => this.#makeCommit(output, effects, children)
  }

  /** What goes wrong fails the attempt at its end, also if the handler does not await it. */
  #emit(name: string, value: unknown): Promise<void> {
    assertName(name, `A stream of job ${this.job.id}`)
    if (this.#abortHandle.reason === 'suspended') return never()
    const text = toJson(value, `A value of stream '${name}' of job ${this.job.id}`, 'value')
    const emitted = this.#port.emit(name, text)
    emitted.catch(() => undefined)
    return emitted
  }

  /** Progress is only shown: a value that cannot be is no reason to fail. */
  #progress(value: unknown): void {
    try {
      this.#port.progress(toJson(value, `The progress of job ${this.job.id}`, 'progress'))
    } catch (error) {
      this.#port.log((error as Error).message)
    }
  }

  #draftsOfAttempt(): Drafts {
    const { steps } = this.#request
    this.#drafts ??= new Drafts({
      place: this.#place(),
      task: taskOnFile(this.#definition, this.#request),
      steps,
      record: (step, value) => this.#port.record(step, value),
      log: (line) => this.#port.log(line),
      isOnlyOne: this.#definition.reuse === 'valid',
      abortHandle: this.#abortHandle,
    })
    return this.#drafts
  }

  #draft(name: string): ArtifactDraft {
    return this.#draftsOfAttempt().draft(name)
  }

  /** The artifact that is the output, if an earlier attempt wrote it and it is valid (see `reuse` of `JobOptions`). */
  async reusedOutput(): Promise<ArtifactRef | null> {
    const hasSome = this.#request.steps.some(({ name }) => isArtifactStep(name))
    return hasSome ? this.#draftsOfAttempt().reuseLast() : null
  }

  /** With `reuse: 'valid'`, the output is what another attempt would use again, and nothing else is promised. */
  assertReusable({ output, effects, children, writes }: HandlerCommit<unknown>): void {
    const isAlone = effects.length === 0 && children.length === 0 && writes === null
    if (isAlone && isArtifactRef(output) && this.#drafts?.isOwn(output) === true) return
    throw new InvalidDefinition(
      `With \`reuse: 'valid'\`, ${nameOf(this.#definition)} returns the reference of the artifact that it wrote, alone, with no effects, children or writes: another attempt that finds the artifact commits just that. Return it, or leave out \`reuse\`.`,
      { job: this.job.id },
    )
  }

  #place(): ArtifactPlace {
    return withinReach(this.#port.artifacts, this.job.id)
  }

  #noteStep(name: string, step: Promise<unknown>): Promise<unknown> {
    const steps = (this.#steps ??= new Map())
    steps.set(name, step)
    const over = (): void => {
      steps.delete(name)
      this.#waits?.stepOver()
    }
    step.then(over, over)
    return step
  }

  #ownWaits(): HandlerWaits {
    if (this.#beginning !== null) throw this.#waitsInStep(this.#beginning)
    this.#waits ??= new HandlerWaits({
      definition: this.#definition,
      job: this.job,
      waiting: this.#request.waiting,
      port: this.#port,
      abortHandle: this.#abortHandle,
      takeName: (name) => this.#takeName(name),
      isInStep: () => this.#steps !== null && this.#steps.size > 0,
      log: (line) => this.#port.log(line),
    })
    return this.#waits
  }

  /** The handler has returned, or thrown. */
  close(): void {
    this.#waits?.close()
  }

  /** Throws if the handler returned before a step or a wait was over: its commit would not wait for it. */
  assertStepsOver(): void {
    this.#waits?.assertOver()
    const [name] = this.#steps?.keys() ?? []
    if (name === undefined) return
    // The attempt is over: what the step throws now is no one's to handle.
    for (const step of this.#steps?.values() ?? []) step.catch(() => undefined)
    throw new InvalidDefinition(
      `Job ${this.job.id} returned before its step '${name}' was over: write \`await step('${name}', …)\`. Nothing was committed.`,
      { job: this.job.id, step: name },
    )
  }

  async #step(name: string, work: () => unknown): Promise<unknown> {
    if (typeof name !== 'string' || typeof work !== 'function') {
      throw new InvalidDefinition(
        `A step of job ${this.job.id} has no name or nothing to do: write step('name', () => …).`,
        { job: this.job.id },
      )
    }
    const what = `step '${name}' of job ${this.job.id}`
    if (isArtifactStep(name)) {
      throw new InvalidDefinition(
        `No ${what}: names that begin with 'artifact:' or 'artifact-reused:' are those of artifacts.`,
        { job: this.job.id, step: name },
      )
    }
    this.#takeName(name)
    const before = this.#request.steps.find((step) => step.name === name)
    if (before !== undefined) return fromJson(before.value)
    if (this.#abortHandle.reason === 'suspended') return never()
    this.#abortHandle.throwIfStopped()
    const value = toJson(await this.#beginStep(name, work), `The value of ${what}`, name)
    this.#abortHandle.throwIfStopped()
    return fromJson(await this.#port.record(name, value))
  }

  /** A wait inside would never go on: the run is suspended once no step is in flight. */
  #beginStep(name: string, work: () => unknown): unknown {
    const before = this.#beginning
    this.#beginning = name
    try {
      const began = work()
      if (began instanceof WaitNode) throw this.#waitsInStep(name)
      return began
    } finally {
      this.#beginning = before
    }
  }

  #waitsInStep(step: string): InvalidDefinition {
    return new InvalidDefinition(
      `Step '${step}' of job ${this.job.id} waits, and a step is done in one go: wait outside of it, before or after.`,
      { job: this.job.id, step },
    )
  }

  /** Steps and waits are known by their names alone: one has each. */
  #takeName(name: string): void {
    assertName(name, `A step or a wait of job ${this.job.id}`)
    this.#names ??= new Set()
    if (this.#names.has(name)) {
      throw new InvalidDefinition(
        `There are two steps or waits named '${name}' in one execution of job ${this.job.id}: each is known by its name alone, so give each its own, e.g. '${name}-2'.`,
        { job: this.job.id, step: name },
      )
    }
    this.#names.add(name)
  }

  #makeCommit(
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
    const made = makeCommit(output, effects, children, this.#port.noWrites)
    this.#commit = made
    return made
  }

  #continue(input: unknown): Continuation {
    const { stage, batch } = this.#definition
    if (stage !== null || batch !== null) {
      throw new InvalidDefinition(
        `${nameOf(this.#definition)} cannot continue with a new input: only a job that is neither a stage nor a batch can.`,
        { job: this.job.id },
      )
    }
    const made = makeContinuation(input)
    this.#commit = made
    return made
  }

  /** What was returned, as a commit. */
  commitOf(returned: unknown): HandlerCommit<unknown> {
    this.assertStepsOver()
    if (isCommit(returned)) return returned
    if (this.#commit !== null) {
      throw new InvalidDefinition(
        `Job ${this.job.id} made a commit and did not return it: write \`return ${isContinuation(this.#commit) ? 'continueWith' : 'commit'}(…)\`. Nothing was committed.`,
        { job: this.job.id },
      )
    }
    return makeCommit(returned, [], [])
  }
}

/** Of a run that is suspended: what it still awaits does not come. A promise of its own, so that nothing holds the run. */
function never(): Promise<never> {
  return new Promise(() => undefined)
}

/** A line is only shown: what is no text is shown as well as it can be. */
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
