import { describe, expect, it } from 'vitest'
import { RULES, rulesWithout } from '../../../../src/kernel/index.ts'
import { brokenInvariants } from '../../../../src/lab/story.ts'
import { everyWorkerDies, FLEET } from '../../../../src/lab/poison-job.ts'

describe('FM_006 a job that kills its worker each time, reproduced', () => {
  it('the whole fleet dies when a task that was given up may be granted again', () => {
    const rules = rulesWithout('GrantLease.task-waiting')
    const { authority, deaths } = everyWorkerDies(rules, { started: true })
    expect(deaths).toBe(FLEET)
    expect(brokenInvariants(authority)).toContain(6)
  })

  it('a death before the start is recorded is free once, as for a job that only waited there', () => {
    const { authority, deaths } = everyWorkerDies(RULES, { started: false }, 1)
    expect(deaths).toBe(1)
    expect(authority.task().retries).toBe(0)
    expect(authority.state()).toBe('QUEUED')
  })
})
