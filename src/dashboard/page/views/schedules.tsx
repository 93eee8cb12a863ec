/**
 * Schedules: when each makes jobs, in words, and when it does so next.
 */
import type { Action } from '../action.ts'
import { action } from '../action.ts'
import type { AnswerOf } from '../api.ts'
import { call } from '../api.ts'
import { durationText } from '../duration-text.ts'
import { useLive } from '../live.ts'
import { Cell, Empty, Problem, Table, Text, Time, Waiting } from '../parts.tsx'
import { linkTo } from '../route.ts'
import { may } from '../session.ts'
import { cronWords } from './cron-words.ts'

type ShownSchedule = AnswerOf<'schedules.list'>['schedules'][number]

const MOST_SHOWN = 500

const ask = (ended: AbortSignal) => call('schedules.list', {}, ended)

export function SchedulesView() {
  const { data, problem } = useLive('schedules', ask, 5_000)
  if (data === null) return problem === null ? <Waiting /> : <Problem problem={problem} />
  const { schedules } = data
  if (schedules.length === 0) return <Empty>There is no schedule.</Empty>
  return (
    <>
      <Problem problem={problem} />
      <Table
        label="Schedules"
        columns={['Schedule', 'Job', 'When', 'Next', 'Last', 'If missed', 'Actions']}
      >
        {schedules.slice(0, MOST_SHOWN).map((one) => (
          <Row key={one.id} schedule={one} />
        ))}
      </Table>
    </>
  )
}

function Row({ schedule }: { readonly schedule: ShownSchedule }) {
  const { id, type, paused, nextTime, lastTime, missed } = schedule
  return (
    <tr>
      <Cell of="Schedule">
        <Text text={id} most={60} />
        {paused !== null && (
          <span class="mark">
            {' '}
            paused by <Text text={`${paused.by}: ${paused.reason}`} />
          </span>
        )}
      </Cell>
      <Cell of="Job">
        {type === null ? (
          '–'
        ) : (
          <a href={linkTo('jobs', { type })}>
            <Text text={type} most={60} />
          </a>
        )}
      </Cell>
      <Cell of="When">
        <When of={schedule} />
      </Cell>
      <Cell of="Next">{nextTime === null ? 'never' : <Time at={nextTime} />}</Cell>
      <Cell of="Last">
        <Time at={lastTime} />
      </Cell>
      <Cell of="If missed">{missed ?? '–'}</Cell>
      <Cell of="Actions">
        <div class="buttons">
          {actionsOf(schedule).map(([label, one]) => (
            <button
              key={label}
              type="button"
              class="small"
              aria-label={`${label} schedule ${id}`}
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

function When({ of: { cron, everyMs, timezone, unreadable } }: { readonly of: ShownSchedule }) {
  if (unreadable !== null) return <span class="mark">cannot be read</span>
  if (everyMs !== null) return <>every {durationText(everyMs)}</>
  if (cron === null) return <>–</>
  const words = cronWords(cron)
  return (
    <>
      {words} <code>{cron}</code> {timezone ?? 'UTC'}
    </>
  )
}

function actionsOf({ id, paused }: ShownSchedule): readonly (readonly [string, Action])[] {
  const input = { schedule: id }
  const all: readonly (readonly [string, Action])[] = [
    paused === null
      ? [
          'Pause',
          {
            title: `Pause schedule ${id}`,
            says: 'It makes no jobs until it is resumed.',
            operation: 'schedules.pause',
            input,
          },
        ]
      : [
          'Resume',
          {
            title: `Resume schedule ${id}`,
            says: 'It makes jobs again.',
            operation: 'schedules.resume',
            input,
          },
        ],
    [
      'Remove',
      {
        title: `Remove schedule ${id}`,
        says: 'The schedule is gone. Jobs that it made stay.',
        operation: 'schedules.remove',
        input,
        isGrave: true,
      },
    ],
  ]
  return all.filter(([, { operation }]) => may(operation))
}
