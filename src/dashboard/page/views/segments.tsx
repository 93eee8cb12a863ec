/**
 * The segments of a stage: a list of which only the rows on the screen are there, and of which only those are asked for,
 * however many there are. The one that is chosen shows what was tried, and what may be done to it.
 */
import { useRef, useState } from 'preact/hooks'
import { action } from '../action.ts'
import type { AnswerOf } from '../api.ts'
import { call } from '../api.ts'
import { serverNow } from '../clock.ts'
import { countText, durationText } from '../duration-text.ts'
import { ONCE, useLive } from '../live.ts'
import { Empty, Problem, State, Text, Waiting } from '../parts.tsx'
import { line, seen } from '../safe-text.ts'
import { may, seesPayloads } from '../session.ts'
import { useSize } from '../size.ts'
import { AttemptsPart } from './attempts.tsx'
import { EffectList } from './effect-list.tsx'
import { ErrorText } from './error-text.tsx'
import type { ShownStage } from './job-actions.ts'
import { offeredActions } from './job-actions.ts'
import type { ShownSegment } from './segment-state.ts'
import { stateOf } from './segment-state.ts'
import { StreamPart } from './streams.tsx'

type SegmentState = ShownSegment['state']

const PAGE = 100
/** All rows are of one height, so that the list knows which of them are on the screen. */
const ROW = 48
/** Rows that are there above and below the screen. */
const AROUND = 6

const FILTERS = [
  ['', 'All'],
  ['WAITING', 'Waiting'],
  ['LEASED', 'Running'],
  ['COMPLETED', 'Done'],
  ['FAILED', 'Failed'],
  ['DEAD', 'In quarantine'],
] as const

interface SegmentsProps {
  readonly job: string
  readonly stage: ShownStage
  readonly chosen: number | null
  readonly onChoose: (segment: number) => void
}

export function SegmentsPart({ job, stage, chosen, onChoose }: SegmentsProps) {
  const [state, setState] = useState<SegmentState | ''>('')
  const { name, segments } = stage
  if (segments === null || segments === 0) {
    return (
      <div class="segments">
        <StageTitle of={stage} />
        <Empty>
          {segments === 0 ? 'It has no segments: there was nothing to do.' : 'It is not open yet.'}
        </Empty>
      </div>
    )
  }
  const isOne = stage.each === null
  return (
    <div class="segments">
      <StageTitle of={stage} />
      {!isOne && (
        <>
          <StateFilter of={stage} current={state} onChoose={setState} />
          <div class="columns">
            {state === '' ? (
              <AllSegments job={job} stage={stage} chosen={chosen} onChoose={onChoose} />
            ) : (
              <SomeSegments
                key={state}
                job={job}
                stage={name}
                state={state}
                chosen={chosen}
                onChoose={onChoose}
              />
            )}
            {chosen === null && <Empty>Choose a segment to see what was tried.</Empty>}
            {chosen !== null && <SegmentPart key={chosen} job={job} stage={name} at={chosen} />}
          </div>
        </>
      )}
      {isOne && <SegmentPart job={job} stage={name} at={0} isOne />}
    </div>
  )
}

function StageTitle({ of }: { readonly of: ShownStage }) {
  const { name, state, queue, version, each, tolerate, after } = of
  return (
    <>
      <h3>
        <Text text={name} most={100} /> <span class="aside">{state.toLowerCase()}</span>
      </h3>
      <p class="aside">
        Queue <Text text={queue} most={60} />, version {version}
        {after.length > 0 && (
          <>
            , after <Text text={after.join(', ')} most={120} />
          </>
        )}
        {each !== null && (
          <>
            , once for each of <Text text={each} most={60} />
          </>
        )}
        {tolerate > 0 && `, goes on with up to ${countText(tolerate)} that failed`}
      </p>
    </>
  )
}

function StateFilter({
  of,
  current,
  onChoose,
}: {
  readonly of: ShownStage
  readonly current: string
  readonly onChoose: (state: SegmentState | '') => void
}) {
  const counts: Readonly<Record<string, number>> = {
    '': of.segments ?? 0,
    WAITING: of.waiting,
    LEASED: of.running,
    COMPLETED: of.completed,
    FAILED: of.failed,
    DEAD: of.dead,
  }
  return (
    <div class="buttons states" role="group" aria-label="Segments by state">
      {FILTERS.map(([state, label]) => (
        <button
          key={state}
          type="button"
          class="small"
          aria-pressed={state === current}
          onClick={() => onChoose(state)}
        >
          {label} {countText(counts[state] ?? 0)}
        </button>
      ))}
    </div>
  )
}

interface ListProps {
  readonly job: string
  readonly chosen: number | null
  readonly onChoose: (segment: number) => void
}

/** Their numbers say which page has them. */
function AllSegments({ job, stage, chosen, onChoose }: ListProps & { readonly stage: ShownStage }) {
  const { name, segments } = stage
  const [range, setRange] = useState({ first: 0, last: 20 })
  const known = useRef(new Map<number, ShownSegment>())
  const pages = pagesOf(range)
  const { problem } = useLive(`${name} ${pages.join()}`, async (ended) => {
    const asked = pages.map((page) => {
      const after = page === 0 ? {} : { after: page * PAGE - 1 }
      return call('jobs.segments', { job, stage: name, limit: PAGE, ...after }, ended)
    })
    for (const { segments: found } of await Promise.all(asked)) {
      for (const one of found) known.current.set(one.segment, one)
    }
    return known.current.size
  })
  return (
    <div>
      <Problem problem={problem} />
      <SegmentList
        name={name}
        count={segments ?? 0}
        segmentAt={(i) => known.current.get(i)}
        numberAt={(i) => i}
        onRange={setRange}
        chosen={chosen}
        onChoose={onChoose}
      />
    </div>
  )
}

function pagesOf({ first, last }: { readonly first: number; readonly last: number }): number[] {
  const [from, to] = [Math.floor(first / PAGE), Math.floor(last / PAGE)]
  return Array.from({ length: to - from + 1 }, (_, i) => from + i)
}

/** Of one state: a page after the other. */
function SomeSegments({
  job,
  stage,
  state,
  chosen,
  onChoose,
}: ListProps & { readonly stage: string; readonly state: SegmentState }) {
  const [after, setAfter] = useState<number | null>(null)
  const { data, problem } = useLive(`${stage} ${state} ${after}`, (ended) => {
    const behind = after === null ? {} : { after }
    return call('jobs.segments', { job, stage, state, limit: PAGE, ...behind }, ended)
  })
  if (data === null) return problem === null ? <Waiting /> : <Problem problem={problem} />
  const { segments, next } = data
  return (
    <div>
      {segments.length === 0 ? (
        <Empty>None now.</Empty>
      ) : (
        <SegmentList
          name={stage}
          count={segments.length}
          segmentAt={(i) => segments[i]}
          numberAt={(i) => segments[i]?.segment ?? i}
          chosen={chosen}
          onChoose={onChoose}
        />
      )}
      <div class="buttons">
        {after !== null && (
          <button type="button" class="small" onClick={() => setAfter(null)}>
            First ones
          </button>
        )}
        {next !== null && (
          <button type="button" class="small" onClick={() => setAfter(next)}>
            Next {PAGE}
          </button>
        )}
      </div>
    </div>
  )
}

function SegmentList({
  name,
  count,
  segmentAt,
  numberAt,
  onRange,
  chosen,
  onChoose,
}: {
  readonly name: string
  readonly count: number
  readonly segmentAt: (row: number) => ShownSegment | undefined
  readonly numberAt: (row: number) => number
  readonly onRange?: (range: { readonly first: number; readonly last: number }) => void
  readonly chosen: number | null
  readonly onChoose: (segment: number) => void
}) {
  const [element, size] = useSize<HTMLDivElement>()
  const [top, setTop] = useState(0)
  const height = size?.height ?? 480
  const first = Math.max(0, Math.floor(top / ROW) - AROUND)
  const last = Math.min(count - 1, Math.ceil((top + height) / ROW) + AROUND)
  const onScroll = (event: { readonly currentTarget: HTMLDivElement }): void => {
    const { scrollTop, clientHeight } = event.currentTarget
    setTop(scrollTop)
    onRange?.({
      first: Math.max(0, Math.floor(scrollTop / ROW)),
      last: Math.min(count - 1, Math.ceil((scrollTop + clientHeight) / ROW)),
    })
  }
  const rows = Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => first + i)
  return (
    <div
      ref={element}
      class="windowed"
      onScroll={onScroll}
      tabIndex={0}
      role="group"
      aria-label={`${countText(count)} segments of ${line(name, 60)}`}
    >
      <ul style={{ height: `${count * ROW}px` }}>
        {rows.map((row) => (
          <li
            key={row}
            aria-setsize={count}
            aria-posinset={row + 1}
            style={{ transform: `translateY(${row * ROW}px)` }}
          >
            <SegmentRow
              number={numberAt(row)}
              of={segmentAt(row)}
              isChosen={numberAt(row) === chosen}
              onChoose={onChoose}
            />
          </li>
        ))}
      </ul>
    </div>
  )
}

function SegmentRow({
  number,
  of,
  isChosen,
  onChoose,
}: {
  readonly number: number
  readonly of: ShownSegment | undefined
  readonly isChosen: boolean
  readonly onChoose: (segment: number) => void
}) {
  return (
    <button type="button" aria-pressed={isChosen} onClick={() => onChoose(number)}>
      <span class="which">#{number}</span>{' '}
      {of === undefined ? (
        <span class="none">…</span>
      ) : (
        <>
          <State state={stateOf(of, serverNow())} />{' '}
          <span class="aside">{of.attempt > 1 ? `attempt ${of.attempt}` : ''}</span>{' '}
          <span class="rest">{restOf(of)}</span>
        </>
      )}
    </button>
  )
}

/** What went wrong, else who has it, else how long it took. */
function restOf(one: ShownSegment): string {
  const { error, worker, leasedAt, endedAt, state, effects } = one
  const held = effects.filter((effect) => effect.state === 'HELD' || effect.state === 'UNKNOWN')
  if (held.length > 0) return line(`${held.map(({ name }) => name).join(', ')}: what became of it?`)
  if (state === 'LEASED' && worker !== null && leasedAt !== null) {
    return `${line(worker, 40)}, ${durationText(serverNow() - Date.parse(leasedAt))}`
  }
  if (error !== null && state !== 'COMPLETED') return line(`${error.code}: ${error.message}`, 140)
  if (endedAt === null || leasedAt === null) return ''
  return durationText(Date.parse(endedAt) - Date.parse(leasedAt))
}

interface SeenSegment {
  readonly segment: ShownSegment | null
  readonly attempts: AnswerOf<'jobs.executions'>['executions']
  readonly accepted: AnswerOf<'jobs.actions'> | null
}

function SegmentPart({
  job,
  stage,
  at,
  isOne = false,
}: {
  readonly job: string
  readonly stage: string
  readonly at: number
  readonly isOne?: boolean
}) {
  const segment = useSegment(job, stage, at)
  // What it emits ends no attempt, and makes nothing else acceptable.
  const key = segment === null ? null : JSON.stringify({ ...segment, streams: [] })
  const last = useRef<SeenSegment | null>(null)
  const { data, problem } = useLive(
    `${stage} ${at} ${key}`,
    async (ended): Promise<SeenSegment> => {
      if (segment === null) return { segment, attempts: [], accepted: null }
      const place = { job, stage, segment: at }
      const [executions, accepted] = await Promise.all([
        // All attempts are in the history, which may be long: it is read only when something happened.
        may('jobs.executions') && segment.attempt > 0
          ? call('jobs.executions', { ...place, ...newestOf(segment.attempt) }, ended)
          : null,
        may('jobs.actions') ? call('jobs.actions', place, ended) : null,
      ])
      last.current = { segment, attempts: executions?.executions ?? [], accepted }
      return last.current
    },
    ONCE,
  )
  const shown = data ?? last.current
  if (shown?.segment == null) return problem === null ? <Waiting /> : <Problem problem={problem} />
  const { effects, attempt, state } = shown.segment
  const { streams } = segment ?? shown.segment
  const names = effects.map(({ name }) => name)
  const offered =
    shown.accepted === null
      ? []
      : offeredActions(shown.accepted, names, {
          input: seesPayloads() ? '' : null,
          steps: new Map(),
        })
  return (
    <div class="one-segment" role="region" aria-label={isOne ? 'Stage' : `Segment ${at}`}>
      <p>
        {!isOne && <strong>Segment {at} </strong>}
        <State state={stateOf(shown.segment, serverNow())} />
      </p>
      <div class="buttons" role="group" aria-label={isOne ? 'Actions on it' : 'Actions on segment'}>
        {offered
          .filter(({ action: { operation } }) => may(operation))
          .map(({ label, action: one }) => (
            <button key={label} type="button" class="small" onClick={() => (action.value = one)}>
              {seen(label)}…
            </button>
          ))}
      </div>
      <Problem problem={problem} />
      {state !== 'COMPLETED' && (
        <ErrorText error={shown.attempts.findLast(({ error }) => error !== null)?.error ?? null} />
      )}
      <AttemptsPart
        isOfOneTask
        attempts={shown.attempts}
        label={isOne ? 'Attempts at it' : `Attempts at segment ${at}`}
      />
      {attempt > shown.attempts.length && shown.attempts.length > 0 && (
        <p class="aside">
          The newest {countText(shown.attempts.length)} of {countText(attempt)} attempts.
        </p>
      )}
      {effects.length > 0 && <EffectList effects={effects} />}
      {streams.map(({ name, length }) => (
        <StreamPart
          key={name}
          name={name}
          length={length}
          job={job}
          place={{ stage, segment: at }}
        />
      ))}
    </div>
  )
}

const MOST_ATTEMPTS = 50

/** A page of them goes on behind the number of an attempt. */
function newestOf(attempts: number): { readonly after: number; readonly limit: number } {
  return { after: Math.max(0, attempts - MOST_ATTEMPTS), limit: MOST_ATTEMPTS }
}

/** As it is now. Null: it is not known yet. */
function useSegment(job: string, stage: string, at: number): ShownSegment | null {
  const { data } = useLive(`${stage} ${at}`, async (ended) => {
    const behind = at === 0 ? {} : { after: at - 1 }
    const { segments } = await call('jobs.segments', { job, stage, limit: 1, ...behind }, ended)
    return segments[0] ?? null
  })
  return data
}
