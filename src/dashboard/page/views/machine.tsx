/**
 * The states of a job, drawn from the kernel's own table, with how many jobs are in each. A state leads to its jobs.
 */
import { useState } from 'preact/hooks'
import type { JobState } from '../../../kernel/index.ts'
import { PIPELINE_JOB_TRANSITIONS, PLAIN_JOB_TRANSITIONS } from '../../../kernel/index.ts'
import { call } from '../api.ts'
import { countText } from '../duration-text.ts'
import { useLive } from '../live.ts'
import { Cell, Problem, State, STATES, Table } from '../parts.tsx'
import { linkTo } from '../route.ts'

const BOX = { width: 150, height: 58 }
const PLACES: Readonly<Record<JobState, readonly [x: number, y: number]>> = {
  CREATED: [10, 30],
  QUEUED: [10, 210],
  RETRYING: [250, 30],
  RUNNING: [250, 210],
  SUSPENDED: [250, 390],
  QUARANTINED: [490, 30],
  SUCCEEDED: [730, 210],
  FAILED: [730, 390],
}
const TABLES = { plain: PLAIN_JOB_TRANSITIONS, pipeline: PIPELINE_JOB_TRANSITIONS }

export function MachineView() {
  const [kind, setKind] = useState<keyof typeof TABLES>('plain')
  const [pointed, setPointed] = useState<JobState | null>(null)
  const { data, problem } = useLive('machine', (ended) => call('counts', {}, ended))
  const table = TABLES[kind]
  return (
    <>
      <Problem problem={problem} />
      <p>
        <label class="inline">
          Moves of{' '}
          <select
            value={kind}
            onChange={(event) => setKind(event.currentTarget.value as keyof typeof TABLES)}
          >
            <option value="plain">plain jobs</option>
            <option value="pipeline">pipelines</option>
          </select>
        </label>{' '}
        The counts are of all jobs.
      </p>
      <div class="scroll" tabIndex={0} role="region" aria-label="The states, drawn">
        <svg class="machine" viewBox="0 0 900 460" role="group" aria-label="States and moves">
          <Tip />
          {STATES.flatMap((from) =>
            table[from].map((to) => (
              <path
                key={`${from} ${to}`}
                class={from === pointed ? 'arrow from' : 'arrow'}
                d={arrow(from, to)}
                marker-end="url(#tip)"
              >
                <title>{`${from} → ${to}`}</title>
              </path>
            )),
          )}
          {STATES.map((state) => (
            <StateBox
              key={state}
              state={state}
              count={data?.states[state] ?? null}
              onPoint={(isPointed) => setPointed(isPointed ? state : null)}
            />
          ))}
        </svg>
      </div>
      <Table label="The same as a table" columns={['State', 'Jobs', 'May become']}>
        {STATES.map((state) => (
          <tr key={state}>
            <Cell of="State">
              <a href={linkTo('jobs', { state })}>
                <State state={state} />
              </a>
            </Cell>
            <Cell of="Jobs" number>
              {data === null ? '–' : countText(data.states[state])}
            </Cell>
            <Cell of="May become">{table[state].join(', ') || 'nothing: it is final'}</Cell>
          </tr>
        ))}
      </Table>
    </>
  )
}

/** The end of an arrow. */
function Tip() {
  return (
    <defs>
      <marker
        id="tip"
        viewBox="0 0 8 8"
        refX="7"
        refY="4"
        markerWidth="7"
        markerHeight="7"
        orient="auto-start-reverse"
      >
        <path d="M0 0 8 4 0 8z" />
      </marker>
    </defs>
  )
}

/** The moves of the state that is pointed at, or has the focus, stand out. */
function StateBox({
  state,
  count,
  onPoint,
}: {
  readonly state: JobState
  readonly count: number | null
  readonly onPoint: (isPointed: boolean) => void
}) {
  const [x, y] = PLACES[state]
  const text = count === null ? '–' : countText(count)
  return (
    <a
      href={linkTo('jobs', { state })}
      onMouseEnter={() => onPoint(true)}
      onMouseLeave={() => onPoint(false)}
      onFocus={() => onPoint(true)}
      onBlur={() => onPoint(false)}
    >
      <g class={`box box-${state}`}>
        <rect x={x} y={y} width={BOX.width} height={BOX.height} rx={8} />
        <text x={x + BOX.width / 2} y={y + 23} class="name">
          {state}{' '}
        </text>
        <text x={x + BOX.width / 2} y={y + 46} class="count">
          {text}
        </text>
      </g>
    </a>
  )
}

/** From edge to edge, bent to one side: two that lead both ways do not cover each other. */
function arrow(from: JobState, to: JobState): string {
  const [a, b] = [centre(from), centre(to)]
  const [dx, dy] = [b.x - a.x, b.y - a.y]
  const length = Math.hypot(dx, dy) || 1
  const bend = 18 + length * 0.08
  const middle = {
    x: (a.x + b.x) / 2 - (dy / length) * bend,
    y: (a.y + b.y) / 2 + (dx / length) * bend,
  }
  const [start, end] = [edge(a, middle), edge(b, middle)]
  return `M${start.x} ${start.y} Q${middle.x} ${middle.y} ${end.x} ${end.y}`
}

interface Point {
  readonly x: number
  readonly y: number
}

function centre(state: JobState): Point {
  const [x, y] = PLACES[state]
  return { x: x + BOX.width / 2, y: y + BOX.height / 2 }
}

/** Where a line from the centre of a box to a point leaves the box. */
function edge(from: Point, to: Point): Point {
  const [dx, dy] = [to.x - from.x, to.y - from.y]
  const share = Math.min(
    (BOX.width / 2 + 3) / (Math.abs(dx) || 1e-9),
    (BOX.height / 2 + 3) / (Math.abs(dy) || 1e-9),
  )
  return { x: Math.round(from.x + dx * share), y: Math.round(from.y + dy * share) }
}
