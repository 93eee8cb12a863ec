/**
 * What one run waits for, as values: single waits, and groups of them that end with all or with the first.
 *
 * A node ends once, and stays as it ended: a later run finds the same in the record.
 */
import type { HandlerWait } from '../../definition/index.ts'
import type { Payload, WaitEnd, WaitsNeeded, WaitSpec } from '../../kernel/index.ts'

/** How a wait ended, as the record has it. */
export interface EndedWait {
  readonly by: WaitEnd
  readonly value: Payload | null
  readonly at: number
  /** The time at which it would have ended by itself; Infinity: it has none. */
  readonly until: number
}

/** What only its kind knows of a wait. */
export interface WaitTerms {
  readonly spec: WaitSpec
  /** As the user writes it, for messages. */
  readonly written: string
  /** What the handler gets. It throws what the handler is to be thrown. */
  read(ended: EndedWait): unknown
  /** Whether a message ends it; why not, in a few words. */
  misfit(value: Payload): string | null | Promise<string | null>
}

/** Something that was begun is told here. */
export type BeginWait = (node: WaitNode) => void

export abstract class WaitNode implements HandlerWait<unknown> {
  readonly isWait = true
  readonly [Symbol.toStringTag] = 'Wait'
  readonly #begin: BeginWait
  #promise: Promise<unknown> | null = null
  #resolve: (value: unknown) => void = () => undefined
  #reject: (error: unknown) => void = () => undefined

  constructor(begin: BeginWait) {
    this.#begin = begin
  }

  abstract readonly isEnded: boolean
  /** What is still waited for. */
  abstract readonly open: readonly SingleWait[]
  /** Which of the open ones must end. Too few is safe: the handler runs, and waits again. */
  abstract readonly needs: WaitsNeeded
  /** When it ended: of two that ended, the earlier one was first. */
  abstract readonly order: readonly [at: number, until: number]
  /** As the user writes it, for messages. */
  abstract readonly written: string
  /** AFTER it has ended. */
  abstract read(): Promise<unknown>

  get isBegun(): boolean {
    return this.#promise !== null
  }

  /** AFTER it has ended. */
  settle(): void {
    this.read().then(this.#resolve, this.#reject)
  }

  fail(error: unknown): void {
    this.#reject(error)
  }

  #started(): Promise<unknown> {
    if (this.#promise !== null) return this.#promise
    this.#promise = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    this.#begin(this)
    return this.#promise
  }

  // oxlint-disable-next-line unicorn/no-thenable -- awaiting it is what begins it
  then<A = unknown, B = never>(
    onValue?: ((value: unknown) => A | PromiseLike<A>) | null,
    onError?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#started().then(onValue, onError)
  }

  catch<B = never>(onError?: ((error: unknown) => B | PromiseLike<B>) | null): Promise<unknown> {
    return this.#started().catch(onError)
  }

  finally(onEnd?: (() => void) | null): Promise<unknown> {
    return this.#started().finally(onEnd)
  }
}

export class SingleWait extends WaitNode {
  readonly terms: WaitTerms
  readonly needs = 'any'
  #ended: EndedWait | null

  /** `ended`: as the record has it; null: it is open. */
  constructor(begin: BeginWait, terms: WaitTerms, ended: EndedWait | null) {
    super(begin)
    this.terms = terms
    this.#ended = ended
  }

  get name(): string {
    return this.terms.spec.name
  }

  get written(): string {
    return this.terms.written
  }

  get isEnded(): boolean {
    return this.#ended !== null
  }

  get open(): readonly SingleWait[] {
    return this.isEnded ? [] : [this]
  }

  get order(): readonly [number, number] {
    return [this.#ended?.at ?? Infinity, this.#ended?.until ?? Infinity]
  }

  end(ended: EndedWait): void {
    this.#ended ??= ended
  }

  async read(): Promise<unknown> {
    return this.terms.read(this.#ended as EndedWait)
  }
}
