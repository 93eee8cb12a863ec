/**
 * Calls that arrive together are decided together, in one transaction. There are no timers: the calls
 * that arrive while the connections are busy are the next batch.
 */
import type { Command } from '../../../kernel/index.ts'
import type { ClaimRequest } from '../../claim-request.ts'
import { StoreClosed } from '../../errors.ts'
import type { Answer, SubmittedAndClaimed } from '../../store.ts'
import type { Connection } from '../connection.ts'
import type { ConnectionPool } from '../connection-pool.ts'
import { SqlFailed } from '../failures.ts'
import type { TransactionContext } from './context.ts'
import type { SubmitClaim } from './submit-grants.ts'
import { SubmitGrants } from './submit-grants.ts'
import { executeCommands, ownTransaction } from './transaction.ts'
import type { AppliedEntry } from './working-set.ts'

/** Commands of one transaction: more take long, and keep other transactions from their rows. */
const MOST_COMMANDS = 500
/** After a conflict, so many batches read everything that they decide on. */
const PESSIMISTIC_BATCHES = 20
const MOST_RUNNING = 2
/** When whole transactions wait. One connection is left for others. */
const MOST_RUNNING_FULL = 3

interface Call {
  readonly commands: readonly Command[]
  readonly claims: readonly SubmitClaim[]
  readonly answers: Answer[]
  readonly resolve: (done: SubmittedAndClaimed) => void
  readonly reject: (error: unknown) => void
}

export class TransactionBatcher {
  readonly #pool: ConnectionPool
  readonly #manyCommands: number
  readonly #context: TransactionContext
  readonly #onCommitted: (applied: readonly AppliedEntry[]) => void
  readonly #now: () => number
  readonly #waiting: Call[] = []
  /** Commands in `#waiting`. */
  #waitingCommands = 0
  /** A batch waits for a connection: it takes all calls that wait by then. */
  #isNextWaiting = false
  #running = 0
  #pessimisticLeft = 0

  /**
   * `manyCommands`: while a batch is under way the next one forms, because with few commands a
   * transaction costs more than what is in it. When so many wait, another one begins at once.
   * `now`: about the authority's time.
   */
  constructor(
    pool: ConnectionPool,
    manyCommands: number,
    context: TransactionContext,
    onCommitted: (applied: readonly AppliedEntry[]) => void,
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
      this.#waiting.push({ commands, claims, answers: [], resolve, reject })
      this.#waitingCommands += commands.length
      this.#beginBatch()
    })
  }

  #beginBatch(): void {
    if (this.#isNextWaiting || this.#waiting.length === 0) return
    const most = this.#waitingCommands >= MOST_COMMANDS ? MOST_RUNNING_FULL : MOST_RUNNING
    const isMany = this.#waitingCommands >= this.#manyCommands && this.#running < most
    if (this.#running > 0 && !isMany) return
    this.#isNextWaiting = true
    this.#running += 1
    let calls: Call[] | null = null
    let tries = 0
    // The same for all tries: it knows what the first one may have granted.
    const submitGrants = new SubmitGrants(this.#context.queues, this.#now)
    const running = this.#pool.run(async (connection) => {
      if (calls === null) {
        calls = this.#takeCalls()
        this.#isNextWaiting = false
        this.#beginBatch()
      }
      // Another transaction wrote first, or an id was not new.
      if (++tries > 1) this.#pessimisticLeft = PESSIMISTIC_BATCHES
      await this.#decide(connection, calls, true, submitGrants)
    })
    void running
      .catch((error: unknown) => {
        if (calls === null) {
          calls = this.#waiting.splice(0)
          this.#waitingCommands = 0
          this.#isNextWaiting = false
        }
        return this.#decideEach(calls, error)
      })
      .finally(() => {
        this.#running -= 1
        this.#beginBatch()
      })
  }

  /** AFTER a batch failed: each of its calls is done by itself, so that one does not fail the others. */
  async #decideEach(calls: readonly Call[], error: unknown): Promise<void> {
    const left = calls.filter((call) => call.answers.length < call.commands.length)
    if (left.length < 2 || !mayBeOfOneCall(error)) {
      for (const call of left) call.reject(error)
      return
    }
    for (const call of left) {
      await this.#pool
        .run((connection) => this.#decide(connection, [call], false, null))
        .catch((reason: unknown) => call.reject(reason))
    }
  }

  /** Commands that were answered before the connection was lost are not decided again. */
  async #decide(
    connection: Connection,
    calls: readonly Call[],
    mayBeOptimistic: boolean,
    submitGrants: SubmitGrants | null,
  ): Promise<void> {
    for (;;) {
      const left = calls.flatMap(({ commands, answers }) => commands.slice(answers.length))
      if (left.length === 0) return
      const isOptimistic = mayBeOptimistic && this.#pessimisticLeft === 0
      if (mayBeOptimistic && !isOptimistic) this.#pessimisticLeft -= 1
      const batch = left.slice(0, MOST_COMMANDS)
      if (isOptimistic) submitGrants?.plan(batch, claimsLeft(calls))
      const { answers, applied } = await executeCommands(
        connection,
        batch,
        this.#context,
        isOptimistic,
        ownTransaction(this.#context.sql),
        submitGrants,
      )
      this.#onCommitted(applied)
      submitGrants?.finish()
      answerCalls(calls, answers)
    }
  }

  #takeCalls(): Call[] {
    const calls: Call[] = []
    let count = 0
    while (count < MOST_COMMANDS) {
      const next = this.#waiting[0]
      if (next === undefined || (count > 0 && count + next.commands.length > MOST_COMMANDS)) break
      calls.push(next)
      this.#waiting.shift()
      count += next.commands.length
    }
    this.#waitingCommands -= count
    return calls
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
