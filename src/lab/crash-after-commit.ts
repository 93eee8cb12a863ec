/**
 * FM_002: a worker commits, charges the card as the commit promised, and dies before it has
 * sent the receipt. The task is between COMMITTED and DONE when the next worker is given it.
 */
import type { Rules } from '../kernel/index.ts'
import { Authority } from './authority.ts'
import { failure, plain, promise } from './specs.ts'
import { DeedLedger } from './deed-ledger.ts'
import type { Story } from './story.ts'
import { LEASE_MS, StoryWorker } from './story-worker.ts'

const CHARGE = 0
const RECEIPT = 1
const EFFECTS = [promise({ name: 'charge' }), promise({ name: 'receipt' })]

interface CrashScene {
  readonly authority: Authority
  readonly ledger: DeedLedger
  readonly next: StoryWorker
}

/** The damaged moment: charged and recorded, no receipt, and nobody holds the task. */
export function crashAfterTheCharge(rules: Rules): CrashScene {
  const authority = new Authority(rules)
  const ledger = new DeedLedger()
  const dies = new StoryWorker('dies', authority, ledger)

  authority.must({ type: 'SubmitJob', spec: plain() })
  dies.take()
  dies.commit({ effects: EFFECTS })
  dies.perform(CHARGE)
  dies.finish(CHARGE)

  authority.advance(LEASE_MS)
  authority.must({ type: 'ExpireLease' })
  return { authority, ledger, next: new StoryWorker('next', authority, ledger) }
}

/** The next worker takes the task for a fresh one, and does everything from the start. */
export function theNextWorkerDoesItAllAgain(rules: Rules): Story {
  const { authority, ledger, next } = crashAfterTheCharge(rules)
  const answers = {
    take: next.take(),
    commit: next.commit({ effects: EFFECTS }),
    charge: next.perform(CHARGE),
    chargeFinished: next.finish(CHARGE),
    receipt: next.perform(RECEIPT),
    receiptFinished: next.finish(RECEIPT),
  }
  return { authority, ledger, answers }
}

/** The next worker cannot do the work, and says so: for good. */
export function theNextWorkerFails(rules: Rules): Story {
  const { authority, ledger, next } = crashAfterTheCharge(rules)
  const answers = { take: next.take(), fail: next.fail(failure({ type: 'TERMINAL' })) }
  return { authority, ledger, answers }
}
