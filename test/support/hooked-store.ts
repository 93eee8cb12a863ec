/**
 * A store in memory whose calls a test can hold up, or let fail, before or after they act.
 */
import type { Command } from '../../src/kernel/index.ts'
import type {
  Answer,
  AnswerTo,
  Claimed,
  ClaimRequest,
  Moment,
  PositionedEntry,
  Query,
  Store,
  StoreSnapshot,
} from '../../src/store/index.ts'
import { awakeClock, MemoryStore } from '../../src/store/index.ts'
import type { PawlParts } from '../../src/engine/pawl-parts.ts'
import { Pawl } from '../../src/engine/pawl.ts'
import { realTiming } from '../../src/store/clock.ts'

type Hook<T> = (asked: T) => Promise<void> | void

export class HookedStore implements Store {
  readonly #store: Store
  beforeExecute: Hook<readonly Command[]> = () => undefined
  /** AFTER it was decided, BEFORE it is answered. */
  afterExecute: Hook<readonly Command[]> = () => undefined
  beforeQuery: Hook<Query> = () => undefined

  constructor(store: Store) {
    this.#store = store
  }

  async execute(commands: readonly Command[]): Promise<readonly Answer[]> {
    await this.beforeExecute(commands)
    const answers = await this.#store.execute(commands)
    await this.afterExecute(commands)
    return answers
  }

  claim(request: ClaimRequest): Promise<readonly Claimed[]> {
    return this.#store.claim(request)
  }

  async query<const Q extends Query>(query: Q): Promise<AnswerTo<Q>> {
    await this.beforeQuery(query)
    return this.#store.query(query)
  }

  at(moment: Moment): Promise<StoreSnapshot> {
    return this.#store.at(moment)
  }

  watch(from: number): AsyncIterable<PositionedEntry> {
    return this.#store.watch(from)
  }

  watchNew(): Promise<AsyncIterable<PositionedEntry>> {
    return this.#store.watchNew()
  }

  close(): Promise<void> {
    return this.#store.close()
  }
}

/** An engine on such a store, in real time. */
export function hookedEngine(parts: Partial<PawlParts> = {}): {
  readonly pawl: Pawl
  readonly store: HookedStore
  readonly errors: Error[]
} {
  const clock = awakeClock()
  const store = new HookedStore(new MemoryStore(clock))
  const errors: Error[] = []
  const pawl = new Pawl({
    store,
    timing: realTiming(() => clock.now()),
    onError: (error) => errors.push(error),
    backup: null,
    onClose: () => clock.close(),
    ...parts,
  })
  return { pawl, store, errors }
}
