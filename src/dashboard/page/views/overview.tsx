/**
 * What needs a person now, then how the machine runs: throughput, times, failures, queues and workers. All of it is kept by the
 * engine and the server; nothing is counted for the page. Over which time lines go is in the address.
 */
import type { FigureRange, Figures, OperationName } from '../../../protocol/index.ts'
import { FIGURE_RANGES } from '../../../protocol/index.ts'
import type { AnswerOf } from '../api.ts'
import { call, CallRefused, isConnected, messageOf } from '../api.ts'
import { countText, durationText } from '../duration-text.ts'
import type { ChartLine } from '../line-chart.tsx'
import { LineChart } from '../line-chart.tsx'
import { useLive } from '../live.ts'
import { Cell, Empty, Problem, State, Table, Text, Time, Waiting } from '../parts.tsx'
import type { RouteParameters } from '../route.ts'
import { goTo, linkTo } from '../route.ts'
import { may } from '../session.ts'
import { quantile } from './distribution.ts'
import type { SeenOverview } from './needs.tsx'
import { Needs } from './needs.tsx'
import { rangeIn, rateText } from './figure-values.ts'
import { useFigures } from './figures.ts'
import { STATES } from './filter-text.ts'
import { QueueCells } from './queues.tsx'
import { PlacesBar } from './workers.tsx'

const FEW = { limit: 100 }
const HELD = { heldEffects: true } as const
/** Jobs with held effects, the oldest first. */
const MOST_NAMED = 5

interface LookedAt extends Omit<SeenOverview, 'health'> {
  /** Why a part is not there; null: each is, or may not be asked for. */
  readonly refused: string | null
}

/** One part that is refused does not keep the others back. */
async function look(ended: AbortSignal): Promise<LookedAt> {
  let refused: string | null = null
  const part = async <T,>(name: OperationName, ask: () => Promise<T>): Promise<T | null> => {
    if (!may(name)) return null
    try {
      return await ask()
    } catch (error) {
      if (!(error instanceof CallRefused)) throw error
      refused ??= messageOf(error)
      return null
    }
  }
  // By itself: while the store is away, it alone keeps a connection of the browser, which has few.
  const counts = await call('counts', {}, ended)
  const [metrics, queues, workers, questions, held] = await Promise.all([
    part('metrics', () => call('metrics', {}, ended)),
    part('queues.list', () => call('queues.list', {}, ended)),
    part('workers.list', () => call('workers.list', {}, ended)),
    part('inbox.list', () => call('inbox.list', FEW, ended)),
    part('jobs.list', () => listHeld(ended)),
  ])
  return {
    counts,
    metrics,
    queues: queues?.queues ?? null,
    workers: workers?.workers ?? null,
    questions,
    held: held ?? NO_HELD,
    refused,
  }
}

/** By itself: it says that the store is away, while all that reads the store waits for it. */
async function lookAtHealth(ended: AbortSignal): Promise<SeenOverview['health']> {
  return may('health') ? call('health', {}, ended) : null
}

const NO_HELD: SeenOverview['held'] = { total: 0, jobs: [] }

/** As the quarantine looks for them, but without what is known of each effect. */
async function listHeld(ended: AbortSignal): Promise<SeenOverview['held']> {
  const { total } = await call('counts', HELD, ended)
  if (total === 0) return NO_HELD
  const { jobs } = await call('jobs.list', { ...HELD, limit: MOST_NAMED }, ended)
  // On a database a pipeline is listed a moment before it is counted.
  return { total: Math.max(total, jobs.length), jobs }
}

export function OverviewView({ parameters }: { readonly parameters: RouteParameters }) {
  const range = rangeIn(parameters['range'])
  // First: a browser has few connections.
  const { data: health, problem: healthProblem } = useLive('health', lookAtHealth, 2_000)
  const { data, problem } = useLive('overview', look, 2_000)
  const { data: figures } = useFigures(range)
  const isHealthKnown = healthProblem === null && (health !== null || !may('health'))
  const isNewest = problem === null && isHealthKnown && isConnected.value
  if (data === null) {
    return (
      <>
        <Problem problem={problem} />
        {health !== null && <Needs health={health} of={null} isNewest={isNewest} />}
        {problem === null && <Waiting />}
      </>
    )
  }
  const { counts, metrics, queues, workers, refused } = data
  return (
    <>
      <Problem problem={problem ?? healthProblem ?? refused} />
      <Needs health={health} of={data} isNewest={isNewest && refused === null} />
      <section aria-labelledby="states">
        <h2 id="states">Jobs by state</h2>
        <ul class="tiles states">
          {STATES.map((state) => (
            <li key={state}>
              <a href={linkTo('jobs', { state })}>
                <State state={state} />
                <strong>{countText(counts.states[state])}</strong>
              </a>
            </li>
          ))}
        </ul>
      </section>
      {may('figures') && <OverTime range={range} figures={figures} />}
      <div class="halves">
        <div>
          {queues !== null && <Queues queues={queues} figures={figures} />}
          <Checks health={health} metrics={metrics} />
        </div>
        {workers !== null && <Workers workers={workers} />}
      </div>
      {metrics !== null && <Times traffic={metrics.traffic} />}
    </>
  )
}

const RANGE_NAMES: Readonly<Record<FigureRange, string>> = {
  '15m': 'quarter of an hour',
  '1h': 'hour',
  '6h': 'six hours',
  '24h': 'day',
}

const NOTHING_YET: Pick<Figures, 'times' | 'rates' | 'waitMs' | 'runMs'> = {
  times: [],
  rates: { submitted: [], granted: [], committed: [], failed: [], lost: [], quarantined: [] },
  waitMs: { mean: [], most: [] },
  runMs: { mean: [], most: [] },
}

/** `figures`: null: they are not known yet. */
function OverTime({
  range,
  figures,
}: {
  readonly range: FigureRange
  readonly figures: Figures | null
}) {
  const { times, rates, waitMs, runMs } = figures ?? NOTHING_YET
  const throughput: readonly ChartLine[] = [
    { name: 'Submitted', values: rates.submitted, colour: 'QUEUED' },
    { name: 'Attempts begun', values: rates.granted, colour: 'RUNNING' },
    { name: 'Committed', values: rates.committed, colour: 'SUCCEEDED' },
  ]
  const durations: readonly ChartLine[] = [
    { name: 'Wait, mean', values: waitMs.mean, colour: 'QUEUED' },
    { name: 'Wait, 95 % up to', values: waitMs.most, colour: 'QUEUED', isDashed: true },
    { name: 'Run, mean', values: runMs.mean, colour: 'RUNNING' },
    { name: 'Run, 95 % up to', values: runMs.most, colour: 'RUNNING', isDashed: true },
  ]
  const failures: readonly ChartLine[] = [
    { name: 'Failed', values: rates.failed, colour: 'RETRYING' },
    { name: 'Leases lost', values: rates.lost, colour: 'SUSPENDED' },
    { name: 'Given up', values: rates.quarantined, colour: 'FAILED' },
  ]
  // Of what was not known, nothing is drawn; where nothing waited or ran, a line goes on.
  const holes = rates.submitted.map((rate) => rate === null)
  const shared = { times, holes }
  return (
    <section aria-labelledby="flow">
      <div class="machine-head">
        <h2 id="flow">Over time</h2>
        <label class="inline">
          The last{' '}
          <select
            value={range}
            onChange={(event) => goTo('', { range: event.currentTarget.value })}
          >
            {FIGURE_RANGES.map((one) => (
              <option key={one} value={one}>
                {RANGE_NAMES[one]}
              </option>
            ))}
          </select>
        </label>
      </div>
      <div class="charts">
        <LineChart
          {...shared}
          label="Throughput, a second"
          lines={throughput}
          valueText={rateText}
        />
        <LineChart
          {...shared}
          label="Waiting and running"
          lines={durations}
          valueText={durationText}
          isLogarithmic
        />
        <LineChart {...shared} label="Failures, a second" lines={failures} valueText={rateText} />
      </div>
      <p class="aside">
        What all processes on the store did
        {figures !== null && (
          <>
            , as this server has noted it since <Time at={new Date(figures.since).toISOString()} />
          </>
        )}
        . Other processes say what they did every ten seconds, so lines may end some seconds ago. A
        gap is a time at which the server could not ask the store. Point at a line, or use the arrow
        keys.
      </p>
    </section>
  )
}

function Times({ traffic }: { readonly traffic: AnswerOf<'metrics'>['traffic'] }) {
  const shown = traffic.filter(({ submitted, granted }) => submitted + granted > 0).slice(0, 30)
  if (shown.length === 0) return null
  return (
    <details class="types" open={isWide()}>
      <summary>
        <h2>By type, since the engine was opened</h2>
      </summary>
      <Table
        label="How long jobs of each type wait and run"
        columns={[
          'Type',
          'Queue',
          'Attempts',
          'Failed',
          'Lost',
          'Wait, half',
          'Wait, 95 %',
          'Run, half',
          'Run, 95 %',
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
    </details>
  )
}

/** On a phone it is closed: it is long there. */
function isWide(): boolean {
  return matchMedia('(min-width: 44rem)').matches
}

/** A bucket says how much it is at the most. */
function upTo(ms: number | null): string {
  if (ms === null) return '–'
  if (ms < 1) return '< 1 ms'
  return ms === Infinity ? 'more' : `≤ ${durationText(ms)}`
}

const MOST_QUEUES = 12

function Queues({
  queues,
  figures,
}: {
  readonly queues: NonNullable<SeenOverview['queues']>
  readonly figures: Figures | null
}) {
  const shown = queues
    .toSorted((a, b) => b.states.QUEUED + b.segments.ready - a.states.QUEUED - a.segments.ready)
    .slice(0, MOST_QUEUES)
  return (
    <section aria-labelledby="depth">
      <h2 id="depth">Queues</h2>
      {queues.length === 0 ? (
        <Empty>There is no queue yet: the first job makes one.</Empty>
      ) : (
        <Table
          label="What is in each queue"
          columns={['Queue', 'Waiting', 'Oldest waits', 'Running', 'Retrying', 'Given up']}
        >
          {shown.map((one) => (
            <tr key={one.name}>
              <QueueCells queue={one} figures={figures} />
            </tr>
          ))}
        </Table>
      )}
      {queues.length > shown.length && <a href={linkTo('queues')}>All {queues.length} queues</a>}
    </section>
  )
}

const MOST_WORKERS = 8

function Workers({ workers }: { readonly workers: NonNullable<SeenOverview['workers']> }) {
  const used = workers.reduce((sum, one) => sum + one.used, 0)
  const free = workers.reduce((sum, one) => sum + one.free, 0)
  return (
    <section aria-labelledby="hands">
      <h2 id="hands">Workers</h2>
      {workers.length === 0 ? (
        <Empty>No worker said anything lately.</Empty>
      ) : (
        <>
          <p>
            <a href={linkTo('workers')}>
              {workers.length === 1 ? '1 worker' : `${countText(workers.length)} workers`}
            </a>{' '}
            with {countText(used + free)} places: {countText(used)} taken, {countText(free)} free.
          </p>
          <ul class="slots">
            {workers.slice(0, MOST_WORKERS).map((one) => (
              <li key={one.id}>
                <a href={linkTo('jobs', { worker: one.id })}>
                  <Text text={one.name ?? one.id} most={40} />
                </a>
                {one.isDraining && <span class="mark"> draining</span>}
                <span class="count">
                  {one.used} of {one.used + one.free}
                </span>
                <PlacesBar of={one} />
              </li>
            ))}
          </ul>
          {workers.length > MOST_WORKERS && (
            <a href={linkTo('workers')}>All {workers.length} workers</a>
          )}
        </>
      )}
    </section>
  )
}

/** When what the engine holds was examined last, and what it says of itself. */
function Checks({ health, metrics }: Pick<SeenOverview, 'health' | 'metrics'>) {
  if (health === null && metrics === null) return null
  return (
    <section aria-labelledby="checks">
      <h2 id="checks">Verified</h2>
      {health !== null && <Examined health={health} />}
      {metrics !== null && (
        <dl class="pairs">
          <dt>Leases held now</dt>
          <dd>{countText(metrics.leases)}</dd>
          <dt>Reports that came too late, and were refused</dt>
          <dd>{countText(metrics.entries['ReportRefused'] ?? 0)}</dd>
          <dt>Effects whose outcome was lost with a lease</dt>
          <dd>{countText(metrics.unknownOutcomes)}</dd>
          <dt>Durable within, 95 % of writes</dt>
          <dd>{syncText(metrics.durableUs)}</dd>
          <dt>Counted since</dt>
          <dd>
            <Time at={metrics.since} />
          </dd>
        </dl>
      )}
    </section>
  )
}

function Examined({ health }: { readonly health: NonNullable<SeenOverview['health']> }) {
  const { jobs, rounds, lastRoundAt } = health.examined
  if (lastRoundAt === null) {
    return <p>{countText(jobs)} jobs were examined; the first round is not over.</p>
  }
  const isSound = health.broken.length === 0
  return (
    <p class={isSound ? 'verdict well' : 'verdict bad'}>
      <strong>{isSound ? 'All invariants hold.' : 'Not all invariants hold.'}</strong> Last
      verified: <Time at={lastRoundAt} />, in round {countText(rounds)} through all jobs.{' '}
      {countText(jobs)} jobs were examined in all rounds.
    </p>
  )
}

function syncText(durableUs: AnswerOf<'metrics'>['durableUs']): string {
  const us = quantile(durableUs, 0.95)
  if (us === null) return 'nothing to write'
  return us === Infinity ? 'more' : us < 1_000 ? `${us} µs` : durationText(us / 1_000)
}
