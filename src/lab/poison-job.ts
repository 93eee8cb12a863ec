/**
 * FM_006: a job that kills its worker each time. No worker lives to report anything: all that
 * the authority sees is that lease after lease runs out.
 */
import type { Rules } from '../kernel/index.ts'
import { Authority } from './authority.ts'
import { plain } from './specs.ts'
import { DeedLedger } from './deed-ledger.ts'
import type { ToldAnswer } from './story.ts'
import { LEASE_MS, StoryWorker } from './story-worker.ts'

/** How many workers there are to lose. */
export const FLEET = 100

export interface Massacre {
  readonly authority: Authority
  readonly deaths: number
  /** What the last worker was told that asked for the job. */
  readonly lastAnswer: ToldAnswer
}

/** StoryWorker after worker takes the job and dies of it, until it is not given out any more. */
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
    const worker = new StoryWorker(`worker-${deaths}`, authority, new DeedLedger())
    lastAnswer = worker.take({ started })
    if (lastAnswer !== 'committed') break
    deaths += 1
    authority.advance(LEASE_MS)
    authority.must({ type: 'ExpireLease' })
  }
  return { authority, deaths, lastAnswer }
}
