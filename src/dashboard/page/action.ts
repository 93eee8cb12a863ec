/**
 * What a reader is about to do: an operation, what it is given, and what is asked beside who and why. Views make them; the
 * dialog of the page shows them.
 */
import { signal } from '@preact/signals'
import { inexactFault } from '../../definition/exact-json.ts'
import type { OperationName } from '../../protocol/index.ts'

export interface ActionField {
  readonly name: string
  readonly label: string
  /** A text, a JSON value, a whole number, or one of some. */
  readonly kind: 'text' | 'json' | 'number' | readonly string[]
  readonly value?: string
  /** Left as it is, it is not sent. */
  readonly isEdited?: true
  /** It is a property of this object, under this name. */
  readonly within?: { readonly object: string; readonly name: string }
  readonly hint?: string
}

/** By the names of fields. */
export type Filled = Readonly<Record<string, string>>

export interface Action {
  readonly title: string
  /** What is different after it. */
  readonly says: string
  readonly operation: OperationName
  readonly input: Readonly<Record<string, unknown>>
  /** They may depend on what was filled in. */
  readonly fields?: readonly ActionField[] | ((filled: Filled) => readonly ActionField[])
  /** What is still to be filled in, BEFORE it can be done; null: nothing. */
  readonly lacks?: (values: Readonly<Record<string, unknown>>) => string | null
  /** It destroys something, or touches many jobs. */
  readonly isGrave?: boolean
  /** It is for many jobs: a preview says how many BEFORE it is done. */
  readonly preview?: {
    readonly operation: 'bulk.preview' | 'quarantine.redrive'
    readonly input: Readonly<Record<string, unknown>>
    /** Which jobs are meant, as one would type it; empty: all. */
    readonly filter?: string
    /** What becomes of jobs of which state. */
    readonly changes?: (ended: AbortSignal) => Promise<readonly string[]>
  }
  /** Events of this operation tell how far it is. */
  readonly progress?: OperationName
  /** If its dialog is still open then. */
  readonly onDone?: (answer: unknown) => void
}

/** Null: none is. */
export const action = signal<Action | null>(null)

/** Said to readers who see it, and to those who hear it. */
export const announcement = signal('')

export function fieldsOf({ fields = [] }: Action, filled: Filled): readonly ActionField[] {
  return typeof fields === 'function' ? fields(filled) : fields
}

export class FieldProblem extends Error {}

/** Of an action on many jobs. */
export const RATE_FIELD: ActionField = {
  name: 'rate',
  label: 'Rate',
  kind: 'text',
  hint: 'Such as 10/s. Empty: as quickly as possible.',
}

/** What was filled in, as the operation takes it. */
export function fieldValues(
  fields: readonly ActionField[],
  given: Filled,
): Record<string, unknown> {
  const values: Record<string, unknown> = {}
  const objects = new Map<string, [name: string, value: unknown][]>()
  for (const field of fields) {
    const text = (given[field.name] ?? field.value ?? '').trim()
    if (text === '') continue
    if (field.isEdited === true && text === field.value?.trim()) continue
    const value = fieldValue(field, text)
    const { within } = field
    if (within === undefined) values[field.name] = value
    else objects.set(within.object, [...(objects.get(within.object) ?? []), [within.name, value]])
  }
  for (const [name, properties] of objects) values[name] = Object.fromEntries(properties)
  return values
}

function fieldValue({ kind, label }: ActionField, text: string): unknown {
  if (kind === 'number') {
    if (/^-?\d+$/.test(text)) return Number(text)
    throw new FieldProblem(`${label} is a whole number.`)
  }
  if (kind !== 'json') return text
  const value = jsonIn(text, label)
  const fault = inexactFault(text, label)
  if (fault !== null) throw new FieldProblem(fault)
  return value
}

function jsonIn(text: string, label: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    throw new FieldProblem(`${label} is no JSON. A text stands in quotation marks.`)
  }
}

const RATE = /^(\d+)\s*(?:\/|per)\s*(\d*\s*\w+)$/

/** '10/s', '5 per 1m'; undefined: none. */
export function rateIn(text: string): { count: number; per: string } | undefined {
  if (text.trim() === '') return undefined
  const [, count, per] = RATE.exec(text.trim()) ?? []
  if (count === undefined || per === undefined) {
    throw new FieldProblem('A rate is a number and a period: 10/s, or 100/1m.')
  }
  const period = per.replaceAll(' ', '')
  return { count: Number(count), per: /^\d/.test(period) ? period : `1${period}` }
}

/** As `rateIn` takes it: a period that is no number of whole seconds is one of milliseconds. */
export function typedRate({
  count,
  perMs,
}: {
  readonly count: number
  readonly perMs: number
}): string {
  return `${count}/${perMs % 1_000 === 0 ? `${perMs / 1_000}s` : `${perMs}ms`}`
}
