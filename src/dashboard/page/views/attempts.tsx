/**
 * The newest attempts at a job, drawn along time and as a table.
 */
import type { AnswerOf } from '../api.ts'
import { serverNow } from '../clock.ts'
import { durationText } from '../duration-text.ts'
import { Cell, Empty, Table, Text, Time } from '../parts.tsx'
import { timelineOf } from './attempt-timeline.ts'

type Attempts = AnswerOf<'jobs.show'>['executions']

const HEIGHT = 14
const WIDTH = 1_000

export function AttemptsPart({ attempts }: { readonly attempts: Attempts }) {
  if (attempts.length === 0) return <Empty>No worker has had it yet.</Empty>
  return (
    <>
      <Drawn attempts={attempts} />
      <Table
        label="Attempts"
        columns={['Attempt', 'Status', 'Worker', 'Leased', 'Took', 'Ended by', 'Error']}
      >
        {attempts.map((one) => (
          <tr key={`${one.stage} ${one.segment} ${one.attempt}`}>
            <Cell of="Attempt">{nameOf(one)}</Cell>
            <Cell of="Status">{one.status}</Cell>
            <Cell of="Worker">
              <Text text={one.worker} most={40} />
            </Cell>
            <Cell of="Leased">
              <Time at={one.leasedAt} />
            </Cell>
            <Cell of="Took" number>
              {durationText(endOf(one) - Date.parse(one.leasedAt))}
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
    </>
  )
}

function nameOf({ stage, segment, attempt }: Attempts[number]): string {
  const place = stage === null ? '' : `${stage}${segment === null ? '' : ` ${segment}`} `
  return `${place}#${attempt}`
}

function endOf({ finishedAt }: Attempts[number]): number {
  return finishedAt === null ? serverNow() : Date.parse(finishedAt)
}

function Drawn({ attempts }: { readonly attempts: Attempts }) {
  const spans = attempts.map((one) => ({ from: Date.parse(one.leasedAt), to: endOf(one) }))
  const { placeOf, gaps } = timelineOf(spans)
  const height = attempts.length * HEIGHT
  return (
    <svg
      class="timeline"
      height={height}
      viewBox={`0 0 ${WIDTH} ${height}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`${attempts.length} attempts along time; the table has the same`}
    >
      {gaps.map(({ span, at, width }) => (
        <rect
          key={span.from}
          class="gap"
          x={at * WIDTH}
          y={0}
          width={width * WIDTH}
          height={height}
        >
          <title>{`nothing ran for ${durationText(span.to - span.from)}`}</title>
        </rect>
      ))}
      {attempts.map((one, i) => {
        const span = spans[i] as (typeof spans)[number]
        const x = placeOf(span.from) * WIDTH
        return (
          <rect
            key={nameOf(one)}
            class={`attempt attempt-${one.status}`}
            x={x}
            y={i * HEIGHT + 2}
            width={Math.max(3, placeOf(span.to) * WIDTH - x)}
            height={HEIGHT - 4}
          >
            <title>{`${nameOf(one)}: ${one.status}, ${durationText(span.to - span.from)}`}</title>
          </rect>
        )
      })}
    </svg>
  )
}
