/**
 * Many submits on their way to the store, in batches: some are under way while the next one is made. What
 * was answered is let go, so memory is bounded however many there are.
 *
 * - open: takes commands. `add` gives a promise to wait for while enough batches are under way.
 * - failed: a batch failed, or was refused. `add` and `end` throw that; those under way are still answered.
 */
import type { SubmitJob } from '../../kernel/index.ts'
import { PawlError } from '../../kernel/index.ts'
import { eventLoopTurn } from '../../log/index.ts'
import { BatchSize } from '../../store/command-batcher.ts'
import type { Answer } from '../../store/index.ts'

export interface BulkSubmitOptions {
  readonly send: (commands: readonly SubmitJob[]) => Promise<readonly Answer[]>
  /** Batches under way at once. */
  readonly mostUnderWay: number
  /** `from`: the place of the first of them among all. What it throws fails the bulk. */
  readonly onAnswered: (
    from: number,
    commands: readonly SubmitJob[],
    answers: readonly Answer[],
  ) => void
}

interface SentBatch {
  readonly commands: readonly SubmitJob[]
  isIn: boolean
}

export class BulkSubmit {
  readonly #options: BulkSubmitOptions
  #batch: SubmitJob[] = []
  #size = new BatchSize()
  #added = 0
  /** From the oldest that is not known to be in. */
  readonly #sent: SentBatch[] = []
  #underWay = 0
  #sure = 0
  #isMaybeIn = false
  #failure: { readonly error: unknown } | null = null
  #onEnd: (() => void) | null = null

  constructor(options: BulkSubmitOptions) {
    this.#options = options
  }

  /** How many are in for sure, from the first on. */
  get sure(): number {
    return this.#sure
  }

  /** None of them is in: each batch that was sent failed, and is known to have changed nothing. */
  get isNoneIn(): boolean {
    return !this.#isMaybeIn
  }

  /** Ids of those behind the ones that are in for sure, as far as they were added. */
  get unsure(): string[] {
    const sent = this.#sent.flatMap(({ commands }) => commands)
    return [...sent, ...this.#batch].map(({ job }) => job)
  }

  /** Null: there is room for the next one. */
  add(command: SubmitJob): Promise<void> | null {
    this.#assertNoFailure()
    const chars = command.spec.input.length
    if (!this.#size.hasRoom(1, chars)) this.#sendBatch()
    if (this.#batch.length === 0) this.#sendAfterTurn(this.#batch)
    this.#batch.push(command)
    this.#size.add(1, chars)
    return this.#underWay < this.#options.mostUnderWay ? null : this.#untilOneEnds()
  }

  /** Resolves AFTER all that was added is answered. Throws why a batch failed. */
  async end(): Promise<void> {
    if (this.#failure === null) this.#sendBatch()
    await this.settle()
    this.#assertNoFailure()
  }

  /** Resolves when none is under way. */
  async settle(): Promise<void> {
    while (this.#underWay > 0) await this.#untilOneEnds()
  }

  /** A source that gives the next one late does not keep those waiting that are there. */
  #sendAfterTurn(batch: readonly SubmitJob[]): void {
    void eventLoopTurn().then(() => this.#sendIfThere(batch))
  }

  #sendIfThere(batch: readonly SubmitJob[]): void {
    if (this.#batch !== batch || this.#failure !== null) return
    if (this.#underWay < this.#options.mostUnderWay) this.#sendBatch()
  }

  #sendBatch(): void {
    const commands = this.#batch
    if (commands.length === 0) return
    const sent = { commands, isIn: false }
    this.#batch = []
    this.#size = new BatchSize()
    const from = this.#added
    this.#added += commands.length
    this.#sent.push(sent)
    this.#underWay += 1
    void this.#send(sent, from)
  }

  async #send(sent: SentBatch, from: number): Promise<void> {
    const { send, onAnswered } = this.#options
    try {
      const answers = await send(sent.commands)
      this.#isMaybeIn = true
      onAnswered(from, sent.commands, answers)
      sent.isIn = true
    } catch (error) {
      if (!isKnown(error)) this.#isMaybeIn = true
      this.#failure ??= { error }
    }
    while (this.#sent[0]?.isIn === true) this.#sure += this.#sent.shift()?.commands.length ?? 0
    this.#underWay -= 1
    if (this.#batch.length > 0) this.#sendAfterTurn(this.#batch)
    this.#onEnd?.()
    this.#onEnd = null
  }

  #untilOneEnds(): Promise<void> {
    return new Promise((resolve) => {
      const others = this.#onEnd
      this.#onEnd = () => {
        others?.()
        resolve()
      }
    })
  }

  #assertNoFailure(): void {
    if (this.#failure !== null) throw this.#failure.error
  }
}

/** It is known that nothing happened. */
export function isKnown(error: unknown): boolean {
  return error instanceof PawlError && error.kind !== 'unknown_outcome'
}
