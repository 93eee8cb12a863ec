/**
 * A job: why it does not run, what was tried, what it was given and made, and what may be done to it.
 */
import type { ComponentChildren } from 'preact'
import { Fragment } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { action } from '../action.ts'
import type { AnswerOf } from '../api.ts'
import { call } from '../api.ts'
import { serverNow } from '../clock.ts'
import { commandLine } from '../command-line.ts'
import { countText } from '../duration-text.ts'
import { RARELY_MS, useLive, UsualPause } from '../live.ts'
import { CopyButton, JobLink, Problem, State, Text, Time, Waiting } from '../parts.tsx'
import type { RouteParameters } from '../route.ts'
import { goToJob, linkTo } from '../route.ts'
import { json, line, seen } from '../safe-text.ts'
import { may, seesPayloads } from '../session.ts'
import { AttemptsPart, TimelinePart } from './attempts.tsx'
import { HistoryPart } from './history.tsx'
import { QuestionsOfJob } from './inbox.tsx'
import type { OfferedAction, ShownJob } from './job-actions.ts'
import { offeredActions } from './job-actions.ts'
import { JobPayloads, Part, stepValues } from './job-payloads.tsx'
import { StagesPart } from './stages.tsx'

interface SeenJob {
  /** Which part of its history this is. */
  readonly part: string
  readonly job: ShownJob
  readonly why: AnswerOf<'jobs.explain'> | null
  readonly history: AnswerOf<'jobs.history'>['items']
  readonly accepted: AnswerOf<'jobs.actions'> | null
}

/** As the address has it: the end of the history is shown. */
const NEWEST = 'newest'
const HISTORY_PAGE = 200
const MOST_HISTORY = 1_000

export function JobView({ parameters }: { readonly parameters: RouteParameters }) {
  const { id = '' } = parameters
  const [limit, setLimit] = useState(HISTORY_PAGE)
  const { shown, problem } = useJob(parameters, limit)
  useTitle(shown?.job.type ?? null, id)
  if (shown === null) return problem === null ? <Waiting /> : <Problem problem={problem} />
  const { job, history } = shown
  return (
    <UsualPause.Provider value={pauseOf(job)}>
      <Problem problem={problem} />
      <Title of={shown} isAllShown={history.length < limit} />
      <WhyPart why={shown.why} />
      {may('inbox.list') && <QuestionsOfJob job={id} mayAsk={mayAsk(job)} />}
      <Facts job={job} />
      {job.stages.length > 0 && (
        <Part name="Stages">
          <StagesPart job={id} stages={job.stages} parameters={parameters} />
        </Part>
      )}
      <Part name="Attempts">
        <TimelinePart job={job} history={history} />
        <AttemptsPart attempts={job.executions} />
      </Part>
      <JobPayloads job={job} history={history} />
      <Part name="History">
        <HistoryPart id={id} items={history} />
        <HistoryPages
          parameters={parameters}
          history={history}
          limit={limit}
          more={() => setLimit(MOST_HISTORY)}
        />
      </Part>
    </UsualPause.Provider>
  )
}

/** A plain job that asks is suspended. Of a pipeline, any segment may ask. */
function mayAsk({ completedAt, stages, waits }: ShownJob): boolean {
  return completedAt === null && stages.length + waits.length > 0
}

/** To one that is over nothing happens any more. */
function pauseOf(job: ShownJob | null): number | undefined {
  return job === null || job.completedAt === null ? undefined : RARELY_MS
}

/** Of a job to which nothing happened, the history is the same, and so is what it accepts. */
function useJob(
  { id = '', after, history: part }: RouteParameters,
  limit: number,
): { readonly shown: SeenJob | null; readonly problem: string | null } {
  const last = useRef<SeenJob | null>(null)
  const behind =
    part === NEWEST ? { newest: true } : after === undefined ? {} : { after: Number(after) }
  const partKey = `${limit} ${part ?? ''} ${after ?? ''}`
  const look = async (ended: AbortSignal): Promise<SeenJob> => {
    const job = await call('jobs.show', { job: id }, ended)
    const before = last.current
    const same = before?.part === partKey && isAsBefore(before.job, job) ? before : null
    const [why, history, accepted] = await Promise.all([
      same !== null && job.completedAt !== null
        ? same.why
        : may('jobs.explain')
          ? call('jobs.explain', { job: id }, ended)
          : null,
      same !== null
        ? { items: same.history }
        : may('jobs.history')
          ? call('jobs.history', { job: id, limit, ...behind }, ended)
          : { items: [] },
      same !== null
        ? same.accepted
        : may('jobs.actions')
          ? call('jobs.actions', { job: id }, ended)
          : null,
    ])
    last.current = { part: partKey, job, why, history: history.items, accepted }
    return last.current
  }
  const { data, problem } = useLive(partKey, look, pauseOf(last.current?.job ?? null))
  return { shown: data ?? last.current, problem }
}

/** Which part of the history is shown, and where the others are. */
function HistoryPages({
  parameters,
  history,
  limit,
  more,
}: {
  readonly parameters: RouteParameters
  readonly history: SeenJob['history']
  readonly limit: number
  readonly more: () => void
}) {
  const { after, history: part } = parameters
  const isNewest = part === NEWEST
  const isPart = history.length >= limit
  const to = (place: Readonly<Record<string, string | null>>): string =>
    linkTo('job', { ...parameters, ...place })
  return (
    <>
      {isPart && (
        <p class="aside">
          {isNewest ? 'The newest' : after === undefined ? 'The first' : 'A part of it:'}{' '}
          {countText(history.length)} entries.
        </p>
      )}
      <div class="buttons">
        {(after !== undefined || isNewest) && (
          <a class="button" href={to({ history: null, after: null })}>
            From the beginning
          </a>
        )}
        {isPart && limit < MOST_HISTORY && (
          <button type="button" onClick={more}>
            Show more
          </button>
        )}
        {isPart && limit >= MOST_HISTORY && !isNewest && (
          <a class="button" href={to({ after: String(history.at(-1)?.position) })}>
            What came after
          </a>
        )}
        {isPart && !isNewest && (
          <a class="button" href={to({ history: NEWEST, after: null })}>
            The newest
          </a>
        )}
      </div>
    </>
  )
}

/** Of several tabs, each says of which job it is. */
function useTitle(type: string | null, id: string): void {
  useEffect(() => {
    document.title = `${line(type ?? 'Job', 40)} ${line(id, 40)} · Pawl`
  }, [type, id])
}

function isAsBefore(before: ShownJob, now: ShownJob): boolean {
  return before.updatedAt === now.updatedAt && before.state === now.state
}

function Title({
  of: { job, accepted, history },
  isAllShown,
}: {
  readonly of: SeenJob
  readonly isAllShown: boolean
}) {
  const command = commandLine('jobs.show', { job: job.id }) ?? ''
  const effects = job.effects.map(({ name }) => name)
  // A step that was dropped may have been recorded once more: only what reaches to the end says its newest value.
  const steps = stepValues(isAllShown && seesPayloads() ? history : [])
  const input = seesPayloads() ? json(job.input, job.exact?.input) : null
  const offered = accepted === null ? [] : offeredActions(accepted, effects, { input, steps })
  return (
    <div class="title">
      <p>
        <State state={job.state} />{' '}
        <a href={linkTo('jobs', { type: job.type })}>
          <Text text={job.type} />
        </a>{' '}
        <span class="id">{seen(job.id)}</span> <CopyButton text={job.id} label="Copy id" />{' '}
        <CopyButton text={command} label="Copy as command" />
      </p>
      <div class="buttons" role="group" aria-label="Actions">
        {offered
          .filter(({ action: { operation } }) => may(operation))
          .map((one) => (
            <ActionButton key={one.label} of={one} />
          ))}
      </div>
    </div>
  )
}

function ActionButton({ of: { label, action: one } }: { readonly of: OfferedAction }) {
  const begin = (): void => {
    action.value = one.operation === 'jobs.rerun' ? { ...one, onDone: goToJob } : one
  }
  return (
    <button type="button" onClick={begin}>
      {seen(label)}…
    </button>
  )
}

function WhyPart({ why }: { readonly why: SeenJob['why'] }) {
  if (why === null || why.reasons.length === 0) return null
  return (
    <Part name="Why it stands so">
      <ul class="why">
        {why.reasons.slice(0, 50).map(({ what, stage, message, until, holders }, i) => (
          <li key={`${what} ${stage} ${i}`}>
            {stage !== null && (
              <>
                <Text text={stage} />:{' '}
              </>
            )}
            <Text text={message} most={600} />
            {until !== null && (
              <>
                {' '}
                ({Date.parse(until) > serverNow() ? 'ends' : 'ended'} <Time at={until} />)
              </>
            )}
            {othersOf(holders, why.job).map((job) => (
              <Fragment key={job}>
                {' '}
                <JobLink id={job} />
              </Fragment>
            ))}
          </li>
        ))}
      </ul>
    </Part>
  )
}

function othersOf(holders: readonly { readonly job: string }[], id: string): readonly string[] {
  return [...new Set(holders.map(({ job }) => job))].filter((job) => job !== id).slice(0, 5)
}

const text = (value: string | null) => (value === null ? null : <Text text={value} />)
const time = (value: string | null) => (value === null ? null : <Time at={value} />)
const link = (id: string | null) => (id === null ? null : <JobLink id={id} />)

/** What is not there is left out. */
function factsOf(job: ShownJob): readonly (readonly [name: string, value: ComponentChildren])[] {
  const { schedule, asked, cancelled, erased, failure, stalledSince } = job
  return [
    ['Queue', text(job.queue)],
    ['Priority', job.priority],
    ['Attempts', job.attempt],
    [
      'Retries',
      job.maxRetries === null ? job.retryCount : `${job.retryCount} of ${job.maxRetries}`,
    ],
    ['Version', job.version],
    ['Key', text(job.key)],
    ['Group', text(job.group)],
    ['Tags', job.tags.length === 0 ? null : <Tags of={job.tags} />],
    ['Submitted', time(job.submittedAt)],
    ['Due', job.startedAt === null ? time(job.dueAt) : null],
    ['Deadline', time(job.deadlineAt)],
    ['Began', time(job.startedAt)],
    ['Ended', time(job.completedAt)],
    ['Promised by', link(job.parent)],
    ['Run again of', link(job.rerunOf)],
    ['Asked by', asked === null ? null : <Text text={`${asked.by}: ${asked.reason}`} />],
    ['Schedule', schedule === null ? null : <Text text={schedule.id} />],
    ['Silent for', time(stalledSince)],
    [
      'Cancelled',
      cancelled === null ? null : <Text text={`${cancelled.by}: ${cancelled.reason}`} />,
    ],
    ['Erased', erased === null ? null : <Text text={`${erased.by}: ${erased.reason}`} />],
    ['Failed', failure === null ? null : <Text text={failure.message} most={600} />],
  ].filter(([, value]) => value !== null) as [string, ComponentChildren][]
}

function Tags({ of }: { readonly of: readonly string[] }) {
  return (
    <>
      {of.map((tag, i) => (
        <Fragment key={tag}>
          {i > 0 && ', '}
          <a href={linkTo('jobs', { tag })}>
            <Text text={tag} most={60} />
          </a>
        </Fragment>
      ))}
    </>
  )
}

function Facts({ job }: { readonly job: ShownJob }) {
  return (
    <dl class="facts">
      {factsOf(job).map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}
