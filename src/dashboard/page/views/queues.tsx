/**
 * Queues: what is in each, for how long the oldest waits, what bounds it, and whether it runs. Of one that is chosen, who holds its
 * places; and what is used of a limit that jobs declare.
 */
import type { Figures } from '../../../protocol/index.ts'
import { call } from '../api.ts'
import { Sparkline } from '../chart.tsx'
import { serverNow } from '../clock.ts'
import { countText, durationText, exactDurationText } from '../duration-text.ts'
import { useLive } from '../live.ts'
import {
  ActionButtons,
  Cell,
  Empty,
  PausedBy,
  Problem,
  Table,
  Text,
  Time,
  Waiting,
} from '../parts.tsx'
import type { RouteParameters } from '../route.ts'
import { linkTo } from '../route.ts'
import { may } from '../session.ts'
import { LimitPanel } from './limits.tsx'
import type { ShownQueue } from './queue-actions.ts'
import { queueActions } from './queue-actions.ts'
import { QueuePanel } from './queue-panel.tsx'
import { queueLine } from './figure-values.ts'
import { useFigures } from './figures.ts'

const MOST_SHOWN = 500

async function look(ended: AbortSignal): Promise<readonly ShownQueue[]> {
  return (await call('queues.list', {}, ended)).queues
}

export function QueuesView({ parameters }: { readonly parameters: RouteParameters }) {
  const { data, problem } = useLive('queues', look, 2_000)
  const { data: figures } = useFigures('15m')
  if (data === null) return problem === null ? <Waiting /> : <Problem problem={problem} />
  const { queue = '', limit = '', drained = '' } = parameters
  const chosen = data.find(({ name }) => name === queue) ?? null
  return (
    <>
      <Problem problem={problem} />
      {queue !== '' && may('queues.show') && (
        <QueuePanel key={queue} name={queue} listed={chosen} draining={drained} />
      )}
      {data.length === 0 ? (
        <Empty>There is no queue yet: the first job makes one.</Empty>
      ) : (
        <Table
          label="Queues"
          columns={[
            'Queue',
            'Waiting',
            'Oldest waits',
            'Running',
            'Retrying',
            'Given up',
            'Bounds',
            'Actions',
          ]}
        >
          {data.slice(0, MOST_SHOWN).map((one) => (
            <Row key={one.name} queue={one} isChosen={one === chosen} figures={figures} />
          ))}
        </Table>
      )}
      {data.length > MOST_SHOWN && (
        <p>
          The first {MOST_SHOWN} of {data.length} are shown.
        </p>
      )}
      {figures !== null && figures.queues.length > 0 && (
        <p class="aside">
          Small lines are of the last quarter of an hour
          {figures.queuesLeftOut > 0 &&
            `, of the ${figures.queues.length} queues in which most waits`}
          .
        </p>
      )}
      {may('limits.show') && <LimitPanel limit={limit} />}
    </>
  )
}

function Row({
  queue,
  isChosen,
  figures,
}: {
  readonly queue: ShownQueue
  readonly isChosen: boolean
  readonly figures: Figures | null
}) {
  return (
    <tr class={isChosen ? 'chosen' : undefined}>
      <QueueCells queue={queue} isChosen={isChosen} figures={figures} />
      <Cell of="Bounds">{boundsText(queue)}</Cell>
      <Cell of="Actions">
        <ActionButtons actions={queueActions(queue)} of={`queue ${queue.name}`} />
      </Cell>
    </tr>
  )
}

/** What is in a queue, and for how long. */
export function QueueCells({
  queue,
  isChosen = false,
  figures,
}: {
  readonly queue: ShownQueue
  readonly isChosen?: boolean
  readonly figures: Figures | null
}) {
  const { name, states, segments, pausedAt, oldestDueAt } = queue
  return (
    <>
      <Cell of="Queue">
        <a
          href={linkTo('queues', { queue: isChosen ? null : name })}
          aria-current={isChosen ? 'true' : undefined}
        >
          <Text text={name} most={60} />
        </a>
        {pausedAt !== null && (
          <span class="mark">
            {' '}
            paused <Time at={pausedAt} /> <PausedBy of={queue} />
          </span>
        )}
      </Cell>
      <Cell of="Waiting" number>
        <span class="trend">
          <a href={linkTo('jobs', { queue: name, state: 'QUEUED' })}>
            {countText(states.QUEUED + segments.ready)}
          </a>
          <Sparkline values={queueLine(figures, name, 'waiting')} />
        </span>
      </Cell>
      <Cell of="Oldest waits" number>
        <span class="trend">
          {oldestDueAt === null
            ? '–'
            : durationText(Math.max(0, serverNow() - Date.parse(oldestDueAt)))}
          <Sparkline values={queueLine(figures, name, 'oldestMs')} />
        </span>
      </Cell>
      <Cell of="Running" number>
        <a href={linkTo('jobs', { queue: name, state: 'RUNNING' })}>
          {countText(states.RUNNING + segments.running)}
        </a>
      </Cell>
      <Cell of="Retrying" number>
        {countText(states.RETRYING)}
      </Cell>
      <Cell of="Given up" number>
        {countText(states.QUARANTINED)}
      </Cell>
    </>
  )
}

function boundsText({ concurrency, rate, ageingMs }: ShownQueue): string {
  const bounds = [
    concurrency === null ? [] : `${countText(concurrency)} at once`,
    rate === null ? [] : `${countText(rate.count)} may start per ${exactDurationText(rate.perMs)}`,
    ageingMs === null ? [] : `more urgent by one each ${exactDurationText(ageingMs)}`,
  ].flat()
  return bounds.length === 0 ? 'none' : bounds.join(', ')
}
