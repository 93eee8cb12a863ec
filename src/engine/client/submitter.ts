/**
 * Submits jobs: makes commands of definitions and inputs, sends them, and makes handles of the
 * answers. With a transaction of the user's, the jobs are there once the user commits it, and never
 * if they do not.
 */
import type { AnyJob, ChildOptions, OutcomeOf, SubmitDefaults } from '../../definition/index.ts'
import {
  CHILD_NAMES,
  inputOf,
  InvalidDefinition,
  isDefinition,
  isByName,
  KnownOptions,
  shown,
  specOf,
} from '../../definition/index.ts'
import type { Command } from '../../kernel/index.ts'
import { eventLoopTurn } from '../../log/index.ts'
import type { CommandBatcher } from '../../store/command-batcher.ts'
import { MOST_UNDER_WAY } from '../../store/command-batcher.ts'
import type { Answer, Store, UserTransaction } from '../../store/index.ts'
import { Refused, SubmitInterrupted } from '../errors.ts'
import { newJobId } from '../random.ts'
import type { BulkSubmitOptions } from './bulk-submit.ts'
import { BulkSubmit, isKnown } from './bulk-submit.ts'
import type { HandleParts } from './handle.ts'
import { Handle } from './handle.ts'
import { submitOrReplace } from './replacing-submit.ts'
import type { WaitingBounds } from './waiting-bounds.ts'
import { JobsToAdmit } from './waiting-bounds.ts'

export interface SubmitOptions extends ChildOptions {
  /** Default: a UUIDv7, which tells when it was made. Submitting the same job under the same id again is harmless. */
  readonly id?: string
  /**
   * With a `key`, of which there is one unfinished job then: if that job has not begun, this submit takes its place,
   * with its input, and `delay` and `at` count from now. If it has begun: `Refused` (JobBegun).
   */
  readonly replace?: boolean
  /** Who submits it, for the record: `notBySubmitter` of a question goes by it. */
  readonly by?: string
  /** A transaction of your own, by `fromPg` and its like: the job is there once you commit it. */
  readonly tx?: UserTransaction
}

/** Of one among many. */
export type ItemOptions = Omit<SubmitOptions, 'tx' | 'replace'>

/** One job of `submitMany`. */
interface SubmittedJob {
  readonly input?: unknown
  readonly options?: ItemOptions
}

const SUBMIT_OPTIONS = new KnownOptions<SubmitOptions>({
  ...CHILD_NAMES,
  id: true,
  by: true,
  replace: true,
  tx: true,
})
const ITEM_OPTIONS = new KnownOptions<ItemOptions>({ ...CHILD_NAMES, id: true, by: true })
const ITEMS = new KnownOptions<SubmittedJob>({ input: true, options: true })

/** What is no definition has no policy to submit a job by. */
function assertDefinition(definition: unknown, call: string): void {
  if (isDefinition(definition)) return
  throw new InvalidDefinition(
    `${call} takes a definition first, such as job('…', { run }) gives, not ${shown(definition)}.`,
  )
}

function assertItem(item: unknown, index: number): void {
  if (typeof item === 'object' && item !== null && !Array.isArray(item)) {
    return ITEMS.assert(item, 'a job of submitMany()')
  }
  throw new InvalidDefinition(
    `submitMany() takes jobs of the form { input, options }, and number ${index + 1} is ${shown(item)}. Write submitMany(definition, inputs.map((input) => ({ input }))).`,
  )
}

function assertIterable(jobs: unknown): void {
  if (typeof jobs === 'object' && jobs !== null) {
    if (Symbol.asyncIterator in jobs || Symbol.iterator in jobs) return
  }
  throw new InvalidDefinition(
    `submitMany() takes a list of { input, options }, or something that can be iterated over, not ${String(jobs)}.`,
  )
}

async function addEach(
  jobs: Iterable<SubmittedJob> | AsyncIterable<SubmittedJob>,
  add: (one: SubmittedJob) => Promise<void> | null,
): Promise<void> {
  if (Symbol.asyncIterator in jobs) {
    for await (const one of jobs) await add(one)
    return
  }
  for (const one of jobs) {
    const room = add(one)
    if (room !== null) await room
  }
}

function isIdMade({ options }: SubmittedJob): boolean {
  return options?.id === undefined
}

/** Clients and pools of pg have a `query` of another form, and say nothing of a transaction. */
function isClient(tx: object): boolean {
  return 'connect' in tx || 'totalCount' in tx
}

type Submission = Extract<Command, { type: 'SubmitJob' }>

/** Of many jobs that were submitted from an iterable. */
export interface SubmitSummary {
  /** Jobs that are durable now. One whose key was known counts, too. */
  readonly submitted: number
}

/** The jobs of a list, checked. */
interface CheckedList {
  readonly ids: readonly string[]
  /** From the first on; the others are made again when they are sent. */
  readonly commands: readonly Submission[]
  /** Of all of them. */
  readonly toAdmit: JobsToAdmit
}

/** Most submits say nothing: there is nothing to check. */
export const NO_OPTIONS: ItemOptions = {}

/** What a command takes beside its input, about: the sums below count it as so many characters. */
const COMMAND_CHARS = 300
/** Of the commands that are kept from the check of a list until they are sent. */
const MOST_KEPT_CHARS = 16_000_000
/** Checked between two turns of the event loop. */
const CHARS_PER_TURN = 2_000_000

export class Submitter {
  readonly #store: Store
  readonly #batcher: CommandBatcher
  readonly #handleParts: HandleParts
  readonly #definitions: Map<string, AnyJob>
  readonly #defaults: SubmitDefaults
  /** Null: any number may wait. */
  readonly #bounds: WaitingBounds | null
  /** Commands whose ids the caller gave: such a job may be known. */
  readonly #named = new WeakSet<Submission>()

  /**
   * `definitions`: where what is submitted is noted, by its name. `defaults`: for what they do not say.
   */
  constructor(
    store: Store,
    batcher: CommandBatcher,
    handleParts: HandleParts,
    definitions: Map<string, AnyJob>,
    defaults: SubmitDefaults,
    bounds: WaitingBounds | null,
  ) {
    this.#store = store
    this.#batcher = batcher
    this.#handleParts = handleParts
    this.#definitions = definitions
    this.#defaults = defaults
    this.#bounds = bounds
  }

  /** Not async: a function that waits would keep the input, and with its text have it in memory twice. */
  submitOne<J extends AnyJob>(
    definition: J,
    input: unknown,
    options: SubmitOptions,
  ): Promise<Handle<OutcomeOf<J>>> {
    try {
      assertDefinition(definition, 'submit()')
      if (options !== NO_OPTIONS) {
        SUBMIT_OPTIONS.assert(options, 'a submit', `submit(definition, input, { key: '…' })`)
      }
      const { id, tx, replace } = options
      if (tx !== undefined) this.#assertTransaction(tx)
      if (replace === true) return this.#submitOrReplace(definition, input, options)
      const command = this.#submission(definition, input, options)
      return this.#submitCommand(definition, command, tx, id === undefined)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  async #submitCommand<J extends AnyJob>(
    definition: J,
    given: Submission | Promise<Submission>,
    tx: UserTransaction | undefined,
    isMade: boolean,
  ): Promise<Handle<OutcomeOf<J>>> {
    const command = given instanceof Promise ? await given : given
    return this.#handle(definition, command, await this.#answerTo(command, tx, isMade))
  }

  #answerTo(
    command: Submission,
    tx: UserTransaction | undefined,
    isMade: boolean,
  ): Promise<Answer> {
    const send = (): Promise<Answer> =>
      tx === undefined
        ? this.#sendOne(command, isMade)
        : this.#sendIn(tx, [command]).then(([one]) => one as Answer)
    return this.#bounds === null ? send() : this.#withinBounds(this.#toAdmit([command]), tx, send)
  }

  async #submitOrReplace<J extends AnyJob>(
    definition: J,
    input: unknown,
    options: SubmitOptions,
  ): Promise<Handle<OutcomeOf<J>>> {
    const { replace: _, ...others } = options
    if (others.key === undefined) {
      throw new InvalidDefinition(
        `\`replace\` of job '${definition.name}' says what becomes of the job with the same key: give a \`key\`.`,
      )
    }
    const { tx, id } = others
    const command = await this.#submission(definition, input, { ...others, unique: true })
    const answer = await submitOrReplace(command, (one) => {
      if (one.type === 'SubmitJob') return this.#answerTo(one, tx, id === undefined)
      return tx === undefined
        ? this.#batcher.send(one).catch((error) => this.#interrupted(command, error))
        : this.#sendIn(tx, [one]).then(([only]) => only as Answer)
    })
    return this.#handle(definition, command, answer)
  }

  /** All inputs are checked BEFORE any is submitted. */
  async submitList<J extends AnyJob>(
    definition: J,
    jobs: readonly SubmittedJob[],
    tx: UserTransaction | undefined,
  ): Promise<Handle<OutcomeOf<J>>[]> {
    assertDefinition(definition, 'submitMany()')
    if (tx !== undefined) this.#assertTransaction(tx)
    const checked = await this.#check(definition, jobs)
    // As a whole, BEFORE any is sent.
    const send = (): Promise<Handle<OutcomeOf<J>>[]> =>
      this.#sendList(definition, jobs, checked, tx)
    return this.#withinBounds(checked.toAdmit, tx, send)
  }

  async #sendList<J extends AnyJob>(
    definition: J,
    jobs: readonly SubmittedJob[],
    { ids, commands }: CheckedList,
    tx: UserTransaction | undefined,
  ): Promise<Handle<OutcomeOf<J>>[]> {
    const { results } = this.#handleParts
    const since = results.submitting()
    const handles: Handle<OutcomeOf<J>>[] = []
    const refused = { at: Infinity, answer: null as Answer | null }
    const bulk = this.#bulk(tx, false, (from, some, answers) => {
      for (let i = 0; i < some.length; i++) {
        const at = from + i
        const answer = answers[i] as Answer
        if (answer.rejection !== null && at < refused.at) Object.assign(refused, { at, answer })
        else if (tx === undefined && isIdMade(jobs[at] as SubmittedJob)) {
          results.noteNew(since, some[i] as Submission)
        }
        handles[at] = new Handle(this.#handleParts, String(answer.value), definition)
      }
    })
    try {
      for (let i = 0; i < jobs.length; i++) {
        const given =
          commands[i] ?? this.#again(definition, jobs[i] as SubmittedJob, ids[i] as string)
        const room = bulk.add(given instanceof Promise ? await given : given)
        if (room !== null) await room
      }
      await bulk.end()
    } catch (error) {
      await bulk.settle()
      if (tx !== undefined || bulk.isNoneIn) throw error
      throw new SubmitInterrupted(ids, 0, bulk.sure, error)
    } finally {
      results.submitted()
    }
    const { at, answer } = refused
    if (answer !== null) this.#assertTaken(definition, ids[at] as string, answer)
    return handles
  }

  /**
   * Each input is checked when it is its turn. The first that is wrong ends it, AFTER those before it are
   * submitted; so does one that is refused.
   */
  async submitEach(
    definition: AnyJob,
    jobs: Iterable<SubmittedJob> | AsyncIterable<SubmittedJob>,
    tx: UserTransaction | undefined,
  ): Promise<SubmitSummary> {
    assertDefinition(definition, 'submitMany()')
    assertIterable(jobs)
    if (tx !== undefined) this.#assertTransaction(tx)
    const bulk = this.#bulk(tx, true, (_, some, answers) => {
      for (let i = 0; i < some.length; i++) {
        this.#assertTaken(definition, (some[i] as Submission).job, answers[i] as Answer)
      }
    })
    let index = 0
    const add = (one: SubmittedJob): Promise<void> | null => {
      const given = this.#item(definition, one, index++)
      if (!(given instanceof Promise)) return bulk.add(given)
      return given.then((command) => bulk.add(command) ?? undefined)
    }
    try {
      await addEach(jobs, add).finally(() => bulk.end())
    } catch (error) {
      if (tx !== undefined || bulk.isNoneIn) throw error
      throw new SubmitInterrupted(bulk.unsure, bulk.sure, bulk.sure, error)
    }
    return { submitted: bulk.sure }
  }

  /**
   * Jobs in a transaction of the user's go one batch after the other. `isBound`: whether each batch must find
   * room in its queues.
   */
  #bulk(
    tx: UserTransaction | undefined,
    isBound: boolean,
    onAnswered: BulkSubmitOptions['onAnswered'],
  ): BulkSubmit {
    const send: BulkSubmitOptions['send'] = (some) =>
      tx === undefined ? this.#batcher.sendAll(some) : this.#sendIn(tx, some)
    return new BulkSubmit({
      send: isBound
        ? (some) => this.#withinBounds(this.#toAdmit(some), tx, () => send(some))
        : send,
      mostUnderWay: tx === undefined ? MOST_UNDER_WAY : 1,
      onAnswered,
    })
  }

  #toAdmit(commands: readonly Submission[]): JobsToAdmit {
    const jobs = new JobsToAdmit()
    for (const command of commands) this.#addTo(jobs, command)
    return jobs
  }

  #addTo(jobs: JobsToAdmit, command: Submission): void {
    jobs.add(this.#named.has(command) ? command.job : null, command.spec)
  }

  /** Throws `QueueFull` BEFORE anything is sent. */
  async #withinBounds<T>(
    jobs: JobsToAdmit,
    tx: UserTransaction | undefined,
    send: () => Promise<T>,
  ): Promise<T> {
    if (this.#bounds === null) return send()
    await this.#bounds.admit(jobs)
    try {
      return await send()
    } finally {
      this.#bounds.answered(jobs, tx !== undefined)
    }
  }

  async #check(definition: AnyJob, jobs: readonly SubmittedJob[]): Promise<CheckedList> {
    const ids: string[] = []
    const commands: Submission[] = []
    const toAdmit = new JobsToAdmit()
    let chars = 0
    let turnAt = CHARS_PER_TURN
    for (let i = 0; i < jobs.length; i++) {
      const given = this.#item(definition, jobs[i] as SubmittedJob, i)
      const command = given instanceof Promise ? await given : given
      ids.push(command.job)
      if (this.#bounds !== null) this.#addTo(toAdmit, command)
      chars += COMMAND_CHARS + command.spec.input.length
      if (chars <= MOST_KEPT_CHARS) commands.push(command)
      if (chars < turnAt) continue
      turnAt = chars + CHARS_PER_TURN
      await eventLoopTurn()
    }
    return { ids, commands, toAdmit }
  }

  #item(definition: AnyJob, item: SubmittedJob, index: number): Submission | Promise<Submission> {
    assertItem(item, index)
    const { input, options = NO_OPTIONS } = item
    if (options !== NO_OPTIONS) ITEM_OPTIONS.assert(options, 'a submit')
    return this.#submission(definition, input, options)
  }

  #again(
    definition: AnyJob,
    { input, options }: SubmittedJob,
    id: string,
  ): Submission | Promise<Submission> {
    return this.#submission(definition, input, { ...options, id })
  }

  #assertTransaction(tx: UserTransaction): void {
    if (this.#store.executeIn === undefined) {
      throw new InvalidDefinition(
        'Jobs that are kept here cannot be submitted in a transaction: open the database that the transaction is in, SQLite or PostgreSQL.',
      )
    }
    if (typeof tx?.query !== 'function' || isClient(tx)) {
      throw new InvalidDefinition(
        '`tx` must be a transaction as fromPg(), fromSqlite(), fromKysely() or fromDrizzle() makes it, or an object with a function `query`. A client itself is none: write `tx: fromPg(client)`.',
      )
    }
  }

  async #sendIn(tx: UserTransaction, commands: readonly Command[]): Promise<readonly Answer[]> {
    return (await this.#store.executeIn?.(tx, commands)) ?? []
  }

  /** If it is not known whether the job is in, the error has its id. */
  async #sendOne(command: Submission, isMade: boolean): Promise<Answer> {
    const { results } = this.#handleParts
    const since = results.submitting()
    try {
      const answer = await this.#batcher.send(command)
      if (isMade && answer.verdict === 'committed') results.noteNew(since, command)
      return answer
    } catch (error) {
      return this.#interrupted(command, error)
    } finally {
      results.submitted()
    }
  }

  #interrupted({ job }: Submission, error: unknown): never {
    throw isKnown(error) ? error : new SubmitInterrupted([job], 0, 0, error)
  }

  #assertTaken({ name }: AnyJob, id: string, { rejection }: Answer): void {
    if (rejection !== null) throw new Refused(`Job ${id} ('${name}')`, rejection)
  }

  #handle<J extends AnyJob>(
    definition: J,
    command: Submission,
    answer: Answer,
  ): Handle<OutcomeOf<J>> {
    this.#assertTaken(definition, command.job, answer)
    return new Handle(this.#handleParts, String(answer.value), definition)
  }

  /** A promise only if the schema asks for one. */
  #submission(
    definition: AnyJob,
    input: unknown,
    options: ItemOptions,
  ): Submission | Promise<Submission> {
    const { name } = definition
    // Nearly always it is the one that is noted.
    if (this.#definitions.get(name) !== definition && !isByName(definition)) {
      this.#definitions.set(name, definition)
    }
    const { id: job = newJobId() } = options
    const text = inputOf(definition, input)
    const submission = (it: string): Submission => {
      const spec = specOf(definition, input, it, options, this.#defaults)
      const { by } = options
      const said = by === undefined ? spec : { ...spec, submittedBy: by }
      const command: Submission = { type: 'SubmitJob', job, spec: said }
      if (this.#bounds !== null && options.id !== undefined) this.#named.add(command)
      return command
    }
    return typeof text === 'string' ? submission(text) : text.then(submission)
  }
}
