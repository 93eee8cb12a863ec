/**
 * What operations answer, as text: tables of what is listed, facts of what is single.
 */
import type {
  AcceptedAction,
  CountedJobs,
  Counts,
  ExecutionInfo,
  Explanation,
  HistoryItem,
  InboxItem,
  JobInfo,
  JobListItem,
  LimitListItem,
  QuarantineGroup,
  QuarantineItem,
  QueueListItem,
  ScheduleInfo,
  SegmentListItem,
  StreamItem,
  WorkerInfo,
} from '../../engine/index.ts'
import type { Operation } from '../../protocol/index.ts'
import { figuresText } from './figures-text.ts'
import { jobFacts, JOB_COLUMNS } from '../job-text.ts'
import type { Styles } from '../styles.ts'
import { stateText } from '../styles.ts'
import type { TextColumn } from '../table.ts'
import { factsText, plainText, tableText, timeText } from '../table.ts'

/** What an operation answers: an object. */
export type OperationAnswer = Readonly<Record<string, unknown>>

/** An entry of the log, as `past.entries` has it. */
interface PastEntry {
  readonly position: number
  readonly at: Date | string
  readonly type: string
  readonly job: string | null
  readonly by: string | null
}

/** The lists of an answer, and how their items are shown. */
interface Listing {
  readonly property: string
  readonly columns: readonly TextColumn<never>[]
}

function columns<T>(...all: readonly TextColumn<T>[]): readonly TextColumn<never>[] {
  return all
}

function seconds(time: Date | string | null): string {
  return time === null ? '' : timeText(time).slice(0, 19)
}

function howOf(action: AcceptedAction): string {
  if (action.action === 'force') return `to ${action.to.join(', ')}`
  if (action.action === 'resolve') {
    const which = action.effects.map(({ effect, start }) => `${effect} (start ${start})`)
    return `effects ${which.join(', ')}`
  }
  if (action.action !== 'rerun' || action.from.length === 0) return ''
  return `${action.isWhole ? 'as a whole, or ' : ''}from ${action.from.join(', ')}`
}

function countOf(states: Readonly<Record<string, number>>, state: string): number {
  return states[state] ?? 0
}

const JOBS: Listing = { property: 'jobs', columns: columns<JobListItem>(...JOB_COLUMNS) }

const LISTINGS: Readonly<Record<string, Listing>> = {
  'jobs.list': JOBS,
  'past.list': JOBS,
  'jobs.history': {
    property: 'items',
    columns: columns<HistoryItem>(
      { title: 'position', of: ({ position }) => position },
      { title: 'time', of: ({ at }) => timeText(at).slice(0, 23) },
      { title: 'what', of: ({ type }) => type },
      {
        title: 'state',
        of: ({ to }) => to,
        style: (s, text, { to }) => text.replace(to ?? '', stateText(s, to ?? '')),
      },
      { title: 'by', of: ({ by }) => by, most: 30 },
      { title: 'why', of: ({ reason }) => reason },
    ),
  },
  'past.entries': {
    property: 'entries',
    columns: columns<PastEntry>(
      { title: 'position', of: ({ position }) => position },
      { title: 'time', of: ({ at }) => timeText(at).slice(0, 23) },
      { title: 'what', of: ({ type }) => type },
      { title: 'job', of: ({ job }) => job, most: 40 },
      { title: 'by', of: ({ by }) => by, most: 30 },
    ),
  },
  'jobs.executions': {
    property: 'executions',
    columns: columns<ExecutionInfo>(
      {
        title: 'stage',
        of: ({ stage, segment }) =>
          stage === null ? '-' : `${stage}${segment === null ? '' : ` ${segment}`}`,
      },
      { title: 'try', of: ({ attempt }) => attempt },
      { title: 'status', of: ({ status }) => status },
      { title: 'worker', of: ({ worker }) => worker, most: 30 },
      { title: 'leased', of: ({ leasedAt }) => seconds(leasedAt) },
      { title: 'ended', of: ({ finishedAt }) => seconds(finishedAt) },
      { title: 'why', of: ({ error, reason }) => error?.message ?? reason },
    ),
  },
  'jobs.segments': {
    property: 'segments',
    columns: columns<SegmentListItem>(
      { title: 'segment', of: ({ segment }) => segment },
      { title: 'state', of: ({ state, isSuspended }) => (isSuspended ? 'SUSPENDED' : state) },
      { title: 'try', of: ({ attempt }) => attempt },
      { title: 'worker', of: ({ worker }) => worker, most: 30 },
      { title: 'leased', of: ({ leasedAt }) => seconds(leasedAt) },
      { title: 'ended', of: ({ endedAt }) => seconds(endedAt) },
      { title: 'error', of: ({ error }) => error?.message },
    ),
  },
  'jobs.actions': {
    property: 'actions',
    columns: columns<AcceptedAction>(
      { title: 'action', of: ({ action }) => action },
      { title: 'how', of: howOf },
    ),
  },
  'quarantine.list': {
    property: 'jobs',
    columns: columns<QuarantineItem>(
      { title: 'job', of: ({ id }) => id, most: 40 },
      { title: 'type', of: ({ type }) => type, most: 24 },
      { title: 'since', of: ({ since }) => seconds(since) },
      { title: 'code', of: ({ code }) => code, most: 24 },
      { title: 'to resolve', of: ({ held }) => held.map(placeOfEffect).join(', ') },
      { title: 'error', of: ({ message }) => message },
    ),
  },
  'quarantine.groups': {
    property: 'groups',
    columns: columns<QuarantineGroup>(
      { title: 'jobs', of: ({ count }) => count },
      { title: 'type', of: ({ type }) => type, most: 24 },
      { title: 'fingerprint', of: ({ fingerprint }) => fingerprint },
      { title: 'newest', of: ({ newest }) => seconds(newest) },
      { title: 'error', of: ({ message }) => message },
    ),
  },
  'queues.list': {
    property: 'queues',
    columns: columns<QueueListItem>(
      { title: 'queue', of: ({ name }) => name, most: 30 },
      { title: 'paused', of: ({ pausedAt }) => seconds(pausedAt) || 'no' },
      { title: 'queued', of: ({ states, segments }) => countOf(states, 'QUEUED') + segments.ready },
      {
        title: 'running',
        of: ({ states, segments }) => countOf(states, 'RUNNING') + segments.running,
      },
      { title: 'retrying', of: ({ states }) => countOf(states, 'RETRYING') },
      { title: 'quarantined', of: ({ states }) => countOf(states, 'QUARANTINED') },
      { title: 'at once', of: ({ concurrency }) => concurrency },
      { title: 'rate', of: ({ rate }) => (rate === null ? null : `${rate.count}/${rate.perMs}ms`) },
    ),
  },
  'limits.list': {
    property: 'limits',
    columns: columns<LimitListItem>(
      { title: 'limit', of: ({ key }) => key, most: 60 },
      { title: 'held', of: ({ held }) => held },
      { title: 'at once', of: ({ bounds }) => bounds?.concurrency },
      {
        title: 'rate',
        of: ({ bounds }) =>
          bounds?.rate == null ? null : `${bounds.rate.count}/${bounds.rate.perMs}ms`,
      },
      { title: 'whole at', of: ({ wholeAt }) => seconds(wholeAt) },
    ),
  },
  'schedules.list': {
    property: 'schedules',
    columns: columns<ScheduleInfo>(
      { title: 'schedule', of: ({ id }) => id, most: 30 },
      { title: 'job', of: ({ type }) => type, most: 24 },
      {
        title: 'when',
        of: ({ cron, everyMs }) => cron ?? (everyMs === null ? '' : `every ${everyMs} ms`),
      },
      { title: 'next', of: ({ nextTime }) => seconds(nextTime) },
      { title: 'last', of: ({ lastTime }) => seconds(lastTime) },
      { title: 'paused', of: ({ paused }) => (paused === null ? 'no' : `by ${paused.by}`) },
    ),
  },
  'workers.list': {
    property: 'workers',
    columns: columns<WorkerInfo>(
      { title: 'worker', of: ({ id }) => id, most: 36 },
      { title: 'host', of: ({ host }) => host, most: 20 },
      { title: 'pid', of: ({ pid }) => pid },
      {
        title: 'busy',
        of: ({ used, free, isDraining }) =>
          isDraining ? `${used}, draining` : `${used} of ${used + free}`,
      },
      { title: 'holds', of: ({ held }) => held },
      { title: 'heard', of: ({ heardAt }) => seconds(heardAt) },
      {
        title: 'serves',
        of: ({ serves }) => [...new Set(serves.map(({ type }) => type))].join(', '),
      },
    ),
  },
  'inbox.list': {
    property: 'questions',
    columns: columns<InboxItem>(
      { title: 'job', of: ({ job }) => job, most: 40 },
      { title: 'question', of: ({ name }) => name, most: 24 },
      { title: 'asks', of: ({ ask }) => ask },
      { title: 'for', of: (one) => one.for.join(', '), most: 24 },
      { title: 'since', of: ({ since }) => seconds(since) },
    ),
  },
  'jobs.stream': {
    property: 'items',
    columns: columns<Pick<StreamItem, 'offset' | 'at' | 'value' | 'exact'>>(
      { title: 'offset', of: ({ offset }) => offset },
      { title: 'time', of: ({ at }) => timeText(at).slice(0, 23) },
      { title: 'value', of: ({ value, exact }) => exact?.value ?? value, most: 200 },
    ),
  },
}

/** What `-o jsonl` prints a line of for each. */
export function itemsOf(
  { name }: Operation,
  answer: OperationAnswer,
): readonly unknown[] | undefined {
  const property = LISTINGS[name]?.property ?? (name === 'counts' ? 'groups' : undefined)
  const found = property === undefined ? undefined : answer[property]
  return Array.isArray(found) ? (found as unknown[]) : undefined
}

function statesText(styles: Styles, { total, states }: CountedJobs): string {
  const some = Object.entries(states).filter(([, count]) => count > 0)
  const told = some.map(([state, count]) => `${stateText(styles, state)} ${count}`)
  return [`${total} jobs`, ...told].join('  ')
}

/** As `pawl resolve` wants it. */
function placeOfEffect(held: QuarantineItem['held'][number]): string {
  const { name, effect, start, stage, segment } = held
  const where = stage === null ? '' : `, ${stage} ${segment}`
  return `${name} (${effect}${where}, start ${start})`
}

function explainText(styles: Styles, { job, state, isRunnable, reasons }: Explanation): string {
  const head = `${job}  ${stateText(styles, state)}${isRunnable ? '  it could run now' : ''}`
  const lines = reasons.map(({ stage, message, until }) => {
    const where = stage === null ? '' : `${stage}: `
    return `- ${where}${plainText(message)}${until === null ? '' : ` (until ${seconds(until)})`}`
  })
  return [head, ...lines].join('\n')
}

function countsText(styles: Styles, counts: Counts): string {
  const groups = counts.groups.map(
    (one) => `${one.name ?? '(pipelines)'}: ${statesText(styles, one)}`,
  )
  return [statesText(styles, counts), ...groups.map((line) => `  ${line}`)].join('\n')
}

/** Of one thing. */
const TEXTS: Readonly<Record<string, (styles: Styles, answer: never) => string>> = {
  'jobs.show': (styles, answer: JobInfo) => jobFacts(styles, answer),
  'past.show': (styles, answer: JobInfo) => jobFacts(styles, answer),
  'jobs.explain': explainText,
  'jobs.submit': (_, { job }: { readonly job: string }) => job,
  'jobs.rerun': (_, { job }: { readonly job: string }) => job,
  'schedules.run': (_, { job }: { readonly job: string }) => job,
  counts: countsText,
  figures: figuresText,
  'past.counts': (styles, answer: CountedJobs) => statesText(styles, answer),
}

export function outputText(styles: Styles, operation: Operation, answer: OperationAnswer): string {
  const { name, changes } = operation
  const text = TEXTS[name]
  if (text !== undefined) return text(styles, answer as never)
  const listing = LISTINGS[name]
  if (listing !== undefined) {
    const items = answer[listing.property] as readonly never[]
    return items.length === 0 ? styles.dim('none') : tableText(styles, listing.columns, items)
  }
  if (Object.keys(answer).length === 0) return changes ?? 'Done.'
  const { exact, ...facts } = answer
  return factsText(styles, Object.entries({ ...facts, ...(exact as object | undefined) }))
}
