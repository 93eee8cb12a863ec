/**
 * What is different between two JSON values, field by field: where, and what stood there before and after.
 */
import { ExactNumber, writeExactly } from '../../../definition/exact-json.ts'

export interface ChangedField {
  /** Of properties and items, with dots between them. */
  readonly path: string
  /** As JSON; null: it was not there. */
  readonly before: string | null
  readonly after: string | null
}

const MOST = 200

/** In the order of their paths. Of more than a few hundred, only the first. */
export function changedFields(before: unknown, after: unknown): readonly ChangedField[] {
  const found: ChangedField[] = []
  compare(before, after, '', found)
  return found.slice(0, MOST)
}

function compare(before: unknown, after: unknown, path: string, found: ChangedField[]): void {
  if (found.length > MOST || Object.is(before, after)) return
  const [a, b] = [partsOf(before, after), partsOf(after, before)]
  if (a === null || b === null) {
    const change = { path, before: textOf(before), after: textOf(after) }
    if (change.before !== change.after) found.push(change)
    return
  }
  const names = [...new Set([...Object.keys(a), ...Object.keys(b)])]
  for (const name of names) {
    compare(a[name], b[name], path === '' ? name : `${path}.${name}`, found)
  }
}

/** Null: it has no parts, or others than what it is compared with. What is not there, beside what has parts, has none of them. */
function partsOf(value: unknown, other: unknown): Readonly<Record<string, unknown>> | null {
  if (value === null || value === undefined) return hasParts(other) ? {} : null
  if (!isParted(value)) return null
  const isSameKind = !isParted(other) || Array.isArray(value) === Array.isArray(other)
  return isSameKind ? value : null
}

function isParted(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !(value instanceof ExactNumber)
}

function hasParts(value: unknown): boolean {
  return isParted(value) && Object.keys(value).length > 0
}

function textOf(value: unknown): string | null {
  return value === undefined ? null : writeExactly(value)
}
