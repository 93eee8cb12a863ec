import { describe, expect, it } from 'vitest'
import { RULES } from '../../../../src/kernel/index.ts'
import {
  theCommitIsRepeated,
  theFinishIsRepeated,
  theSubmitIsRepeated,
} from '../../../../src/lab/lost-answer.ts'

const SAME_ANSWER = { lost: 'committed', heard: 'committed' }

describe('FM_004 answer lost, report repeated, prevented', () => {
  it('a repeated commit gets the first answer, and the card is charged once', () => {
    const { authority, ledger, answers } = theCommitIsRepeated(RULES)
    expect(answers).toEqual(SAME_ANSWER)
    expect(ledger.charges).toEqual(['worker'])
    expect(authority.log.filter((entry) => entry.type === 'ExecutionCommitted')).toHaveLength(1)
  })

  it('a repeated submit is the same job', () => {
    const { authority, ledger, answers } = theSubmitIsRepeated(RULES)
    expect(answers).toEqual(SAME_ANSWER)
    expect([...authority.world.jobs.keys()]).toEqual(['order'])
    expect(ledger.charges).toEqual(['worker of order'])
  })

  it('a repeated finish is recorded once', () => {
    const { authority, ledger, answers } = theFinishIsRepeated(RULES)
    expect(answers).toEqual(SAME_ANSWER)
    expect(authority.log.filter((entry) => entry.type === 'EffectFinished')).toHaveLength(1)
    expect(ledger.charges).toEqual(['worker'])
  })
})
