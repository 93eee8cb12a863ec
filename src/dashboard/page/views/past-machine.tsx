/**
 * The whole machine at a moment of the log: how many jobs were in which state, what happened around it, which jobs there
 * were, and what is different at another moment: now, or one that the reader chose.
 *
 * A moment does not change any more, so it is asked for once. What was shown stays until the next moment is there.
 */
import { useEffect, useRef, useState } from 'preact/hooks'
import type { JobState } from '../../../kernel/index.ts'
import type { AnswerOf } from '../api.ts'
import { call, CallRefused, messageOf } from '../api.ts'
import { serverNow } from '../clock.ts'
import { agoText, clockText, countText } from '../duration-text.ts'
import { ONCE, useLive } from '../live.ts'
import { Cell, Empty, Problem, State, Table, Text, Time, Waiting } from '../parts.tsx'
import type { RouteParameters } from '../route.ts'
import { goInstead, linkTo } from '../route.ts'
import type { PastCounts } from './past-differences.tsx'
import { Differences } from './past-differences.tsx'
import type { EntryThen } from './past-entries.tsx'
import { PastEntries } from './past-entries.tsx'
import type { PastMoment } from './past-moment.ts'
import { momentIn, nowMoment, otherMomentIn, withMoment } from './past-moment.ts'
import { Scrubber } from './past-scrubber.tsx'

export interface SeenMoment {
  readonly counts: PastCounts
  readonly list: AnswerOf<'past.list'>
  /** Around it, in order. */
  readonly around: readonly EntryThen[]
  /** Why they are not known; null: they are. */
  readonly aroundProblem: string | null
}

/** What is needed for a moment was removed: the first one that is still known. */
interface FirstMoment {
  readonly position: number
  readonly time: number
}

const SPANS = [
  ['10 minutes', 600_000],
  ['1 hour', 3_600_000],
  ['1 day', 86_400_000],
  ['7 days', 604_800_000],
] as const
const ALL = ['All of the log', Infinity] as const
const PLACES = 1_000
const PAGE = 50
/** Entries before and behind the moment. */
const AROUND = 8
async function look(
  moment: PastMoment,
  state: string,
  ended: AbortSignal,
): Promise<SeenMoment | FirstMoment> {
  const filter = state === '' ? {} : { state: state as JobState }
  try {
    const [counts, list] = await Promise.all([
      call('past.counts', moment, ended),
      call('past.list', { ...moment, ...filter, limit: PAGE }, ended),
    ])
    return { counts, list, ...(await lookAround(counts.position, ended)) }
  } catch (error) {
    const oldest = oldestOf(error)
    if (oldest === null) throw error
    return oldest
  }
}

/** What cannot be told of them does not keep the moment itself back. */
async function lookAround(
  position: number,
  ended: AbortSignal,
): Promise<Pick<SeenMoment, 'around' | 'aroundProblem'>> {
  try {
    const [upTo, behind] = await Promise.all([
      call('past.entries', { through: position, limit: AROUND, newest: true }, ended),
      call('past.entries', { after: position, limit: AROUND }, ended),
    ])
    return { around: [...upTo.entries, ...behind.entries], aroundProblem: null }
  } catch (error) {
    if (!(error instanceof CallRefused)) throw error
    return { around: [], aroundProblem: messageOf(error) }
  }
}

function oldestOf(error: unknown): FirstMoment | null {
  if (!(error instanceof CallRefused) || error.code !== 'BeforeHistory') return null
  const { oldestPosition: position, oldestTime: time } = error.details
  return typeof position === 'number' && typeof time === 'number' ? { position, time } : null
}

export function PastMachine({ parameters }: { readonly parameters: RouteParameters }) {
  const chosen = momentIn(parameters)
  const other = otherMomentIn(parameters)
  const { state = '' } = parameters
  const opened = useRef(nowMoment())
  const moment = chosen ?? opened.current
  const key = JSON.stringify(['past', moment, state])
  const { data, problem } = useLive(key, (ended) => look(moment, state, ended), ONCE)
  const oldest = data !== null && 'time' in data ? data : null
  const seen = useKept(data !== null && 'counts' in data ? data : null)
  return (
    <>
      <MachineScrubber parameters={parameters} seen={seen} />
      <Problem problem={problem} />
      {oldest !== null ? (
        <TooEarly oldest={oldest} parameters={parameters} />
      ) : seen === null ? (
        problem === null && <Waiting />
      ) : (
        <div aria-busy={data === null} class="past">
          <Differences counts={seen.counts} other={other} parameters={parameters} />
          <Problem problem={seen.aroundProblem} />
          {seen.around.length > 0 && (
            <PastEntries around={seen.around} at={seen.counts.position} parameters={parameters} />
          )}
          <JobsThen seen={seen} parameters={parameters} />
        </div>
      )}
    </>
  )
}

interface TooEarlyProps {
  readonly oldest: FirstMoment
  readonly parameters: RouteParameters
}

function TooEarly({ oldest: { position, time }, parameters }: TooEarlyProps) {
  return (
    <Empty>
      What is needed for this moment was removed.{' '}
      <a href={linkTo('past', withMoment(parameters, { position }))}>
        The oldest moment that is kept
      </a>{' '}
      is that of entry {countText(position)}, {momentText(time, serverNow())}.
    </Empty>
  )
}

/** The newest that was there. */
export function useKept<T>(data: T | null): T | null {
  const kept = useRef<T | null>(data)
  if (data !== null) kept.current = data
  return data ?? kept.current
}

interface ScrubProps {
  readonly parameters: RouteParameters
  readonly seen: SeenMoment | null
}

function MachineScrubber({ parameters, seen }: ScrubProps) {
  const begun = useBegin()
  const now = serverNow()
  const time = seen === null ? now : Date.parse(seen.counts.time)
  const ago = Math.max(0, now - time)
  const [wanted, setWanted] = useState(SPANS[0][1] as number)
  const age = begun === null ? Infinity : Math.max(1, now - begun)
  const spans = [...SPANS.filter(([, ms]) => ms < age), ...(begun === null ? [] : [ALL])]
  const chosen = spans.find(([, ms]) => ms >= Math.max(wanted, ago)) ?? spans.at(-1)
  const within = chosen?.[1] ?? Infinity
  // The slider goes as far back as the log, and as far as the moment that is shown.
  const span = Math.max(Math.min(within, age), ago)
  const timeAt = (value: number): number => now - (1 - value / PLACES) * span
  const go = (to: PastMoment): void => goInstead('past', withMoment(parameters, to))
  const position = seen?.counts.position ?? null
  const steps = stepsAround(seen, momentIn(parameters))
  return (
    <Scrubber
      label="Moment"
      value={PLACES - (ago / span) * PLACES}
      least={0}
      most={PLACES}
      step={1}
      says={(value) => momentText(timeAt(value), now)}
      onRest={(value) => go({ time: timeAt(value) })}
      onPrevious={steps.previous === null ? null : () => go({ position: steps.previous as number })}
      onNext={steps.next === null ? null : () => go({ position: steps.next as number })}
      before={
        <label>
          Within the last
          <select
            value={String(within)}
            onChange={(event) => setWanted(Number(event.currentTarget.value))}
          >
            {spans.map(([name, ms]) => (
              <option key={name} value={String(ms)}>
                {name}
              </option>
            ))}
          </select>
        </label>
      }
    >
      {position !== null && <span class="position">entry {countText(position)}</span>}
      <a class="button" href={linkTo('past', { ...parameters, time: null, position: null })}>
        Now
      </a>
      {position !== null && (
        <a class="button" href={linkTo('past', { ...parameters, with: `p${position}` })}>
          Compare from here
        </a>
      )}
    </Scrubber>
  )
}

/** When the first entry was written that is still there; null: it is not known. */
function useBegin(): number | null {
  const [begun, setBegun] = useState<number | null>(null)
  useEffect(() => {
    const ended = new AbortController()
    void call('past.entries', { limit: 1 }, ended.signal)
      .then(({ entries: [first] }) => setBegun(first === undefined ? null : Date.parse(first.at)))
      .catch(() => undefined)
    return () => ended.abort()
  }, [])
  return begun
}

/**
 * From the moment that the address names, which may be ahead of what is shown: keys are pressed more quickly than moments are
 * read. Null: there is none, or it is not known yet.
 */
function stepsAround(
  seen: SeenMoment | null,
  chosen: PastMoment | null,
): { previous: number | null; next: number | null } {
  if (seen === null) return { previous: null, next: null }
  const at = chosen !== null && 'position' in chosen ? chosen.position : seen.counts.position
  const known = seen.around.map(({ position }) => position)
  const own = known.findLast((position) => position <= at) ?? at
  const previous = known.findLast((position) => position < own) ?? null
  return { previous, next: known.find((position) => position > at) ?? null }
}

export function momentText(time: number, now: number): string {
  return `${clockText(time, now)} (${agoText(time, now)})`
}

interface JobsProps {
  readonly seen: SeenMoment
  readonly parameters: RouteParameters
}

function JobsThen({ seen: { counts, list }, parameters }: JobsProps) {
  const { state = '' } = parameters
  const position = String(counts.position)
  return (
    <section aria-labelledby="then">
      <h2 id="then">
        Jobs as they were{state !== '' && `, ${state}`}{' '}
        {state !== '' && (
          <a class="button small" href={linkTo('past', { ...parameters, state: null })}>
            All states
          </a>
        )}
      </h2>
      {list.jobs.length === 0 ? (
        <Empty>There was none.</Empty>
      ) : (
        <Table
          label="Jobs as they were"
          cards="jobs"
          columns={['Job', 'Type', 'State', 'Attempt', 'Submitted']}
        >
          {list.jobs.map((one) => (
            <tr key={one.id}>
              <Cell of="Job">
                <a class="id" href={linkTo('past', { job: one.id, position })}>
                  <Text text={one.id} most={40} />
                </a>
              </Cell>
              <Cell of="Type">
                <Text text={one.type} most={60} />
              </Cell>
              <Cell of="State">
                <State state={one.state} />
              </Cell>
              <Cell of="Attempt" number>
                {one.attempt}
              </Cell>
              <Cell of="Submitted">
                <Time at={one.submittedAt} />
              </Cell>
            </tr>
          ))}
        </Table>
      )}
      {list.next !== null && <p class="aside">The first {PAGE} of them.</p>}
    </section>
  )
}
