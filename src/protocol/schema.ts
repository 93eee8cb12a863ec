/**
 * The schema language of the catalogue: JSON Schema as plain objects, as OpenAPI 3.1 takes them, made by a few typed
 * functions. Only keywords that these functions write are used, so that `check.ts` can hold all of them.
 *
 * An object is closed: it has the properties that its schema names, and no others. `open` is the exception, for what
 * the server gives.
 */

type JsonType = 'string' | 'integer' | 'number' | 'boolean' | 'object' | 'array' | 'null'

export interface JsonSchema {
  readonly type?: JsonType
  readonly description?: string
  readonly enum?: readonly string[]
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly items?: JsonSchema
  readonly minItems?: number
  readonly maxItems?: number
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean
  readonly anyOf?: readonly JsonSchema[]
}

/** Never there at run time: it carries the type of what the schema lets through. */
declare const LETS_THROUGH: unique symbol

export type SchemaOf<T> = JsonSchema & { readonly [LETS_THROUGH]?: T }

export type TypeOf<S> = S extends SchemaOf<infer T> ? T : never

type Properties = Readonly<Record<string, JsonSchema>>

/** No properties. */
// oxlint-disable-next-line typescript/no-generated-empty-object-type -- an object without properties is meant
export type NoProperties = Record<never, never>

export type ObjectOf<R extends Properties, O extends Properties> = {
  readonly [K in keyof R]: TypeOf<R[K]>
} & { readonly [K in keyof O]?: TypeOf<O[K]> }

/** The same schema, with a sentence about what it stands for. */
export function about<T>(description: string, schema: SchemaOf<T>): SchemaOf<T> {
  return { ...schema, description }
}

export function text(maxLength: number, minLength = 0): SchemaOf<string> {
  return { type: 'string', minLength, maxLength }
}

export function choice<const T extends string>(...values: readonly T[]): SchemaOf<T> {
  return { type: 'string', enum: values }
}

export function whole(minimum: number, maximum = Number.MAX_SAFE_INTEGER): SchemaOf<number> {
  return { type: 'integer', minimum, maximum }
}

export function flag(): SchemaOf<boolean> {
  return { type: 'boolean' }
}

/** Any JSON value. */
export function anything<T = unknown>(): SchemaOf<T> {
  return {}
}

export function list<T>(
  items: SchemaOf<T>,
  maxItems: number,
  minItems = 0,
): SchemaOf<readonly T[]> {
  return { type: 'array', items, minItems, maxItems }
}

/** With these properties, of which the second group may be left out, and no others. */
export function object<R extends Properties, O extends Properties = NoProperties>(
  required: R,
  optional: O = {} as O,
): SchemaOf<ObjectOf<R, O>> {
  return {
    type: 'object',
    properties: { ...required, ...optional },
    required: Object.keys(required),
    additionalProperties: false,
  }
}

/** With these properties and others: for what the server gives, which may come to have more. */
export function open<R extends Properties, O extends Properties = NoProperties>(
  required: R,
  optional: O = {} as O,
): SchemaOf<ObjectOf<R, O>> {
  return {
    type: 'object',
    properties: { ...required, ...optional },
    required: Object.keys(required),
    additionalProperties: true,
  }
}

export function nullable<T>(schema: SchemaOf<T>): SchemaOf<T | null> {
  return { anyOf: [schema, { type: 'null' }] }
}

/** One of these forms. */
export function either<A, B>(one: SchemaOf<A>, other: SchemaOf<B>): SchemaOf<A | B> {
  return { anyOf: [one, other] }
}
