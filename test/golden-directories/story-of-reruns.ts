/**
 * What was told when jobs that are run again could say who wanted that: one that is over, one that
 * goes on, a pipeline, and a child. It takes no time, because the first story knows what the time is.
 *
 * NEVER change it, as the others.
 */
import type { Command } from '../../src/kernel/index.ts'
import { child, pipeline, plain, stage } from '../support/specs.ts'
import type { Step } from './story.ts'

const execute = (...commands: Command[]): Step => ({ kind: 'execute', commands })

const AGAIN = { rerunOf: 'failed', asked: { by: 'Zoë', reason: 'the disk is whole again' } }
const TASK = { job: 'again', stage: 0, segment: 0 }
const LEASE = { ...TASK, lease: 1, worker: 'w1' }
const effects = [child(plain({ type: 'child of one run again', ...AGAIN }))]

export const STORY_OF_RERUNS: readonly Step[] = [
  execute(
    { type: 'SubmitJob', job: 'again and over', spec: plain(AGAIN) },
    { type: 'CancelJob', job: 'again and over', by: 'Zoë', reason: 'it was not' },
    { type: 'SubmitJob', job: TASK.job, spec: plain({ ...AGAIN, retainMs: 0, version: 2 }) },
    { type: 'GrantLease', ...TASK, worker: 'w1', request: 4, started: true },
    { type: 'CommitExecution', ...LEASE, output: '1', effects },
  ),
  execute({
    type: 'SubmitJob',
    job: 'stages again',
    spec: pipeline([stage('one')], { rerunOf: 'failed', asked: { by: 'w', reason: '' } }),
  }),
]
