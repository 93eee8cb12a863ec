/**
 * What needs a person now, then how the machine runs: throughput, times, queues and workers. All of it is kept by the
 * engine; nothing is counted for the page.
 */
import type { ComponentChildren } from 'preact'
import { Fragment } from 'preact'
import { useRef } from 'preact/hooks'
import type { AnswerOf } from '../api.ts'
import { call } from '../api.ts'
import { Sparkline } from '../chart.tsx'
import { countText, durationText } from '../duration-text.ts'
import { useLive } from '../live.ts'
import {
  Cell,
  Empty,
  JobLink,
  Problem,
  Since,
  State,
  STATES,
  Table,
  Text,
  Waiting,
} from '../parts.tsx'
import { linkTo } from '../route.ts'
import { may } from '../session.ts'
import { quantile } from './distribution.ts'
import type { Sample } from './samples.ts'
import { rates, withSample } from './samples.ts'

/** An inbox is read from the jobs that are suspended: with more of them, the page does not ask by itself. */
const MOST_SUSPENDED = 500

interface Seen {
  readonly counts: AnswerOf<'counts'>
  readonly health: AnswerOf<'health'> | null
  readonly metrics: AnswerOf<'metrics'> | null
  readonly queues: AnswerOf<'queues.list'>['queues']
  readonly workers: AnswerOf<'workers.list'>['workers']
  readonly questions: AnswerOf<'inbox.list'>['questions'] | null
  readonly held: AnswerOf<'quarantine.list'>['jobs']
}

async function look(ended: AbortSignal): Promise<Seen> {
  const counts = await call('counts', {}, ended)
  const { SUSPENDED, QUARANTINED } = counts.states
  const [health, metrics, queues, workers, questions, held] = await Promise.all([
    may('health') ? call('health', {}, ended) : null,
    may('metrics') ? call('metrics', {}, ended) : null,
    may('queues.list') ? call('queues.list', {}, ended) : { queues: [] },
    may('workers.list') ? call('workers.list', {}, ended) : { workers: [] },
    !may('inbox.list') || SUSPENDED > MOST_SUSPENDED
      ? null
      : SUSPENDED === 0
        ? { questions: [] }
        : call('inbox.list', {}, ended),
    may('quarantine.list') && QUARANTINED > 0
      ? call('quarantine.list', { limit: 100 }, ended)
      : { jobs: [] },
  ])
  return {
    counts,
    health,
    metrics,
    queues: queues.queues,
    workers: workers.workers,
    questions: questions?.questions ?? null,
    held: held.jobs.filter((one) => one.held.length > 0),
  }
}

export function OverviewView() {
  const { data, problem } = useLive('overview', look, 2_000)
  const samples = useRef<readonly Sample[]>([])
  const metrics = data?.metrics ?? null
  if (metrics !== null) samples.current = withSample(samples.current, metrics)
  if (data === null) return problem === null ? <Waiting /> : <Problem problem={problem} />
  return (
    <>
      <Problem problem={problem} />
      <Needs of={data} />
      <section aria-labelledby="states">
        <h2 id="states">Jobs by state</h2>
        <ul class="tiles">
          {STATES.map((state) => (
            <li key={state}>
              <a href={linkTo('jobs', { state })}>
                <State state={state} />
                <strong>{countText(data.counts.states[state])}</strong>
              </a>
            </li>
          ))}
        </ul>
      </section>
      {metrics !== null && <Throughput samples={samples.current} />}
      {metrics !== null && <Times traffic={metrics.traffic} />}
      <Queues queues={data.queues} />
      <Workers workers={data.workers} />
      {data.health !== null && (
        <p class="aside">
          The invariants of {countText(data.health.examined.jobs)} jobs were examined, in{' '}
          {countText(data.health.examined.rounds)} whole rounds.
        </p>
      )}
    </>
  )
}

/** Each is a sentence, and where to go. */
function needsOf({ counts, health, queues, questions, held }: Seen): ComponentChildren[] {
  const { QUARANTINED, SUSPENDED } = counts.states
  const needs: ComponentChildren[] = []
  if (health?.outage != null) {
    needs.push(
      <>
        The store does not work for <Since at={health.outage.since} />:{' '}
        <Text text={health.outage.why} />
      </>,
    )
  }
  for (const { invariant, what } of health?.broken ?? []) {
    needs.push(
      <>
        Invariant {invariant} does not hold: <Text text={what} />
      </>,
    )
  }
  if (QUARANTINED > 0) {
    needs.push(
      <a href={linkTo('quarantine')}>{jobsText(QUARANTINED)} in quarantine: given up, and kept</a>,
    )
  }
  if (held.length > 0) {
    needs.push(
      <>
        Effects whose outcome a person has to say:{' '}
        {held.slice(0, 5).map(({ id }) => (
          <Fragment key={id}>
            <JobLink id={id} />{' '}
          </Fragment>
        ))}
      </>,
    )
  }
  if (questions === null && SUSPENDED > MOST_SUSPENDED && may('inbox.list')) {
    needs.push(<a href={linkTo('inbox')}>{jobsText(SUSPENDED)} wait; some may ask people</a>)
  } else if (questions !== null && questions.length > 0) {
    const text = questions.length === 1 ? '1 question waits' : `${questions.length} questions wait`
    needs.push(<a href={linkTo('inbox')}>{text} for an answer</a>)
  }
  for (const { job, since } of health?.stalled ?? []) {
    needs.push(
      <>
        Nothing is heard of <JobLink id={job} /> for <Since at={since} />
      </>,
    )
  }
  for (const { queue, type, stage, count, since } of health?.unserved ?? []) {
    needs.push(
      <a href={linkTo('jobs', { queue, type })}>
        {jobsText(count)} of <Text text={type} />
        {stage !== null && ` (${stage})`} in queue <Text text={queue} /> wait for{' '}
        <Since at={since} /> without a worker
      </a>,
    )
  }
  const paused = queues.filter(({ pausedAt }) => pausedAt !== null)
  for (const { name } of paused) {
    needs.push(
      <a href={linkTo('queues')}>
        Queue <Text text={name} /> is paused
      </a>,
    )
  }
  return needs
}

function jobsText(count: number): string {
  return count === 1 ? '1 job' : `${countText(count)} jobs`
}

function Needs({ of }: { readonly of: Seen }) {
  const needs = needsOf(of)
  return (
    <section aria-labelledby="needs" class={needs.length === 0 ? 'needs well' : 'needs'}>
      <h2 id="needs">Needs a person</h2>
      {needs.length === 0 ? (
        <p>Nothing does now.</p>
      ) : (
        <ul>
          {needs.slice(0, 20).map((one, i) => (
            <li key={i}>{one}</li>
          ))}
          {needs.length > 20 && <li>and {needs.length - 20} more</li>}
        </ul>
      )}
    </section>
  )
}

const FLOWS = [
  ['Submitted', ['JobSubmitted']],
  ['Attempts', ['LeaseGranted']],
  ['Committed', ['ExecutionCommitted']],
  ['Failed', ['TaskFailed', 'EffectFailed']],
  ['Leases lost', ['LeaseExpired', 'LeaseRevoked']],
] as const

function Throughput({ samples }: { readonly samples: readonly Sample[] }) {
  return (
    <section aria-labelledby="flow">
      <h2 id="flow">Flow</h2>
      <ul class="tiles flow">
        {FLOWS.map(([name, entries]) => {
          const values = rates(samples, entries)
          const text = `${rateText(values.at(-1) ?? 0)} a second`
          return (
            <li key={name}>
              <div>
                <span>{name}</span>
                <strong>{text}</strong>
                <Sparkline values={values} label={`${name}, since this page was opened: ${text}`} />
              </div>
            </li>
          )
        })}
      </ul>
    </section>
  )
}

function rateText(rate: number): string {
  return rate >= 10 ? countText(Math.round(rate)) : rate.toFixed(1)
}

function Times({ traffic }: { readonly traffic: AnswerOf<'metrics'>['traffic'] }) {
  const shown = traffic.filter(({ submitted, granted }) => submitted + granted > 0).slice(0, 30)
  if (shown.length === 0) return null
  return (
    <section aria-labelledby="times">
      <h2 id="times">Waiting and running, since the engine was opened</h2>
      <Table
        label="How long jobs of each type wait and run"
        columns={[
          'Type',
          'Queue',
          'Attempts',
          'Failed',
          'Lost',
          'Wait, half',
          '95 %',
          'Run, half',
          '95 % ',
        ]}
      >
        {shown.map((one) => (
          <tr key={`${one.type} ${one.queue}`}>
            <Cell of="Type">
              <a href={linkTo('jobs', { type: one.type })}>
                <Text text={one.type} most={60} />
              </a>
            </Cell>
            <Cell of="Queue">
              <Text text={one.queue} most={60} />
            </Cell>
            <Cell of="Attempts" number>
              {countText(one.granted)}
            </Cell>
            <Cell of="Failed" number>
              {countText(one.failed)}
            </Cell>
            <Cell of="Lost" number>
              {countText(one.lost)}
            </Cell>
            <Cell of="Wait, half" number>
              {upTo(quantile(one.waitMs, 0.5))}
            </Cell>
            <Cell of="Wait, 95 %" number>
              {upTo(quantile(one.waitMs, 0.95))}
            </Cell>
            <Cell of="Run, half" number>
              {upTo(quantile(one.runMs, 0.5))}
            </Cell>
            <Cell of="Run, 95 %" number>
              {upTo(quantile(one.runMs, 0.95))}
            </Cell>
          </tr>
        ))}
      </Table>
    </section>
  )
}

/** A bucket says how much it is at the most. */
function upTo(ms: number | null): string {
  if (ms === null) return '–'
  return ms === Infinity ? 'more' : `≤ ${durationText(ms)}`
}

function Queues({ queues }: { readonly queues: Seen['queues'] }) {
  if (queues.length === 0) return null
  const shown = queues
    .toSorted((a, b) => b.states.QUEUED + b.segments.ready - a.states.QUEUED - a.segments.ready)
    .slice(0, 12)
  return (
    <section aria-labelledby="depth">
      <h2 id="depth">Queues</h2>
      <Table
        label="What is in each queue"
        columns={['Queue', 'Waiting', 'Running', 'Retrying', 'Given up']}
      >
        {shown.map(({ name, states, segments, pausedAt }) => (
          <tr key={name}>
            <Cell of="Queue">
              <a href={linkTo('jobs', { queue: name })}>
                <Text text={name} most={60} />
              </a>
              {pausedAt !== null && <span class="mark"> paused</span>}
            </Cell>
            <Cell of="Waiting" number>
              {countText(states.QUEUED + segments.ready)}
            </Cell>
            <Cell of="Running" number>
              {countText(states.RUNNING + segments.running)}
            </Cell>
            <Cell of="Retrying" number>
              {countText(states.RETRYING)}
            </Cell>
            <Cell of="Given up" number>
              {countText(states.QUARANTINED)}
            </Cell>
          </tr>
        ))}
      </Table>
      {queues.length > shown.length && <a href={linkTo('queues')}>All {queues.length} queues</a>}
    </section>
  )
}

function Workers({ workers }: { readonly workers: Seen['workers'] }) {
  const used = workers.reduce((sum, one) => sum + one.used, 0)
  const free = workers.reduce((sum, one) => sum + one.free, 0)
  return (
    <section aria-labelledby="hands">
      <h2 id="hands">Workers</h2>
      {workers.length === 0 ? (
        <Empty>No worker said anything lately.</Empty>
      ) : (
        <p>
          <a href={linkTo('workers')}>
            {workers.length === 1 ? '1 worker' : `${workers.length} workers`}
          </a>{' '}
          with {used + free} places: {used} taken, {free} free.
        </p>
      )}
    </section>
  )
}
