/**
 * What an operation of the catalogue is: everything that the server, its documents and other clients need to know of it.
 */
import type { JsonSchema, SchemaOf, TypeOf } from './schema.ts'

/**
 * What a token may do. They do not include each other, but for `admin`, which may do everything.
 *
 * - submit: hand in jobs, and ask how they stand.
 * - work: claim jobs, and report about them.
 * - read: see jobs, queues, schedules and workers, with what jobs were given and made.
 * - operate: change jobs, queues and schedules of others.
 * - admin: all of it, and what only upkeep does.
 */
export const ROLES = ['submit', 'work', 'read', 'operate', 'admin'] as const

export type Role = (typeof ROLES)[number]

/**
 * - call: answered as soon as it can be.
 * - poll: may be held for a while, until there is something to say.
 * - text: as a call, and the answer is text, not JSON.
 * - events: server-sent events, until either side ends it.
 */
export type OperationKind = 'call' | 'poll' | 'text' | 'events'

export interface Operation<I = unknown, O = unknown> {
  readonly name: string
  readonly method: 'GET' | 'POST'
  /** Below the base path. `{name}` is a property of the input. A GET has the others in its query, a POST in its body. */
  readonly path: string
  readonly kind: OperationKind
  /** Any of them is enough; empty: no token is needed. `admin` may always. */
  readonly roles: readonly Role[]
  /** One sentence: what it does. */
  readonly says: string
  /** What is different AFTER it; null: nothing. */
  readonly changes: string | null
  readonly input: SchemaOf<I>
  readonly output: SchemaOf<O>
  /** Codes of problems that it may answer with, beside those that every operation may. */
  readonly errors: readonly string[]
  readonly example: { readonly input: unknown; readonly output: unknown }
}

/** As the catalogue writes it down: what can be left out is most often the same. */
interface OperationTerms<I extends JsonSchema, O extends JsonSchema> {
  readonly method?: 'GET' | 'POST'
  readonly path: string
  readonly kind?: OperationKind
  readonly roles: readonly Role[]
  readonly says: string
  readonly changes?: string
  readonly input: I
  readonly output: O
  readonly errors?: readonly string[]
  readonly example: { readonly input: TypeOf<I>; readonly output: unknown }
}

/** The name is given by the catalogue, where the operation stands under it. */
export type Unnamed<I, O> = Omit<Operation<I, O>, 'name'>

/** An operation that changes something is a POST; one that does not is a GET, unless it says otherwise. */
export function operation<I extends JsonSchema, O extends JsonSchema>(
  terms: OperationTerms<I, O>,
): Unnamed<TypeOf<I>, TypeOf<O>> {
  const { method, kind = 'call', changes = null, errors = [], ...others } = terms
  return {
    ...others,
    method: method ?? (changes === null ? 'GET' : 'POST'),
    kind,
    changes,
    errors,
  }
}

export type InputOf<P> = P extends Unnamed<infer I, unknown> ? I : never

const IN_PATH = /\{(\w+)\}/g

/** The properties of the input that stand in the path. */
export function pathParameters({ path }: Pick<Operation, 'path'>): readonly string[] {
  return [...path.matchAll(IN_PATH)].map((match) => match[1] as string)
}
