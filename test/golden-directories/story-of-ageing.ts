/**
 * What was told when queues could age: a queue that does, one that does no more, and work of a
 * group that came back. It takes no time, because the first story knows what the time is.
 *
 * NEVER change it, as the others.
 */
import type { Command } from '../../src/kernel/index.ts'
import { plain } from '../support/specs.ts'
import type { Step } from './story.ts'

const execute = (...commands: Command[]): Step => ({ kind: 'execute', commands })

const onRecord = { by: 'Zoë', reason: '' }
const TASK = { job: 'came back', stage: 0, segment: 0 }

export const STORY_OF_AGEING: readonly Step[] = [
  execute({
    type: 'ConfigureQueue',
    queue: 'ages',
    concurrency: 3,
    rate: { count: 2, perMs: 1_000 },
    ageingMs: 600_000,
    ...onRecord,
  }),
  execute({
    type: 'ConfigureQueue',
    queue: 'young again',
    concurrency: null,
    rate: null,
    ageingMs: 1,
    ...onRecord,
  }),
  execute({
    type: 'ConfigureQueue',
    queue: 'young again',
    concurrency: null,
    rate: null,
    ageingMs: null,
    ...onRecord,
  }),
  execute({ type: 'SubmitJob', job: TASK.job, spec: plain({ group: 'a' }, { queue: 'ages' }) }),
  execute({ type: 'GrantLease', ...TASK, worker: 'w1', request: 2, started: true }),
  execute({ type: 'ReleaseLease', ...TASK, lease: 1, worker: 'w1' }),
]
