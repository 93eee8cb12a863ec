/**
 * The whole machine at a moment of the log: how many jobs were in which state, what happened around it, which jobs there
 * were, and what is different at another moment: now, or one that the reader chose.
 *
 * A moment does not change any more, so it is asked for once. What was shown stays until the next moment is there.
 */
import { useEffect, useRef, useState } from 'preact/hooks'
import type { JobState } from '../../../kernel/index.ts'
import type { AnswerOf } from '../api.ts'
import { call } from '../api.ts'
import { serverNow } from '../clock.ts'
import { agoText, countText } from '../duration-text.ts'
import { ONCE, useLive } from '../live.ts'
import type { LogEntry } from '../log-entries.ts'
import { entriesBehind } from '../log-entries.ts'
import { Cell, Empty, Problem, State, Table, Text, Time, Waiting } from '../parts.tsx'
import type { RouteParameters } from '../route.ts'
import { goTo, linkTo } from '../route.ts'
import { may } from '../session.ts'
import type { PastCounts } from './past-differences.tsx'
import { Differences } from './past-differences.tsx'
import { PastEntries } from './past-entries.tsx'
import type { PastMoment } from './past-moment.ts'
import { momentIn, otherMomentIn, withMoment } from './past-moment.ts'
import { Scrubber } from './past-scrubber.tsx'

export interface SeenMoment {
  readonly counts: PastCounts
  readonly list: AnswerOf<'past.list'>
  /** Around it, in order; empty where the reader may not watch. */
  readonly around: readonly LogEntry[]
}

const SPANS = [
  ['10 minutes', 600_000],
  ['1 hour', 3_600_000],
  ['1 day', 86_400_000],
  ['7 days', 604_800_000],
] as const
const PLACES = 1_000
const PAGE = 50
/** Entries before and behind the moment. */
const AROUND = 8
/** A moment that is still to come is now, whatever the clock of this browser says. */
const COMING_MS = 60_000

function nowMoment(): PastMoment {
  return { time: Math.round(serverNow()) + COMING_MS }
}

async function look(moment: PastMoment, state: string, ended: AbortSignal): Promise<SeenMoment> {
  const filter = state === '' ? {} : { state: state as JobState }
  const [counts, list] = await Promise.all([
    call('past.counts', moment, ended),
    call('past.list', { ...moment, ...filter, limit: PAGE }, ended),
  ])
  if (!may('store.watch')) return { counts, list, around: [] }
  // Positions are dense enough: what stands between entries is rare.
  const after = Math.max(0, counts.position - AROUND)
  const asked = { after, through: counts.position + AROUND, most: 2 * AROUND + 1 }
  return { counts, list, around: await entriesBehind(asked, ended) }
}

export function PastMachine({ parameters }: { readonly parameters: RouteParameters }) {
  const chosen = momentIn(parameters)
  const other = otherMomentIn(parameters)
  const { state = '' } = parameters
  const opened = useRef(nowMoment())
  const moment = chosen ?? opened.current
  const key = JSON.stringify(['past', moment, state])
  const { data, problem } = useLive(key, (ended) => look(moment, state, ended), ONCE)
  const seen = useKept(data)
  return (
    <>
      <MachineScrubber parameters={parameters} seen={seen} />
      <Problem problem={problem} />
      {seen === null ? (
        problem === null && <Waiting />
      ) : (
        <div aria-busy={data === null} class="past">
          <Differences counts={seen.counts} other={other} parameters={parameters} />
          {seen.around.length > 0 && (
            <PastEntries around={seen.around} at={seen.counts.position} parameters={parameters} />
          )}
          <JobsThen seen={seen} parameters={parameters} />
        </div>
      )}
    </>
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
  const all = begun === null ? [] : ([['All of the log', Math.ceil(now - begun)]] as const)
  const spans = [...SPANS.filter(([, ms]) => begun === null || ms < now - begun), ...all]
  const span = wanted >= ago ? wanted : (spans.find(([, ms]) => ms >= ago)?.[1] ?? ago)
  const timeAt = (value: number): number => now - (1 - value / PLACES) * span
  const go = (to: PastMoment): void => goTo('past', withMoment(parameters, to))
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
            value={String(spans.some(([, ms]) => ms === span) ? span : spans.at(-1)?.[1])}
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

/** When the log began; null: it is not known, or not for this reader. */
function useBegin(): number | null {
  const [begun, setBegun] = useState<number | null>(null)
  useEffect(() => {
    if (!may('store.watch')) return
    const ended = new AbortController()
    void entriesBehind({ after: 0, most: 1 }, ended.signal)
      .then(([first]) => setBegun(first?.at ?? null))
      .catch(() => undefined)
    return () => ended.abort()
  }, [])
  return begun
}

/**
 * From the moment that the address names, which may be ahead of what is shown: keys are pressed more quickly than moments are
 * read. Where no entry is known, every position is as good as one.
 */
function stepsAround(
  seen: SeenMoment | null,
  chosen: PastMoment | null,
): { previous: number | null; next: number | null } {
  if (seen === null) return { previous: null, next: null }
  const { counts, around } = seen
  const at = chosen !== null && 'position' in chosen ? chosen.position : counts.position
  const known = around.map(({ position }) => position)
  const own = known.findLast((position) => position <= at) ?? at
  const previous = known.findLast((position) => position < own) ?? (own > 0 ? own - 1 : null)
  const isLast =
    around.length > 0 && at >= counts.position && counts.position >= (known.at(-1) ?? 0)
  const next = known.find((position) => position > at) ?? (isLast ? null : at + 1)
  return { previous, next }
}

export function momentText(time: number, now: number): string {
  const date = new Date(time)
  const day = new Date(now).toDateString() === date.toDateString() ? '' : `${isoDay(date)} `
  const clock = date.toLocaleTimeString('en-GB')
  const ms = String(date.getMilliseconds()).padStart(3, '0')
  return `${day}${clock}.${ms} (${agoText(time, now)})`
}

function two(part: number): string {
  return String(part).padStart(2, '0')
}

function isoDay(date: Date): string {
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
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
          columns={['Job', 'Type', 'State then', 'Attempt', 'Submitted']}
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
              <Cell of="State then">
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
