/**
 * The newest attempts at a job as a table, and all that happened along time as a drawing.
 */
import type { AnswerOf } from '../api.ts'
import { serverNow } from '../clock.ts'
import { countText, durationText } from '../duration-text.ts'
import { Cell, Empty, Moment, Table, Text, Time } from '../parts.tsx'
import { seen } from '../safe-text.ts'
import { useSize } from '../size.ts'
import type { ShownAttempt, JobTimeline, TimelineMark, TimelineSpan } from './job-timeline.ts'
import { attemptName, endOf, jobTimeline, shortName } from './job-timeline.ts'

export function AttemptsPart({
  attempts,
  label = 'Attempts',
  isOfOneTask = false,
}: {
  readonly attempts: readonly ShownAttempt[]
  readonly label?: string
  readonly isOfOneTask?: boolean
}) {
  if (attempts.length === 0) return <Empty>No worker has had it yet.</Empty>
  return (
    <Table
      isLong
      label={label}
      columns={['Attempt', 'Status', 'Worker', 'Leased', 'Took', 'Ended by', 'Error']}
    >
      {attempts.map((one) => (
        <tr key={attemptName(one)}>
          <Cell of="Attempt">
            {isOfOneTask ? `#${one.attempt}` : <bdi>{shortName(one, 60)}</bdi>}
          </Cell>
          <Cell of="Status">{one.status}</Cell>
          <Cell of="Worker">
            <Text text={one.worker} most={40} />
          </Cell>
          <Cell of="Leased">
            <Moment at={one.leasedAt} />
          </Cell>
          <Cell of="Took" number>
            {durationText(endOf(one, serverNow()) - Date.parse(one.leasedAt))}
          </Cell>
          <Cell of="Ended by">
            {one.endedBy ?? '–'}
            {one.reason !== null && (
              <>
                : <Text text={one.reason} />
              </>
            )}
          </Cell>
          <Cell of="Error">
            {one.error === null ? '–' : <Text text={`${one.error.code}: ${one.error.message}`} />}
          </Cell>
        </tr>
      ))}
    </Table>
  )
}

const ROW = 26
const TOP = 22

export function TimelinePart({
  job,
  history,
}: {
  readonly job: AnswerOf<'jobs.show'>
  readonly history: AnswerOf<'jobs.history'>['items']
}) {
  const [element, size] = useSize<HTMLDivElement>()
  const timeline = jobTimeline(job, history, serverNow())
  const height = TOP + timeline.lines.length * ROW + 4
  return (
    <div ref={element} class="timeline">
      {size !== null && size.width > 0 && (
        <svg
          width={size.width}
          height={height}
          role="img"
          aria-label={`${job.executions.length} attempts along time; the table has the same`}
        >
          <Lines timeline={timeline} width={size.width} height={height} />
        </svg>
      )}
      <p class="aside">
        From <Time at={new Date(timeline.from).toISOString()} /> to{' '}
        {job.completedAt === null ? 'now' : <Time at={job.completedAt} />},{' '}
        {durationText(timeline.to - timeline.from)} in all.
        {job.executionCount > job.executions.length &&
          ` ${countText(job.executions.length)} of ${countText(job.executionCount)} attempts are shown: those that run, and then the newest.`}
        {timeline.gaps.length > 0 && ' Times in which nothing ran are cut short.'}
      </p>
    </div>
  )
}

function Lines({
  timeline,
  width,
  height,
}: {
  readonly timeline: JobTimeline
  readonly width: number
  readonly height: number
}) {
  const { lines, gaps, placeOf } = timeline
  const left = Math.min(170, width * 0.28)
  const room = width - left - 8
  const x = (time: number): number => left + placeOf(time) * room
  return (
    <>
      {gaps.map(({ span, at, width: share }) => (
        <g key={span.from}>
          <rect
            class="gap"
            x={left + at * room}
            y={TOP}
            width={share * room}
            height={height - TOP}
          />
          {share * room > 6 && (
            <text class="idle" x={left + (at + share / 2) * room} y={14}>
              {durationText(span.to - span.from)}
            </text>
          )}
        </g>
      ))}
      {lines.map(({ label, spans, marks }, i) => {
        const y = TOP + i * ROW
        return (
          <g key={i}>
            <line class="base" x1={left} x2={width - 8} y1={y + ROW / 2} y2={y + ROW / 2} />
            <text class="label" x={0} y={y + ROW / 2 + 4}>
              {label(Math.floor(left / 7.5))}
            </text>
            {spans.map((one, n) => (
              <SpanBar key={n} of={one} x={x(one.from)} to={x(one.to)} y={y} />
            ))}
            {marks.map((one, n) => (
              <Mark key={n} of={one} x={x(one.at)} y={y} />
            ))}
          </g>
        )
      })}
    </>
  )
}

const THICK: Readonly<Record<TimelineSpan['kind'], number>> = {
  queued: 6,
  lease: 6,
  run: 14,
  suspended: 6,
  pause: 4,
  effect: 10,
}

function SpanBar({
  of,
  x,
  to,
  y,
}: {
  readonly of: TimelineSpan
  readonly x: number
  readonly to: number
  readonly y: number
}) {
  const { kind, status, title } = of
  const height = THICK[kind]
  return (
    <rect
      class={`span span-${kind} attempt-${status}`}
      x={x}
      y={y + (ROW - height) / 2}
      width={Math.max(kind === 'pause' || kind === 'queued' ? 1 : 3, to - x)}
      height={height}
      rx={2}
    >
      <title>{seen(title)}</title>
    </rect>
  )
}

function Mark({
  of: { kind, title },
  x,
  y,
}: {
  readonly of: TimelineMark
  readonly x: number
  readonly y: number
}) {
  const [middle, r] = [y + ROW / 2, kind === 'commit' ? 7 : 4]
  return (
    <path
      class={`tick tick-${kind}`}
      d={`M${x} ${middle - r}L${x + r} ${middle}L${x} ${middle + r}L${x - r} ${middle}Z`}
    >
      <title>{seen(title)}</title>
    </path>
  )
}
