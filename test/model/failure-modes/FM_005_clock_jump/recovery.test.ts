import { describe, expect, it } from 'vitest'
import { Authority } from '../../../../src/lab/authority.ts'
import { plain } from '../../../../src/lab/specs.ts'
import { DeedLedger } from '../../../../src/lab/deed-ledger.ts'
import { StoryWorker } from '../../../../src/lab/story-worker.ts'
import { HOUR_MS } from '../../../../src/lab/clock-jump.ts'

/** The clock ran an hour ahead, the task was granted at that time, and the clock was set right. */
function setRightAfterAnHourAhead(): {
  authority: Authority
  ledger: DeedLedger
  worker: StoryWorker
} {
  const authority = new Authority()
  const ledger = new DeedLedger()
  const worker = new StoryWorker('worker', authority, ledger)
  authority.must({ type: 'SubmitJob', spec: plain() })
  authority.advance(HOUR_MS)
  worker.take()
  authority.advance(-HOUR_MS)
  return { authority, ledger, worker }
}

describe('FM_005 clock jumps forward and back, recovered', () => {
  it('a report that was refused for the clock is accepted when the clock has caught up', () => {
    const { authority, ledger, worker } = setRightAfterAnHourAhead()
    expect(worker.commit()).toBe('rejected: ClockBackwards by clock')
    expect(authority.state()).toBe('RUNNING')

    authority.advance(HOUR_MS)
    expect(worker.commit()).toBe('committed')
    expect(authority.state()).toBe('SUCCEEDED')
    expect(ledger.charges).toEqual(['worker'])
  })

  it('an authority that stands still at the latest time in its log need not wait', () => {
    const { authority, ledger, worker } = setRightAfterAnHourAhead()
    authority.now = Math.max(authority.now, ...authority.log.map((entry) => entry.at))
    expect(worker.commit()).toBe('committed')
    expect(authority.state()).toBe('SUCCEEDED')
    expect(ledger.charges).toEqual(['worker'])
  })
})
