/**
 * FM_011: an approval arrives while the handler still works. It looked for one, found none, and is about to
 * wait: the approval must not be slept through.
 */
import type { Rules } from '../../../../src/kernel/index.ts'
import { Authority } from '../../../support/authority.ts'
import { plain } from '../../../support/specs.ts'
import { Ledger } from '../ledger.ts'
import type { Story } from '../story.ts'
import { answerOf } from '../story.ts'
import { approval } from '../waits.ts'
import { Worker } from '../worker.ts'

export interface LostMessage extends Story {
  readonly worker: Worker
}

export function theApprovalIsFirst(rules: Rules): LostMessage {
  const authority = new Authority(rules)
  const ledger = new Ledger()
  const worker = new Worker('worker', authority, ledger)

  authority.must({ type: 'SubmitJob', spec: plain() })
  worker.take()
  const sent = { type: 'SendMessage', id: 'm1', name: 'approval', value: '"yes"' } as const
  const send = answerOf(authority.send(sent))
  const suspend = worker.suspend(approval())
  return { authority, ledger, worker, answers: { send, suspend } }
}
