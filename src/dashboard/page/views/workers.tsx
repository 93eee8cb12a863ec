/**
 * Workers of all processes, as they said of themselves in the last seconds: their places, what they serve, and what each holds.
 */
import { Fragment } from 'preact'
import type { Action } from '../action.ts'
import type { AnswerOf } from '../api.ts'
import { call } from '../api.ts'
import { ShareBar } from '../chart.tsx'
import { countText } from '../duration-text.ts'
import { useLive } from '../live.ts'
import {
  ActionButtons,
  Cell,
  Empty,
  JobLink,
  Problem,
  Table,
  Text,
  Time,
  Waiting,
} from '../parts.tsx'
import { linkTo } from '../route.ts'
import { may } from '../session.ts'

type ShownWorker = AnswerOf<'workers.list'>['workers'][number]

const MOST_SHOWN = 500

const ask = (ended: AbortSignal) => call('workers.list', {}, ended)

export function WorkersView() {
  const { data, problem } = useLive('workers', ask, 2_000)
  if (data === null) return problem === null ? <Waiting /> : <Problem problem={problem} />
  const { workers } = data
  if (workers.length === 0) return <Empty>No worker said anything lately.</Empty>
  return (
    <>
      <Problem problem={problem} />
      <Sum workers={workers} />
      <Table
        label="Workers"
        columns={['Worker', 'Process', 'Places', 'Holds', 'Serves', 'Began', 'Heard', 'Actions']}
      >
        {workers.slice(0, MOST_SHOWN).map((one) => (
          <Row key={one.id} worker={one} />
        ))}
      </Table>
      {workers.length > MOST_SHOWN && (
        <p>
          The first {MOST_SHOWN} of {workers.length} are shown.
        </p>
      )}
    </>
  )
}

function Sum({ workers }: { readonly workers: readonly ShownWorker[] }) {
  const used = workers.reduce((sum, one) => sum + one.used, 0)
  const free = workers.reduce((sum, one) => sum + one.free, 0)
  const processes = new Set(workers.map(({ host, pid }) => `${host} ${pid}`)).size
  const draining = workers.filter(({ isDraining }) => isDraining).length
  return (
    <dl class="facts few">
      <div>
        <dt>Workers</dt>
        <dd>{countText(workers.length)}</dd>
      </div>
      <div>
        <dt>Processes</dt>
        <dd>{countText(processes)}</dd>
      </div>
      <div>
        <dt>Places taken</dt>
        <dd>
          {countText(used)} of {countText(used + free)}
        </dd>
      </div>
      <div>
        <dt>Draining</dt>
        <dd>{countText(draining)}</dd>
      </div>
    </dl>
  )
}

function Row({ worker: one }: { readonly worker: ShownWorker }) {
  return (
    <tr>
      <Cell of="Worker">
        <a href={linkTo('jobs', { worker: one.id })}>
          <Text text={one.name ?? one.id} most={40} />
        </a>
        {one.isDraining && (
          <span class="mark">
            {' '}
            draining
            {one.drained !== null && (
              <>
                {' '}
                <Time at={one.drained.at} />, by{' '}
                <Text text={`${one.drained.by}: ${one.drained.reason}`} most={200} />
              </>
            )}
          </span>
        )}
      </Cell>
      <Cell of="Process">
        <Text text={one.host} most={40} /> {one.pid}
        <div class="soft">version {one.version}</div>
      </Cell>
      <Cell of="Places">
        {one.used} of {one.used + one.free} taken
        <PlacesBar of={one} />
      </Cell>
      <Cell of="Holds">
        <Holds worker={one} />
      </Cell>
      <Cell of="Serves">
        <Text text={servesText(one.serves)} most={120} />
      </Cell>
      <Cell of="Began">
        <Time at={one.startedAt} />
      </Cell>
      <Cell of="Heard">
        <Time at={one.heardAt} />
      </Cell>
      <Cell of="Actions">
        <ActionButtons actions={actionsOf(one)} of={`worker ${one.name ?? one.id}`} />
      </Cell>
    </tr>
  )
}

/** How many of its places are taken. */
export function PlacesBar({
  of: { used, free },
}: {
  readonly of: Pick<ShownWorker, 'used' | 'free'>
}) {
  return (
    <ShareBar
      parts={[
        { name: 'RUNNING', count: used },
        { name: 'free', count: free },
      ]}
      label={`${used} of ${used + free} places are taken`}
    />
  )
}

/** One that stops by itself is not resumed. */
function actionsOf({
  id,
  name,
  isDraining,
  drained,
}: ShownWorker): readonly (readonly [string, Action])[] {
  const input = { worker: id }
  const all: readonly (readonly [string, Action])[] = [
    ...(isDraining
      ? []
      : [
          [
            'Drain',
            {
              title: `Drain worker ${name ?? id}`,
              says: 'It takes nothing more, within a second or two, and finishes what it has, until it is resumed or its process ends.',
              operation: 'workers.drain',
              input,
            },
          ] as const,
        ]),
    ...(drained === null
      ? []
      : [
          [
            'Resume',
            {
              title: `Resume worker ${name ?? id}`,
              says: 'It takes jobs again, within a second or two.',
              operation: 'workers.resume',
              input,
            },
          ] as const,
        ]),
  ]
  return all.filter(([, { operation }]) => may(operation))
}

const FEW = 3

function Holds({ worker: { id, held, holds } }: { readonly worker: ShownWorker }) {
  if (held === 0) return <span class="none">nothing</span>
  // Segments of one pipeline are one job.
  const jobs = [...new Set(holds.map(({ job }) => job))]
  const [first, rest] = [jobs.slice(0, FEW), jobs.slice(FEW)]
  return (
    <>
      {held === 1 ? '1 task: ' : `${countText(held)} tasks: `}
      <Links jobs={first} />
      {rest.length > 0 && (
        <details class="more">
          <summary>{rest.length} more jobs</summary>
          <Links jobs={rest} />
        </details>
      )}
      {held > holds.length && <a href={linkTo('jobs', { worker: id })}>all of them</a>}
    </>
  )
}

function Links({ jobs }: { readonly jobs: readonly string[] }) {
  return (
    <>
      {jobs.map((job) => (
        <Fragment key={job}>
          <JobLink id={job} />{' '}
        </Fragment>
      ))}
    </>
  )
}

function servesText(serves: ShownWorker['serves']): string {
  const names = serves.map(({ type, stage, queue }) => {
    const what = stage === null ? type : `${type}/${stage}`
    return queue === 'default' ? what : `${what} in ${queue}`
  })
  return [...new Set(names)].join(', ')
}
