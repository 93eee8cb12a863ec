/**
 * What needs a person now: each a sentence, and where to go. Counts come from the counters of the engine; where there is none, the
 * sentence says of how many jobs it speaks.
 */
import type { ComponentChildren } from 'preact'
import { Fragment } from 'preact'
import type { AnswerOf } from '../api.ts'
import { countText } from '../duration-text.ts'
import { JobLink, PausedBy, Since, Text } from '../parts.tsx'
import { linkTo } from '../route.ts'

export interface SeenOverview {
  readonly counts: AnswerOf<'counts'>
  readonly health: AnswerOf<'health'> | null
  readonly metrics: AnswerOf<'metrics'> | null
  /** Null, as of all parts: they may not be asked for. */
  readonly queues: AnswerOf<'queues.list'>['queues'] | null
  readonly workers: AnswerOf<'workers.list'>['workers'] | null
  /** The oldest of them. */
  readonly questions: AnswerOf<'inbox.list'> | null
  /** Jobs with an effect whose outcome a person has to say: how many, and the first of them. */
  readonly held: { readonly total: number; readonly jobs: AnswerOf<'jobs.list'>['jobs'] }
}

type AskedOfStore = Omit<SeenOverview, 'health'>

interface SeenNeeds {
  readonly health: SeenOverview['health']
  /** Null: the store has not answered yet. */
  readonly of: AskedOfStore | null
}

interface Need {
  /** Something is lost, or will be, while it stands. */
  readonly isBad?: boolean
  readonly says: ComponentChildren
}

/** The worst first. */
function needsOf({ health, of }: SeenNeeds): readonly Need[] {
  const effects = of === null ? [] : ofEffects(of)
  const jobs = of === null ? [] : ofJobs(of)
  const queues = of === null ? [] : ofQueues(of)
  return [...effects, ...ofStore(health), ...jobs, ...ofWorkers(health), ...queues]
}

function ofStore(health: SeenOverview['health']): readonly Need[] {
  const needs: Need[] = (health?.broken ?? []).map(({ invariant, what }) => ({
    isBad: true,
    says: (
      <>
        Invariant {invariant} does not hold: <Text text={what} />
      </>
    ),
  }))
  if (health?.outage == null) return needs
  const says = (
    <>
      The store does not work for <Since at={health.outage.since} />:{' '}
      <Text text={health.outage.why} />
    </>
  )
  return [{ isBad: true, says }, ...needs]
}

/** Money may have moved: nothing else is told before it. */
function ofEffects({ held: { total, jobs } }: AskedOfStore): readonly Need[] {
  // If there are none, they were resolved meanwhile.
  if (jobs.length === 0) return []
  const says = (
    <>
      <a href={linkTo('jobs', { heldEffects: 'true' })}>
        {jobsText(total)} with an effect whose outcome a person has to say
      </a>
      :{' '}
      {jobs.map(({ id }) => (
        <Fragment key={id}>
          <JobLink id={id} />{' '}
        </Fragment>
      ))}
      {total > jobs.length && `and ${countText(total - jobs.length)} more`}
    </>
  )
  return [{ isBad: true, says }]
}

function ofJobs({ counts, questions }: AskedOfStore): readonly Need[] {
  const { QUARANTINED } = counts.states
  const needs: Need[] = []
  if (QUARANTINED > 0) {
    const says = (
      <a href={linkTo('quarantine')}>{jobsText(QUARANTINED)} in quarantine: given up, and kept</a>
    )
    needs.push({ isBad: true, says })
  }
  const asked = questions?.questions.length ?? 0
  if (asked > 0) {
    const more = questions?.next === null ? '' : 'at least '
    const text = asked === 1 ? '1 question waits' : `${more}${asked} questions wait`
    needs.push({ says: <a href={linkTo('inbox')}>{text} for an answer</a> })
  }
  return needs
}

function ofWorkers(health: SeenOverview['health']): readonly Need[] {
  const stalled = (health?.stalled ?? []).map(({ job, since }) => ({
    isBad: true,
    says: (
      <>
        Nothing is heard of the handler of <JobLink id={job} /> for <Since at={since} />
      </>
    ),
  }))
  const unserved = (health?.unserved ?? []).map(({ queue, type, stage, count, since }) => ({
    says: (
      <a href={linkTo('jobs', { queue, type })}>
        {jobsText(count)} of <Text text={type} />
        {stage !== null && ` (${stage})`} in queue <Text text={queue} /> wait for{' '}
        <Since at={since} /> without a worker
      </a>
    ),
  }))
  return [...stalled, ...unserved]
}

/** What waits in a queue that no worker takes from is not found by the engine before it has waited for long. */
function ofQueues({ queues, workers }: AskedOfStore): readonly Need[] {
  const serves = workers?.flatMap((one) => one.serves.map(({ queue }) => queue))
  const served = serves === undefined ? null : new Set(serves)
  return (queues ?? []).flatMap((queue): Need[] => {
    const { name, pausedAt, states, segments } = queue
    const link = (says: ComponentChildren): Need => ({
      says: <a href={linkTo('queues', { queue: name })}>{says}</a>,
    })
    if (pausedAt !== null) {
      return [
        link(
          <>
            Queue <Text text={name} /> is paused <PausedBy of={queue} />
          </>,
        ),
      ]
    }
    const waiting = states.QUEUED + segments.ready
    if (served === null || served.has(name) || waiting === 0) return []
    return [
      link(
        <>
          {countText(waiting)} {waiting === 1 ? 'waits' : 'wait'} in queue <Text text={name} />, and
          no worker serves it
        </>,
      ),
    ]
  })
}

function jobsText(count: number): string {
  return count === 1 ? '1 job' : `${countText(count)} jobs`
}

const MOST_SHOWN = 20

interface NeedsProps extends SeenNeeds {
  /** Each question that was asked last was answered: that nothing is wrong is said only then. */
  readonly isNewest: boolean
}

export function Needs({ health, of, isNewest }: NeedsProps) {
  const needs = needsOf({ health, of })
  const isBad = needs.some((one) => one.isBad === true)
  const isWell = needs.length === 0 && of !== null && isNewest
  const kind = isWell ? 'needs well' : isBad ? 'needs bad' : 'needs'
  return (
    <section aria-labelledby="needs" class={kind}>
      <h2 id="needs">Needs a person</h2>
      {needs.length === 0 ? (
        <p>{isWell ? 'Nothing does now.' : 'It is not known now.'}</p>
      ) : (
        <ul>
          {needs.slice(0, MOST_SHOWN).map((one, i) => (
            <li key={i} class={one.isBad === true ? 'grave' : undefined}>
              {one.says}
            </li>
          ))}
          {needs.length > MOST_SHOWN && <li>and {needs.length - MOST_SHOWN} more</li>}
        </ul>
      )}
    </section>
  )
}
