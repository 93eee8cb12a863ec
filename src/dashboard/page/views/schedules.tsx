/**
 * Schedules: when each makes jobs, in words, and when it does so next. Of one that is chosen, several of its next times.
 */
import type { Action } from '../action.ts'
import type { AnswerOf } from '../api.ts'
import { call } from '../api.ts'
import { exactDurationText } from '../duration-text.ts'
import { useLive } from '../live.ts'
import {
  ActionButtons,
  Cell,
  Empty,
  JsonBlock,
  Problem,
  Table,
  Text,
  Time,
  Waiting,
} from '../parts.tsx'
import type { RouteParameters } from '../route.ts'
import { goToJob, linkTo } from '../route.ts'
import { may } from '../session.ts'
import { cronWords } from './cron-words.ts'

type ShownSchedule = AnswerOf<'schedules.list'>['schedules'][number]

const MOST_SHOWN = 500

const ask = (ended: AbortSignal) => call('schedules.list', {}, ended)

export function SchedulesView({ parameters }: { readonly parameters: RouteParameters }) {
  const { data, problem } = useLive('schedules', ask, 5_000)
  if (data === null) return problem === null ? <Waiting /> : <Problem problem={problem} />
  const { schedules } = data
  const chosen = schedules.find(({ id }) => id === parameters['schedule'])
  if (schedules.length === 0) return <Empty>There is no schedule.</Empty>
  return (
    <>
      <Problem problem={problem} />
      {chosen !== undefined && may('schedules.show') && (
        <SchedulePanel key={chosen.id} schedule={chosen} />
      )}
      <Table
        label="Schedules"
        columns={['Schedule', 'Job', 'When', 'Next', 'Last', 'Missed times', 'Actions']}
      >
        {schedules.slice(0, MOST_SHOWN).map((one) => (
          <Row key={one.id} schedule={one} isChosen={one === chosen} />
        ))}
      </Table>
      {schedules.length > MOST_SHOWN && (
        <p>
          The first {MOST_SHOWN} of {schedules.length} are shown.
        </p>
      )}
    </>
  )
}

const TIMES = 8

/** The next times, as the zone of the schedule and this browser have them. */
function SchedulePanel({ schedule }: { readonly schedule: ShownSchedule }) {
  const { id, paused, timezone } = schedule
  const { data, problem } = useLive(
    `schedule ${id}`,
    (ended) => call('schedules.show', { schedule: id, times: TIMES }, ended),
    5_000,
  )
  if (data === null) return problem === null ? <Waiting /> : <Problem problem={problem} />
  return (
    <section aria-labelledby="schedule" class="panel">
      <div class="panel-head">
        <h2 id="schedule">
          Schedule <Text text={id} most={120} />
        </h2>
        <a class="button" href={linkTo('schedules')}>
          Close
        </a>
      </div>
      <Problem problem={problem} />
      <p>
        <When of={schedule} />
        {paused !== null && (
          <span class="mark">
            {' '}
            paused <Time at={paused.at} /> by <Text text={`${paused.by}: ${paused.reason}`} />
          </span>
        )}
      </p>
      <div class="columns">
        <div>
          <h3>The next times, in {timezone ?? 'UTC'}</h3>
          {data.nextTimes.length === 0 ? (
            <p class="none">
              {paused === null ? 'It has come to its end.' : 'None while it is paused.'}
            </p>
          ) : (
            <ol class="times">
              {data.nextTimes.map((at) => (
                <li key={at}>
                  {zonedText(at, timezone ?? 'UTC')} <Time at={at} />
                </li>
              ))}
            </ol>
          )}
        </div>
        <div>
          <h3>What each job is given</h3>
          <JsonBlock
            value={data.input}
            exact={data.exact?.input}
            label={`What jobs of schedule ${id} are given`}
          />
        </div>
      </div>
    </section>
  )
}

function zonedText(at: string, timeZone: string): string {
  try {
    return new Date(at).toLocaleString('en-GB', {
      timeZone,
      weekday: 'short',
      day: 'numeric',
      month: 'short',
      year: 'numeric',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
    })
  } catch {
    // This browser does not know the zone.
    return at
  }
}

const MISSED = { skip: 'left out', once: 'made up for once', all: 'all made up for' } as const

function Row({
  schedule,
  isChosen,
}: {
  readonly schedule: ShownSchedule
  readonly isChosen: boolean
}) {
  const { id, type, paused, nextTime, lastTime, missed } = schedule
  return (
    <tr class={isChosen ? 'chosen' : undefined}>
      <Cell of="Schedule">
        <a
          href={linkTo('schedules', { schedule: isChosen ? null : id })}
          aria-current={isChosen ? 'true' : undefined}
        >
          <Text text={id} most={60} />
        </a>
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
      <Cell of="Missed times">{missed === null ? '–' : MISSED[missed]}</Cell>
      <Cell of="Actions">
        <ActionButtons actions={actionsOf(schedule)} of={`schedule ${id}`} />
      </Cell>
    </tr>
  )
}

function When({ of: { cron, everyMs, timezone, unreadable } }: { readonly of: ShownSchedule }) {
  if (unreadable !== null) return <span class="mark">cannot be read</span>
  if (everyMs !== null) return <>every {exactDurationText(everyMs)}</>
  if (cron === null) return <>–</>
  const words = cronWords(cron)
  return (
    <span class="when">
      {words}
      <code>{cron}</code>
      {timezone ?? 'UTC'}
    </span>
  )
}

function actionsOf({
  id,
  paused,
  unreadable,
}: ShownSchedule): readonly (readonly [string, Action])[] {
  const input = { schedule: id }
  const now: readonly [string, Action] = [
    'Run now',
    {
      title: `Run schedule ${id} now`,
      says: 'One job is submitted at once, as the schedule does it. Its times stay as they are.',
      operation: 'schedules.run',
      input,
      onDone: goToJob,
    },
  ]
  const all: readonly (readonly [string, Action])[] = [
    ...(unreadable === null ? [now] : []),
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
