/**
 * Jobs as text: a line of a table for each, or the facts of one.
 */
import type { JobInfo, JobListItem } from '../engine/index.ts'
import type { Styles } from './styles.ts'
import { stateText } from './styles.ts'
import type { TextColumn } from './table.ts'
import { factsText, plainText, timeText } from './table.ts'

/** Over HTTP, times are texts. */
type TimeValue = Date | string | null

type ListedJob = Pick<JobListItem, 'id' | 'type' | 'state' | 'queue' | 'attempt'> & {
  readonly submittedAt: TimeValue
  readonly error: { readonly message: string } | null
}

export const JOB_COLUMNS: readonly TextColumn<ListedJob>[] = [
  { title: 'job', of: ({ id }) => id, most: 40 },
  { title: 'type', of: ({ type }) => type, most: 24 },
  {
    title: 'state',
    of: ({ state }) => state,
    style: (styles, text, { state }) => text.replace(state, stateText(styles, state)),
  },
  { title: 'queue', of: ({ queue }) => queue, most: 16 },
  { title: 'tries', of: ({ attempt }) => attempt },
  { title: 'submitted', of: ({ submittedAt }) => when(submittedAt) },
  { title: 'error', of: ({ error }) => error?.message },
]

function when(time: TimeValue): string {
  return time === null ? '' : timeText(time).slice(0, 19)
}

function exactly(time: TimeValue): string {
  return time === null ? '' : timeText(time)
}

/** `exact`: as it is recorded, where that says more. */
function jsonText(value: unknown, exact: string | undefined): string | null {
  return exact ?? (value === undefined ? null : JSON.stringify(value))
}

export function jobFacts(styles: Styles, job: JobInfo): string {
  const { stages, effects, waits, exact = {} } = job
  const facts: (readonly [name: string, value: unknown])[] = [
    ['job', job.id],
    ['type', job.version === 1 ? job.type : `${job.type} (version ${job.version})`],
    ['queue', job.queue],
    ['priority', job.priority === 0 ? null : job.priority],
    ['key', job.key],
    ['group', job.group],
    ['tags', job.tags.join(', ')],
    ['input', jsonText(job.input, exact.input)],
    ['output', jsonText(job.output, exact.output)],
    ['error', job.lastError],
    ['tries', job.attempt],
    [
      'retries',
      job.maxRetries === null ? job.retryCount : `${job.retryCount} of ${job.maxRetries}`,
    ],
    ['submitted', exactly(job.submittedAt)],
    ['started', exactly(job.startedAt)],
    ['completed', exactly(job.completedAt)],
    ['deadline', exactly(job.deadlineAt)],
    [
      'cancelled',
      job.cancelled === null ? null : `by ${job.cancelled.by}: ${job.cancelled.reason}`,
    ],
    ['erased', job.erased === null ? null : `by ${job.erased.by}: ${job.erased.reason}`],
    ['parent', job.parent],
    ['rerun of', job.rerunOf],
    ['steps', job.steps.join(', ')],
    ['progress', exact.progress ?? job.progress],
    ...waits.map((wait) => ['waits', plainText(wait)] as const),
    ...effects.map(({ name, state }) => ['effect', `${name} ${state}`] as const),
  ]
  const head = `${styles.dim('state')}  ${stateText(styles, job.state)}`
  const lines = stages.map(({ name, state, segments, completed }) => {
    const progress = segments === null || segments === 1 ? '' : ` ${completed} of ${segments}`
    return `  ${plainText(name)}: ${state}${progress}`
  })
  return [head, factsText(styles, facts), ...(lines.length > 0 ? ['stages', ...lines] : [])].join(
    '\n',
  )
}
