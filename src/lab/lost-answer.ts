/**
 * FM_004: the authority wrote it down and answered, but the answer was lost on the way. Whoever
 * asked hears nothing, and asks again.
 */
import type { Rules } from '../kernel/index.ts'
import { Authority } from './authority.ts'
import { plain, promise } from './specs.ts'
import { DeedLedger } from './deed-ledger.ts'
import type { Story } from './story.ts'
import { answerOf } from './story.ts'
import { StoryWorker } from './story-worker.ts'

/** The answer to a commit is lost. The worker acts on the one that it hears. */
export function theCommitIsRepeated(rules: Rules): Story {
  const authority = new Authority(rules)
  const ledger = new DeedLedger()
  const worker = new StoryWorker('worker', authority, ledger)

  authority.must({ type: 'SubmitJob', spec: plain() })
  worker.take()
  const answers = { lost: worker.commit({ heard: false }), heard: worker.commit() }
  return { authority, ledger, answers }
}

/** The answer to a submit is lost. A client that hears that the id is taken uses another one. */
export function theSubmitIsRepeated(rules: Rules): Story {
  const authority = new Authority(rules)
  const ledger = new DeedLedger()
  const submit = (job: string): string =>
    answerOf(authority.send({ type: 'SubmitJob', job, spec: plain() }))

  const answers = { lost: submit('order'), heard: submit('order') }
  if (answers.heard !== 'committed') submit('order-2')
  for (const job of authority.world.jobs.keys()) {
    const worker = new StoryWorker(`worker of ${job}`, authority, ledger)
    worker.take({ job })
    worker.commit()
  }
  return { authority, ledger, answers }
}

/** The answer to the end of an effect is lost. */
export function theFinishIsRepeated(rules: Rules): Story {
  const authority = new Authority(rules)
  const ledger = new DeedLedger()
  const worker = new StoryWorker('worker', authority, ledger)

  authority.must({ type: 'SubmitJob', spec: plain() })
  worker.take()
  worker.commit({ effects: [promise({ name: 'charge' })] })
  worker.perform(0)
  const answers = { lost: worker.finish(0), heard: worker.finish(0) }
  return { authority, ledger, answers }
}
