/**
 * Jobs with an effect whose outcome a person has to say, on top of the quarantine: which effect, since when, what is known of it, and
 * the buttons that say it. The engine keeps the list and the count of them; of the list, the first few are read.
 */
import { action } from '../action.ts'
import type { AnswerOf } from '../api.ts'
import { call } from '../api.ts'
import { countText } from '../duration-text.ts'
import { JobLink, Since, Text } from '../parts.tsx'
import { linkTo } from '../route.ts'
import { line } from '../safe-text.ts'
import { may } from '../session.ts'
import { nthText, resolveAction } from './job-actions.ts'

type HeldJob = AnswerOf<'quarantine.list'>['jobs'][number]
type ShownEffect = HeldJob['held'][number]

export interface SeenHeld {
  /** How many jobs there are. */
  readonly total: number
  /** The first of them. */
  readonly jobs: readonly HeldJob[]
}

const MOST_JOBS = 10
/** Of one job. */
const MOST_EFFECTS = 5

export async function lookForHeld(ended: AbortSignal): Promise<SeenHeld> {
  const { total } = await call('counts', { heldEffects: true }, ended)
  if (total === 0) return { total, jobs: [] }
  const { jobs } = await call('quarantine.list', { heldEffects: true, limit: MOST_JOBS }, ended)
  // On a database a pipeline is listed a moment before it is counted.
  return { total: Math.max(total, jobs.length), jobs }
}

export function HeldEffects({ of: { total, jobs } }: { readonly of: SeenHeld }) {
  if (jobs.length === 0) return null
  return (
    <section aria-labelledby="held" class="held">
      <h2 id="held">What became of these effects?</h2>
      <p>
        {total === 1 ? '1 job has an effect' : `${countText(total)} jobs have an effect`} that was
        begun, and it is not known whether it happened. Look outside first, and say so.
      </p>
      <ul class="groups">
        {jobs.map((one) => (
          <HeldCard key={one.id} of={one} />
        ))}
      </ul>
      {total > jobs.length && (
        <p>
          <a href={linkTo('jobs', { heldEffects: 'true' })}>All {countText(total)} of them</a>
        </p>
      )}
    </section>
  )
}

function HeldCard({ of: { id, type, held } }: { readonly of: HeldJob }) {
  const shown = held.slice(0, MOST_EFFECTS)
  return (
    <li class="card">
      <h3>
        <Text text={type} most={80} /> <JobLink id={id} />
      </h3>
      <ul>
        {shown.map((one) => (
          <HeldLine key={`${one.stage}/${one.segment}/${one.effect}`} job={id} of={one} />
        ))}
      </ul>
      {held.length > shown.length && (
        <p>
          <JobLink id={id}>and {countText(held.length - shown.length)} more of this job</JobLink>
        </p>
      )}
    </li>
  )
}

function HeldLine({ job, of }: { readonly job: string; readonly of: ShownEffect }) {
  const { name, nth, stage, segment, since } = of
  return (
    <li>
      <p>
        <strong>
          <Text text={name} most={80} />
          {nthText(nth)}
        </strong>
        {stage !== null && (
          <>
            {' '}
            of segment {segment} of <Text text={stage} most={60} />
          </>
        )}
        , not known for <Since at={since} />. {knownText(of)}
      </p>
      {may('jobs.resolve') && (
        <div class="buttons">
          <ResolveButton job={job} of={of} outcome="happened" />
          <ResolveButton job={job} of={of} outcome="again" />
        </div>
      )}
    </li>
  )
}

/** What is known of its last start. */
function knownText({ error, endedBy, worker }: ShownEffect): string {
  const by = worker === null ? 'Its worker' : `Worker ${line(worker, 60)}`
  if (error !== null) return `${by} said: ${line(`${error.code}: ${error.message}`, 200)}`
  if (endedBy === 'LeaseExpired') return `${by} began it, and fell silent.`
  if (endedBy === 'LeaseRevoked') return `${by} began it, and the job was taken from it.`
  return `${by} began it, and did not say how it went.`
}

const LABELS = { happened: 'It happened…', again: 'Run it again…' } as const

function ResolveButton({
  job,
  of,
  outcome,
}: {
  readonly job: string
  readonly of: ShownEffect
  readonly outcome: 'happened' | 'again'
}) {
  const { name, nth, stage, segment } = of
  const place = { job, ...(stage === null ? {} : { stage, segment: segment ?? 0 }) }
  return (
    <button
      type="button"
      class="small"
      aria-label={`${LABELS[outcome].replace('…', '')}: ${line(name, 40)}${nthText(nth)} of job ${line(job, 40)}`}
      onClick={() => {
        action.value = resolveAction(place, of, outcome)
      }}
    >
      {LABELS[outcome]}
    </button>
  )
}
