/**
 * FM_006: a job that kills its worker each time. No worker lives to report anything: all that
 * the authority sees is that lease after lease runs out.
 */
import type { Rules } from '../../../../src/kernel/index.ts'
import { Authority } from '../../../support/authority.ts'
import { plain } from '../../../support/specs.ts'
import { Ledger } from '../ledger.ts'
import type { Answer } from '../story.ts'
import { LEASE_MS, Worker } from '../worker.ts'

/** How many workers there are to lose. */
export const FLEET = 100

export interface Massacre {
  readonly authority: Authority
  readonly deaths: number
  /** What the last worker was told that asked for the job. */
  readonly lastAnswer: Answer
}

/** Worker after worker takes the job and dies of it, until it is not given out any more. */
export function everyWorkerDies(
  rules: Rules,
  { started }: { started: boolean },
  fleet = FLEET,
): Massacre {
  const authority = new Authority(rules)
  authority.must({ type: 'SubmitJob', spec: plain() })
  let deaths = 0
  let lastAnswer = 'committed'
  while (deaths < fleet && lastAnswer === 'committed') {
    const worker = new Worker(`worker-${deaths}`, authority, new Ledger())
    lastAnswer = worker.take({ started })
    if (lastAnswer !== 'committed') break
    deaths += 1
    authority.advance(LEASE_MS)
    authority.must({ type: 'ExpireLease' })
  }
  return { authority, deaths, lastAnswer }
}
