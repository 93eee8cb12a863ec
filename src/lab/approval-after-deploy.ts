/**
 * FM_014: a job waits for an approval. A new version is deployed, which asks for an amount, too. A person who
 * still has the old form on the screen approves. In a second story a worker of the old version, not yet
 * replaced, takes the job.
 */
import type { Rules } from '../kernel/index.ts'
import { Authority } from './authority.ts'
import { plain } from './specs.ts'
import { DeedLedger } from './deed-ledger.ts'
import type { Story } from './story.ts'
import { answerOf } from './story.ts'
import { approval } from './approval-wait.ts'
import { StoryWorker } from './story-worker.ts'

export const OLD_FORM = '{"required":["ok"]}'
export const NEW_FORM = '{"required":["ok","amount"]}'

export function approve(authority: Authority, checked: string, value: string): string {
  const message = { type: 'SendMessage', id: value, name: 'approval', value, checked } as const
  return answerOf(authority.send(message))
}

/** The job waits with the new form: its handler ran again under the new version. */
export function theFormIsOld(rules: Rules): Story {
  const authority = new Authority(rules)
  const ledger = new DeedLedger()
  const worker = new StoryWorker('worker', authority, ledger)

  authority.must({ type: 'SubmitJob', spec: plain() })
  worker.take()
  worker.suspend(approval(NEW_FORM))
  const sent = approve(authority, OLD_FORM, '{"ok":true}')
  return { authority, ledger, answers: { approve: sent } }
}

/** Version 2 has recorded the wait, and a worker of version 1 wants to wait for something else under its name. */
export function theWorkerIsOld(rules: Rules): Story {
  const authority = new Authority(rules)
  const ledger = new DeedLedger()
  const worker = new StoryWorker('worker', authority, ledger)

  authority.must({ type: 'SubmitJob', spec: plain() })
  worker.take()
  const waits = [approval(NEW_FORM, 1_000)]
  const lease = { lease: 1, worker: 'worker', definitionVersion: 2 }
  authority.must({ type: 'SuspendExecution', ...lease, waits })
  authority.now += 1_000
  authority.must({ type: 'GrantLease', worker: 'old', request: 1, started: true })
  const old = { lease: 2, worker: 'old', definitionVersion: 1 }
  const again = { ...approval(OLD_FORM), name: 'again' }
  const suspend = answerOf(authority.send({ type: 'SuspendExecution', ...old, waits: [again] }))
  return { authority, ledger, answers: { suspend } }
}
