/**
 * Brings commands to the store, those that come together as one batch.
 *
 * There is no timer: what is sent while the current turn of the event loop is still being
 * worked off goes along. New work and reports travel apart, so that reports get through when
 * the disk is too full for new work.
 */
import type { Command } from '../kernel/index.ts'
import { PawlError } from '../kernel/index.ts'
import type { Answer, Store } from './store.ts'
import { BadRequest } from './store.ts'
import type { Writes } from './user-transaction.ts'

/** Told of everything that was answered; `sent`: of what was decided and is not yet durable. */
interface CommandBatcherEvents {
  sent?(commands: readonly Command[]): void
  answered?(commands: readonly Command[], answers: readonly Answer[]): void
}

/** Whoever waits for it comes after all who wait already; quicker than `queueMicrotask`. */
const TURN = Promise.resolve()

interface Parcel {
  readonly commands: readonly Command[]
  /** Its own answers begin at `from`. */
  readonly resolve: (answers: readonly Answer[], from: number) => void
  readonly reject: (error: unknown) => void
}

export class CommandBatcher {
  readonly #store: Store
  readonly #events: CommandBatcherEvents
  readonly #lanes: { readonly newWork: Parcel[]; readonly reports: Parcel[] } = {
    newWork: [],
    reports: [],
  }
  #isLeaving = false

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

  #add(commands: readonly Command[], resolve: Parcel['resolve'], reject: Parcel['reject']): void {
    const lane = commands[0]?.type === 'SubmitJob' ? this.#lanes.newWork : this.#lanes.reports
    lane.push({ commands, resolve, reject })
    if (this.#isLeaving) return
    this.#isLeaving = true
    void TURN.then(() => this.#leave())
  }

  #leave(): void {
    this.#isLeaving = false
    const { newWork, reports } = this.#lanes
    if (reports.length > 0) void this.#deliver(reports.splice(0))
    if (newWork.length > 0) void this.#deliver(newWork.splice(0))
  }

  async #deliver(parcels: readonly Parcel[]): Promise<void> {
    const commands =
      parcels.length === 1 ? parcels[0]!.commands : parcels.flatMap((one) => one.commands)
    try {
      const answering = this.#store.execute(commands)
      this.#events.sent?.(commands)
      const answers = await answering
      let at = 0
      for (const { commands: own, resolve } of parcels) {
        resolve(answers, at)
        at += own.length
      }
      this.#events.answered?.(commands, answers)
    } catch (error) {
      if (parcels.length > 1 && isOfOne(error)) return this.#deliverEach(parcels)
      for (const { reject } of parcels) reject(error)
    }
  }

  /** What one is about cannot be read, and nothing happened: that is no matter of the others. */
  async #deliverEach(parcels: readonly Parcel[]): Promise<void> {
    for (const parcel of parcels) await this.#deliver([parcel])
  }
}

function isOfOne(error: unknown): boolean {
  return error instanceof PawlError && error.kind === 'corrupt'
}
