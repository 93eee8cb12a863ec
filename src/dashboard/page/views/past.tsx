/**
 * Jobs as they were at a moment, beside how they are now. A moment is read from the history, so it is asked for once, and not
 * again and again.
 */
import { useState } from 'preact/hooks'
import type { AnswerOf } from '../api.ts'
import { call } from '../api.ts'
import { serverNow } from '../clock.ts'
import { agoText, countText } from '../duration-text.ts'
import { ONCE, useLive } from '../live.ts'
import {
  Cell,
  Empty,
  JobLink,
  JsonBlock,
  Problem,
  State,
  STATES,
  Table,
  Text,
  Time,
  Waiting,
} from '../parts.tsx'
import type { RouteParameters } from '../route.ts'
import { goTo, linkTo } from '../route.ts'

const SPANS = [
  ['10 minutes', 600_000],
  ['1 hour', 3_600_000],
  ['1 day', 86_400_000],
  ['7 days', 604_800_000],
] as const
const PAGE = 50

type PastMoment = { readonly time: number } | { readonly position: number }

function momentIn({ time, position }: RouteParameters): PastMoment | null {
  if (position !== undefined && /^\d+$/.test(position)) return { position: Number(position) }
  if (time !== undefined && /^\d+$/.test(time)) return { time: Number(time) }
  return null
}

export function PastView({ parameters }: { readonly parameters: RouteParameters }) {
  const moment = momentIn(parameters)
  const { job, state } = parameters
  return (
    <>
      <Scrubber key={parameters['time'] ?? ''} parameters={parameters} />
      {moment === null ? (
        <Empty>Choose a moment: the page shows the jobs as they were then.</Empty>
      ) : job !== undefined ? (
        <PastJobPart job={job} moment={moment} />
      ) : (
        <PastJobsPart moment={moment} state={state ?? ''} parameters={parameters} />
      )}
    </>
  )
}

function Scrubber({ parameters }: { readonly parameters: RouteParameters }) {
  const time = Number(parameters['time'] ?? Number.NaN)
  const ago = Number.isNaN(time) ? 0 : serverNow() - time
  const [spanMs, setSpanMs] = useState<number>(
    SPANS.find(([, ms]) => ago <= ms)?.[1] ?? SPANS[SPANS.length - 1]?.[1] ?? 0,
  )
  const [place, setPlace] = useState(Number.isNaN(time) ? 1_000 : 1_000 - (ago / spanMs) * 1_000)
  const chosen = Math.round(serverNow() - (1 - place / 1_000) * spanMs)
  const go = (to: number): void => {
    const { position: _, time: __, ...others } = parameters
    goTo('past', { ...others, time: String(to) })
  }
  return (
    <form
      class="scrubber"
      onSubmit={(event) => {
        event.preventDefault()
        go(chosen)
      }}
    >
      <label>
        Within the last
        <select value={spanMs} onChange={(event) => setSpanMs(Number(event.currentTarget.value))}>
          {SPANS.map(([name, ms]) => (
            <option key={ms} value={ms}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <label class="wide">
        Moment
        <input
          type="range"
          min={0}
          max={1_000}
          value={place}
          aria-valuetext={agoText(chosen, serverNow())}
          onInput={(event) => setPlace(Number(event.currentTarget.value))}
          onChange={() => go(chosen)}
        />
        <small>
          {new Date(chosen).toLocaleString()} ({agoText(chosen, serverNow())})
        </small>
      </label>
      <button type="submit">Show</button>
    </form>
  )
}

interface Then {
  readonly counts: AnswerOf<'past.counts'>
  readonly now: AnswerOf<'counts'>
  readonly list: AnswerOf<'past.list'>
}

function PastJobsPart({
  moment,
  state,
  parameters,
}: {
  readonly moment: PastMoment
  readonly state: string
  readonly parameters: RouteParameters
}) {
  const look = async (ended: AbortSignal): Promise<Then> => {
    const filter = state === '' ? {} : { state: state as 'QUEUED' }
    const [counts, now, list] = await Promise.all([
      call('past.counts', moment, ended),
      call('counts', {}, ended),
      call('past.list', { ...moment, ...filter, limit: PAGE }, ended),
    ])
    return { counts, now, list }
  }
  const key = JSON.stringify([moment, state])
  const { data, problem } = useLive(key, look, ONCE)
  if (data === null) return problem === null ? <Waiting /> : <Problem problem={problem} />
  return (
    <>
      <Changes then={data} parameters={parameters} />
      <section aria-labelledby="then">
        <h2 id="then">Jobs as they were{state !== '' && `, ${state}`}</h2>
        {data.list.jobs.length === 0 ? (
          <Empty>There was none.</Empty>
        ) : (
          <Table
            label="Jobs as they were"
            columns={['Job', 'Type', 'State then', 'Attempt', 'Submitted']}
          >
            {data.list.jobs.map((one) => (
              <tr key={one.id}>
                <Cell of="Job">
                  <a class="id" href={linkTo('past', { ...parameters, job: one.id })}>
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
        {data.list.next !== null && <p>The first {PAGE} are shown.</p>}
      </section>
    </>
  )
}

function Changes({
  then,
  parameters,
}: {
  readonly then: Then
  readonly parameters: RouteParameters
}) {
  return (
    <section aria-labelledby="changed">
      <h2 id="changed">Then and now</h2>
      <Table label="Jobs by state, then and now" columns={['State', 'Then', 'Now', 'Difference']}>
        {STATES.map((state) => {
          const [before, after] = [then.counts.states[state], then.now.states[state]]
          const difference = after - before
          return (
            <tr key={state}>
              <Cell of="State">
                <a href={linkTo('past', { ...parameters, state })}>
                  <State state={state} />
                </a>
              </Cell>
              <Cell of="Then" number>
                {countText(before)}
              </Cell>
              <Cell of="Now" number>
                {countText(after)}
              </Cell>
              <Cell of="Difference" number>
                {difference > 0 ? `+${countText(difference)}` : countText(difference)}
              </Cell>
            </tr>
          )
        })}
      </Table>
    </section>
  )
}

function PastJobPart({ job, moment }: { readonly job: string; readonly moment: PastMoment }) {
  const key = JSON.stringify([job, moment])
  const ask = (ended: AbortSignal) => call('past.show', { job, ...moment }, ended)
  const { data, problem } = useLive(key, ask, ONCE)
  if (data === null) return problem === null ? <Waiting /> : <Problem problem={problem} />
  return (
    <section aria-labelledby="job-then">
      <h2 id="job-then">The job as it was</h2>
      <p>
        <State state={String(data['state'])} /> <Text text={String(data['type'])} />{' '}
        <JobLink id={job}>how it is now</JobLink>
      </p>
      <JsonBlock value={data} label="The job as it was" />
    </section>
  )
}
