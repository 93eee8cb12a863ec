/**
 * Calls that arrive together are decided together. There are no timers: what arrives while the lanes
 * are busy is the next batch.
 */
import type { Command } from '../../../kernel/index.ts'
import type { Answer } from '../../store.ts'
import { StoreClosed } from '../../store.ts'
import type { Connection } from '../connection.ts'
import { SqlFailed } from '../failures.ts'
import type { ConnectionPool } from '../connection-pool.ts'
import type { AppliedEntry } from './working-set.ts'
import type { Takers } from './submit-grants.ts'
import { SubmitGrants } from './submit-grants.ts'
import type { TransactionContext } from './context.ts'
import { execute, ownTransaction } from './transaction.ts'

/** Commands of one transaction: more take long, and keep others from their rows. */
const MOST_COMMANDS = 500
const WARY_BATCHES = 20
const MOST_RUNNING = 2
/** When whole transactions wait. One lane is left for others. */
const MOST_RUNNING_FULL = 3

interface Call {
  readonly commands: readonly Command[]
  readonly answers: Answer[]
  readonly settle: (answers: readonly Answer[]) => void
  readonly fail: (error: unknown) => void
}

export class CommandBatches {
  readonly #pool: ConnectionPool
  readonly #many: number
  readonly #parts: TransactionContext
  readonly #onDone: (done: readonly AppliedEntry[]) => void
  readonly #takers: Takers | null
  readonly #waiting: Call[] = []
  #isCalled = false
  #running = 0
  /** Commands that wait. */
  #count = 0
  /** So many batches more are decided on what was looked up, and not on trust. */
  #wary = 0

  /**
   * `many`: while a batch is under way the next one forms, because with few commands a transaction
   * costs more than what is in it. When so many wait, another one begins at once.
   * `takers`: who may take jobs with their submit; null: nobody.
   */
  constructor(
    pool: ConnectionPool,
    many: number,
    parts: TransactionContext,
    onDone: (done: readonly AppliedEntry[]) => void,
    takers: Takers | null,
  ) {
    this.#pool = pool
    this.#many = many
    this.#parts = parts
    this.#onDone = onDone
    this.#takers = takers
  }

  execute(commands: readonly Command[]): Promise<readonly Answer[]> {
    if (commands.length === 0) return Promise.resolve([])
    return new Promise((settle, fail) => {
      this.#waiting.push({ commands, answers: [], settle, fail })
      this.#count += commands.length
      this.#call()
    })
  }

  /** One lane is asked for at a time: whoever gets it takes all that waits. */
  #call(): void {
    if (this.#isCalled || this.#waiting.length === 0) return
    const most = this.#count >= MOST_COMMANDS ? MOST_RUNNING_FULL : MOST_RUNNING
    const isMany = this.#count >= this.#many && this.#running < most
    if (this.#running > 0 && !isMany) return
    this.#isCalled = true
    this.#running += 1
    let calls: Call[] | null = null
    let tries = 0
    // The same for all tries: it knows what the first one may have granted.
    const submitGrants =
      this.#takers === null ? null : new SubmitGrants(this.#takers, this.#parts.queues)
    const running = this.#pool.run(async (connection) => {
      if (calls === null) {
        calls = this.#take()
        this.#isCalled = false
        this.#call()
      }
      // Somebody was quicker, or an id was not new: for some time, nothing is taken for granted.
      if (++tries > 1) this.#wary = WARY_BATCHES
      await this.#decide(connection, calls, true, submitGrants)
    })
    void running
      .catch((error: unknown) => {
        if (calls === null) {
          calls = this.#waiting.splice(0)
          this.#count = 0
          this.#isCalled = false
        }
        submitGrants?.drop()
        return this.#failed(calls, error)
      })
      .finally(() => {
        this.#running -= 1
        this.#call()
      })
  }

  /** What is wrong with one call is no matter of the others: each is done by itself. */
  async #failed(calls: readonly Call[], error: unknown): Promise<void> {
    const left = calls.filter((call) => call.answers.length < call.commands.length)
    if (left.length < 2 || !isOfOne(error)) {
      for (const call of left) call.fail(error)
      return
    }
    for (const call of left) {
      await this.#pool
        .run((connection) => this.#decide(connection, [call], false, null))
        .catch((reason: unknown) => call.fail(reason))
    }
  }

  /** What was answered before the connection was lost is not asked again. */
  async #decide(
    connection: Connection,
    calls: readonly Call[],
    mayTrust: boolean,
    submitGrants: SubmitGrants | null,
  ): Promise<void> {
    for (;;) {
      const left = commandsLeft(calls)
      if (left.length === 0) return
      const trusts = mayTrust && this.#wary === 0
      if (mayTrust && !trusts) this.#wary -= 1
      const batch = left.slice(0, MOST_COMMANDS)
      if (trusts) submitGrants?.begin(batch)
      const frame = ownTransaction(this.#parts.sql)
      const { answers, applied: done } = await execute(
        connection,
        batch,
        this.#parts,
        trusts,
        frame,
        submitGrants,
      )
      this.#onDone(done)
      hand(calls, answers)
      submitGrants?.settle()
    }
  }

  #take(): Call[] {
    const calls: Call[] = []
    let count = 0
    while (count < MOST_COMMANDS) {
      const next = this.#waiting[0]
      if (next === undefined || (count > 0 && count + next.commands.length > MOST_COMMANDS)) break
      calls.push(next)
      this.#waiting.shift()
      count += next.commands.length
    }
    this.#count -= count
    return calls
  }
}

/** It may be of one call, and not of the database as a whole. */
function isOfOne(error: unknown): boolean {
  if (error instanceof StoreClosed) return false
  return !(error instanceof SqlFailed) || error.trouble === 'broken' || error.trouble === 'conflict'
}

function commandsLeft(calls: readonly Call[]): Command[] {
  return calls.flatMap(({ commands, answers }) => commands.slice(answers.length))
}

/** Gives each call its answers; one that has all of them is settled. */
function hand(calls: readonly Call[], answers: readonly Answer[]): void {
  let at = 0
  for (const call of calls) {
    const lacking = call.commands.length - call.answers.length
    if (lacking === 0) continue
    call.answers.push(...answers.slice(at, at + lacking))
    at += Math.min(lacking, answers.length - at)
    if (call.answers.length === call.commands.length) call.settle(call.answers)
    if (at >= answers.length) return
  }
}
