/**
 * A story that is told to a store while its disk fails: acts, one after the other, each made of
 * calls that are sent at the same moment.
 *
 * It fills segments, has a call that is larger than one, asks about what was just decided, and
 * is refused because of what was just decided. The calls of an act are about different jobs,
 * but for those that only ask: these are sent last.
 */
import type { Command } from '../../src/kernel/index.ts'
import type { ClaimRequest, Query } from '../../src/store/store.ts'
import { failure, plain } from '../support/specs.ts'

export type Call =
  | { readonly kind: 'execute'; readonly commands: readonly Command[] }
  | { readonly kind: 'claim'; readonly request: ClaimRequest }
  | { readonly kind: 'query'; readonly query: Query }
  /** A command that is refused in any case, and told of what was decided before. */
  | { readonly kind: 'refused'; readonly command: Command }

export type Act = readonly Call[]

const execute = (...commands: Command[]): Call => ({ kind: 'execute', commands })
const ask = (job: string): Call => ({ kind: 'query', query: { kind: 'job', job } })
const submit = (job: string, bytes = 20, priority = 0): Command => ({
  type: 'SubmitJob',
  job,
  spec: plain({ input: JSON.stringify(job.repeat(bytes)), priority }),
})
const refused = (job: string): Call => ({
  kind: 'refused',
  command: { type: 'StopTask', job, stage: 0, segment: 0 },
})
const claim = (worker: string, request: number, max: number): Call => ({
  kind: 'claim',
  request: {
    worker,
    request,
    max,
    started: true,
    channels: [{ queue: 'default', type: 'test', stage: null }],
  },
})
const report = (job: string, worker: string, lease = 1) =>
  ({ job, stage: 0, segment: 0, lease, worker }) as const
const commit = (job: string, worker: string): Command => ({
  type: 'CommitExecution',
  ...report(job, worker),
  output: '"out"',
  effects: [],
})
const onRecord = { by: 'ops', reason: 'because' }

export const STORY: readonly Act[] = [
  [execute(submit('a')), execute(submit('b')), ask('a')],
  [
    execute(
      { type: 'ConfigureQueue', queue: 'q', concurrency: 5, rate: null },
      { type: 'SetSchedule', schedule: 's', definition: 'hourly' },
    ),
    execute(submit('c', 7_000)),
  ],
  [claim('w1', 1, 2)],
  [execute(commit('a', 'w1')), ask('a')],
  [execute(submit('d')), refused('d'), ask('d')],
  [
    execute({ type: 'FailTask', ...report('b', 'w1'), error: failure() }),
    execute(submit('e', 13_000)),
  ],
  [claim('w2', 1, 1)],
  [
    execute({ type: 'ReleaseLease', ...report('c', 'w2') }, submit('f', 1_200)),
    execute({ type: 'PauseQueue', queue: 'q', ...onRecord }),
  ],
  [execute(submit('g', 4_000)), execute(submit('h', 4_000)), execute(submit('i', 4_000))],
  [{ kind: 'query', query: { kind: 'history', job: 'a', limit: 100 } }, claim('w3', 1, 1)],
  [execute(submit('j'))],
]

/** Shorter, for what is tried very often: a rotation, a commit, a read, a refusal. */
export const SHORT_STORY: readonly Act[] = [
  [execute(submit('a')), ask('a')],
  [execute(submit('c', 7_000))],
  [execute(submit('b')), refused('b')],
  [claim('w1', 1, 1)],
  [execute(submit('d', 6_000))],
  [execute(commit('a', 'w1')), ask('a')],
]
