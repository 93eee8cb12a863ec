import { describe, expect, it } from 'vitest'
import { rulesForgetting } from '../../../../src/lab/rules-left-out.ts'
import { brokenInvariants } from '../../../../src/lab/story.ts'
import {
  theCommitIsRepeated,
  theFinishIsRepeated,
  theSubmitIsRepeated,
} from '../../../../src/lab/lost-answer.ts'

describe('FM_004 answer lost, report repeated, reproduced', () => {
  it('the job has succeeded, its worker is told to discard, and nobody charges the card', () => {
    const story = theCommitIsRepeated(rulesForgetting('CommitExecution'))
    expect(story.answers).toEqual({ lost: 'committed', heard: 'cancelled' })
    expect(story.authority.state()).toBe('SUCCEEDED')
    expect(story.ledger.charges).toEqual([])
    // The log itself is sound: only the worker was told something else than it says.
    expect(brokenInvariants(story.authority)).toEqual([])
  })

  it('the client believes that its order was not taken, orders again, and pays twice', () => {
    const story = theSubmitIsRepeated(rulesForgetting('SubmitJob'))
    expect(story.answers).toEqual({
      lost: 'committed',
      heard: 'rejected: IdReused by id-unused',
    })
    expect(story.ledger.charges).toEqual(['worker of order', 'worker of order-2'])
  })

  it('an effect is recorded as finished twice, the second time in a job that is over', () => {
    const story = theFinishIsRepeated(rulesForgetting('FinishEffect'))
    const finished = story.authority.log.filter((entry) => entry.type === 'EffectFinished')
    expect(finished).toHaveLength(2)
    expect(brokenInvariants(story.authority)).toContain(4)
  })
})
