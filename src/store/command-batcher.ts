/**
 * Sends commands to the store, those of one turn of the event loop as one batch.
 *
 * There is no timer. Submits and reports go in batches of their own, so that reports get through
 * when the disk is too full for new jobs.
 */
import type { Command } from '../kernel/index.ts'
import { PawlError } from '../kernel/index.ts'
import type { Answer, Store } from './store.ts'
import { BadRequest } from './store.ts'
import type { Writes } from './user-transaction.ts'

/** `sent`: the commands are decided and not yet durable; `answered`: they are durable, or refused. */
interface CommandBatcherEvents {
  sent?(commands: readonly Command[]): void
  answered?(commands: readonly Command[], answers: readonly Answer[]): void
}

/** Its callbacks run AFTER those that wait already; quicker than `queueMicrotask`. */
const TURN = Promise.resolve()

interface PendingCommands {
  readonly commands: readonly Command[]
  /** Its own answers begin at `from`. */
  readonly resolve: (answers: readonly Answer[], from: number) => void
  readonly reject: (error: unknown) => void
}

export class CommandBatcher {
  readonly #store: Store
  readonly #events: CommandBatcherEvents
  readonly #submits: PendingCommands[] = []
  readonly #reports: PendingCommands[] = []
  #isScheduled = false

  constructor(store: Store, events: CommandBatcherEvents = {}) {
    this.#store = store
    this.#events = events
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

  /** On its own, together with writes of the user's. */
  async sendWith(command: Command, writes: Writes): Promise<Answer> {
    if (this.#store.executeWith === undefined) throw new BadRequest('This store is on no database.')
    const answer = await this.#store.executeWith(command, writes)
    this.#events.answered?.([command], [answer])
    return answer
  }

  #add(
    commands: readonly Command[],
    resolve: PendingCommands['resolve'],
    reject: PendingCommands['reject'],
  ): void {
    const pending = commands[0]?.type === 'SubmitJob' ? this.#submits : this.#reports
    pending.push({ commands, resolve, reject })
    if (this.#isScheduled) return
    this.#isScheduled = true
    void TURN.then(() => this.#sendPending())
  }

  #sendPending(): void {
    this.#isScheduled = false
    if (this.#reports.length > 0) void this.#execute(this.#reports.splice(0))
    if (this.#submits.length > 0) void this.#execute(this.#submits.splice(0))
  }

  async #execute(batch: readonly PendingCommands[]): Promise<void> {
    const commands = batch.length === 1 ? batch[0]!.commands : batch.flatMap((one) => one.commands)
    try {
      const answering = this.#store.execute(commands)
      this.#events.sent?.(commands)
      const answers = await answering
      let at = 0
      for (const { commands: own, resolve } of batch) {
        resolve(answers, at)
        at += own.length
      }
      this.#events.answered?.(commands, answers)
    } catch (error) {
      if (batch.length > 1 && isAboutOne(error)) return this.#executeEach(batch)
      for (const { reject } of batch) reject(error)
    }
  }

  /** A job that one of them is about cannot be read, and nothing happened: the others go on. */
  async #executeEach(batch: readonly PendingCommands[]): Promise<void> {
    for (const one of batch) await this.#execute([one])
  }
}

function isAboutOne(error: unknown): boolean {
  return error instanceof PawlError && error.kind === 'corrupt'
}
