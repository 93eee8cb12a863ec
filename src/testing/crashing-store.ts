/**
 * The store as the workers of a test see it: it lets them die at the crash points that the test set.
 * A point is used up when a worker reaches it.
 *
 * A worker is alive until it comes to a crash point. From then on it is dead: nothing it still sends
 * reaches the store, and its leases run out. It is answered `cancelled`, which a worker takes as
 * "drop everything": without an answer, other workers with commands in the same batch would hang.
 *
 * Everything else goes through as it is. What the authority decides is never changed.
 */
import type { AnyEffect, AnyJob } from '../definition/index.ts'
import { InvalidDefinition } from '../definition/index.ts'
import type { Command, TaskAddress } from '../kernel/index.ts'
import { effectKey } from '../kernel/index.ts'
import type {
  Answer,
  AnswerTo,
  Claimed,
  ClaimRequest,
  Moment,
  PositionedEntry,
  Query,
  Store,
  StoreSnapshot,
  Totals,
} from '../store/index.ts'
import type { TestTransaction } from './test-transaction.ts'
import { executeInTransaction } from './test-transaction.ts'

export type CrashMoment =
  | 'before-commit'
  | 'after-commit'
  | 'before-suspension'
  | 'after-suspension'
  | 'during-effect'

export interface CrashOptions {
  /** How many executions in a row lose their worker. Default 1. */
  readonly times?: number
}

/** A crash that was asked for and has not happened yet. */
export interface CrashPoint {
  readonly moment: CrashMoment
  /** The name of the job, or of the effect. */
  readonly name: string
  readonly left: number
}

export class CrashPoints {
  readonly #points: { moment: CrashMoment; name: string; left: number }[] = []

  /** The handler ran, and its worker is gone BEFORE the commit is durable: it will run again. */
  beforeCommit(job: AnyJob | string, options: CrashOptions = {}): void {
    this.#add('before-commit', typeof job === 'string' ? job : job.name, options)
  }

  /** The worker is gone right AFTER the commit became durable: another one finishes its effects. */
  afterCommit(job: AnyJob | string, options: CrashOptions = {}): void {
    this.#add('after-commit', typeof job === 'string' ? job : job.name, options)
  }

  /** The handler came to a wait, and its worker is gone BEFORE the suspension is durable: it runs again. */
  beforeSuspension(job: AnyJob | string, options: CrashOptions = {}): void {
    this.#add('before-suspension', typeof job === 'string' ? job : job.name, options)
  }

  /** The worker is gone right AFTER the suspension became durable, and BEFORE it submitted what the job calls. */
  afterSuspension(job: AnyJob | string, options: CrashOptions = {}): void {
    this.#add('after-suspension', typeof job === 'string' ? job : job.name, options)
  }

  /** The effect was started and has run, and its worker is gone BEFORE it said so. */
  duringEffect(effect: AnyEffect | string, options: CrashOptions = {}): void {
    this.#add('during-effect', typeof effect === 'string' ? effect : effect.effectName, options)
  }

  /** Those that no execution has come to. A test that expects none notices a name misspelt. */
  get unreached(): readonly CrashPoint[] {
    return this.#points
      .filter(({ left }) => left > 0)
      .map(({ moment, name, left }) => ({ moment, name, left }))
  }

  /** Whether a worker would die here. */
  has(moment: CrashMoment, name: string | undefined): boolean {
    return this.#points.some((one) => one.moment === moment && one.name === name && one.left > 0)
  }

  /** Whether a worker dies here and now. It uses up the point. */
  take(moment: CrashMoment, name: string | undefined): boolean {
    const point = this.#points.find(
      (one) => one.moment === moment && one.name === name && one.left > 0,
    )
    if (point === undefined) return false
    point.left -= 1
    return true
  }

  #add(moment: CrashMoment, name: string, { times = 1 }: CrashOptions): void {
    if (!Number.isSafeInteger(times) || times < 1) {
      throw new InvalidDefinition(`\`times\` of a crash must be a whole number from 1.`, { times })
    }
    this.#points.push({ moment, name, left: times })
  }
}

interface CrashingStoreParts {
  readonly store: Store
  readonly points: CrashPoints
  /**
   * A turn of the event loop, which every claim takes as it would with a disk: jobs without end
   * must leave the test its turn.
   */
  readonly turn: () => Promise<void>
  /** Whether this worker may have jobs at this moment. */
  readonly mayClaim: (worker: string) => boolean
  /** Called once for each worker that dies, with the job that it reported on. */
  readonly onCrash: (worker: string, job: string) => void
  /** Null: commits with writes of the user's are refused. */
  readonly transaction: TestTransaction | null
}

const LOST: Answer = { verdict: 'cancelled', value: null, rejection: null }

export class CrashingStore implements Store {
  readonly #parts: CrashingStoreParts
  readonly #dead = new Set<string>()
  /** What reports do not say: the type of a job, and the name of an effect by its key. */
  readonly #types = new Map<string, string>()
  readonly #effects = new Map<string, string>()

  /** Only with a transaction of the test's. */
  executeWith?: NonNullable<Store['executeWith']>

  constructor(parts: CrashingStoreParts) {
    this.#parts = parts
    const { store, transaction } = parts
    if (transaction === null) return
    this.executeWith = async (command, writes) => {
      if (this.#isLost(command)) return LOST
      const answer = await executeInTransaction(store, transaction, command, writes)
      return this.#diesAfter(command, answer) ? LOST : answer
    }
  }

  async execute(commands: readonly Command[]): Promise<readonly Answer[]> {
    const passed: Command[] = []
    /** For each command: where its answer will be; -1: it is lost. */
    const places: number[] = []
    commands.forEach((command, i) => {
      const isLost = this.#isLost(command) || this.#isLostWith(command, commands, i, places)
      places.push(isLost ? -1 : passed.length)
      if (!isLost) passed.push(command)
    })
    // Not awaited yet: the caller relies on commands being decided when they are sent.
    const answering = this.#parts.store.execute(passed)
    const answers = await answering
    return commands.map((command, i) => {
      const answer = answers[places[i] as number]
      return answer === undefined || this.#diesAfter(command, answer) ? LOST : answer
    })
  }

  /** A worker submits a child between two reports, and what a job calls AFTER its suspension, in one batch. */
  #isLostWith(
    command: Command,
    commands: readonly Command[],
    i: number,
    places: readonly number[],
  ): boolean {
    if (command.type !== 'SubmitJob' || i === 0) return false
    const { parent, caller } = command.spec
    if (parent !== null || caller !== null) {
      if (places[i - 1] === -1) return true
    }
    const before = commands[i - 1]
    if (caller === null || before?.type !== 'SuspendExecution') return false
    return this.#parts.points.has('after-suspension', this.#types.get(before.job))
  }

  async claim(request: ClaimRequest): Promise<readonly Claimed[]> {
    const { worker } = request
    await this.#parts.turn()
    if (this.#dead.has(worker) || !this.#parts.mayClaim(worker)) return []
    const claimed = await this.#parts.store.claim(request)
    for (const { job, type } of claimed) this.#types.set(job, type)
    return claimed
  }

  query<const Q extends Query>(query: Q): Promise<AnswerTo<Q>> {
    return this.#parts.store.query(query)
  }

  totals(): Totals | null {
    return this.#parts.store.totals?.() ?? null
  }

  at(moment: Moment): Promise<StoreSnapshot> {
    return this.#parts.store.at(moment)
  }

  watch(from: number): AsyncIterable<PositionedEntry> {
    return this.#parts.store.watch(from)
  }

  watchNew(): Promise<AsyncIterable<PositionedEntry>> {
    return this.#parts.store.watchNew()
  }

  close(): Promise<void> {
    return this.#parts.store.close()
  }

  #isLost(command: Command): boolean {
    const worker = reporterOf(command)
    if (worker === null || !('segment' in command)) return false
    if (!this.#dead.has(worker) && this.#diesBefore(command)) this.#crash(worker, command)
    return this.#dead.has(worker)
  }

  #diesBefore(command: Command): boolean {
    const { points } = this.#parts
    switch (command.type) {
      case 'CommitExecution':
        return points.take('before-commit', this.#types.get(command.job))
      case 'SuspendExecution':
        return points.take('before-suspension', this.#types.get(command.job))
      case 'FinishEffect':
      case 'FailEffect': {
        const { job, stage, segment, effect } = command
        return points.take(
          'during-effect',
          this.#effects.get(effectKey(job, stage, segment, effect)),
        )
      }
      default:
        return false
    }
  }

  /** A commit that did not hold is no commit: the point waits for the next one. */
  #diesAfter(command: Command, { verdict }: Answer): boolean {
    if (verdict !== 'committed') return false
    if (command.type === 'SuspendExecution') {
      if (!this.#parts.points.take('after-suspension', this.#types.get(command.job))) return false
      this.#crash(command.worker, command)
      return true
    }
    if (command.type !== 'CommitExecution') return false
    const { job, stage, segment, effects, worker } = command
    effects.forEach(({ name }, i) => this.#effects.set(effectKey(job, stage, segment, i), name))
    if (!this.#parts.points.take('after-commit', this.#types.get(job))) return false
    this.#crash(worker, command)
    return true
  }

  #crash(worker: string, { job }: TaskAddress): void {
    this.#dead.add(worker)
    this.#parts.onCrash(worker, job)
  }
}

/** The worker that sends it; null: it comes from a client, an operator or time. */
function reporterOf(command: Command): string | null {
  if ('worker' in command) return command.worker
  const isWorkers = command.type === 'ResolveEffect' || command.type === 'RevokeLease'
  return isWorkers ? command.by : null
}
