/**
 * What an operation of the catalogue is: everything that the server, its documents and other clients need to know of it.
 */
import { jsonProperties, renamedOptions } from './command-form.ts'
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
 * How a token is held at an operation that may do no more than what concerns jobs of some types, or in some queues.
 *
 * - free: it says nothing of jobs.
 * - job: the job that is named is in the scope, or there is no such job.
 * - filter: only jobs of the scope are meant. What the input does not say, the scope says, if it is one type, or one queue.
 * - queue: the queue that is named is in the scope. Not for a token that is held to types: a queue has jobs of any.
 * - own: by what the commands, the channels, the entries or the answer say.
 * - none: it is about all jobs, and refused.
 */
export type ScopeRule = 'free' | 'job' | 'filter' | 'queue' | 'own' | 'none'

/**
 * - call: answered as soon as it can be.
 * - poll: may be held for a while, until there is something to say.
 * - long: answered when all of it is done. It stops if the caller goes away.
 * - text: as a call, and the answer is text, not JSON.
 * - events: server-sent events, until either side ends it.
 */
export type OperationKind = 'call' | 'poll' | 'long' | 'text' | 'events'

/**
 * An operation on the command line: `pawl <words> <positional…> --options`. Every property of the input that is not
 * positional is an option: its name in kebab-case ('submittedFrom' is `--submitted-from`), unless `options` says another.
 * A flag takes no value. A list may be given again and again. A property that takes any JSON, or an object, takes JSON.
 * A time takes what a date takes.
 */
export interface CommandTerms {
  /** What is typed after `pawl`: 'list', 'queues pause'. */
  readonly words: string
  /** For a list of commands: a line without an end mark. */
  readonly summary: string
  /** Properties of the input that are given by their places, in order. Those that may be left out come last. */
  readonly positional: readonly string[]
  /** Options that are called otherwise, by the property. */
  readonly options: Readonly<Record<string, string>>
  /** Properties that take JSON. */
  readonly json: readonly string[]
  /** It destroys something, or touches many jobs: the command asks on a terminal, and wants `--yes` without one. */
  readonly asks: boolean
}

/** Why there is no command for it. */
interface NoCommand {
  readonly none: string
}

export interface Operation<I = unknown, O = unknown> {
  readonly name: string
  readonly method: 'GET' | 'POST'
  /** Below the base path. `{name}` is a property of the input. A GET has the others in its query, a POST in its body. */
  readonly path: string
  readonly kind: OperationKind
  /** Any of them is enough; empty: no token is needed. `admin` may always. */
  readonly roles: readonly Role[]
  readonly scope: ScopeRule
  /** One sentence: what it does. */
  readonly says: string
  /** What is different AFTER it; null: nothing. */
  readonly changes: string | null
  readonly input: SchemaOf<I>
  readonly output: SchemaOf<O>
  /** Codes of problems that it may answer with, beside those that every operation may. */
  readonly errors: readonly string[]
  readonly example: { readonly input: unknown; readonly output: unknown }
  readonly command: CommandTerms | NoCommand
}

/** What may be left out is the same for most. */
type GivenCommand = Pick<CommandTerms, 'words' | 'summary'> &
  Partial<Pick<CommandTerms, 'positional' | 'options' | 'asks'>>

/** As the catalogue writes it down: what can be left out is most often the same. */
interface OperationTerms<I extends JsonSchema, O extends JsonSchema> {
  readonly method?: 'GET' | 'POST'
  readonly path: string
  readonly kind?: OperationKind
  readonly roles: readonly Role[]
  readonly scope: ScopeRule
  readonly says: string
  readonly changes?: string
  readonly input: I
  readonly output: O
  readonly errors?: readonly string[]
  readonly example: { readonly input: TypeOf<I>; readonly output: unknown }
  readonly command: GivenCommand | NoCommand
}

/** The name is given by the catalogue, where the operation stands under it. */
export type Unnamed<I, O> = Omit<Operation<I, O>, 'name'>

/** An operation that changes something is a POST; one that does not is a GET, unless it says otherwise. */
export function operation<I extends JsonSchema, O extends JsonSchema>(
  terms: OperationTerms<I, O>,
): Unnamed<TypeOf<I>, TypeOf<O>> {
  const { method, kind = 'call', changes = null, errors = [], command, ...others } = terms
  return {
    ...others,
    method: method ?? (changes === null ? 'GET' : 'POST'),
    kind,
    changes,
    errors,
    command: 'none' in command ? command : commandTerms(command, terms.input),
  }
}

function commandTerms(command: GivenCommand, input: JsonSchema): CommandTerms {
  const options = { ...renamedOptions(input), ...command.options }
  return { positional: [], asks: false, ...command, options, json: jsonProperties(input) }
}

export type InputOf<P> = P extends Unnamed<infer I, unknown> ? I : never

const IN_PATH = /\{(\w+)\}/g

/** The properties of the input that stand in the path. */
export function pathParameters({ path }: Pick<Operation, 'path'>): readonly string[] {
  return [...path.matchAll(IN_PATH)].map((match) => match[1] as string)
}
