/**
 * FM_011: an approval arrives while the handler still works. It looked for one, found none, and is about to
 * wait: the approval must not be slept through.
 */
import type { Rules } from '../kernel/index.ts'
import { Authority } from './authority.ts'
import { plain } from './specs.ts'
import { DeedLedger } from './deed-ledger.ts'
import type { Story } from './story.ts'
import { answerOf } from './story.ts'
import { approval } from './approval-wait.ts'
import { StoryWorker } from './story-worker.ts'

export interface LostMessage extends Story {
  readonly worker: StoryWorker
}

export function theApprovalIsFirst(rules: Rules): LostMessage {
  const authority = new Authority(rules)
  const ledger = new DeedLedger()
  const worker = new StoryWorker('worker', authority, ledger)

  authority.must({ type: 'SubmitJob', spec: plain() })
  worker.take()
  const sent = { type: 'SendMessage', id: 'm1', name: 'approval', value: '"yes"' } as const
  const send = answerOf(authority.send(sent))
  const suspend = worker.suspend(approval())
  return { authority, ledger, worker, answers: { send, suspend } }
}
