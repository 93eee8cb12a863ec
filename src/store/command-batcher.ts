/**
 * Sends commands to the store in batches: those of one turn of the event loop are one batch, and
 * there is no timer. New work and reports are sent apart, so that reports get through when the disk
 * is too full for new work.
 *
 * - Reports are sent at once.
 * - New work is sent while the store has less than a few batches of it; the rest waits here. So a
 *   report waits behind a bounded amount of work, however much the process submits, and what waits
 *   here forms full batches.
 *
 * Commands are handed over to it, and by it to the store: who made them changes them no more.
 *
 * Once it is closing, it takes no more; what it took is still sent.
 */
import type { Command } from '../kernel/index.ts'
import { PawlError } from '../kernel/index.ts'
import { eventLoopTurn } from '../log/index.ts'
import type { ClaimRequest } from './claim-request.ts'
import { BadRequest, StoreClosed } from './errors.ts'
import type { Answer, Claimed, Store } from './store.ts'
import type { Writes } from './user-transaction.ts'

/**
 * `answered`: of every batch. `sent`: of what was decided and is not yet durable. `failed`: one of the others
 * threw; the calls are answered as the store answered them.
 */
export interface CommandBatcherEvents {
  sent?(commands: readonly Command[]): void
  answered?(commands: readonly Command[], answers: readonly Answer[]): void
  failed?(error: Error): void
}

/** A worker that claims jobs together with their submit. */
export interface SubmitClaimer {
  /** A claim for some of the jobs that these commands submit; null: it has no room for them. */
  claimFor(commands: readonly Command[]): ClaimWithSubmit | null
}

/** The worker keeps room for `request.max` jobs until it is told what was granted. */
export interface ClaimWithSubmit {
  readonly request: ClaimRequest
  /** AFTER the grants are durable, or the submit failed: what was granted, which may be nothing. */
  granted(claimed: readonly Claimed[]): void
}

/** Commands of one batch: more take long, and keep other transactions from their rows. */
export const MOST_COMMANDS = 500
/** Characters of its payloads: twice the largest. One command alone may have more. */
const MOST_CHARS = 2 * 1_048_576
/**
 * Batches of new work that the store has at once: one is decided, one is written, and others wait to be
 * next.
 */
export const MOST_UNDER_WAY = 4
/** A callback on it runs as a microtask; quicker than `queueMicrotask`. */
const RESOLVED = Promise.resolve()

interface QueuedCall {
  readonly commands: readonly Command[]
  /** Of its payloads. */
  readonly chars: number
  /** Its own answers begin at `from`. */
  readonly resolve: (answers: readonly Answer[], from: number) => void
  readonly reject: (error: unknown) => void
}

interface CallBatch {
  readonly calls: readonly QueuedCall[]
  readonly size: BatchSize
}

export class CommandBatcher {
  readonly #store: Store
  readonly #events: CommandBatcherEvents
  readonly #queues: { readonly newWork: QueuedCall[]; readonly reports: QueuedCall[] } = {
    newWork: [],
    reports: [],
  }
  readonly #claimers = new Set<SubmitClaimer>()
  /** New work that the store has. */
  readonly #underWay = new BatchSize()
  /** Batches that are not answered yet. */
  readonly #sending = new Set<Promise<void>>()
  #isScheduled = false
  /** New work is sent after the next turn of the event loop. */
  #isTurning = false
  #isClosing = false

  constructor(store: Store, events: CommandBatcherEvents = {}) {
    this.#store = store
    this.#events = events
  }

  /** Claims of this worker travel with submits from now on, where the store takes them. Gives its end. */
  addClaimer(claimer: SubmitClaimer): () => void {
    this.#claimers.add(claimer)
    return () => void this.#claimers.delete(claimer)
  }

  send(command: Command): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#add([command], (answers, from) => resolve(answers[from] as Answer), reject)
    })
  }

  /** In this order, with nothing between them. */
  sendAll(commands: readonly Command[]): Promise<readonly Answer[]> {
    return new Promise((resolve, reject) => {
      const count = commands.length
      this.#add(commands, (answers, from) => resolve(answers.slice(from, from + count)), reject)
    })
  }

  /** On its own, with writes of the user in the same transaction. */
  async sendWith(command: Command, writes: Writes): Promise<Answer> {
    if (this.#store.executeWith === undefined) throw new BadRequest('This store is on no database.')
    const answer = await this.#store.executeWith(command, writes)
    this.#tell(() => this.#events.answered?.([command], [answer]))
    return answer
  }

  /** AFTER everything that it took is answered. */
  async close(): Promise<void> {
    this.#isClosing = true
    // What waits is sent when a batch is answered, or with the next turn of the event loop.
    do await Promise.all([eventLoopTurn(), ...this.#sending])
    while (this.#sending.size > 0 || this.#queues.newWork.length > 0)
  }

  #add(
    commands: readonly Command[],
    resolve: QueuedCall['resolve'],
    reject: QueuedCall['reject'],
  ): void {
    if (this.#isClosing) return reject(new StoreClosed())
    const first = commands[0]?.type
    const isNewWork = first === 'SubmitJob' || first === 'ReplaceJob'
    const queue = isNewWork ? this.#queues.newWork : this.#queues.reports
    queue.push({ commands, chars: charsOf(commands), resolve, reject })
    this.#schedule()
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    // From a microtask, `nextTick` calls back AFTER all microtasks, those included that they queue: so
    // handlers that begin when others end, and need no I/O, report together.
    void RESOLVED.then(() => process.nextTick(() => this.#sendScheduled()))
  }

  #sendScheduled(): void {
    this.#isScheduled = false
    this.#sendBatches()
  }

  /** Reports first. */
  #sendBatches(): void {
    const { newWork, reports } = this.#queues
    while (reports.length > 0) this.#track(this.#sendBatch(takeBatch(reports).calls))
    while (newWork.length > 0 && this.#hasRoom(newWork[0] as QueuedCall)) {
      this.#track(this.#sendNewWork(takeBatch(newWork)))
    }
  }

  #hasRoom({ commands, chars }: QueuedCall): boolean {
    return this.#underWay.hasRoom(commands.length, chars, MOST_UNDER_WAY)
  }

  #track(sending: Promise<void>): void {
    this.#sending.add(sending)
    void sending.then(() => this.#sending.delete(sending))
  }

  async #sendNewWork({ calls, size }: CallBatch): Promise<void> {
    this.#underWay.add(size.commands, size.chars)
    await this.#sendBatch(calls)
    this.#underWay.subtract(size)
    if (this.#queues.newWork.length > 0) this.#scheduleAfterTurn()
  }

  /** Also a store that answers at once lets reports and claims in between. */
  #scheduleAfterTurn(): void {
    if (this.#isTurning) return
    this.#isTurning = true
    void eventLoopTurn().then(() => this.#endTurn())
  }

  #endTurn(): void {
    this.#isTurning = false
    this.#sendBatches()
  }

  async #sendBatch(calls: readonly QueuedCall[]): Promise<void> {
    const commands = calls.length === 1 ? calls[0]!.commands : calls.flatMap((one) => one.commands)
    try {
      const answering = this.#execute(commands)
      this.#tell(() => this.#events.sent?.(commands))
      const answers = await answering
      let at = 0
      for (const { commands: own, resolve } of calls) {
        resolve(answers, at)
        at += own.length
      }
      this.#tell(() => this.#events.answered?.(commands, answers))
    } catch (error) {
      if (calls.length > 1 && isAboutOneCall(error)) return this.#sendEach(calls)
      for (const { reject } of calls) reject(error)
    }
  }

  /** A listener that throws changes no answer. Where no one hears of it, the process does. */
  #tell(listener: () => void): void {
    try {
      listener()
    } catch (error) {
      if (this.#events.failed !== undefined) return this.#events.failed(error as Error)
      queueMicrotask(() => {
        throw error
      })
    }
  }

  async #execute(commands: readonly Command[]): Promise<readonly Answer[]> {
    const claims: ClaimWithSubmit[] = []
    let claimed: readonly (readonly Claimed[])[] = []
    try {
      this.#addClaims(claims, commands)
      if (claims.length === 0) return await this.#store.execute(commands, true)
      const requests = claims.map(({ request }) => request)
      const done = await (this.#store as Required<Store>).submitAndClaim(commands, requests)
      claimed = done.claimed
      return done.answers
    } finally {
      claims.forEach((claim, i) => this.#tell(() => claim.granted(claimed[i] ?? [])))
    }
  }

  /** So many that one transaction holds them: a worker gets its leases when the call is answered. */
  #addClaims(claims: ClaimWithSubmit[], commands: readonly Command[]): void {
    if (this.#store.submitAndClaim === undefined || this.#claimers.size === 0) return
    if (commands[0]?.type !== 'SubmitJob' || commands.length > MOST_COMMANDS) return
    let left = commands.length
    for (const claimer of this.#claimers) {
      if (left <= 0) break
      const claim = claimer.claimFor(commands)
      if (claim === null) continue
      claims.push(claim)
      left -= claim.request.max
    }
  }

  /** What one call needs cannot be read, and nothing happened: only that call fails. */
  async #sendEach(calls: readonly QueuedCall[]): Promise<void> {
    for (const call of calls) await this.#sendBatch([call])
  }
}

function isAboutOneCall(error: unknown): boolean {
  return error instanceof PawlError && error.kind === 'corrupt'
}

function charsOf(commands: readonly Command[]): number {
  let chars = 0
  for (const command of commands) chars += payloadChars(command)
  return chars
}

/** Takes calls from the front: as many as a batch holds, and at least one. */
function takeBatch(queue: QueuedCall[]): CallBatch {
  const size = new BatchSize()
  let count = 0
  for (const { commands, chars } of queue) {
    if (!size.hasRoom(commands.length, chars)) break
    size.add(commands.length, chars)
    count += 1
  }
  return { calls: queue.splice(0, count), size }
}

/** Of inputs, outputs and values. Commands come from users, too: any field may be missing. */
export function payloadChars(command: Command): number {
  switch (command?.type) {
    case 'SubmitJob':
      return lengthOf(command.spec?.input)
    case 'CommitExecution': {
      let chars = lengthOf(command.output)
      if (!Array.isArray(command.effects)) return chars
      for (const one of command.effects) chars += lengthOf(one?.input)
      return chars
    }
    case 'RecordStep':
      return lengthOf(command.value)
    case 'AppendStream': {
      let chars = 0
      if (!Array.isArray(command.values)) return chars
      for (const value of command.values as readonly unknown[]) chars += lengthOf(value)
      return chars
    }
    case 'ReplaceJob':
    case 'RetryTask':
      return lengthOf(command.input)
    case 'ForceTask':
      return lengthOf(command.output)
    default:
      return 0
  }
}

function lengthOf(text: unknown): number {
  return typeof text === 'string' ? text.length : 0
}

/** Of commands that are sent together, or under way. */
export class BatchSize {
  commands = 0
  chars = 0

  add(commands: number, chars: number): void {
    this.commands += commands
    this.chars += chars
  }

  subtract(other: BatchSize): void {
    this.commands -= other.commands
    this.chars -= other.chars
  }

  /** Whether so many more stay within `batches` whole ones. A first one always does. */
  hasRoom(commands: number, chars: number, batches = 1): boolean {
    if (this.commands === 0) return true
    return (
      this.commands + commands <= batches * MOST_COMMANDS &&
      this.chars + chars <= batches * MOST_CHARS
    )
  }
}
