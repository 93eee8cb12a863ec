/**
 * Every safety guard is load-bearing: without it, some small world breaks an invariant.
 */
import { describe, expect, it } from 'vitest'
import { missGuard, safetyGuards, violationText } from './report.ts'

describe('without the guard', () => {
  it.each(safetyGuards().map((guard) => guard.id))('%s an invariant breaks', (id) => {
    const result = missGuard(id)
    expect(result, `nothing needs ${id}`).not.toBeNull()
    if (result === null) return
    const text = violationText(result)
    expect(text.at(-1)).toContain('invariant')
    expect(text.length).toBeGreaterThan(1)
  })
})
