/**
 * Told since what is submitted has the version of its definition: jobs of a later version, one
 * that is over, one that goes on, and a child of a third.
 *
 * NEVER change it, as the others.
 */
import type { Command } from '../../src/kernel/index.ts'
import { childId } from '../../src/kernel/index.ts'
import { pipeline, plain, promise, stage } from '../support/specs.ts'
import type { Step } from './story.ts'

const execute = (...commands: Command[]): Step => ({ kind: 'execute', commands })

const CHILD = plain({ type: 'child of a version', version: 300 })
const PARENT = { job: 'of version 2', stage: 0, segment: 0, effect: 0 }
const LEASE = { job: PARENT.job, stage: 0, segment: 0, lease: 1, worker: 'w1' }

export const STORY_OF_VERSIONS: readonly Step[] = [
  execute({ type: 'SubmitJob', job: PARENT.job, spec: plain({ version: 2, tags: ['new'] }) }),
  execute({
    type: 'SubmitJob',
    job: 'of the last version',
    spec: pipeline([stage('one', { version: 4 })], { version: Number.MAX_SAFE_INTEGER }),
  }),
  execute({
    type: 'GrantLease',
    job: PARENT.job,
    stage: 0,
    segment: 0,
    worker: 'w1',
    request: 1,
    started: true,
  }),
  execute({
    type: 'CommitExecution',
    ...LEASE,
    output: '1',
    effects: [promise({ name: 'child', idempotent: true, child: CHILD })],
  }),
  execute({ type: 'StartEffect', ...LEASE, effect: 0 }),
  execute({ type: 'SubmitJob', job: childId(PARENT), spec: { ...CHILD, parent: PARENT } }),
  execute({ type: 'FinishEffect', ...LEASE, effect: 0 }),
]
