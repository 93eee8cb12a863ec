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
  readonly name: string
  /** How long it takes, if it may be waited in place and is not on record; null: it may not. */
  readonly inPlaceMs: number | null
  /** The name of the message that ends it; null: none does. */
  readonly message: string | null
  /** What the store is told. */
  spec(): WaitSpec | Promise<WaitSpec>
  /** As the user writes it, for messages. */
  readonly written: string
  /** What the handler gets. It throws what the handler is to be thrown. */
  read(ended: EndedWait): unknown
  /** Whether a message ends it; why not, in a few words. */
  misfit(value: Payload, id: string): string | null | Promise<string | null>
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
  /** It is one wait to the store. */
  readonly isSingle: boolean = false
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
  override readonly isSingle = true
  #ended: EndedWait | null

  /** `ended`: as the record has it; null: it is open. */
  constructor(begin: BeginWait, terms: WaitTerms, ended: EndedWait | null) {
    super(begin)
    this.terms = terms
    this.#ended = ended
  }

  get name(): string {
    return this.terms.name
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

/** Several waits that are one: it ends with the last of them, or with the first. */
export class WaitGroup extends WaitNode {
  readonly needs: WaitsNeeded
  readonly joins: 'all' | 'any'
  readonly #isList: boolean
  readonly #members: readonly (readonly [name: string, node: WaitNode])[]

  /** `isList`: they are numbered, and not named. */
  constructor(
    begin: BeginWait,
    joins: 'all' | 'any',
    members: readonly (readonly [string, WaitNode])[],
    isList: boolean,
  ) {
    super(begin)
    this.joins = joins
    this.#members = members
    this.#isList = isList
    // Of groups within groups, any wait that ends may be what they need.
    const isFlat = members.every(([, { isSingle }]) => isSingle)
    this.needs = isFlat ? joins : 'any'
  }

  get written(): string {
    const [first] = this.#members
    return `${this.joins}([${first?.[1].written}, …])`
  }

  get isEnded(): boolean {
    return this.joins === 'all'
      ? this.#members.every(([, node]) => node.isEnded)
      : this.#members.some(([, node]) => node.isEnded)
  }

  get open(): readonly SingleWait[] {
    return this.isEnded ? [] : this.#members.flatMap(([, node]) => node.open)
  }

  get order(): readonly [number, number] {
    const orders = this.#inOrder().map(([, node]) => node.order)
    return (this.joins === 'all' ? orders.at(-1) : orders[0]) ?? [Infinity, Infinity]
  }

  async read(): Promise<unknown> {
    return this.joins === 'all' ? this.#readAll() : this.#readFirst()
  }

  async #readAll(): Promise<unknown> {
    const values: [string, unknown][] = []
    for (const [name, node] of this.#members) values.push([name, await node.read()])
    // Not by assignment: a wait may have any name, `__proto__` too.
    return this.#isList ? values.map(([, value]) => value) : Object.fromEntries(values)
  }

  async #readFirst(): Promise<unknown> {
    const [name, node] = this.#inOrder()[0] as readonly [string, WaitNode]
    return { first: this.#isList ? Number(name) : name, value: await node.read() }
  }

  /** Those that ended, by when. What ended together is in the order of the times that it had. */
  #inOrder(): readonly (readonly [string, WaitNode])[] {
    return this.#members
      .filter(([, node]) => node.isEnded)
      .toSorted(([, { order: a }], [, { order: b }]) => a[0] - b[0] || byTime(a[1], b[1]))
  }
}

/** Infinity less Infinity is no number. */
function byTime(a: number, b: number): number {
  return a === b ? 0 : a - b
}

/** Waits that the handler wrote as one, of which all must end: it gets what is made of all values. */
export class JoinedWaits extends WaitNode {
  override readonly isSingle: boolean
  readonly #waits: readonly SingleWait[]
  readonly #join: (values: readonly unknown[]) => unknown

  constructor(
    begin: BeginWait,
    waits: readonly SingleWait[],
    join: (values: readonly unknown[]) => unknown,
  ) {
    super(begin)
    this.#waits = waits
    this.#join = join
    this.isSingle = waits.length === 1
  }

  get needs(): WaitsNeeded {
    return this.#waits.length === 1 ? 'any' : 'all'
  }

  get written(): string {
    return this.#waits[0]?.written ?? ''
  }

  get isEnded(): boolean {
    return this.#waits.every((wait) => wait.isEnded)
  }

  get open(): readonly SingleWait[] {
    return this.#waits.filter((wait) => !wait.isEnded)
  }

  get order(): readonly [number, number] {
    const orders = this.#waits.map(({ order }) => order)
    return orders.toSorted((a, b) => b[0] - a[0])[0] ?? [Infinity, Infinity]
  }

  async read(): Promise<unknown> {
    const values: unknown[] = []
    for (const wait of this.#waits) values.push(await wait.read())
    return this.#join(values)
  }
}
