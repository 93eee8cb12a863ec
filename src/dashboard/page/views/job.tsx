/**
 * A job: why it does not run, what was tried, what it was given and made, and what may be done to it.
 */
import type { ComponentChildren } from 'preact'
import { Fragment } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { action } from '../action.ts'
import type { AnswerOf } from '../api.ts'
import { call } from '../api.ts'
import { commandLine } from '../command-line.ts'
import { useLive } from '../live.ts'
import {
  CopyButton,
  Empty,
  JobLink,
  JsonBlock,
  Problem,
  State,
  Text,
  Time,
  Waiting,
} from '../parts.tsx'
import type { RouteParameters } from '../route.ts'
import { goTo, linkTo } from '../route.ts'
import { seen } from '../safe-text.ts'
import { may } from '../session.ts'
import { AttemptsPart } from './attempts.tsx'
import { HistoryPart } from './history.tsx'
import type { ShownJob } from './job-actions.ts'
import { offeredActions, resolveAction } from './job-actions.ts'
import { StagesPart } from './stages.tsx'

interface SeenJob {
  readonly job: ShownJob
  readonly why: AnswerOf<'jobs.explain'> | null
  readonly history: AnswerOf<'jobs.history'>['items']
}

const HISTORY_PAGE = 200
const MOST_HISTORY = 1_000

export function JobView({ parameters }: { readonly parameters: RouteParameters }) {
  const { id = '' } = parameters
  const [limit, setLimit] = useState(HISTORY_PAGE)
  const last = useRef<SeenJob | null>(null)
  const look = async (ended: AbortSignal): Promise<SeenJob> => {
    const job = await call('jobs.show', { job: id }, ended)
    const before = last.current
    const isSame = before !== null && before.job.id === id && before.job.updatedAt === job.updatedAt
    const [why, history] = await Promise.all([
      may('jobs.explain') ? call('jobs.explain', { job: id }, ended) : null,
      // Of a job to which nothing happened, the history is the same.
      isSame
        ? { items: before.history }
        : may('jobs.history')
          ? call('jobs.history', { job: id, limit }, ended)
          : { items: [] },
    ])
    last.current = { job, why, history: history.items }
    return last.current
  }
  const { data, problem } = useLive(`${id} ${limit}`, look)
  const shown = data ?? (last.current?.job.id === id ? last.current : null)
  if (shown === null) return problem === null ? <Waiting /> : <Problem problem={problem} />
  const more = (): void => {
    last.current = null
    setLimit(MOST_HISTORY)
  }
  return (
    <>
      <Problem problem={problem} />
      <Title of={shown} />
      <WhyPart why={shown.why} />
      <Facts job={shown.job} />
      {shown.job.stages.length > 0 && (
        <Part name="Stages">
          <StagesPart job={id} stages={shown.job.stages} />
        </Part>
      )}
      <Part name="Attempts">
        <AttemptsPart attempts={shown.job.executions} />
      </Part>
      <Payloads job={shown.job} />
      <Part name="History">
        <HistoryPart id={id} items={shown.history} />
        {shown.history.length >= limit && limit < MOST_HISTORY && (
          <button type="button" onClick={more}>
            Show more
          </button>
        )}
      </Part>
    </>
  )
}

function Part({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  const id = `part-${name.toLowerCase().replaceAll(' ', '-')}`
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>{name}</h2>
      {children}
    </section>
  )
}

/** The job that runs now instead of the one that is shown. */
function goToNew(answer: unknown): void {
  goTo('job', { id: (answer as { job: string }).job })
}

function Title({ of: { job, why } }: { readonly of: SeenJob }) {
  const command = commandLine('jobs.show', { job: job.id }) ?? ''
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
        {offeredActions(job, why)
          .filter(({ action: { operation } }) => may(operation))
          .map(({ label, action: one }) => (
            <button
              key={label}
              type="button"
              onClick={() => {
                action.value = one.operation === 'jobs.rerun' ? { ...one, onDone: goToNew } : one
              }}
            >
              {label}…
            </button>
          ))}
      </div>
    </div>
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
                (<Time at={until} />)
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
    ['Tags', job.tags.length === 0 ? null : <Text text={job.tags.join(', ')} />],
    ['Submitted', time(job.submittedAt)],
    ['Due', job.startedAt === null ? time(job.dueAt) : null],
    ['Deadline', time(job.deadlineAt)],
    ['Began', time(job.startedAt)],
    ['Over', time(job.completedAt)],
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

function Payloads({ job }: { readonly job: ShownJob }) {
  const { error, lines, progress, effects, steps, waits } = job
  return (
    <>
      {error !== null && (
        <Part name="Error">
          <p class="problem">
            <strong>
              <Text text={error.code} />
            </strong>{' '}
            <Text text={error.message} most={2_000} />
          </p>
          {error.stack != null && (
            <details>
              <summary>Stack</summary>
              <pre tabIndex={0} role="group" aria-label="Stack">
                {seen(error.stack.slice(0, 20_000))}
              </pre>
            </details>
          )}
        </Part>
      )}
      <div class="columns">
        <Part name="Input">
          <JsonBlock value={job.input} label="Input" />
        </Part>
        <Part name="Output">
          <JsonBlock value={job.output} label="Output" />
        </Part>
      </div>
      {job.metadata !== undefined && (
        <Part name="Metadata">
          <JsonBlock value={job.metadata} label="Metadata" />
        </Part>
      )}
      {waits.length > 0 && (
        <Part name="Waits for">
          <ul>
            {waits.map(({ name, message, callee, until }) => (
              <li key={name}>
                <Text text={name} />
                {message !== null && <Text text={`, message ${message}`} />}
                {callee !== null && (
                  <>
                    , <JobLink id={callee} />
                  </>
                )}
                {until !== null && (
                  <>
                    , until <Time at={until} />
                  </>
                )}
              </li>
            ))}
          </ul>
        </Part>
      )}
      {effects.length > 0 && <Effects job={job} />}
      {steps.length > 0 && (
        <Part name="Steps">
          <ol>
            {steps.slice(0, 500).map((one) => (
              <li key={one}>
                <Text text={one} />
              </li>
            ))}
          </ol>
        </Part>
      )}
      {(progress !== undefined || lines.length > 0) && (
        <Part name="Said by its handler">
          {progress !== undefined && <JsonBlock value={progress} label="Progress" />}
          {lines.length > 0 && (
            <pre tabIndex={0} role="log" aria-label="Lines">
              {seen(lines.join('\n').slice(-20_000))}
            </pre>
          )}
        </Part>
      )}
    </>
  )
}

function Effects({ job: { id, effects } }: { readonly job: ShownJob }) {
  if (effects.length === 0) return <Empty>none</Empty>
  return (
    <Part name="Effects">
      <ul>
        {effects.map(({ name, key, state, error }, i) => (
          <li key={key}>
            <Text text={name} /> <span class="mark">{state}</span>{' '}
            {error !== null && <Text text={`${error.code}: ${error.message}`} />}{' '}
            {(state === 'HELD' || state === 'UNKNOWN') && may('jobs.resolve') && (
              <button
                type="button"
                class="small"
                onClick={() => {
                  action.value = resolveAction(id, i, name)
                }}
              >
                Say what became of it…
              </button>
            )}
          </li>
        ))}
      </ul>
    </Part>
  )
}
