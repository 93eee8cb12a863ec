/**
 * `each`: which array a stage has one task per element of.
 *
 * `input` or `input.field.field` names a value in the job's input; `split` or `split.pages` one
 * in what the only task of the stage `split` put out. This is the one place where the kernel
 * looks inside a payload.
 */
import { LIMITS } from './limits.ts'
import type { Payload } from './model.ts'

export function eachPath(each: string): {
  readonly source: string
  readonly path: readonly string[]
} {
  const [source = '', ...path] = each.split('.')
  return { source, path }
}

/** How many elements `each` names in the payload, or what is wrong with it. */
export function countElements(each: string, payload: Payload | null): number | string {
  const value = valueAt(payload, eachPath(each).path)
  if (!Array.isArray(value)) return `each: '${each}' is not an array`
  return value.length <= LIMITS.segmentsPerStage
    ? value.length
    : `each: '${each}' has ${value.length} elements, more than ${LIMITS.segmentsPerStage}`
}

function valueAt(payload: Payload | null, path: readonly string[]): unknown {
  let value: unknown
  try {
    value = JSON.parse(payload ?? '')
  } catch {
    return undefined
  }
  for (const field of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, field)) {
      return undefined
    }
    value = (value as Record<string, unknown>)[field]
  }
  return value
}
