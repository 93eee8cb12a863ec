/**
 * How the input of an operation is typed on the command line: by the kinds of its properties, and under which names.
 */
import { LATEST_TIME_MS } from '../kernel/index.ts'
import type { JsonSchema } from './schema.ts'

export type TypedKind =
  | 'text'
  | 'choice'
  | 'whole'
  | 'flag'
  | 'list'
  | 'time'
  | 'duration'
  | 'rate'
  | 'json'

/** Options of every command have these names already. */
const RENAMED: Readonly<Record<string, string>> = { version: 'jobVersion', output: 'result' }

export function isNullable({ anyOf = [] }: JsonSchema): boolean {
  return anyOf.some(({ type }) => type === 'null')
}

export function withoutNull(schema: JsonSchema): JsonSchema {
  if (!isNullable(schema)) return schema
  const others = (schema.anyOf ?? []).filter(({ type }) => type !== 'null')
  return others.length === 1 ? (others[0] as JsonSchema) : { ...schema, anyOf: others }
}

export function typedKind(given: JsonSchema): TypedKind {
  const schema = withoutNull(given)
  const { type, enum: values, maximum, anyOf, properties } = schema
  if (anyOf !== undefined) {
    const types = new Set(anyOf.map((one) => one.type))
    return types.has('string') && types.has('integer') ? 'duration' : 'json'
  }
  if (values !== undefined) return 'choice'
  if (type === 'integer') return maximum === LATEST_TIME_MS ? 'time' : 'whole'
  if (type === 'boolean') return 'flag'
  if (type === 'string') return 'text'
  if (type === 'array' && schema.items?.type === 'string') return 'list'
  if (type === 'object' && Object.keys(properties ?? {}).join() === 'count,per') return 'rate'
  return 'json'
}

/** Of an input: what is typed as JSON. */
export function jsonProperties({ properties = {} }: JsonSchema): readonly string[] {
  return Object.keys(properties).filter(
    (name) => typedKind(properties[name] as JsonSchema) === 'json',
  )
}

/** Of an input: options that are called otherwise, by the property. */
export function renamedOptions({ properties = {} }: JsonSchema): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(RENAMED).filter(([name]) => name in properties))
}
