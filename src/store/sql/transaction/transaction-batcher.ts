/**
 * Calls that arrive together are decided together, in one transaction. There are no timers: the calls
 * that arrive while the connections are busy are the next batch.
 *
 * Reports come before new work, and never wait for more of it than the transactions that are under way:
 * a call that does not fit into one transaction goes on in another one, AFTER the reports that came
 * meanwhile.
 */
import type { Command } from '../../../kernel/index.ts'
import type { ClaimRequest } from '../../claim-request.ts'
import { BatchSize, MOST_COMMANDS, payloadChars } from '../../command-batcher.ts'
import { PartlyDone, StoreClosed } from '../../errors.ts'
import type { Answer, SubmittedAndClaimed } from '../../store.ts'
import type { Connection } from '../connection.ts'
import type { ConnectionPool } from '../connection-pool.ts'
import { SqlFailed } from '../failures.ts'
import type { TransactionContext } from './context.ts'
import type { SubmitClaim } from './submit-grants.ts'
import { SubmitGrants } from './submit-grants.ts'
import { executeCommands, ownTransaction } from './transaction.ts'
import type { AppliedEntry } from './working-set.ts'

/** After a conflict, so many batches read everything that they decide on. */
const PESSIMISTIC_BATCHES = 20
const MOST_RUNNING = 2
/** While both wait, one batch in so many begins with new work. */
const NEW_WORK_EVERY = 3
/** When whole transactions wait. One connection is left for others. */
const MOST_RUNNING_FULL = 3

interface Call {
  readonly commands: readonly Command[]
  readonly claims: readonly SubmitClaim[]
  /** Of its first commands: the others are still to be decided. */
  readonly answers: Answer[]
  /** A batch with it failed: it is decided by itself, so that it fails no others. */
  isAlone: boolean
  /** It was rejected. */
  isOver: boolean
  readonly resolve: (done: SubmittedAndClaimed) => void
  readonly reject: (error: unknown) => void
}

/** `alike`: positions of more submits, all alike to the only one in `applied`. */
export type OnCommitted = (applied: readonly AppliedEntry[], alike?: readonly number[]) => void

export class TransactionBatcher {
  readonly #pool: ConnectionPool
  readonly #manyCommands: number
  readonly #context: TransactionContext
  readonly #onCommitted: OnCommitted
  readonly #now: () => number
  readonly #waiting: { readonly reports: Call[]; readonly newWork: Call[] } = {
    reports: [],
    newWork: [],
  }
  /** Commands in both. */
  #waitingCommands = 0
  /** A batch waits for a connection: it takes all calls that wait by then. */
  #isNextWaiting = false
  #running = 0
  #pessimisticLeft = 0
  /** Batches in a row that began with reports while new work waited. */
  #batchesOfReports = 0

  /**
   * `manyCommands`: while a batch is under way the next one forms, because with few commands a
   * transaction costs more than what is in it. When so many wait, another one begins at once.
   * `now`: about the authority's time.
   */
  constructor(
    pool: ConnectionPool,
    manyCommands: number,
    context: TransactionContext,
    onCommitted: OnCommitted,
    now: () => number,
  ) {
    this.#pool = pool
    this.#manyCommands = manyCommands
    this.#context = context
    this.#onCommitted = onCommitted
    this.#now = now
  }

  async execute(commands: readonly Command[]): Promise<readonly Answer[]> {
    return (await this.submitAndClaim(commands, [])).answers
  }

  submitAndClaim(
    commands: readonly Command[],
    requests: readonly ClaimRequest[],
  ): Promise<SubmittedAndClaimed> {
    const claims = requests.map((request) => ({ request, granted: [] }))
    if (commands.length === 0) return Promise.resolve({ answers: [], claimed: grantsOf(claims) })
    return new Promise((resolve, reject) => {
      const call = { commands, claims, answers: [], isAlone: false, isOver: false, resolve, reject }
      this.#queueOf(call).push(call)
      this.#waitingCommands += commands.length
      this.#beginBatch()
    })
  }

  #queueOf({ commands }: Call): Call[] {
    return commands[0]?.type === 'SubmitJob' ? this.#waiting.newWork : this.#waiting.reports
  }

  #beginBatch(): void {
    if (this.#isNextWaiting || this.#waitingCommands === 0) return
    const most = this.#waitingCommands >= MOST_COMMANDS ? MOST_RUNNING_FULL : MOST_RUNNING
    const isMany = this.#waitingCommands >= this.#manyCommands && this.#running < most
    if (this.#running > 0 && !isMany) return
    this.#isNextWaiting = true
    this.#running += 1
    let batch: TransactionBatch | null = null
    let tries = 0
    // The same for all tries: it knows what the first one may have granted.
    const submitGrants = new SubmitGrants(this.#context.queues, this.#now)
    const running = this.#pool.run(async (connection) => {
      if (batch === null) {
        batch = this.#takeBatch()
        this.#isNextWaiting = false
        this.#beginBatch()
      }
      // Another transaction wrote first, or an id was not new.
      if (++tries > 1) this.#pessimisticLeft = PESSIMISTIC_BATCHES
      await this.#decide(connection, batch, submitGrants)
    })
    void running
      .catch((error: unknown) => {
        if (batch === null) {
          batch = this.#takeAll()
          this.#isNextWaiting = false
        }
        rejectOrSeparate(batch.calls, error)
      })
      .finally(() => {
        this.#running -= 1
        this.#putBack(batch?.calls ?? [])
        this.#beginBatch()
      })
  }

  async #decide(
    connection: Connection,
    batch: TransactionBatch,
    submitGrants: SubmitGrants,
  ): Promise<void> {
    const { calls, commands } = batch
    const mayBeOptimistic = calls[0]?.isAlone === false
    const isOptimistic = mayBeOptimistic && this.#pessimisticLeft === 0
    if (mayBeOptimistic && !isOptimistic) this.#pessimisticLeft -= 1
    if (isOptimistic) submitGrants.plan(commands, claimsLeft(calls))
    const { answers, applied, alike } = await executeCommands(
      connection,
      commands,
      this.#context,
      isOptimistic,
      ownTransaction(this.#context.sql),
      mayBeOptimistic ? submitGrants : null,
    )
    this.#onCommitted(applied, alike)
    submitGrants.finish()
    answerCalls(calls, answers)
  }

  /** Reports first, but for each third time: a worker with quick handlers may always have a batch of them. */
  #takeBatch(): TransactionBatch {
    const { reports, newWork } = this.#waiting
    const batch = newBatch()
    this.#batchesOfReports = newWork.length === 0 ? 0 : this.#batchesOfReports + 1
    const isTurnOfNewWork = this.#batchesOfReports >= NEW_WORK_EVERY
    const order = isTurnOfNewWork ? [newWork, reports] : [reports, newWork]
    for (const queue of order) takeCalls(queue, batch)
    if (isTurnOfNewWork) this.#batchesOfReports = 0
    for (const { commands, answers } of batch.calls) {
      this.#waitingCommands -= commands.length - answers.length
    }
    return batch
  }

  #takeAll(): TransactionBatch {
    const { reports, newWork } = this.#waiting
    this.#waitingCommands = 0
    return { ...newBatch(), calls: [...reports.splice(0), ...newWork.splice(0)] }
  }

  /** Those with commands that are not decided yet, in front of the others. */
  #putBack(calls: readonly Call[]): void {
    for (const call of calls.toReversed()) {
      const left = call.isOver ? 0 : call.commands.length - call.answers.length
      if (left === 0) continue
      this.#queueOf(call).unshift(call)
      this.#waitingCommands += left
    }
  }
}

/** Calls, and the commands of them that one transaction decides. */
interface TransactionBatch {
  readonly calls: Call[]
  readonly commands: Command[]
  readonly size: BatchSize
  /** No call is added any more. */
  isFull: boolean
}

function newBatch(): TransactionBatch {
  return { calls: [], commands: [], size: new BatchSize(), isFull: false }
}

/** Moves calls from the front of the queue to the batch. */
function takeCalls(queue: Call[], batch: TransactionBatch): void {
  let count = 0
  while (count < queue.length && addCall(batch, queue[count] as Call)) count += 1
  queue.splice(0, count)
}

/** A call is added whole, but for the first one: of that, as much as there is room for. */
function addCall(batch: TransactionBatch, call: Call): boolean {
  const { calls, size } = batch
  const isFirst = calls.length === 0
  const { commands, answers } = call
  const own = sizeFrom(commands, answers.length)
  batch.isFull ||= !isFirst && (call.isAlone || !size.hasRoom(own.commands, own.chars))
  if (batch.isFull) return false
  calls.push(call)
  for (let i = answers.length; i < commands.length; i++) {
    const chars = payloadChars(commands[i] as Command)
    if (!size.hasRoom(1, chars)) break
    batch.commands.push(commands[i] as Command)
    size.add(1, chars)
  }
  batch.isFull = call.isAlone || size.commands < own.commands
  return true
}

function sizeFrom(commands: readonly Command[], first: number): BatchSize {
  const size = new BatchSize()
  for (let i = first; i < commands.length; i++) size.add(1, payloadChars(commands[i] as Command))
  return size
}

/**
 * AFTER a batch failed. If that may be because of one of its calls, each of them is done by itself; else
 * all of them fail.
 */
function rejectOrSeparate(calls: readonly Call[], error: unknown): void {
  const isSeparated = calls.length > 1 && mayBeOfOneCall(error)
  for (const call of calls) {
    if (isSeparated) {
      call.isAlone = true
      continue
    }
    call.isOver = true
    call.reject(call.answers.length === 0 ? error : new PartlyDone(call, error))
  }
}

/** And not of the database as a whole. */
function mayBeOfOneCall(error: unknown): boolean {
  if (error instanceof StoreClosed) return false
  return !(error instanceof SqlFailed) || error.reason === 'broken' || error.reason === 'conflict'
}

/** Of calls that are not answered yet. */
function claimsLeft(calls: readonly Call[]): SubmitClaim[] {
  return calls.flatMap(({ commands, claims, answers }) => {
    return answers.length < commands.length ? claims : []
  })
}

function grantsOf(claims: readonly SubmitClaim[]): SubmittedAndClaimed['claimed'] {
  return claims.map(({ granted }) => granted)
}

/** Gives each call its answers; a call that has all of them is resolved. */
function answerCalls(calls: readonly Call[], answers: readonly Answer[]): void {
  let at = 0
  for (const call of calls) {
    const lacking = call.commands.length - call.answers.length
    if (lacking === 0) continue
    call.answers.push(...answers.slice(at, at + lacking))
    at += Math.min(lacking, answers.length - at)
    if (call.answers.length === call.commands.length) {
      call.resolve({ answers: call.answers, claimed: grantsOf(call.claims) })
    }
    if (at >= answers.length) return
  }
}
