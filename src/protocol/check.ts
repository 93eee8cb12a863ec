/**
 * Whether a value has the form that a schema of the catalogue asks for. The first fault is told: where it is, what was
 * given there, and what to write instead.
 */
import type { JsonSchema } from './schema.ts'

/** Null: it fits. */
export function misfit(schema: JsonSchema, value: unknown, where = ''): string | null {
  if (schema.anyOf !== undefined) return noneFits(schema.anyOf, value, where)
  if (schema.type !== undefined && !isOfType(schema.type, value)) return wrong(schema, value, where)
  if (typeof value === 'string') return hasFault(textFits(schema, value), schema, value, where)
  if (typeof value === 'number') return hasFault(numberFits(schema, value), schema, value, where)
  if (Array.isArray(value)) return listMisfit(schema, value, where)
  if (typeof value === 'object' && value !== null) return objectMisfit(schema, value, where)
  return null
}

function hasFault(fits: boolean, schema: JsonSchema, value: unknown, where: string): string | null {
  return fits ? null : wrong(schema, value, where)
}

function isOfType(type: NonNullable<JsonSchema['type']>, value: unknown): boolean {
  switch (type) {
    case 'null':
      return value === null
    case 'array':
      return Array.isArray(value)
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value)
    case 'integer':
      return Number.isSafeInteger(value)
    default:
      return typeof value === type
  }
}

function textFits(schema: JsonSchema, value: string): boolean {
  const { minLength = 0, maxLength = Infinity } = schema
  if (value.length < minLength || value.length > maxLength) return false
  return schema.enum === undefined || schema.enum.includes(value)
}

function numberFits(
  { minimum = -Infinity, maximum = Infinity }: JsonSchema,
  value: number,
): boolean {
  return value >= minimum && value <= maximum
}

function listMisfit(schema: JsonSchema, value: readonly unknown[], where: string): string | null {
  const { minItems = 0, maxItems = Infinity, items } = schema
  if (value.length < minItems || value.length > maxItems) return wrong(schema, value, where)
  if (items === undefined) return null
  for (let i = 0; i < value.length; i++) {
    const fault = misfit(items, value[i], `${where}[${i}]`)
    if (fault !== null) return fault
  }
  return null
}

function objectMisfit(schema: JsonSchema, value: object, where: string): string | null {
  const { properties = {}, required = [], additionalProperties } = schema
  for (const name of required) {
    if (Object.hasOwn(value, name)) continue
    const wanted = describe(properties[name] as JsonSchema)
    return `${placeOf(where, name)} is missing: write ${wanted}.`
  }
  for (const [name, given] of Object.entries(value)) {
    const own = Object.hasOwn(properties, name) ? properties[name] : undefined
    if (own !== undefined) {
      const fault = misfit(own, given, joined(where, name))
      if (fault !== null) return fault
    } else if (additionalProperties === false) return stranger(name, properties, where)
  }
  return null
}

function stranger(name: string, properties: object, where: string): string {
  const known = Object.keys(properties).map((one) => `'${one}'`)
  const write = known.length === 0 ? 'leave it out' : `there are ${known.join(', ')}`
  return `${placeOf(where, name)} is not known here: ${write}.`
}

function noneFits(forms: readonly JsonSchema[], value: unknown, where: string): string | null {
  const faults = forms.map((form) => misfit(form, value, where))
  if (faults.includes(null)) return null
  // The form that the value is most like says best what is wrong with it.
  const near = forms.findIndex(({ type }) => type !== undefined && isOfType(type, value))
  if (near !== -1) return faults[near] as string
  return `${placeOf(where)} is ${shownValue(value)}: write ${forms.map(describe).join(', or ')}.`
}

function wrong(schema: JsonSchema, value: unknown, where: string): string {
  return `${placeOf(where)} is ${shownValue(value)}: write ${describe(schema)}.`
}

function joined(where: string, name: string): string {
  return where === '' ? name : `${where}.${name}`
}

function placeOf(where: string, name?: string): string {
  const place = name === undefined ? where : joined(where, name)
  return place === '' ? 'What was given' : `\`${place.slice(0, 200)}\``
}

const MOST_SHOWN = 60

/** As JSON, and not all of it: it may be long, and it may be hostile. */
function shownValue(value: unknown): string {
  if (Array.isArray(value)) return `a list of ${value.length}`
  if (typeof value === 'object' && value !== null) return 'an object'
  if (typeof value === 'string' && value.length > MOST_SHOWN) {
    return `a text of ${value.length} characters`
  }
  return JSON.stringify(value) ?? 'undefined'
}

/** What a schema asks for, in words. */
export function describe(schema: JsonSchema): string {
  if (schema.anyOf !== undefined) return schema.anyOf.map(describe).join(', or ')
  switch (schema.type) {
    case 'string':
      return describeText(schema)
    case 'integer':
      return `a whole number${rangeOf(schema.minimum, schema.maximum)}`
    case 'number':
      return `a number${rangeOf(schema.minimum, schema.maximum)}`
    case 'boolean':
      return 'true or false'
    case 'array':
      return `a list of ${schema.minItems ?? 0} to ${schema.maxItems} items`
    case 'object':
      return 'an object'
    case 'null':
      return 'null'
    default:
      return 'a JSON value'
  }
}

function describeText({ enum: values, minLength = 0, maxLength }: JsonSchema): string {
  if (values !== undefined) return `one of ${values.map((one) => `'${one}'`).join(', ')}`
  return `a text of ${minLength} to ${maxLength} characters`
}

function rangeOf(minimum?: number, maximum?: number): string {
  const isOpen = maximum === undefined || maximum === Number.MAX_SAFE_INTEGER
  if (isOpen) return minimum === undefined ? '' : ` from ${minimum}`
  return ` from ${minimum} to ${maximum}`
}
