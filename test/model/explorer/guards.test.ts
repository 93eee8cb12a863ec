/**
 * Every safety guard is load-bearing: without it, some small world breaks an invariant.
 */
import { describe, expect, it } from 'vitest'
import { missGuard, safetyGuards, violationText } from './report.ts'
import { IS_LONG } from '../../support/campaign.ts'

/** What needs these is found only after many states: `test:long` looks for it. */
const FAR_AWAY = new Set([
  'EndWait.skipped-kept',
  'AnswerCall.call-pending',
  'SubmitJob.tick-unfired',
  'RetryTask.stage-not-done',
  'ForgetJob.caller-over',
])

const guards = safetyGuards()
  .map(({ id }) => id)
  .filter((id) => IS_LONG || !FAR_AWAY.has(id))

describe('without the guard', () => {
  it.each(guards)('%s an invariant breaks', (id) => {
    const result = missGuard(id)
    expect(result, `nothing needs ${id}`).not.toBeNull()
    if (result === null) return
    const text = violationText(result)
    expect(text.at(-1)).toContain('invariant')
    expect(text.length).toBeGreaterThan(1)
  })
})
