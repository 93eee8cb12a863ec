/**
 * Jobs by a filter, which is kept in the address: a page at a time, newest or oldest first. What the store counts by itself
 * stands beside the states; nothing else is counted.
 */
import type { RefObject } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { AnswerOf } from '../api.ts'
import { call } from '../api.ts'
import { serverNow } from '../clock.ts'
import { countText } from '../duration-text.ts'
import { useLive } from '../live.ts'
import { Cell, Empty, JobLink, Problem, State, Table, Text, Time, Waiting } from '../parts.tsx'
import type { RouteParameters } from '../route.ts'
import { linkTo } from '../route.ts'
import { may } from '../session.ts'
import { BulkBar } from './bulk-bar.tsx'
import { FilterBar } from './filter-bar.tsx'
import { filterFault, filterIn, STATES } from './filter-text.ts'
import { countsBy } from './job-counts.ts'
import { SavedViews } from './saved-views.tsx'

const PAGE = 50

interface FoundJobs {
  readonly page: AnswerOf<'jobs.list'>
  /** Null: the store keeps no counts by such a filter. */
  readonly counts: AnswerOf<'counts'> | null
}

async function find(parameters: RouteParameters, ended: AbortSignal): Promise<FoundJobs> {
  const { after, order } = parameters
  const filter = filterIn(parameters, serverNow())
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

export function JobsView({ parameters }: { readonly parameters: RouteParameters }) {
  const fault = filterFault(parameters)
  return (
    <>
      <SavedViews parameters={parameters} />
      <FilterBar parameters={parameters} />
      {fault === null ? <FilteredJobs parameters={parameters} /> : <Problem problem={fault} />}
    </>
  )
}

function FilteredJobs({ parameters }: { readonly parameters: RouteParameters }) {
  const key = JSON.stringify(parameters)
  const { data, problem } = useLive(key, (ended) => find(parameters, ended))
  const place = usePageFocus(parameters['after'], data !== null)
  return (
    <>
      <StateTabs parameters={parameters} counts={data?.counts ?? null} />
      {may('bulk.run') && <BulkBar parameters={parameters} />}
      <Problem problem={problem} />
      <div ref={place} role="group" aria-label="Page of jobs" tabIndex={-1}>
        {data === null ? (
          problem === null && <Waiting />
        ) : (
          <Page data={data} parameters={parameters} />
        )}
      </div>
    </>
  )
}

/** The link that led to another page goes with the page before: the focus is on the new one, AFTER it is there. */
function usePageFocus(
  after: string | undefined,
  isThere: boolean,
): RefObject<HTMLDivElement | null> {
  const place = useRef<HTMLDivElement>(null)
  const shown = useRef(after)
  useEffect(() => {
    if (!isThere || shown.current === after) return
    shown.current = after
    // It is taken from no field in which the reader types.
    if (document.activeElement === document.body) place.current?.focus()
  }, [after, isThere])
  return place
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
          cards="jobs"
          columns={['Job', 'Type', 'State', 'Queue', 'Attempt', 'Submitted', 'Ended', 'Error']}
        >
          {jobs.map((one) => (
            <JobRow key={one.id} of={one} />
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

function JobRow({ of }: { readonly of: AnswerOf<'jobs.list'>['jobs'][number] }) {
  const { id, type, state, queue, attempt, submittedAt, completedAt, error } = of
  return (
    <tr>
      <Cell of="Job">
        <JobLink id={id} />
      </Cell>
      <Cell of="Type">
        <Text text={type} most={60} />
      </Cell>
      <Cell of="State">
        <State state={state} />
      </Cell>
      <Cell of="Queue">
        {queue === null ? <span class="aside">pipeline</span> : <Text text={queue} most={40} />}
      </Cell>
      <Cell of="Attempt" number>
        {attempt}
      </Cell>
      <Cell of="Submitted">
        <Time at={submittedAt} />
      </Cell>
      <Cell of="Ended">{completedAt === null ? '–' : <Time at={completedAt} />}</Cell>
      <Cell of="Error">
        {error === null ? '–' : <Text text={`${error.code}: ${error.message}`} most={80} />}
      </Cell>
    </tr>
  )
}
