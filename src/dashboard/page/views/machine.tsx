/**
 * The states of a job, drawn from the kernel's own table, with how many jobs are in each, and how many take each move. A state leads
 * to its jobs. A table says the same.
 */
import { useState } from 'preact/hooks'
import type { JobState } from '../../../kernel/index.ts'
import { PIPELINE_JOB_TRANSITIONS, PLAIN_JOB_TRANSITIONS } from '../../../kernel/index.ts'
import type { Figures } from '../../../protocol/index.ts'
import type { AnswerOf } from '../api.ts'
import { call } from '../api.ts'
import { countText } from '../duration-text.ts'
import { useLive } from '../live.ts'
import { Cell, Problem, State, Table } from '../parts.tsx'
import { linkTo } from '../route.ts'
import { flowRate, rateText } from './figure-values.ts'
import { askFigures } from './figures.ts'
import { STATES } from './filter-text.ts'

const BOX = { width: 150, height: 58 }
const PLACES: Readonly<Record<JobState, readonly [x: number, y: number]>> = {
  CREATED: [10, 30],
  QUEUED: [10, 220],
  RETRYING: [260, 30],
  RUNNING: [260, 220],
  SUSPENDED: [260, 410],
  QUARANTINED: [510, 30],
  SUCCEEDED: [780, 220],
  FAILED: [780, 410],
}
/** How far a move is bent to its right; those that are not here, by their length. */
const BENDS: Readonly<Record<string, number>> = {
  'CREATED FAILED': -60,
  'CREATED SUCCEEDED': 24,
  'QUARANTINED QUEUED': 4,
  'QUEUED SUCCEEDED': 110,
}

interface MoveKind {
  readonly name: string
  readonly table: typeof PLAIN_JOB_TRANSITIONS
  /** Whose moves are counted; null: none are. */
  readonly of: 'job' | 'segment' | null
  readonly says: string
}

const KINDS: Readonly<Record<string, MoveKind>> = {
  plain: {
    name: 'plain jobs',
    table: PLAIN_JOB_TRANSITIONS,
    of: 'job',
    says: 'The moves are those of plain jobs.',
  },
  segments: {
    name: 'segments of pipelines',
    table: PLAIN_JOB_TRANSITIONS,
    of: 'segment',
    says: 'The moves are those of segments: each moves as a plain job does. The counts are of jobs.',
  },
  pipeline: {
    name: 'pipelines',
    table: PIPELINE_JOB_TRANSITIONS,
    of: null,
    says: 'What a pipeline does follows from its segments, whose moves are counted.',
  },
}

interface SeenMachine {
  readonly counts: AnswerOf<'counts'>
  /** Null: the reader may not ask for them. */
  readonly figures: Figures | null
}

async function look(ended: AbortSignal): Promise<SeenMachine> {
  const [counts, figures] = await Promise.all([call('counts', {}, ended), askFigures('15m', ended)])
  return { counts, figures }
}

export function MachineView() {
  const [chosen, setChosen] = useState('plain')
  const [pointed, setPointed] = useState<JobState | null>(null)
  const { data, problem } = useLive('machine', look)
  const kind = KINDS[chosen] as MoveKind
  const figures = data?.figures ?? null
  const counts = data?.counts ?? null
  return (
    <>
      <Problem problem={problem} />
      <div class="machine-head">
        <label class="inline">
          Moves of{' '}
          <select value={chosen} onChange={(event) => setChosen(event.currentTarget.value)}>
            {Object.entries(KINDS).map(([key, { name }]) => (
              <option key={key} value={key}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <p class="aside">
          {kind.says} {figures !== null && kind.of !== null && <FlowWords flow={figures.flow} />}
        </p>
      </div>
      <div class="scroll drawing" tabIndex={0} role="region" aria-label="The states, drawn">
        <svg class="machine" viewBox="-90 -12 1030 490" role="group" aria-label="States and moves">
          <Tips />
          <Moves kind={kind} figures={figures} pointed={pointed} />
          {STATES.map((state) => (
            <StateBox
              key={state}
              state={state}
              count={counts?.states[state] ?? null}
              onPoint={(isPointed) => setPointed(isPointed ? state : null)}
            />
          ))}
        </svg>
      </div>
      <StateTable kind={kind} figures={figures} counts={counts} />
    </>
  )
}

function FlowWords({ flow }: { readonly flow: Figures['flow'] }) {
  if (flow.seconds === 0) return <>How many take each move is known in a moment.</>
  return (
    <>
      A figure says how many took a move each second, in all processes, of the last{' '}
      {Math.round(flow.seconds)} seconds; of other processes than the server, as they said up to ten
      seconds ago. A move that time makes, such as the end of a delay, counts with the next entry of
      the job.
    </>
  )
}

interface Move {
  readonly from: JobState | null
  readonly to: JobState
  readonly rate: number
}

function movesOf({ table, of }: MoveKind, figures: Figures | null): readonly Move[] {
  const rate = (from: JobState | null, to: JobState): number =>
    of === null ? 0 : flowRate(figures, of, from, to)
  const moves = STATES.flatMap((from) =>
    table[from].map((to) => ({ from, to, rate: rate(from, to) })),
  )
  const begins = (['CREATED', 'QUEUED'] as const).map((to) => ({
    from: null,
    to,
    rate: rate(null, to),
  }))
  return of === 'job' ? [...begins, ...moves] : moves
}

/** Those that jobs take stand before the others. */
function Moves({
  kind,
  figures,
  pointed,
}: {
  readonly kind: MoveKind
  readonly figures: Figures | null
  readonly pointed: JobState | null
}) {
  const moves = movesOf(kind, figures).toSorted((a, b) => a.rate - b.rate)
  return (
    <>
      {moves.map((move) => (
        <Arrow
          key={`${move.from} ${move.to}`}
          move={move}
          isPointed={move.from === pointed && pointed !== null}
        />
      ))}
      {moves
        .filter(({ rate }) => rate > 0)
        .map((move) => (
          <RateLabel key={`${move.from} ${move.to}`} move={move} />
        ))}
    </>
  )
}

const MOST_WIDTH = 7

function Arrow({ move, isPointed }: { readonly move: Move; readonly isPointed: boolean }) {
  const { from, to, rate } = move
  const { path } = curve(from, to)
  const isTaken = rate > 0
  const kind = isPointed ? 'from' : isTaken ? 'taken' : 'idle'
  const width = isTaken ? Math.min(MOST_WIDTH, 2.5 + Math.log2(1 + rate)) : undefined
  return (
    <g class={`move ${kind}`}>
      <path
        class="arrow"
        d={path}
        style={width === undefined ? undefined : { strokeWidth: width }}
        marker-end={`url(#tip-${kind})`}
      >
        <title>{`${from ?? 'submitted'} → ${to}${isTaken ? `, ${rateText(rate)} a second` : ''}`}</title>
      </path>
      {isTaken && <path class={rate >= 10 ? 'stream quick' : 'stream'} d={path} />}
    </g>
  )
}

function RateLabel({ move: { from, to, rate } }: { readonly move: Move }) {
  const { x, y } = curve(from, to).middle
  const text = `${rateText(rate)}/s`
  const width = text.length * 7 + 10
  return (
    <g class="rate" aria-hidden="true">
      <rect x={x - width / 2} y={y - 10} width={width} height={20} rx={10} />
      <text x={x} y={y + 4}>
        {text}
      </text>
    </g>
  )
}

function StateTable({
  kind,
  figures,
  counts,
}: {
  readonly kind: MoveKind
  readonly figures: Figures | null
  readonly counts: AnswerOf<'counts'> | null
}) {
  const moves = movesOf(kind, figures)
  return (
    <Table
      label="The same as a table"
      columns={['State', 'Jobs', 'Came, a second', 'May become, and how many a second do']}
    >
      {STATES.map((state) => {
        const came = moves.reduce((sum, { to, rate }) => sum + (to === state ? rate : 0), 0)
        const next = moves.filter(({ from }) => from === state)
        return (
          <tr key={state}>
            <Cell of="State">
              <a href={linkTo('jobs', { state })}>
                <State state={state} />
              </a>
            </Cell>
            <Cell of="Jobs" number>
              {counts === null ? '–' : countText(counts.states[state])}
            </Cell>
            <Cell of="Came, a second" number>
              {kind.of === null ? '–' : rateText(came)}
            </Cell>
            <Cell of="May become">
              {next.length === 0 ? (
                'nothing: it is final'
              ) : (
                <ul class="moves">
                  {next.map(({ to, rate }) => (
                    <li key={to} class={rate > 0 ? 'taken' : undefined}>
                      {to}
                      {rate > 0 && <strong> {rateText(rate)} a second</strong>}
                    </li>
                  ))}
                </ul>
              )}
            </Cell>
          </tr>
        )
      })}
    </Table>
  )
}

/** The ends of arrows: each kind has its own, in its colour. */
function Tips() {
  return (
    <defs>
      {['idle', 'taken', 'from'].map((kind) => (
        <marker
          key={kind}
          id={`tip-${kind}`}
          class={kind}
          viewBox="0 0 8 8"
          refX="7"
          refY="4"
          markerWidth={kind === 'taken' ? 15 : 11}
          markerHeight={kind === 'taken' ? 15 : 11}
          markerUnits="userSpaceOnUse"
          orient="auto-start-reverse"
        >
          <path d="M0 0 8 4 0 8z" />
        </marker>
      ))}
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

interface Point {
  readonly x: number
  readonly y: number
}

interface Curve {
  readonly path: string
  /** Where a label stands. */
  readonly middle: Point
}

/** From edge to edge, bent to one side: two that lead both ways do not cover each other. */
function curve(from: JobState | null, to: JobState): Curve {
  const b = centre(to)
  if (from === null) {
    const [x, y] = PLACES[to]
    const start = { x: x - 90, y: y + BOX.height / 2 }
    return { path: `M${start.x} ${start.y} H${x - 3}`, middle: { x: x - 52, y: start.y } }
  }
  const a = centre(from)
  const [dx, dy] = [b.x - a.x, b.y - a.y]
  const length = Math.hypot(dx, dy) || 1
  const bend = BENDS[`${from} ${to}`] ?? 18 + length * 0.08
  const control = {
    x: (a.x + b.x) / 2 - (dy / length) * bend,
    y: (a.y + b.y) / 2 + (dx / length) * bend,
  }
  const [start, end] = [edge(a, control), edge(b, control)]
  return {
    path: `M${start.x} ${start.y} Q${control.x} ${control.y} ${end.x} ${end.y}`,
    middle: {
      x: (start.x + 2 * control.x + end.x) / 4,
      y: (start.y + 2 * control.y + end.y) / 4,
    },
  }
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
