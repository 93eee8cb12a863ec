/**
 * The commit boundary as a value: what a handler returns when there is more to promise than
 * its output. Nothing happens when it is made; it is committed when it is returned.
 */
import type { Duration } from './duration.ts'
import { toMs } from './duration.ts'
import type { EffectCall } from './effect-definition.ts'
import { InvalidDefinition } from './errors.ts'
import type { ChildOptions, Submittable } from './job-spec.ts'

const COMMIT = Symbol.for('pawl.commit')

/** What is written in the transaction that commits the job. */
export interface CommitWrites {
  readonly run: (client: never) => unknown
  readonly withinMs: number
}

/** What is used most of a client of pg, and of a database of SQLite. Annotate what you have. */
export type DatabaseClient =
  | { query(text: string, values?: unknown[]): Promise<{ readonly rows: readonly object[] }> }
  | {
      exec(sql: string): void
      prepare(sql: string): {
        all(...values: unknown[]): unknown[]
        run(...values: unknown[]): unknown
      }
    }

export interface HandlerCommit<Output> {
  readonly [COMMIT]: true
  readonly output: Output
  readonly effects: readonly EffectCall[]
  readonly children: readonly ChildCall[]
  readonly writes: CommitWrites | null
  /**
   * Has `write` write in the very transaction that commits the job: both happen, or neither. It gets a
   * client of pg, or a database of SQLite. It may be called again after it was rolled back, so it is
   * for writes in that database and for nothing else. Gives this commit, to be returned.
   */
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- as the user annotates it
  with<Client = DatabaseClient>(
    write: (client: Client) => unknown,
    options?: WriteOptions,
  ): HandlerCommit<Output>
}

export interface WriteOptions {
  /** How long it may take. Default 10 s. */
  readonly within?: Duration
}

const DEFAULT_WITHIN_MS = 10_000

/** A job that the commit promises: submitted once, under an id derived from its parent. */
export interface ChildCall {
  readonly definition: Submittable
  readonly input: unknown
  readonly options: ChildOptions
}

class CommitValue<Output> implements HandlerCommit<Output> {
  readonly [COMMIT] = true
  readonly output: Output
  readonly effects: readonly EffectCall[]
  readonly children: readonly ChildCall[]
  readonly #noWrites: string | null
  #writes: CommitWrites | null = null

  constructor(
    output: Output,
    effects: readonly EffectCall[],
    children: readonly ChildCall[],
    noWrites: string | null,
  ) {
    this.output = output
    this.effects = effects
    this.children = children
    this.#noWrites = noWrites
  }

  get writes(): CommitWrites | null {
    return this.#writes
  }

  with(write: CommitWrites['run'], { within }: WriteOptions = {}): this {
    if (this.#noWrites !== null) throw new InvalidDefinition(this.#noWrites)
    if (typeof write !== 'function') {
      throw new InvalidDefinition('commit(…).with() needs a function that writes.')
    }
    if (this.#writes !== null) {
      throw new InvalidDefinition('A commit has one function that writes: do it all in that one.')
    }
    const withinMs = within === undefined ? DEFAULT_WITHIN_MS : toMs(within, '`within` of a commit')
    if (withinMs < 1) throw new InvalidDefinition('`within` of a commit must be at least 1 ms.')
    this.#writes = { run: write, withinMs }
    return this
  }
}

/** `noWrites`: why nothing of the user's can be written with it; null: it can. */
export function makeCommit<Output>(
  output: Output,
  effects: readonly EffectCall[],
  children: readonly ChildCall[],
  noWrites: string | null = null,
): HandlerCommit<Output> {
  return new CommitValue(output, effects, children, noWrites)
}

export function isCommit(value: unknown): value is HandlerCommit<unknown> {
  return typeof value === 'object' && value !== null && COMMIT in value
}
