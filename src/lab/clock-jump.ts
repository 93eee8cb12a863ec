/**
 * FM_005: the authority's clock jumps. Back: a lease that has run out looks alive again.
 * Forward: every lease runs out at once, and the workers are still at work.
 */
import type { Rules } from '../kernel/index.ts'
import { Authority } from './authority.ts'
import { plain } from './specs.ts'
import { DeedLedger } from './deed-ledger.ts'
import type { Story } from './story.ts'
import { LEASE_MS, StoryWorker } from './story-worker.ts'

export const HOUR_MS = 3_600_000

/**
 * A worker is late, is told so, and discards its work. The clock steps back. A copy of the late
 * report, held up in the network, arrives when the lease looks alive. Nobody hears its answer.
 */
export function theClockStepsBack(rules: Rules): Story {
  const authority = new Authority(rules)
  const ledger = new DeedLedger()
  const late = new StoryWorker('late', authority, ledger)
  const next = new StoryWorker('next', authority, ledger)

  authority.must({ type: 'SubmitJob', spec: plain() })
  late.take()
  authority.advance(LEASE_MS + 1_000)
  const answers = { late: late.commit(), copy: '', next: '' }

  authority.advance(-10_000)
  answers.copy = late.commit({ heard: false })

  authority.advance(10_000)
  authority.send({ type: 'ExpireLease' })
  next.take()
  answers.next = next.commit()
  return { authority, ledger, answers }
}

/** A worker is in the middle of its work when the clock jumps forward by an hour. */
export function theClockJumpsForward(rules: Rules): Story {
  const authority = new Authority(rules)
  const ledger = new DeedLedger()
  const first = new StoryWorker('first', authority, ledger)
  const second = new StoryWorker('second', authority, ledger)

  authority.must({ type: 'SubmitJob', spec: plain() })
  first.take()
  authority.advance(HOUR_MS)
  authority.must({ type: 'ExpireLease' })
  second.take()
  return { authority, ledger, answers: { first: first.commit(), second: second.commit() } }
}
