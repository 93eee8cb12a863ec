/**
 * One queue: who holds its places, when the next may start, and, while it is drained, how many still run.
 */
import type { AnswerOf } from '../api.ts'
import { call, CallRefused } from '../api.ts'
import { countText } from '../duration-text.ts'
import { ONCE, useLive } from '../live.ts'
import {
  ActionButtons,
  Cell,
  JobLink,
  PausedBy,
  Problem,
  Since,
  Table,
  Text,
  Time,
  Waiting,
} from '../parts.tsx'
import { linkTo } from '../route.ts'
import { seen } from '../safe-text.ts'
import { may } from '../session.ts'
import type { ShownStage } from './job-actions.ts'
import { resumeAction } from './queue-actions.ts'

/** A queue says since when as a text, and a limit in milliseconds. */
type PlaceHolder = AnswerOf<'queues.show' | 'limits.show'>['holders'][number]

interface PanelTerms {
  readonly name: string
  readonly listed: AnswerOf<'queues.list'>['queues'][number] | null
  /** How many ran when it began to drain; empty: it does not. */
  readonly draining: string
}

export function QueuePanel({ name, listed, draining }: PanelTerms) {
  const { data, problem } = useLive(
    `queue ${name}`,
    (ended) => call('queues.show', { queue: name }, ended),
    1_000,
  )
  if (data === null) return problem === null ? <Waiting /> : <Problem problem={problem} />
  const { running, ready, pausedAt, nextAt, holders, concurrency } = data
  return (
    <section aria-labelledby="queue" class="panel">
      <div class="panel-head">
        <h2 id="queue">
          Queue <Text text={name} most={120} />
        </h2>
        <a class="button" href={linkTo('queues')}>
          Close
        </a>
      </div>
      <Problem problem={problem} />
      {draining !== '' && (
        <Drain name={name} from={Number(draining)} running={running} isPaused={pausedAt !== null} />
      )}
      <dl class="facts plain few">
        <div>
          <dt>Runs</dt>
          <dd>
            {pausedAt === null ? (
              'yes'
            ) : (
              <>
                paused <Time at={pausedAt} /> <PausedBy of={data} />
              </>
            )}
          </dd>
        </div>
        <div>
          <dt>Places taken</dt>
          <dd>
            {countText(running)}
            {concurrency === null ? ', without a bound' : ` of ${countText(concurrency)}`}
          </dd>
        </div>
        <div>
          <dt>Due, and waiting</dt>
          <dd>{countText(ready)}</dd>
        </div>
        <div>
          <dt>The next may start</dt>
          <dd>{nextText(pausedAt, nextAt)}</dd>
        </div>
        <div>
          <dt>Jobs</dt>
          <dd>
            <a href={linkTo('jobs', { queue: name })}>all of this queue</a>
            {listed !== null && listed.states.QUARANTINED > 0 && (
              <>
                , <a href={linkTo('jobs', { queue: name, state: 'QUARANTINED' })}>given up</a>
              </>
            )}
          </dd>
        </div>
      </dl>
      <h3>Who holds its places</h3>
      <Holders holders={holders} held={running} what="this queue" />
    </section>
  )
}

function nextText(pausedAt: string | null, nextAt: string | null) {
  if (pausedAt !== null) return 'when the queue is resumed'
  if (nextAt === null) return 'when one that runs has ended'
  return <Time at={nextAt} />
}

/** How far it is, in words and as a bar. */
function Drain({
  name,
  from,
  running,
  isPaused,
}: {
  readonly name: string
  readonly from: number
  readonly running: number
  readonly isPaused: boolean
}) {
  if (!isPaused) {
    return <p role="status">The queue was resumed: it is not drained any more.</p>
  }
  const all = Math.max(from, running, 1)
  return (
    <div class={running === 0 ? 'drain well' : 'drain'}>
      <p role="status">
        {running === 0
          ? 'Drained: nothing of this queue runs. It stays paused until it is resumed.'
          : `Draining: ${countText(running)} ${running === 1 ? 'task still runs' : 'tasks still run'}. Nothing more is handed out.`}
      </p>
      <progress aria-label="Drained" max={all} value={all - running} />
      {may('queues.resume') && (
        <ActionButtons actions={[['Resume', resumeAction(name)]]} of={`queue ${name} now`} />
      )}
    </div>
  )
}

export function Holders({
  holders,
  held,
  what,
}: {
  readonly holders: readonly PlaceHolder[]
  readonly held: number
  readonly what: string
}) {
  const stages = useStages(holders)
  if (holders.length === 0) return <p class="none">No task holds a place of {seen(what)}.</p>
  return (
    <>
      <Table
        label={`Who holds the places of ${seen(what)}`}
        columns={['Job', 'Stage', 'Worker', 'Since']}
      >
        {holders.map(({ job, stage, segment, worker, since }) => (
          <tr key={`${job} ${stage} ${segment}`}>
            <Cell of="Job">
              <JobLink id={job} />
            </Cell>
            <Cell of="Stage">{stageText(stages.get(job)?.[stage], stage, segment)}</Cell>
            <Cell of="Worker">
              <a href={linkTo('jobs', { worker })}>
                <Text text={worker} most={60} />
              </a>
            </Cell>
            <Cell of="Since">
              <Since at={new Date(since).toISOString()} />
            </Cell>
          </tr>
        ))}
      </Table>
      {held > holders.length && (
        <p class="aside">
          The oldest {holders.length} of {countText(held)} are shown.
        </p>
      )}
    </>
  )
}

/** Of so many pipelines at once. */
const MOST_PIPELINES = 5
/** A pipeline never gets others. */
const knownStages = new Map<string, readonly ShownStage[]>()

/** Holders have the numbers of stages: which stages these are, the jobs say. */
function useStages(holders: readonly PlaceHolder[]): ReadonlyMap<string, readonly ShownStage[]> {
  const pipelines = holders.filter(({ stage, segment }) => stage + segment > 0)
  const ids = [...new Set(pipelines.map(({ job }) => job))]
  const missing = ids.filter((id) => !knownStages.has(id)).slice(0, MOST_PIPELINES)
  const ask = async (ended: AbortSignal): Promise<number> => {
    for (const job of may('jobs.show') ? missing : []) {
      knownStages.set(job, await stagesOf(job, ended))
    }
    return missing.length
  }
  useLive(JSON.stringify(missing), ask, ONCE)
  return knownStages
}

/** A job that was forgotten meanwhile has none. */
async function stagesOf(job: string, ended: AbortSignal): Promise<readonly ShownStage[]> {
  try {
    return (await call('jobs.show', { job }, ended)).stages
  } catch (error) {
    if (error instanceof CallRefused && error.code === 'UnknownJob') return []
    throw error
  }
}

/** What holds a place is named as its job names it. */
function stageText(stage: ShownStage | undefined, index: number, segment: number) {
  if (stage === undefined) return index + segment === 0 ? '–' : `${index}, segment ${segment}`
  return (
    <>
      <Text text={stage.name} most={60} />
      {stage.each !== null && `, segment ${segment}`}
    </>
  )
}
