/**
 * What can be done to all jobs that a filter lets through: each begins with a preview, and says how far it is.
 */
import type { JobState } from '../../../kernel/index.ts'
import type { Action, ActionField } from '../action.ts'
import { action, RATE_FIELD } from '../action.ts'
import { serverNow } from '../clock.ts'
import { countText } from '../duration-text.ts'
import type { RouteParameters } from '../route.ts'
import { scopeInUse } from '../session.ts'
import type { AskedJobs } from './filter-text.ts'
import { filterIn, filterText } from './filter-text.ts'
import { countsBy } from './job-counts.ts'

interface BulkWords extends Pick<Action, 'lacks'> {
  readonly title: string
  readonly says: string
  /** What a job must be; others are passed over. */
  readonly from: readonly JobState[]
  readonly to: string
  readonly fields?: readonly ActionField[]
}

const OPEN = ['CREATED', 'QUEUED', 'RUNNING', 'SUSPENDED', 'RETRYING', 'QUARANTINED'] as const

const TERMS_OF_RESCHEDULE: ReadonlySet<string> = new Set(['delay', 'toQueue', 'priority'])

const BULK: Readonly<Record<string, BulkWords>> = {
  cancel: {
    title: 'Cancel',
    says: 'Each job is cancelled; handlers that run are told.',
    from: OPEN,
    to: 'FAILED',
  },
  retry: {
    title: 'Retry',
    says: 'Each job in quarantine gets a fresh budget and is tried again.',
    from: ['QUARANTINED'],
    to: 'QUEUED',
  },
  discard: {
    title: 'Discard',
    says: 'Each job in quarantine is given up for good.',
    from: ['QUARANTINED'],
    to: 'FAILED',
  },
  reschedule: {
    title: 'Reschedule',
    says: 'Each job that waits is due then, or stands in that queue, or has that priority. What is empty stays as it is.',
    from: ['CREATED', 'QUEUED', 'RETRYING'],
    to: 'due then',
    fields: [
      { name: 'delay', label: 'Due in', kind: 'text', hint: 'Such as 0s, 5m, 2h.' },
      { name: 'toQueue', label: 'To queue', kind: 'text' },
      { name: 'priority', label: 'Priority', kind: 'number', hint: 'Higher is sooner.' },
    ],
    lacks: (values) =>
      Object.keys(values).some((name) => TERMS_OF_RESCHEDULE.has(name))
        ? null
        : 'Say when they are due, to which queue they go, or which priority they have.',
  },
  rerun: {
    title: 'Run again',
    says: 'Each job that is over is run again, as a new job.',
    from: ['SUCCEEDED', 'FAILED'],
    to: 'a new job each',
    fields: [
      {
        name: 'name',
        label: 'Name of this run',
        kind: 'text',
        hint: 'A job is run again once under a name.',
      },
      {
        name: 'effects',
        label: 'Effects',
        kind: ['again'],
        hint: 'Again: effects of such jobs happen once more. Empty: jobs with effects are left as they are.',
      },
    ],
    lacks: ({ name }) => (name === undefined ? 'Give this run a name.' : null),
  },
}

/** Of the states that the action is for: how many there are, if the store counts them by such a filter. */
async function changesOf(
  { from, to }: BulkWords,
  filter: AskedJobs,
  ended: AbortSignal,
): Promise<readonly string[]> {
  const counts = await countsBy(filter, ended)
  return from
    .filter((one) => filter.state === undefined || filter.state === one)
    .flatMap((one) => {
      const count = counts?.states[one]
      if (count === 0) return []
      return [`${count === undefined ? '' : `${countText(count)} `}${one} → ${to}`]
    })
}

/** Which jobs are meant, with what the reader's token is held to. */
function scopedText(parameters: RouteParameters): string {
  const said = Object.entries(parameters).filter(([, value]) => value !== '')
  return filterText({ ...scopeInUse(), ...Object.fromEntries(said) })
}

function bulkAction(kind: string, parameters: RouteParameters): Action {
  const filter = filterIn(parameters, serverNow())
  const text = scopedText(parameters)
  const words = BULK[kind] as BulkWords
  const input = {
    action: kind,
    ...filter,
    ...(text === '' ? { all: true } : {}),
  }
  return {
    title: `${words.title} all jobs that match`,
    says: `${words.says} ${text === '' ? 'There is no filter: all jobs are meant.' : ''}`.trim(),
    operation: 'bulk.run',
    input,
    isGrave: true,
    preview: {
      operation: 'bulk.preview',
      input,
      filter: text,
      changes: (ended) => changesOf(words, filter, ended),
    },
    progress: 'bulk.events',
    fields: [...(words.fields ?? []), RATE_FIELD],
    ...(words.lacks === undefined ? {} : { lacks: words.lacks }),
  }
}

export function BulkBar({ parameters }: { readonly parameters: RouteParameters }) {
  const state = parameters['state']
  const fitting = Object.entries(BULK).filter(
    ([, { from }]) => state === undefined || (from as readonly string[]).includes(state),
  )
  return (
    <div class="buttons bulk" role="group" aria-label="All jobs that match">
      <span class="aside">All that match:</span>
      {fitting.map(([kind, { title }]) => (
        <button
          key={kind}
          type="button"
          class="small"
          onClick={() => {
            action.value = bulkAction(kind, parameters)
          }}
        >
          {title}…
        </button>
      ))}
    </div>
  )
}
