/**
 * The options that each call of the engine takes, by their names: others are refused BEFORE anything is sent.
 */
import type { ChildOptions, OptionNames } from '../definition/index.ts'
import { CHILD_NAMES, InvalidDefinition, KnownOptions } from '../definition/index.ts'
import type { WorkerOptions } from '../worker/index.ts'
import type { Actor } from './actor.ts'
import type { BackupOptions } from './artifacts/backup.ts'
import type { AnswerOptions, InboxFilter } from './messages/inbox.ts'
import type { SendOptions } from './messages/messages.ts'
import type { EraseOptions } from './operator/erasure.ts'
import type {
  DiscardOptions,
  EffectAnswer,
  ForceOptions,
  QueueOptions,
  RerunOptions,
  RescheduleOptions,
  RetryJobOptions,
} from './operator/operator.ts'
import type { TaskChoice } from './operator/operator-commands.ts'
import type { ExecutionsFilter } from './inspect/executions.ts'
import type { HistoryOptions } from './inspect/history.ts'
import type { LimitsFilter } from './inspect/limit-list.ts'
import type { SegmentsFilter } from './inspect/segments.ts'
import { assertWhole } from './whole-number.ts'
import type { RunScheduleOptions } from './schedule/run-now.ts'
import type { ScheduleOptions } from './schedule/terms.ts'

const ACTOR: OptionNames<Actor> = { by: true, reason: true }
const TASK: OptionNames<DiscardOptions> = { ...ACTOR, stage: true, segment: true, attempt: true }
const PAGE = { after: true, limit: true } as const

/** A page begins and ends where these say; undefined is as good as left out. */
const PLACES = ['after', 'limit']

export const CALL_OPTIONS = {
  actor: new KnownOptions<Actor>(ACTOR),
  inbox: new KnownOptions<InboxFilter>({
    for: true,
    type: true,
    job: true,
    after: true,
    limit: true,
  }),
  answer: new KnownOptions<AnswerOptions>({ ...ACTOR, stage: true, segment: true }),
  send: new KnownOptions<SendOptions>({ ...ACTOR, id: true, stage: true, segment: true }),
  task: new KnownOptions<DiscardOptions>(TASK),
  choice: new KnownOptions<TaskChoice>({ stage: true, segment: true }),
  retry: new KnownOptions<RetryJobOptions>({ ...TASK, input: true, definition: true }),
  force: new KnownOptions<ForceOptions>({ ...TASK, to: true, output: true }),
  reschedule: new KnownOptions<RescheduleOptions>({
    ...TASK,
    delay: true,
    at: true,
    priority: true,
    queue: true,
  }),
  rerun: new KnownOptions<RerunOptions>({
    ...ACTOR,
    id: true,
    from: true,
    steps: true,
    effects: true,
    input: true,
    definition: true,
  }),
  run: new KnownOptions<RunScheduleOptions>({ ...ACTOR, id: true }),
  erase: new KnownOptions<EraseOptions>({ ...ACTOR, copies: true }),
  effect: new KnownOptions<EffectAnswer>({
    ...ACTOR,
    stage: true,
    segment: true,
    outcome: true,
    start: true,
  }),
  queue: new KnownOptions<QueueOptions>({ concurrency: true, rate: true, ageing: true }),
  schedule: new KnownOptions<
    ChildOptions & ScheduleOptions & { readonly job: unknown; readonly input: unknown }
  >({
    // `at` and `delay` are refused with a reason of their own.
    ...CHILD_NAMES,
    cron: true,
    timezone: true,
    every: true,
    missed: true,
    start: true,
    end: true,
    job: true,
    input: true,
  }),
  backup: new KnownOptions<BackupOptions>({ artifacts: true }),
  history: new KnownOptions<HistoryOptions>({ ...PAGE, newest: true }),
  watch: new KnownOptions<{ readonly from?: number }>({ from: true }),
  submitMany: new KnownOptions<{ readonly tx?: unknown }>({ tx: true }),
  worker: new KnownOptions<WorkerOptions>({
    concurrency: true,
    name: true,
    queues: true,
    poll: true,
    shutdown: true,
    signals: true,
    isolation: true,
    modules: true,
    use: true,
  }),
} as const

const EXECUTIONS = new KnownOptions<ExecutionsFilter>({ stage: true, segment: true, ...PAGE })
export function assertExecutionsFilter(filter: unknown): void {
  EXECUTIONS.assertFilter(filter, 'executions()', [...PLACES, 'stage', 'segment'])
}

const SEGMENTS = new KnownOptions<SegmentsFilter>({ stage: true, state: true, ...PAGE })
export function assertSegmentsFilter(filter: unknown): void {
  SEGMENTS.assertFilter(filter, 'segments()', [...PLACES, 'state'])
  const { stage } = filter as SegmentsFilter
  if (typeof stage === 'string') return
  throw new InvalidDefinition('Say of which stage: segments(id, { stage }).')
}

const LIMITS = new KnownOptions<LimitsFilter>({ prefix: true, ...PAGE })
export function assertLimitsFilter(filter: LimitsFilter): void {
  LIMITS.assertFilter(filter, 'limits()', [...PLACES, 'prefix'])
  assertLimit(filter.limit)
}

export function assertLimit(limit: number | undefined): void {
  if (limit !== undefined) assertWhole(limit, 'The limit of a page')
}

export function assertJobId(id: unknown): void {
  if (typeof id === 'string') return
  throw new InvalidDefinition(
    `The id of a job is a text, not ${String(id)}: give the \`id\` of its handle.`,
  )
}
