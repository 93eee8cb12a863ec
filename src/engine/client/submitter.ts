/**
 * Submits jobs: makes commands of definitions and inputs, sends them, and makes handles of the
 * answers. With a transaction of the user's, the jobs are there once the user commits it, and never
 * if they do not.
 */
import type { AnyJob, ChildOptions, OutcomeOf } from '../../definition/index.ts'
import { inputOf, InvalidDefinition, specOf } from '../../definition/index.ts'
import type { Command } from '../../kernel/index.ts'
import { PawlError } from '../../kernel/index.ts'
import type { CommandBatcher } from '../../store/command-batcher.ts'
import type { Answer, Store, UserTransaction } from '../../store/index.ts'
import { Refused, SubmitInterrupted } from '../errors.ts'
import { newJobId } from '../random.ts'
import type { HandleParts } from './handle.ts'
import { Handle } from './handle.ts'

export interface SubmitOptions extends ChildOptions {
  /** Default: a UUIDv7, which tells when it was made. Submitting the same job under the same id again is harmless. */
  readonly id?: string
  /** A transaction of your own, by `fromPg` and its like: the job is there once you commit it. */
  readonly tx?: UserTransaction
}

/** Of one among many. */
export type ItemOptions = Omit<SubmitOptions, 'tx'>

/** One job of `submitMany`. */
interface SubmittedJob {
  readonly input?: unknown
  readonly options?: ItemOptions
}

/** Null would be destructured. */
function assertOptions(options: unknown): void {
  if (typeof options === 'object' && options !== null) return
  throw new InvalidDefinition(`The options of a submit are an object, not ${String(options)}.`)
}

type Submission = Extract<Command, { type: 'SubmitJob' }>

/** Jobs of one call of the store. */
const BATCH = 1_000
const NONE: readonly never[] = []

export class Submitter {
  readonly #store: Store
  readonly #batcher: CommandBatcher
  readonly #handleParts: HandleParts
  readonly #definitions: Map<string, AnyJob>

  /** `definitions`: where what is submitted is noted, by its name. */
  constructor(
    store: Store,
    batcher: CommandBatcher,
    handleParts: HandleParts,
    definitions: Map<string, AnyJob>,
  ) {
    this.#store = store
    this.#batcher = batcher
    this.#handleParts = handleParts
    this.#definitions = definitions
  }

  async submitOne<J extends AnyJob>(
    definition: J,
    input: unknown,
    options: SubmitOptions,
  ): Promise<Handle<OutcomeOf<J>>> {
    assertOptions(options)
    const { tx } = options
    if (tx !== undefined) this.#assertTransaction(tx)
    const given = this.#submission(definition, input, options)
    const command = given instanceof Promise ? await given : given
    const made = options.id === undefined ? [command.job] : NONE
    const answers = await (tx === undefined
      ? this.#send([command], NONE, made)
      : this.#sendIn(tx, [command]))
    return this.#handle(definition, command, answers[0] as Answer)
  }

  async submitMany<J extends AnyJob>(
    definition: J,
    jobs: readonly SubmittedJob[],
    tx: UserTransaction | undefined,
  ): Promise<Handle<OutcomeOf<J>>[]> {
    if (tx !== undefined) this.#assertTransaction(tx)
    const commands: Submission[] = []
    for (const { input, options = {} } of jobs) {
      assertOptions(options)
      commands.push(await this.#submission(definition, input, options))
    }
    const answers: Answer[] = []
    // In batches, so that other commands get their turn during a million.
    for (let at = 0; at < commands.length; at += BATCH) {
      const some = commands.slice(at, at + BATCH)
      const made = some.flatMap(({ job }, i) =>
        jobs[at + i]?.options?.id === undefined ? [job] : [],
      )
      answers.push(
        ...(await (tx === undefined ? this.#send(some, commands, made) : this.#sendIn(tx, some))),
      )
    }
    return commands.map((command, i) => this.#handle(definition, command, answers[i] as Answer))
  }

  #assertTransaction(tx: UserTransaction): void {
    if (this.#store.executeIn === undefined) {
      throw new InvalidDefinition(
        'Jobs that are kept here cannot be submitted in a transaction: open the database that the transaction is in, SQLite or PostgreSQL.',
      )
    }
    if (typeof tx?.query !== 'function') {
      throw new InvalidDefinition(
        '`tx` must be a transaction as fromPg(), fromSqlite(), fromKysely() or fromDrizzle() makes it, or an object with a function `query`.',
      )
    }
  }

  async #sendIn(tx: UserTransaction, commands: readonly Submission[]): Promise<readonly Answer[]> {
    return (await this.#store.executeIn?.(tx, commands)) ?? []
  }

  /** `all`: of the call, for the error if the store fails midway. `made`: ids that this engine made. */
  async #send(
    some: readonly Submission[],
    all: readonly Submission[],
    made: readonly string[],
  ): Promise<readonly Answer[]> {
    const { results } = this.#handleParts
    results.submitting(made)
    try {
      return await this.#batcher.sendAll(some)
    } catch (error) {
      const first = all.indexOf(some[0] as Submission)
      const isKnown = error instanceof PawlError && error.kind !== 'unknown_outcome'
      if (isKnown && first <= 0) throw error
      const ids = (all.length === 0 ? some : all).map(({ job }) => job)
      throw new SubmitInterrupted(ids, Math.max(0, first), error)
    } finally {
      results.submitted(made)
    }
  }

  #handle<J extends AnyJob>(
    definition: J,
    { job: id }: Submission,
    { value, rejection }: Answer,
  ): Handle<OutcomeOf<J>> {
    if (rejection !== null) throw new Refused(`Job ${id} ('${definition.name}')`, rejection)
    return new Handle(this.#handleParts, String(value), definition)
  }

  /** A promise only if the schema asks for one. */
  #submission(
    definition: AnyJob,
    input: unknown,
    options: ItemOptions,
  ): Submission | Promise<Submission> {
    this.#definitions.set(definition.name, definition)
    const { id: job = newJobId() } = options
    const text = inputOf(definition, input)
    return typeof text === 'string'
      ? { type: 'SubmitJob', job, spec: specOf(definition, text, options) }
      : text.then((it) => ({ type: 'SubmitJob', job, spec: specOf(definition, it, options) }))
  }
}
