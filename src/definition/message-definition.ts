/**
 * Messages: what can be sent to a job while it lives, by name. A job lists those that it takes, so that a
 * sender learns of a wrong one when it sends, and not the handler days later.
 */
import type { Payload } from '../kernel/index.ts'
import { LIMITS } from '../kernel/index.ts'
import { assertName, InvalidDefinition } from './errors.ts'
import { KnownOptions, shown } from './known-options.ts'
import type { GivenTo, MaybeSchema, ValueOf } from './standard-schema.ts'
import { assertSchema } from './standard-schema.ts'

export interface MessageOptions<S extends MaybeSchema> {
  /** Any Standard Schema. Without one the message says nothing but its name. */
  readonly input?: S
  /**
   * The same as JSON Schema, for people and programs that do not have the definition. Default: what the
   * library of the schema makes of it, if it can.
   */
  readonly jsonSchema?: object
}

export interface MessageDefinition<Name extends string = string, Given = never, Value = unknown> {
  readonly messageName: Name
  readonly schema: MaybeSchema
  /** As text, the same in every process; null: there is none. */
  readonly jsonSchema: Payload | null
  /** Only for the compiler: what may be sent, and what the handler gets. */
  readonly types?: { readonly given: Given; readonly value: Value }
}

/** Whatever its types. */
// oxlint-disable-next-line typescript/no-explicit-any -- values differ, and are checked where they are given
export type AnyMessage = MessageDefinition<string, any, any>
/** What may be sent. */
export type MessageGiven<M extends AnyMessage> = NonNullable<M['types']>['given']
/** What the handler gets. */
export type MessageValue<M extends AnyMessage> = NonNullable<M['types']>['value']

const MESSAGE_OPTIONS = new KnownOptions<MessageOptions<MaybeSchema>>({
  input: true,
  jsonSchema: true,
})

export function message<const Name extends string, S extends MaybeSchema = undefined>(
  name: Name,
  options: MessageOptions<S> = {},
): MessageDefinition<Name, GivenTo<S>, ValueOf<S>> {
  assertName(name, 'A message')
  const what = `message '${name}'`
  MESSAGE_OPTIONS.assert(options, what, `message('${name}', { input: … })`)
  assertSchema(options.input, 'input', what)
  const schema = options.jsonSchema ?? jsonSchemaOf(options.input)
  const jsonSchema = schema === null ? null : JSON.stringify(inOrder(schema))
  if (jsonSchema !== null && jsonSchema.length > LIMITS.payloadChars) {
    throw new InvalidDefinition(
      `The JSON Schema of ${what} has ${jsonSchema.length} characters, and at most ${LIMITS.payloadChars} go with a wait: give a shorter one as \`jsonSchema\`.`,
    )
  }
  return { messageName: name, schema: options.input, jsonSchema }
}

export function isMessage(given: unknown): given is AnyMessage {
  return typeof (given as Partial<AnyMessage> | null)?.messageName === 'string'
}

/** Refuses two of one name. */
export function messagesByName(
  what: string,
  messages: readonly AnyMessage[] = [],
): ReadonlyMap<string, AnyMessage> {
  const byName = new Map<string, AnyMessage>()
  if (!Array.isArray(messages)) {
    throw new InvalidDefinition(`\`messages\` of ${what} is a list, not ${shown(messages)}.`)
  }
  for (const one of messages) {
    if (!isMessage(one)) {
      throw new InvalidDefinition(
        `\`messages\` of ${what} has ${shown(one)}: list what message('…', { input: … }) gives.`,
      )
    }
    if (byName.has(one.messageName)) {
      throw new InvalidDefinition(
        `\`messages\` of ${what} has two named '${one.messageName}': keep one of them.`,
      )
    }
    byName.set(one.messageName, one)
  }
  return byName
}

/** What newer libraries that speak Standard Schema offer, too. */
interface MakesJsonSchema {
  readonly jsonSchema?: { input?: (options: { readonly target: string }) => unknown }
}

/** Null: the library makes none, or not of this schema. */
function jsonSchemaOf(schema: MaybeSchema): object | null {
  if (schema === undefined) return null
  const standard = schema['~standard'] as MakesJsonSchema
  try {
    const made = standard.jsonSchema?.input?.({ target: 'draft-2020-12' })
    return typeof made === 'object' ? made : null
  } catch {
    return null
  }
}

/**
 * Two processes may make the same schema with its parts in another order. `properties` stay as they were written: people
 * are asked for them in that order.
 */
function inOrder(value: unknown, areFields = false): unknown {
  if (Array.isArray(value)) return value.map((one) => inOrder(one))
  if (typeof value !== 'object' || value === null) return value
  const given = Object.entries(value)
  const parts = areFields ? given : given.toSorted(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(
    parts.map(([name, part]) => [name, inOrder(part, !areFields && name === 'properties')]),
  )
}
