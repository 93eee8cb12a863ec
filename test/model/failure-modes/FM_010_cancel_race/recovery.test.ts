import { describe, expect, it } from 'vitest'
import { RULES } from '../../../../src/kernel/index.ts'
import { Authority } from '../../../../src/lab/authority.ts'
import { pipeline, plain, promise, stage } from '../../../../src/lab/specs.ts'
import { DeedLedger } from '../../../../src/lab/deed-ledger.ts'
import { StoryWorker } from '../../../../src/lab/story-worker.ts'
import { theCancelIsFirst, theCommitIsFirst } from '../../../../src/lab/cancel-race.ts'

describe('FM_010 cancel races commit, recovered', () => {
  it('the commit was first: the job is finished as promised', () => {
    const { authority } = theCommitIsFirst(RULES)
    authority.must({ type: 'FinishEffect', worker: 'worker' })
    expect(authority.state()).toBe('SUCCEEDED')
  })

  it('the cancel was first: asking again gets the same answer, and the work is a new job', () => {
    const { authority, ledger } = theCancelIsFirst(RULES)
    expect(authority.must({ type: 'CancelJob' }).entry).toBeNull()

    authority.must({ type: 'SubmitJob', job: 'b', spec: plain({ rerunOf: 'a' }) })
    const worker = new StoryWorker('worker', authority, ledger)
    worker.take({ job: 'b' })
    worker.commit()
    expect(authority.state('a')).toBe('FAILED')
    expect(authority.state('b')).toBe('SUCCEEDED')
    expect(ledger.charges).toEqual(['worker'])
  })

  it('a pipeline is cancelled half way: what was committed is finished, the rest is stopped', () => {
    const authority = new Authority()
    const ledger = new DeedLedger()
    const first = new StoryWorker('first', authority, ledger)
    const second = new StoryWorker('second', authority, ledger)
    const spec = pipeline([stage('pay', { each: 'input' })], { input: '["one","two"]' })

    authority.must({ type: 'SubmitJob', spec })
    authority.must({ type: 'OpenStage' })
    first.take({ segment: 0 })
    second.take({ segment: 1 })
    first.commit({ effects: [promise({ name: 'charge' })] })
    authority.must({ type: 'CancelJob' })
    authority.must({ type: 'StopTask', segment: 1 })
    expect(second.commit()).toBe('cancelled')
    expect(authority.state()).toBe('RUNNING')

    first.perform(0)
    first.finish(0)
    expect(authority.state()).toBe('FAILED')
    expect(ledger.charges).toEqual(['first'])
  })
})
