/**
 * A story that is told to a store while its disk fails: acts, one after the other, each made of
 * calls that are sent at the same moment.
 *
 * It fills segments, has a call that is larger than one, asks about what was just decided, and
 * is refused because of what was just decided. Jobs are reported on after they ended, are
 * forgotten, and their ids used again. In the middle a backup is made. The calls of an act are
 * about different jobs, but for those that only ask: these are sent last. Upkeep and a backup
 * are about everything: each is an act of its own.
 */
import type { Command } from '../../../src/kernel/index.ts'
import type { Query } from '../../../src/store/store.ts'
import { failure, onRecord, plain } from '../../support/specs.ts'
import type { ClaimRequest } from '../../../src/store/claim-request.ts'

export type Call =
  | { readonly kind: 'execute'; readonly commands: readonly Command[] }
  | { readonly kind: 'claim'; readonly request: ClaimRequest }
  | { readonly kind: 'query'; readonly query: Query }
  /** A command that is refused in any case, and told of what was decided before. */
  | { readonly kind: 'refused'; readonly command: Command }
  /** Asks what is to be done, and does it: jobs are forgotten. */
  | { readonly kind: 'upkeep' }
  | { readonly kind: 'backup' }
  | { readonly kind: 'checkpoint' }

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
/** Commits, and reports once more under the lease that is then over. */
const commitTwice = (job: string, worker: string): Command[] => [
  commit(job, worker),
  { type: 'ReleaseLease', ...report(job, worker) },
]
const commit = (job: string, worker: string): Command => ({
  type: 'CommitExecution',
  ...report(job, worker),
  output: '"out"',
  effects: [],
})

const UPKEEP: Act = [{ kind: 'upkeep' }]

export const STORY: readonly Act[] = [
  [execute(submit('a')), execute(submit('b')), ask('a')],
  [
    execute(
      {
        type: 'ConfigureQueue',
        queue: 'q',
        concurrency: 5,
        rate: null,
        ageingMs: null,
        ...onRecord,
      },
      { type: 'SetSchedule', schedule: 's', definition: 'hourly', seen: null, ...onRecord },
    ),
    execute(submit('c', 7_000)),
  ],
  [claim('w1', 1, 2)],
  [execute(...commitTwice('a', 'w1')), ask('a')],
  [execute(submit('d')), refused('d'), ask('d')],
  [
    execute({ type: 'FailTask', ...report('b', 'w1'), error: failure() }),
    execute(submit('e', 13_000)),
  ],
  UPKEEP,
  [claim('w2', 1, 1)],
  [{ kind: 'backup' }],
  [
    execute({ type: 'ReleaseLease', ...report('c', 'w2') }, submit('f', 1_200)),
    execute({ type: 'PauseQueue', queue: 'q', ...onRecord }),
    // The id of a job that is forgotten by now.
    execute(submit('a', 40, 1)),
    ask('a'),
  ],
  [claim('w3', 1, 1)],
  [execute(...commitTwice('a', 'w3'), submit('g', 4_000)), execute(submit('h', 4_000))],
  [{ kind: 'query', query: { kind: 'history', job: 'a', limit: 100 } }, claim('w4', 1, 1)],
  UPKEEP,
  [execute(submit('a', 60)), execute(submit('j')), ask('a')],
]

/**
 * For a store that does not keep its history: how much of it is left is no part of the story,
 * and there are enough checkpoints for segments to go while it is told.
 */
export const STORY_WITHOUT_HISTORY: readonly Act[] = STORY.flatMap((act, i) => {
  const rest = act.filter((call) => call.kind !== 'query' || call.query.kind !== 'history')
  return [3, 6, 9, 12].includes(i) ? [rest, [{ kind: 'checkpoint' }]] : [rest]
})

/** Shorter, for what is tried very often: a rotation, a commit, a read, a refusal, a second life. */
export const SHORT_STORY: readonly Act[] = [
  [execute(submit('a')), ask('a')],
  [execute(submit('c', 7_000))],
  [claim('w1', 1, 1)],
  [execute(...commitTwice('a', 'w1')), execute(submit('b')), refused('b')],
  UPKEEP,
  [execute(submit('d', 6_000)), execute(submit('a', 40)), ask('a')],
]
