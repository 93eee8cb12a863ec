/**
 * Sends commands to the store in batches: those of one turn of the event loop are one batch, and
 * there is no timer. New work and reports are sent apart, so that reports get through when the disk
 * is too full for new work.
 */
import type { Command } from '../kernel/index.ts'
import { PawlError } from '../kernel/index.ts'
import type { ClaimRequest } from './claim-request.ts'
import { BadRequest } from './errors.ts'
import type { Answer, Claimed, Store } from './store.ts'
import type { Writes } from './user-transaction.ts'

/** `answered`: of every batch. `sent`: of what was decided and is not yet durable. */
export interface CommandBatcherEvents {
  sent?(commands: readonly Command[]): void
  answered?(commands: readonly Command[], answers: readonly Answer[]): void
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

/** Commands that claims travel with. No store decides fewer in one transaction. */
const MOST_WITH_CLAIMS = 500
/** A callback on it runs as a microtask; quicker than `queueMicrotask`. */
const RESOLVED = Promise.resolve()

interface QueuedCall {
  readonly commands: readonly Command[]
  /** Its own answers begin at `from`. */
  readonly resolve: (answers: readonly Answer[], from: number) => void
  readonly reject: (error: unknown) => void
}

export class CommandBatcher {
  readonly #store: Store
  readonly #events: CommandBatcherEvents
  readonly #queues: { readonly newWork: QueuedCall[]; readonly reports: QueuedCall[] } = {
    newWork: [],
    reports: [],
  }
  readonly #claimers = new Set<SubmitClaimer>()
  #isScheduled = false

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
    this.#events.answered?.([command], [answer])
    return answer
  }

  #add(
    commands: readonly Command[],
    resolve: QueuedCall['resolve'],
    reject: QueuedCall['reject'],
  ): void {
    const queue = commands[0]?.type === 'SubmitJob' ? this.#queues.newWork : this.#queues.reports
    queue.push({ commands, resolve, reject })
    if (this.#isScheduled) return
    this.#isScheduled = true
    // From a microtask, `nextTick` calls back AFTER all microtasks, those included that they queue: so
    // handlers that begin when others end, and need no I/O, report together.
    void RESOLVED.then(() => process.nextTick(() => this.#sendBatches()))
  }

  #sendBatches(): void {
    this.#isScheduled = false
    const { newWork, reports } = this.#queues
    if (reports.length > 0) void this.#sendBatch(reports.splice(0))
    if (newWork.length > 0) void this.#sendBatch(newWork.splice(0))
  }

  async #sendBatch(calls: readonly QueuedCall[]): Promise<void> {
    const commands = calls.length === 1 ? calls[0]!.commands : calls.flatMap((one) => one.commands)
    try {
      const answering = this.#execute(commands)
      this.#events.sent?.(commands)
      const answers = await answering
      let at = 0
      for (const { commands: own, resolve } of calls) {
        resolve(answers, at)
        at += own.length
      }
      this.#events.answered?.(commands, answers)
    } catch (error) {
      if (calls.length > 1 && isAboutOneCall(error)) return this.#sendEach(calls)
      for (const { reject } of calls) reject(error)
    }
  }

  async #execute(commands: readonly Command[]): Promise<readonly Answer[]> {
    const claims: ClaimWithSubmit[] = []
    let claimed: readonly (readonly Claimed[])[] = []
    try {
      this.#addClaims(claims, commands)
      if (claims.length === 0) return await this.#store.execute(commands)
      const requests = claims.map(({ request }) => request)
      const done = await (this.#store as Required<Store>).submitAndClaim(commands, requests)
      claimed = done.claimed
      return done.answers
    } finally {
      claims.forEach((claim, i) => claim.granted(claimed[i] ?? []))
    }
  }

  /** So many that one transaction holds them: a worker gets its leases when the call is answered. */
  #addClaims(claims: ClaimWithSubmit[], commands: readonly Command[]): void {
    if (this.#store.submitAndClaim === undefined || this.#claimers.size === 0) return
    if (commands[0]?.type !== 'SubmitJob' || commands.length > MOST_WITH_CLAIMS) return
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
