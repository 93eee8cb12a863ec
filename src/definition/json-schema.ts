/**
 * Checks a value against a JSON Schema that came with a wait: the process that answers need not have the
 * definition of the job, or has a newer one.
 *
 * It knows the words that say what a value may be, as schemas of forms and messages use them. As JSON Schema
 * has it, a word that it does not know says nothing; `format` is such a word.
 */
import type { Payload } from '../kernel/index.ts'
import type { SchemaIssue } from './errors.ts'
import { InvalidValue } from './errors.ts'

type Schema = Readonly<Record<string, unknown>>

/** References within references: more is a circle. */
const MOST_REFERENCES = 64

/** Nothing: it fits. */
export function jsonSchemaIssues(schema: unknown, value: unknown): readonly SchemaIssue[] {
  const check = new SchemaCheck(schema)
  check.check(schema, value, '', 0)
  return check.issues
}

/** Throws `InvalidValue` if what a message says does not fit what a wait asks for. */
export function assertFits(
  schema: Payload,
  { name, value }: { readonly name: string; readonly value: Payload },
): void {
  const issues = jsonSchemaIssues(JSON.parse(schema), JSON.parse(value))
  if (issues.length > 0) throw new InvalidValue(`What message '${name}' says`, issues)
}

class SchemaCheck {
  readonly issues: SchemaIssue[] = []
  readonly #root: unknown

  constructor(root: unknown) {
    this.#root = root
  }

  check(schema: unknown, value: unknown, path: string, depth: number): void {
    if (schema === false) return this.#say(path, 'is not allowed')
    if (typeof schema !== 'object' || schema === null) return
    const rules = schema as Schema
    this.#checkKind(rules, value, path)
    this.#checkBounds(rules, value, path)
    this.#checkChoices(rules, value, path, depth)
    if (Array.isArray(value)) this.#checkItems(rules, value, path, depth)
    else if (isObject(value)) this.#checkFields(rules, value, path, depth)
  }

  #say(path: string, message: string): void {
    this.issues.push({ path, message })
  }

  #checkKind({ type, enum: allowed, const: only }: Schema, value: unknown, path: string): void {
    const types = typeof type === 'string' ? [type] : (type as readonly string[] | undefined)
    if (types !== undefined && !types.some((one) => isOfType(one, value))) {
      this.#say(path, `must be ${types.join(' or ')}, not ${typeOf(value)}`)
    }
    if (Array.isArray(allowed) && !allowed.some((one) => isSame(one, value))) {
      this.#say(path, `must be one of ${JSON.stringify(allowed)}`)
    }
    if (only !== undefined && !isSame(only, value)) {
      this.#say(path, `must be ${JSON.stringify(only)}`)
    }
  }

  #checkBounds(rules: Schema, value: unknown, path: string): void {
    for (const [word, measure, isWithin, says] of BOUNDS) {
      const bound = rules[word]
      const size = measure(value)
      if (typeof bound !== 'number' || size === null || isWithin(size, bound)) continue
      this.#say(path, `${says} ${bound}`)
    }
    const { pattern } = rules
    if (typeof pattern !== 'string' || typeof value !== 'string') return
    if (!matches(pattern, value)) this.#say(path, `must match ${pattern}`)
  }

  #checkChoices(rules: Schema, value: unknown, path: string, depth: number): void {
    const { $ref, allOf, anyOf, oneOf, not } = rules
    if (typeof $ref === 'string' && depth < MOST_REFERENCES) {
      this.check(this.#referenced($ref), value, path, depth + 1)
    }
    for (const one of listOf(allOf)) this.check(one, value, path, depth)
    const fits = (one: unknown): boolean => this.#issuesOf(one, value, depth).length === 0
    if (Array.isArray(anyOf) && !anyOf.some(fits)) this.#say(path, 'fits none of what is allowed')
    if (Array.isArray(oneOf) && oneOf.filter(fits).length !== 1) {
      this.#say(path, 'must fit exactly one of what is allowed')
    }
    if (not !== undefined && fits(not)) this.#say(path, 'is what it must not be')
  }

  #issuesOf(schema: unknown, value: unknown, depth: number): readonly SchemaIssue[] {
    const check = new SchemaCheck(this.#root)
    check.check(schema, value, '', depth)
    return check.issues
  }

  /** Of this very schema, as `#/$defs/name`. What is elsewhere is not looked for. */
  #referenced(reference: string): unknown {
    if (!reference.startsWith('#')) return true
    let found: unknown = this.#root
    for (const step of reference.slice(1).split('/').filter(Boolean)) {
      const name = decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~')
      found = isObject(found) || Array.isArray(found) ? (found as unknown as Schema)[name] : true
    }
    return found
  }

  #checkItems(rules: Schema, items: readonly unknown[], path: string, depth: number): void {
    const first = listOf(rules['prefixItems'])
    items.forEach((item, i) => {
      const schema = i < first.length ? first[i] : rules['items']
      if (schema !== undefined) this.check(schema, item, within(path, String(i)), depth)
    })
  }

  #checkFields(rules: Schema, fields: Schema, path: string, depth: number): void {
    const { properties, required, additionalProperties: others } = rules
    const known = isObject(properties) ? properties : {}
    for (const name of listOf(required)) {
      if (!Object.hasOwn(fields, String(name))) this.#say(within(path, String(name)), 'is missing')
    }
    for (const [name, value] of Object.entries(fields)) {
      const schema = Object.hasOwn(known, name) ? known[name] : others
      if (schema !== undefined) this.check(schema, value, within(path, name), depth)
    }
  }
}

type SizeBound = readonly [
  word: string,
  measure: (value: unknown) => number | null,
  isWithin: (size: number, bound: number) => boolean,
  says: string,
]

const BOUNDS: readonly SizeBound[] = [
  ['minimum', numberOf, (size, bound) => size >= bound, 'must be at least'],
  ['maximum', numberOf, (size, bound) => size <= bound, 'must be at most'],
  ['exclusiveMinimum', numberOf, (size, bound) => size > bound, 'must be more than'],
  ['exclusiveMaximum', numberOf, (size, bound) => size < bound, 'must be less than'],
  ['multipleOf', numberOf, (size, bound) => isMultiple(size, bound), 'must be a multiple of'],
  ['minLength', charsOf, (size, bound) => size >= bound, 'its characters must be at least'],
  ['maxLength', charsOf, (size, bound) => size <= bound, 'its characters must be at most'],
  ['minItems', countOf, (size, bound) => size >= bound, 'its elements must be at least'],
  ['maxItems', countOf, (size, bound) => size <= bound, 'its elements must be at most'],
]

function numberOf(value: unknown): number | null {
  return typeof value === 'number' ? value : null
}

function charsOf(value: unknown): number | null {
  return typeof value === 'string' ? Array.from(value).length : null
}

function countOf(value: unknown): number | null {
  return Array.isArray(value) ? value.length : null
}

/** Of numbers that have no exact form, such as 0.3 and 0.1, nearly is enough. */
function isMultiple(size: number, bound: number): boolean {
  const times = size / bound
  return Math.abs(times - Math.round(times)) < 1e-9
}

/** A pattern that is none says nothing. */
function matches(pattern: string, text: string): boolean {
  try {
    return new RegExp(pattern, 'u').test(text)
  } catch {
    return true
  }
}

function isObject(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

function isOfType(type: string, value: unknown): boolean {
  if (type === 'integer') return Number.isInteger(value)
  return typeOf(value) === type
}

function isSame(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((one, i) => isSame(one, b[i]))
  }
  if (!isObject(a) || !isObject(b)) return a === b
  const names = Object.keys(a)
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => Object.hasOwn(b, name) && isSame(a[name], b[name]))
  )
}

function within(path: string, step: string): string {
  return path === '' ? step : `${path}.${step}`
}
