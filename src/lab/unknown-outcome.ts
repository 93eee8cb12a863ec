/**
 * FM_008: a worker starts an effect and is not heard of again. Did it happen? The log cannot
 * know. In this story it did: the card was charged.
 */
import type { EffectPromise, Rules } from '../kernel/index.ts'
import { Authority } from './authority.ts'
import { plain, promise } from './specs.ts'
import { DeedLedger } from './deed-ledger.ts'
import type { Story } from './story.ts'
import { LEASE_MS, StoryWorker } from './story-worker.ts'

export interface Silence {
  readonly authority: Authority
  readonly ledger: DeedLedger
  readonly silent: StoryWorker
  readonly next: StoryWorker
}

/** The damaged moment: the card is charged, nobody said so, and the lease has run out. */
export function silenceAfterTheCharge(rules: Rules, declared: Partial<EffectPromise>): Silence {
  const authority = new Authority(rules)
  const ledger = new DeedLedger()
  const silent = new StoryWorker('silent', authority, ledger)

  authority.must({ type: 'SubmitJob', spec: plain() })
  silent.take()
  silent.commit({ effects: [promise({ name: 'charge', ...declared })] })
  silent.perform(0)

  authority.advance(LEASE_MS)
  authority.must({ type: 'ExpireLease' })
  return { authority, ledger, silent, next: new StoryWorker('next', authority, ledger) }
}

/** The next worker finds the effect unfinished, and wants to run it. */
export function theNextWorkerRunsIt(rules: Rules, declared: Partial<EffectPromise>): Story {
  const { authority, ledger, next } = silenceAfterTheCharge(rules, declared)
  return { authority, ledger, answers: { take: next.take(), charge: next.perform(0) } }
}
