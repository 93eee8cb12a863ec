/**
 * Queues: what is in each, what bounds it, and whether it runs.
 */
import type { Action } from '../action.ts'
import { action } from '../action.ts'
import type { AnswerOf } from '../api.ts'
import { call } from '../api.ts'
import { countText, durationText } from '../duration-text.ts'
import { useLive } from '../live.ts'
import { Cell, Empty, Problem, Table, Text, Time, Waiting } from '../parts.tsx'
import { linkTo } from '../route.ts'
import { may } from '../session.ts'

type ShownQueue = AnswerOf<'queues.list'>['queues'][number]

const MOST_SHOWN = 500

const ask = (ended: AbortSignal) => call('queues.list', {}, ended)

export function QueuesView() {
  const { data, problem } = useLive('queues', ask, 2_000)
  if (data === null) return problem === null ? <Waiting /> : <Problem problem={problem} />
  const { queues } = data
  return (
    <>
      <Problem problem={problem} />
      {queues.length === 0 ? (
        <Empty>There is no queue yet: the first job makes one.</Empty>
      ) : (
        <Table
          label="Queues"
          columns={[
            'Queue',
            'Waiting',
            'Running',
            'Retrying',
            'Given up',
            'At once',
            'Rate',
            'Ageing',
            'Actions',
          ]}
        >
          {queues.slice(0, MOST_SHOWN).map((one) => (
            <Row key={one.name} queue={one} />
          ))}
        </Table>
      )}
      {queues.length > MOST_SHOWN && (
        <p>
          The first {MOST_SHOWN} of {queues.length} are shown.
        </p>
      )}
    </>
  )
}

function Row({ queue }: { readonly queue: ShownQueue }) {
  const { name, states, segments, pausedAt, concurrency, rate, ageingMs } = queue
  return (
    <tr>
      <Cell of="Queue">
        <a href={linkTo('jobs', { queue: name })}>
          <Text text={name} most={60} />
        </a>
        {pausedAt !== null && (
          <span class="mark">
            {' '}
            paused <Time at={pausedAt} />
          </span>
        )}
      </Cell>
      <Cell of="Waiting" number>
        {countText(states.QUEUED + segments.ready)}
      </Cell>
      <Cell of="Running" number>
        {countText(states.RUNNING + segments.running)}
      </Cell>
      <Cell of="Retrying" number>
        {countText(states.RETRYING)}
      </Cell>
      <Cell of="Given up" number>
        {countText(states.QUARANTINED)}
      </Cell>
      <Cell of="At once" number>
        {concurrency === null ? 'no bound' : countText(concurrency)}
      </Cell>
      <Cell of="Rate" number>
        {rate === null ? 'no bound' : `${countText(rate.count)} per ${durationText(rate.perMs)}`}
      </Cell>
      <Cell of="Ageing" number>
        {ageingMs === null ? 'none' : durationText(ageingMs)}
      </Cell>
      <Cell of="Actions">
        <div class="buttons">
          {actionsOf(queue).map(([label, one]) => (
            <button
              key={label}
              type="button"
              class="small"
              aria-label={`${label} queue ${name}`}
              onClick={() => {
                action.value = one
              }}
            >
              {label}…
            </button>
          ))}
        </div>
      </Cell>
    </tr>
  )
}

function actionsOf(queue: ShownQueue): readonly (readonly [label: string, action: Action])[] {
  const { name, pausedAt } = queue
  const all: readonly (readonly [string, Action])[] = [
    pausedAt === null
      ? [
          'Pause',
          {
            title: `Pause queue ${name}`,
            says: 'Nothing more of the queue is handed out. What runs goes on.',
            operation: 'queues.pause',
            input: { queue: name },
          },
        ]
      : [
          'Resume',
          {
            title: `Resume queue ${name}`,
            says: 'Jobs of the queue are handed out again.',
            operation: 'queues.resume',
            input: { queue: name },
          },
        ],
    ['Configure', configureAction(queue)],
  ]
  return all.filter(([, { operation }]) => may(operation))
}

function configureAction({ name, concurrency, rate, ageingMs }: ShownQueue): Action {
  return {
    title: `Configure queue ${name}`,
    says: 'This is all that bounds the queue from now on: what is empty has no bound.',
    operation: 'queues.configure',
    input: { queue: name },
    fields: [
      {
        name: 'concurrency',
        label: 'At once',
        kind: 'number',
        ...(concurrency === null ? {} : { value: String(concurrency) }),
        hint: 'How many jobs may run at the same time.',
      },
      {
        name: 'rate',
        label: 'Rate',
        kind: 'text',
        ...(rate === null ? {} : { value: `${rate.count}/${rate.perMs / 1_000}s` }),
        hint: 'How many may start in a period: 10/s, 100/1m.',
      },
      {
        name: 'ageing',
        label: 'Ageing',
        kind: 'text',
        ...(ageingMs === null ? {} : { value: `${ageingMs / 1_000}s` }),
        hint: 'After how long a job that waits becomes more urgent by one: 5m.',
      },
    ],
  }
}
