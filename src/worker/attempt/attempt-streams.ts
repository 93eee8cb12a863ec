/**
 * The streams of an attempt: values that its handler emits, appended in batches. Made only for a handler that
 * emits.
 *
 * - gathering: values wait for a moment, so that many small ones are one report.
 * - sending: one report is under way; what is emitted meanwhile is gathered for the next.
 *
 * Values are durable in the order in which they were emitted, BEFORE the attempt reports its end.
 */
import type { Command, LeaseAddress, Payload } from '../../kernel/index.ts'
import { LIMITS } from '../../kernel/index.ts'
import type { Timer, Timing } from '../../store/clock.ts'
import type { Answer, Claimed } from '../../store/index.ts'
import type { AbortHandle } from '../abort-handle.ts'
import { refusal } from '../handler/failure.ts'

/** How long values wait for others. */
const GATHER_MS = 25
/** Characters of one report, unless one value alone has more. */
const MOST_CHARS = 1_048_576

interface EmittedValue {
  readonly name: string
  readonly value: Payload
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

export interface AttemptStreamsParts {
  readonly address: LeaseAddress
  readonly claimed: Pick<Claimed, 'streams'>
  readonly timing: Timing
  readonly send: (command: Command) => Promise<Answer>
  readonly heard: () => void
  readonly abortHandle: AbortHandle
  readonly loseLease: () => Promise<void>
}

export class AttemptStreams {
  readonly #parts: AttemptStreamsParts
  /** The next offset of each stream. */
  readonly #next: Map<string, number>
  #waiting: EmittedValue[] = []
  #timer: Timer | null = null
  #sending: Promise<void> | null = null
  #error: unknown = null

  constructor(parts: AttemptStreamsParts) {
    this.#parts = parts
    this.#next = new Map(parts.claimed.streams.map(({ name, next }) => [name, next]))
  }

  /** Durable when it is resolved. */
  emit(name: string, value: Payload): Promise<void> {
    this.#parts.heard()
    const emitted = new Promise<void>((resolve, reject) => {
      if (this.#error !== null) return reject(this.#error)
      this.#waiting.push({ name, value, resolve, reject })
    })
    const { timing } = this.#parts
    const gatherMs = timing.passesByItself === false ? 0 : GATHER_MS
    this.#timer ??= timing.after(gatherMs, () => void this.flush(), true)
    return emitted
  }

  /** AFTER it, all that was emitted is durable, or the error says why it is not; null: it is. */
  async flush(): Promise<unknown> {
    this.#timer?.cancel()
    this.#timer = null
    while (this.#waiting.length > 0 || this.#sending !== null) {
      this.#sending ??= this.#sendNext().finally(() => {
        this.#sending = null
      })
      await this.#sending
    }
    return this.#error
  }

  async #sendNext(): Promise<void> {
    const batch = this.#takeBatch()
    const [{ name }] = batch as [EmittedValue]
    const offset = this.#next.get(name) ?? 0
    const values = batch.map(({ value }) => value)
    try {
      const { address, send } = this.#parts
      const report = { type: 'AppendStream', ...address, name, offset, values } as const
      const { verdict, rejection } = await send(report)
      if (verdict !== 'committed') {
        if (rejection !== null) throw refusal(rejection)
        await this.#parts.loseLease()
        throw this.#parts.abortHandle.aborted()
      }
      this.#next.set(name, offset + values.length)
      for (const { resolve } of batch) resolve()
    } catch (error) {
      this.#error ??= error
      for (const { reject } of [...batch, ...this.#waiting]) reject(error)
      this.#waiting = []
    }
  }

  /** The oldest, and what follows it in the same stream. */
  #takeBatch(): EmittedValue[] {
    const [first] = this.#waiting as [EmittedValue]
    let chars = 0
    let count = 0
    for (const { name, value } of this.#waiting) {
      chars += value.length
      if (name !== first.name || count >= LIMITS.streamValues) break
      if (count > 0 && chars > MOST_CHARS) break
      count += 1
    }
    return this.#waiting.splice(0, count)
  }
}
