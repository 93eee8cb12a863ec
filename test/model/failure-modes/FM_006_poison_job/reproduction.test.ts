import { describe, expect, it } from 'vitest'
import { RULES, rulesWithout } from '../../../../src/kernel/index.ts'
import { brokenInvariants } from '../story.ts'
import { everyWorkerDies, FLEET } from './story.ts'

describe('FM_006 a job that kills its worker each time, reproduced', () => {
  it('the whole fleet dies when a task that was given up may be granted again', () => {
    const rules = rulesWithout('GrantLease.task-waiting')
    const { authority, deaths } = everyWorkerDies(rules, { started: true })
    expect(deaths).toBe(FLEET)
    expect(brokenInvariants(authority)).toContain(6)
  })

  it('the whole fleet dies when the start is never recorded, for then a death costs nothing', () => {
    const { authority, deaths } = everyWorkerDies(RULES, { started: false })
    expect(deaths).toBe(FLEET)
    expect(authority.task().retries).toBe(0)
    expect(authority.state()).toBe('QUEUED')
  })
})
