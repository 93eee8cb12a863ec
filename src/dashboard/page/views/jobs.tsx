/**
 * Jobs by a filter, which is kept in the address: a page at a time, newest or oldest first. What the store counts by itself
 * stands beside the states; nothing else is counted.
 */
import { useState } from 'preact/hooks'
import type { OperationInput } from '../../../protocol/index.ts'
import type { Action } from '../action.ts'
import { action } from '../action.ts'
import type { AnswerOf } from '../api.ts'
import { call, CallRefused } from '../api.ts'
import { countText } from '../duration-text.ts'
import { useLive } from '../live.ts'
import {
  Cell,
  Empty,
  JobLink,
  Problem,
  State,
  STATES,
  Table,
  Text,
  Time,
  Waiting,
} from '../parts.tsx'
import type { RouteParameters } from '../route.ts'
import { goTo, linkTo } from '../route.ts'
import { may } from '../session.ts'

const PAGE = 50
const TEXTS = ['type', 'queue', 'tag', 'key', 'group', 'worker', 'error'] as const
const TIMES = ['submittedFrom', 'submittedBefore', 'completedFrom', 'completedBefore'] as const
const LABELS: Readonly<Record<(typeof TEXTS)[number] | (typeof TIMES)[number], string>> = {
  type: 'Type',
  queue: 'Queue',
  tag: 'Tag',
  key: 'Key',
  group: 'Group',
  worker: 'Worker that has it',
  error: 'Error (its fingerprint)',
  submittedFrom: 'Submitted from',
  submittedBefore: 'Submitted before',
  completedFrom: 'Over from',
  completedBefore: 'Over before',
}

type Filter = Omit<OperationInput<'jobs.list'>, 'after' | 'limit' | 'order'>

/** What stands in the address, as the server takes it. */
export function filterIn(parameters: RouteParameters): Filter {
  const filter: Record<string, unknown> = {}
  for (const name of ['state', ...TEXTS]) if (parameters[name]) filter[name] = parameters[name]
  for (const name of TIMES) {
    const time = Date.parse(parameters[name] ?? '')
    if (!Number.isNaN(time)) filter[name] = time
  }
  return filter
}

interface FoundJobs {
  readonly page: AnswerOf<'jobs.list'>
  /** Null: the store keeps no counts by such a filter. */
  readonly counts: AnswerOf<'counts'> | null
}

async function find(parameters: RouteParameters, ended: AbortSignal): Promise<FoundJobs> {
  const { after, order } = parameters
  const filter = filterIn(parameters)
  const given = {
    ...filter,
    order: order === 'oldest' ? 'oldest' : 'newest',
    limit: PAGE,
    ...(after === undefined ? {} : { after: Number(after) }),
  } as const
  const [page, counts] = await Promise.all([
    call('jobs.list', given, ended),
    countsBy(filter, ended),
  ])
  return { page, counts }
}

/** Counts are kept by one property at a time. */
async function countsBy(filter: Filter, ended: AbortSignal): Promise<AnswerOf<'counts'> | null> {
  const { state: _, ...others } = filter
  const names = Object.keys(others)
  const isKept = names.every((name) => ['type', 'queue', 'tag', 'error'].includes(name))
  if (!isKept || names.length > 1 || !may('counts')) return null
  try {
    return await call('counts', others as OperationInput<'counts'>, ended)
  } catch (error) {
    if (error instanceof CallRefused) return null
    throw error
  }
}

export function JobsView({ parameters }: { readonly parameters: RouteParameters }) {
  const key = JSON.stringify(parameters)
  const { data, problem } = useLive(key, (ended) => find(parameters, ended))
  return (
    <>
      <FilterBar key={key} parameters={parameters} />
      <StateTabs parameters={parameters} counts={data?.counts ?? null} />
      <Problem problem={problem} />
      {data === null ? (
        problem === null && <Waiting />
      ) : (
        <Page data={data} parameters={parameters} />
      )}
      {may('bulk.run') && <BulkBar parameters={parameters} />}
    </>
  )
}

function StateTabs({
  parameters,
  counts,
}: {
  readonly parameters: RouteParameters
  readonly counts: AnswerOf<'counts'> | null
}) {
  const { after: _, state: current = '', ...others } = parameters
  return (
    <nav class="tabs" aria-label="States">
      <ul>
        {['', ...STATES].map((state) => {
          const count =
            counts === null
              ? null
              : state === ''
                ? counts.total
                : counts.states[state as keyof typeof counts.states]
          return (
            <li key={state}>
              <a
                href={linkTo('jobs', { ...others, state })}
                aria-current={state === current ? 'true' : undefined}
              >
                {state === '' ? 'All' : <State state={state} />}
                {count !== null && <span class="count"> {countText(count)}</span>}
              </a>
            </li>
          )
        })}
      </ul>
    </nav>
  )
}

/** Names that the store knows, for suggestions. */
function useNames(by: 'type' | 'queue' | 'tag'): readonly string[] {
  const ask = async (ended: AbortSignal): Promise<readonly string[]> => {
    if (!may('counts')) return []
    const { groups } = await call('counts', { by, limit: 200 }, ended)
    return groups.flatMap(({ name }) => (name === null ? [] : [name]))
  }
  return useLive(by, ask, 60_000).data ?? []
}

function FilterBar({ parameters }: { readonly parameters: RouteParameters }) {
  const [given, setGiven] = useState<RouteParameters>(parameters)
  const [id, setId] = useState('')
  const names = { type: useNames('type'), queue: useNames('queue'), tag: useNames('tag') }
  const set = (name: string) => (event: { currentTarget: { value: string } }) =>
    setGiven({ ...given, [name]: event.currentTarget.value })
  const submit = (event: Event): void => {
    event.preventDefault()
    const { after: _, ...others } = given
    if (id.trim() !== '') goTo('job', { id: id.trim() })
    else goTo('jobs', others)
  }
  const isMore = [...TEXTS.slice(3), ...TIMES].some((name) => parameters[name] !== undefined)
  return (
    <form class="filter" onSubmit={submit} role="search" aria-label="Filter jobs">
      <div class="fields">
        {TEXTS.slice(0, 3).map((name) => (
          <label key={name}>
            {LABELS[name]}
            <input value={given[name] ?? ''} list={`names-${name}`} onInput={set(name)} />
            <datalist id={`names-${name}`}>
              {names[name as keyof typeof names].map((one) => (
                <option key={one} value={one} />
              ))}
            </datalist>
          </label>
        ))}
        <label>
          Order
          <select value={given['order'] ?? 'newest'} onChange={set('order')}>
            <option value="newest">Newest first</option>
            <option value="oldest">Oldest first</option>
          </select>
        </label>
        <label>
          Go to the job with this id
          <input value={id} onInput={(event) => setId(event.currentTarget.value)} />
        </label>
      </div>
      <details open={isMore}>
        <summary>More filters</summary>
        <div class="fields">
          {TEXTS.slice(3).map((name) => (
            <label key={name}>
              {LABELS[name]}
              <input value={given[name] ?? ''} onInput={set(name)} />
            </label>
          ))}
          {TIMES.map((name) => (
            <label key={name}>
              {LABELS[name]}
              <input type="datetime-local" value={given[name] ?? ''} onInput={set(name)} />
            </label>
          ))}
        </div>
      </details>
      <div class="buttons">
        <button type="submit" class="main">
          Show
        </button>
        <a class="button" href={linkTo('jobs')}>
          Clear
        </a>
      </div>
    </form>
  )
}

function Page({
  data,
  parameters,
}: {
  readonly data: FoundJobs
  readonly parameters: RouteParameters
}) {
  const { jobs, next } = data.page
  const { after, ...first } = parameters
  return (
    <>
      {jobs.length === 0 ? (
        <Empty>
          {next === null ? 'No job matches.' : 'No job matches among those looked at so far.'}
        </Empty>
      ) : (
        <Table
          label="Jobs"
          columns={['Job', 'Type', 'State', 'Queue', 'Attempt', 'Submitted', 'Over', 'Error']}
        >
          {jobs.map((one) => (
            <tr key={one.id}>
              <Cell of="Job">
                <JobLink id={one.id} />
              </Cell>
              <Cell of="Type">
                <Text text={one.type} most={60} />
              </Cell>
              <Cell of="State">
                <State state={one.state} />
              </Cell>
              <Cell of="Queue">
                {one.queue === null ? 'pipeline' : <Text text={one.queue} most={40} />}
              </Cell>
              <Cell of="Attempt" number>
                {one.attempt}
              </Cell>
              <Cell of="Submitted">
                <Time at={one.submittedAt} />
              </Cell>
              <Cell of="Over">
                {one.completedAt === null ? '–' : <Time at={one.completedAt} />}
              </Cell>
              <Cell of="Error">
                {one.error === null ? (
                  '–'
                ) : (
                  <Text text={`${one.error.code}: ${one.error.message}`} most={80} />
                )}
              </Cell>
            </tr>
          ))}
        </Table>
      )}
      <div class="buttons pages">
        {after !== undefined && (
          <a class="button" href={linkTo('jobs', first)}>
            First page
          </a>
        )}
        {next !== null && (
          <a class="button" href={linkTo('jobs', { ...first, after: String(next) })}>
            Next page
          </a>
        )}
      </div>
    </>
  )
}

const BULK = {
  cancel: ['Cancel', 'Each job is cancelled; handlers that run are told.'],
  retry: ['Retry', 'Each job in quarantine gets a fresh budget and is tried again.'],
  discard: ['Discard', 'Each job in quarantine is given up for good.'],
  rerun: ['Run again', 'Each job that is over is run again, as a new job.'],
} as const

function bulkAction(kind: keyof typeof BULK, parameters: RouteParameters): Action {
  const filter = filterIn(parameters)
  const input = {
    action: kind,
    ...filter,
    ...(Object.keys(filter).length === 0 ? { all: true } : {}),
  }
  const [title, says] = BULK[kind]
  return {
    title: `${title} all jobs that match`,
    says,
    operation: 'bulk.run',
    input,
    isGrave: true,
    preview: { operation: 'bulk.preview', input },
    progress: 'bulk.events',
    fields: [
      ...(kind === 'rerun'
        ? [
            {
              name: 'name',
              label: 'Name of this run',
              kind: 'text',
              hint: 'A job is run again once under a name.',
            } as const,
          ]
        : []),
      {
        name: 'rate',
        label: 'Rate',
        kind: 'text',
        hint: 'Such as 10/s. Empty: as quickly as possible.',
      },
    ],
  }
}

function BulkBar({ parameters }: { readonly parameters: RouteParameters }) {
  return (
    <section aria-labelledby="bulk" class="bulk">
      <h2 id="bulk">All jobs that match</h2>
      <p>A preview says how many they are. Nothing is done before you say so.</p>
      <div class="buttons">
        {(Object.keys(BULK) as (keyof typeof BULK)[]).map((kind) => (
          <button
            key={kind}
            type="button"
            onClick={() => {
              action.value = bulkAction(kind, parameters)
            }}
          >
            {BULK[kind][0]}…
          </button>
        ))}
      </div>
    </section>
  )
}
