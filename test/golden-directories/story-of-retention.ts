/**
 * What was told when jobs could say how long they are kept: one that is over, one that is not,
 * and a child that was promised. It takes no time, because the first story knows what the time is.
 *
 * NEVER change it, as the others.
 */
import type { Command } from '../../src/kernel/index.ts'
import { child, plain } from '../support/specs.ts'
import type { Step } from './story.ts'

const execute = (...commands: Command[]): Step => ({ kind: 'execute', commands })

const DAY = 86_400_000
const KEPT = { job: 'kept', stage: 0, segment: 0 }
const PARENT = { job: 'promises a kept one', stage: 0, segment: 0 }
const promised = child(plain({ type: 'kept child', retainMs: 7 * DAY }))

export const STORY_OF_RETENTION: readonly Step[] = [
  execute(
    { type: 'SubmitJob', job: KEPT.job, spec: plain({ retainMs: 90 * DAY }) },
    { type: 'GrantLease', ...KEPT, worker: 'w1', request: 3, started: true },
    {
      type: 'CommitExecution',
      ...KEPT,
      lease: 1,
      worker: 'w1',
      output: '"for a quarter"',
      effects: [],
    },
  ),
  execute({
    type: 'SubmitJob',
    job: 'kept not at all',
    spec: plain({ retainMs: 0, dueAt: 4_000_000_000_000 }),
  }),
  execute(
    { type: 'SubmitJob', job: PARENT.job, spec: plain() },
    { type: 'GrantLease', ...PARENT, worker: 'w1', request: 4, started: true },
    {
      type: 'CommitExecution',
      ...PARENT,
      lease: 1,
      worker: 'w1',
      output: 'null',
      effects: [promised],
    },
    { type: 'ReleaseLease', ...PARENT, lease: 1, worker: 'w1' },
  ),
]
