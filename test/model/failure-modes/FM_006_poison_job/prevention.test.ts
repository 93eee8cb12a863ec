import { describe, expect, it } from 'vitest'
import { DEFAULT_RETRY, RULES } from '../../../../src/kernel/index.ts'
import { everyWorkerDies } from '../../../../src/lab/poison-job.ts'

describe('FM_006 a job that kills its worker each time, prevented', () => {
  it('each death of a started worker costs a retry, and the job is put aside', () => {
    const { authority, deaths, lastAnswer } = everyWorkerDies(RULES, { started: true })
    expect(deaths).toBe(1 + DEFAULT_RETRY.max)
    expect(lastAnswer).toBe('rejected: TaskNotWaiting by task-waiting')
    expect(authority.task().state).toBe('DEAD')
    expect(authority.state()).toBe('QUARANTINED')
  })

  it('from the second death in a row each costs a retry, although no start was ever recorded', () => {
    const { authority, deaths } = everyWorkerDies(RULES, { started: false })
    expect(deaths).toBe(2 + DEFAULT_RETRY.max)
    expect(authority.task().state).toBe('DEAD')
    expect(authority.state()).toBe('QUARANTINED')
  })

  it('the log says which worker died of it, and when', () => {
    const { authority } = everyWorkerDies(RULES, { started: true })
    const diagnostics = authority.log.flatMap((entry) =>
      entry.type === 'LeaseExpired' ? [entry.diagnostic] : [],
    )
    expect(diagnostics).toHaveLength(1 + DEFAULT_RETRY.max)
    expect(diagnostics[0]).toContain('worker worker-0 fell silent while IN_PROGRESS')
  })
})
