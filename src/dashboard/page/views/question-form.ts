/**
 * A form for the answer to a question, from its JSON Schema: a tree of fields, groups and lists, what was filled in by the
 * path of each, and the answer that follows from it.
 *
 * What is too rich for fields is one field that takes JSON. The server checks the answer in any case; the same check here
 * says beside each field what is wrong with it.
 */
import { inexactFault } from '../../../definition/exact-json.ts'
import { jsonSchemaIssues } from '../../../definition/json-schema.ts'

type FormSchema = Readonly<Record<string, unknown>>

/** What was filled in, by path; of a list, how many items it has, by its path and '#'. */
export type FilledForm = Readonly<Record<string, string>>

interface Part {
  /** Of properties and items, with dots between them; empty: the whole answer. */
  readonly path: string
  readonly label: string
  readonly hint: string | null
  readonly isNeeded: boolean
}

export interface Choice {
  readonly label: string
  readonly value: unknown
}

export interface ValueField extends Part {
  readonly kind: 'text' | 'long' | 'date' | 'integer' | 'number' | 'choice' | 'json'
  /** Of a choice: what is filled in is the place of one of them. */
  readonly choices: readonly Choice[]
  /** What stands in it at first. */
  readonly initial: string
  /** Left empty although it is needed, it is null. */
  readonly isNullable: boolean
  /** It is of the form that HTML calls so. */
  readonly inputMode: 'text' | 'email' | 'url' | 'numeric' | 'decimal'
}

export interface GroupPart extends Part {
  readonly kind: 'group'
  /** Nothing of it filled in although it is needed, it is null. */
  readonly isNullable: boolean
  readonly parts: readonly { readonly name: string; readonly part: FormPart }[]
}

export interface ListPart extends Part {
  readonly kind: 'list'
  readonly itemAt: (index: number) => FormPart
  readonly least: number
  readonly most: number
}

export type FormPart = ValueField | GroupPart | ListPart

/** An answer, or what is wrong, by path: that of no field is about the whole. */
export type ReadForm =
  | { readonly value: unknown }
  | { readonly problems: Readonly<Record<string, string>> }

/** Groups and lists within each other; what is deeper is JSON. */
const DEEPEST = 4
const LONG_TEXT = 200
const MOST_REFERENCES = 8

export function formOf(schema: object | null): FormPart {
  return new FormReader(schema ?? {}).part(schema ?? {}, '', 'Answer', true, 0)
}

class FormReader {
  readonly #root: FormSchema

  constructor(root: object) {
    this.#root = root as FormSchema
  }

  part(given: unknown, path: string, name: string, isNeeded: boolean, depth: number): FormPart {
    const { schema, isNullable } = this.#resolved(given)
    const { title, description, type } = schema
    const common = {
      path,
      label: typeof title === 'string' && title !== '' ? title : name,
      hint: typeof description === 'string' ? description : null,
      isNeeded,
    }
    if (choicesOf(schema) === null && depth < DEEPEST) {
      if (type === 'object' && isObject(schema['properties'])) {
        const parts = this.#properties(schema, path, depth)
        return { ...common, kind: 'group', isNullable, parts }
      }
      if (type === 'array' && isObject(schema['items'])) return this.#list(schema, common, depth)
    }
    return valueField(schema, common, isNullable)
  }

  #properties(schema: FormSchema, path: string, depth: number): GroupPart['parts'] {
    const needed = listOf(schema['required'])
    return Object.entries(schema['properties'] as FormSchema).map(([name, one]) => ({
      name,
      part: this.part(one, within(path, name), name, needed.includes(name), depth + 1),
    }))
  }

  #list(schema: FormSchema, common: Part, depth: number): ListPart {
    const { items, minItems, maxItems } = schema
    return {
      ...common,
      kind: 'list',
      itemAt: (i) => this.part(items, within(common.path, `${i}`), `${i + 1}`, true, depth + 1),
      least: typeof minItems === 'number' ? minItems : 0,
      most: typeof maxItems === 'number' ? maxItems : Infinity,
    }
  }

  /** Behind its references, and without the null that it may be instead. */
  #resolved(given: unknown): { schema: FormSchema; isNullable: boolean } {
    let schema = isObject(given) ? given : {}
    let isNullable = false
    for (let i = 0; i < MOST_REFERENCES; i++) {
      const { $ref, anyOf, oneOf, type } = schema
      if (Array.isArray(type) && type.includes('null')) {
        const others = type.filter((one) => one !== 'null')
        schema = merged(schema, { type: others.length === 1 ? others[0] : others })
        isNullable = true
        continue
      }
      const some = listOf(anyOf ?? oneOf)
      const others = some.filter((one) => !isObject(one) || one['type'] !== 'null')
      if (others.length === 1) {
        isNullable ||= some.length > 1
        schema = merged(without(schema, 'anyOf', 'oneOf'), others[0] as FormSchema)
      } else if (typeof $ref === 'string') {
        schema = merged(this.#referenced($ref), without(schema, '$ref'))
      } else break
    }
    return { schema, isNullable }
  }

  #referenced(reference: string): FormSchema {
    let found: unknown = reference.startsWith('#/') ? this.#root : {}
    for (const step of reference.split('/').slice(1)) {
      found = isObject(found) ? found[decodeURIComponent(step)] : {}
    }
    return isObject(found) ? found : {}
  }
}

function valueField(schema: FormSchema, common: Part, isNullable: boolean): ValueField {
  const choices = choicesOf(schema) ?? []
  const { kind, inputMode } = choices.length > 0 ? CHOICE : kindOf(schema)
  const { default: first } = schema
  const place = choices.findIndex(({ value }) => value === first)
  const initial =
    first === undefined
      ? ''
      : kind === 'choice'
        ? `${place === -1 ? '' : place}`
        : typeof first === 'string' && kind !== 'json'
          ? first
          : JSON.stringify(first)
  const hint = kind === 'json' ? (common.hint ?? 'JSON, such as true or "yes".') : common.hint
  return { ...common, hint, kind, inputMode, choices, initial, isNullable }
}

const CHOICE = { kind: 'choice', inputMode: 'text' } as const

function kindOf(schema: FormSchema): Pick<ValueField, 'kind' | 'inputMode'> {
  const { type, format, maxLength } = schema
  if (type === 'integer') return { kind: 'integer', inputMode: 'numeric' }
  if (type === 'number') return { kind: 'number', inputMode: 'decimal' }
  if (type !== 'string') return { kind: 'json', inputMode: 'text' }
  if (format === 'date') return { kind: 'date', inputMode: 'text' }
  if (format === 'email') return { kind: 'text', inputMode: 'email' }
  if (format === 'uri') return { kind: 'text', inputMode: 'url' }
  const isLong = typeof maxLength === 'number' && maxLength >= LONG_TEXT
  return { kind: isLong ? 'long' : 'text', inputMode: 'text' }
}

/** A truth is chosen as yes or no, so that none is given by not looking. Null: it is no choice. */
function choicesOf(schema: FormSchema): readonly Choice[] | null {
  const { type, enum: allowed, const: only, oneOf, anyOf } = schema
  if (Array.isArray(allowed)) return allowed.map(choiceOf)
  if (only !== undefined) return [choiceOf(only)]
  const some = listOf(oneOf ?? anyOf)
  if (some.length > 0 && some.every((one) => isObject(one) && 'const' in one)) {
    return (some as readonly FormSchema[]).map(({ const: value, title }) =>
      typeof title === 'string' ? { label: title, value } : choiceOf(value),
    )
  }
  if (type !== 'boolean') return null
  return [
    { label: 'Yes', value: true },
    { label: 'No', value: false },
  ]
}

function choiceOf(value: unknown): Choice {
  return { label: typeof value === 'string' ? value : JSON.stringify(value), value }
}

export function filledIn(field: ValueField, filled: FilledForm): string {
  return filled[field.path] ?? field.initial
}

export function itemCount({ path, least }: ListPart, filled: FilledForm): number {
  return Number(filled[`${path}#`] ?? least)
}

export function withItem(list: ListPart, filled: FilledForm): FilledForm {
  return { ...filled, [`${list.path}#`]: `${itemCount(list, filled) + 1}` }
}

/** What stands behind it moves up. */
export function withoutItem(list: ListPart, filled: FilledForm, index: number): FilledForm {
  const left: Record<string, string> = {}
  const before = list.path === '' ? '' : `${list.path}.`
  for (const [path, text] of Object.entries(filled)) {
    const rest = path.startsWith(before) ? path.slice(before.length) : ''
    const at = Number(/^\d+/.exec(rest)?.[0] ?? -1)
    if (at === index) continue
    left[at > index ? `${before}${at - 1}${rest.slice(`${at}`.length)}` : path] = text
  }
  return { ...left, [`${list.path}#`]: `${itemCount(list, filled) - 1}` }
}

/** The answer, checked by its schema. */
export function readForm(form: FormPart, schema: object | null, filled: FilledForm): ReadForm {
  const reading = new FormReading(filled)
  const value = reading.valueOf(form)
  if (Object.keys(reading.problems).length > 0) return { problems: reading.problems }
  const answer = value === undefined && form.kind === 'json' ? null : value
  const issues = schema === null ? [] : jsonSchemaIssues(schema, answer)
  if (issues.length === 0) return { value: answer }
  const problems: Record<string, string> = {}
  const places = new Set(pathsOf(form, filled))
  for (const { path, message } of issues) {
    const place = nearest(places, path)
    const inIt = path.slice(place === '' ? 0 : place.length + 1)
    problems[place] ??= inIt === '' ? sentence(message) : `${inIt}: ${sentence(message)}`
  }
  return { problems }
}

/** Where the form can say that something is wrong. */
function pathsOf(part: FormPart, filled: FilledForm): readonly string[] {
  const inner =
    part.kind === 'group'
      ? part.parts.map((one) => one.part)
      : part.kind === 'list'
        ? Array.from({ length: itemCount(part, filled) }, (_, i) => part.itemAt(i))
        : []
  return [part.path, ...inner.flatMap((one) => pathsOf(one, filled))]
}

/** The path itself, or that of the innermost part that it is in: what is within JSON has no place of its own. */
function nearest(places: ReadonlySet<string>, path: string): string {
  let place = path
  while (place !== '' && !places.has(place)) {
    place = place.slice(0, Math.max(0, place.lastIndexOf('.')))
  }
  return place
}

const NEEDED = 'This is needed.'
const WHOLE_NUMBER = /^-?\d+$/
const NUMBER = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i

class FormReading {
  readonly problems: Record<string, string> = {}
  readonly #filled: FilledForm

  constructor(filled: FilledForm) {
    this.#filled = filled
  }

  /** Undefined: it was left empty. */
  valueOf(part: FormPart): unknown {
    if (part.kind === 'group') return this.#group(part)
    if (part.kind === 'list') return this.#list(part)
    const text = filledIn(part, this.#filled)
    if (text.trim() !== '') return this.#value(part, text)
    if (!part.isNeeded) return undefined
    if (part.isNullable) return null
    if (part.kind !== 'json') this.problems[part.path] = NEEDED
    return undefined
  }

  #group({ parts, isNeeded, isNullable }: GroupPart): unknown {
    const before = { ...this.problems }
    const values = parts.map(({ name, part }) => [name, this.valueOf(part)] as const)
    const given = values.filter(([, value]) => value !== undefined)
    const mayBeEmpty = !isNeeded || isNullable
    if (!mayBeEmpty || given.length > 0) return Object.fromEntries(given)
    // What is needed in a group that may be empty is needed only if something of it was filled in.
    const own = Object.entries(this.problems).filter(([path]) => !Object.hasOwn(before, path))
    if (own.some(([, problem]) => problem !== NEEDED)) return undefined
    for (const [path] of own) delete this.problems[path]
    return isNeeded ? null : undefined
  }

  #list(list: ListPart): unknown {
    const count = itemCount(list, this.#filled)
    if (count === 0 && !list.isNeeded) return undefined
    return Array.from({ length: count }, (_, i) => this.valueOf(list.itemAt(i)) ?? null)
  }

  #value({ kind, path, choices }: ValueField, text: string): unknown {
    switch (kind) {
      case 'choice':
        return choices[Number(text)]?.value
      case 'integer':
        return this.#number(path, text.trim(), WHOLE_NUMBER, 'This is a whole number.')
      case 'number':
        return this.#number(path, text.trim(), NUMBER, 'This is a number.')
      case 'json':
        return this.#json(path, text)
      default:
        return text
    }
  }

  /** One that would be kept as another is refused: 9007199254740993 is 9007199254740992 afterwards. */
  #number(path: string, text: string, form: RegExp, says: string): unknown {
    const value = Number(text)
    if (!form.test(text)) this.problems[path] = says
    else if (!Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value))) {
      this.problems[path] = 'This is too large to be kept as it is.'
    } else return value
    return undefined
  }

  #json(path: string, text: string): unknown {
    try {
      const value = JSON.parse(text) as unknown
      const fault = inexactFault(text, 'This')
      if (fault === null) return value
      this.problems[path] = fault
    } catch {
      this.problems[path] = 'This is no JSON. A text stands in quotation marks.'
    }
    return undefined
  }
}

function sentence(message: string): string {
  if (message === 'is missing') return NEEDED
  return message.startsWith('its ') ? `The number of ${message}.` : `This ${message}.`
}

function within(path: string, step: string): string {
  return path === '' ? step : `${path}.${step}`
}

function without(schema: FormSchema, ...words: readonly string[]): FormSchema {
  return Object.fromEntries(Object.entries(schema).filter(([word]) => !words.includes(word)))
}

/** What the second says holds. */
function merged(schema: FormSchema, more: FormSchema): FormSchema {
  return { ...schema, ...more }
}

function isObject(value: unknown): value is FormSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
