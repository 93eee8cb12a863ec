import { describe, expect, it } from 'vitest'
import { RULES } from '../../../../src/kernel/index.ts'
import { StoryWorker } from '../../../../src/lab/story-worker.ts'
import { CALLEE, submitCallee, theCallerDies } from '../../../../src/lab/caller-dies.ts'

describe('FM_013 caller dies between suspension and submit, recovered', () => {
  it('any process submits the callee, and tells the caller its end', () => {
    const { authority, ledger } = theCallerDies(RULES)
    submitCallee(authority)
    const other = new StoryWorker('other', authority, ledger)
    other.take({ job: CALLEE })
    other.commit()
    authority.must({ type: 'AnswerCall', name: 'call' })
    expect(authority.task('a').waiting?.waits).toMatchObject([
      { endedBy: 'callee', value: '{"state":"SUCCEEDED","output":"paid"}' },
    ])
    const next = new StoryWorker('next', authority, ledger)
    expect(next.take()).toBe('committed')
  })
})
