/**
 * Jobs that were given up and wait for a person, grouped by what went wrong. The store keeps the counts of the groups; a few
 * jobs of one are read when it is opened.
 */
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Action } from '../action.ts'
import { action, RATE_FIELD } from '../action.ts'
import type { AnswerOf } from '../api.ts'
import { call, messageOf } from '../api.ts'
import { countText } from '../duration-text.ts'
import { useLive } from '../live.ts'
import { Cell, Empty, JobLink, Problem, Table, Text, Time, Waiting } from '../parts.tsx'
import { linkTo } from '../route.ts'
import { json } from '../safe-text.ts'
import { may, seesPayloads } from '../session.ts'
import type { SeenHeld } from './held-effects.tsx'
import { HeldEffects, lookForHeld } from './held-effects.tsx'
import { KEPT_OR_NEW } from './job-actions.ts'

interface ErrorGroup {
  readonly fingerprint: string
  readonly count: number
  readonly sample: { readonly id: string; readonly code: string; readonly message: string } | null
}

interface FoundErrors {
  readonly total: number
  readonly groups: readonly ErrorGroup[]
  /** There may be groups that are not shown: with fewer jobs, or, of very many errors, with any number. */
  readonly left: 'none' | 'smaller' | 'any'
  /** Those of which a person has to say what became of an effect. */
  readonly held: SeenHeld
}

const MOST_GROUPS = 200
const SAMPLES = 10

async function look(ended: AbortSignal): Promise<FoundErrors> {
  const [{ states, groups, next }, held] = await Promise.all([
    call('counts', { by: 'error', largest: 'QUARANTINED', limit: MOST_GROUPS }, ended),
    lookForHeld(ended),
  ])
  const found = groups.flatMap(({ name, states: own, sample }) =>
    name === null ? [] : [{ fingerprint: name, count: own.QUARANTINED, sample }],
  )
  return {
    total: states.QUARANTINED,
    groups: found,
    left: next !== null ? 'any' : found.length === MOST_GROUPS ? 'smaller' : 'none',
    held,
  }
}

const LEFT = {
  none: '',
  smaller: ', or have rarer errors',
  any: ', or have others of more than 10,000 errors',
} as const

export function QuarantineView() {
  const { data, problem } = useLive('quarantine', look, 2_000)
  if (data === null) return problem === null ? <Waiting /> : <Problem problem={problem} />
  const grouped = data.groups.reduce((sum, { count }) => sum + count, 0)
  const others = data.total - grouped
  return (
    <>
      <Problem problem={problem} />
      <HeldEffects of={data.held} />
      {data.total === 0 ? (
        <Empty>Nothing is in quarantine.</Empty>
      ) : (
        <p>
          {countText(data.total)} {data.total === 1 ? 'job was' : 'jobs were'} given up and{' '}
          {data.total === 1 ? 'is' : 'are'} kept. Each has one of these errors.
        </p>
      )}
      <ul class="groups">
        {data.groups.map((group) => (
          <GroupCard key={group.fingerprint} group={group} />
        ))}
      </ul>
      {others > 0 && (
        <p>
          <a href={linkTo('jobs', { state: 'QUARANTINED' })}>
            {countText(others)} more {others === 1 ? 'is a pipeline' : 'are pipelines'}
            {LEFT[data.left]}
          </a>
        </p>
      )}
      {data.total > 0 && (
        <div class="buttons">
          <Buttons of={{ fingerprint: null, title: 'all of the quarantine' }} />
        </div>
      )}
    </>
  )
}

function GroupCard({ group }: { readonly group: ErrorGroup }) {
  const [isOpen, setIsOpen] = useState(false)
  const { fingerprint, count, sample } = group
  return (
    <li class="card">
      <h2>
        <span class="count">{countText(count)} ×</span>{' '}
        {/* A token that sees no payloads gets no message. */}
        {sample === null || sample.message === '' ? (
          fingerprint
        ) : (
          <Text text={sample.message} most={400} />
        )}
      </h2>
      {sample !== null && (
        <ul class="labels">
          <li>
            code <Text text={sample.code} most={80} />
          </li>
          <li>
            such as <JobLink id={sample.id} />
          </li>
        </ul>
      )}
      <div class="buttons">
        <button type="button" aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}>
          {isOpen ? 'Hide jobs' : 'Show some jobs'}
        </button>
        <a class="button" href={linkTo('jobs', { state: 'QUARANTINED', error: fingerprint })}>
          Open in Jobs
        </a>
        <Buttons
          of={{
            fingerprint,
            title:
              count === 1 ? 'the job with this error' : `${countText(count)} jobs with this error`,
          }}
        />
      </div>
      {isOpen && <Samples fingerprint={fingerprint} />}
    </li>
  )
}

/** A group, or all. */
interface Selected {
  readonly fingerprint: string | null
  readonly title: string
}

const SAYS = {
  redrive:
    'Each gets a fresh budget and is tried again. Jobs that wait for the outcome of an effect are left alone.',
  discard:
    'Each is given up for good: it FAILED. Jobs that wait for the outcome of an effect are left alone.',
} as const

/** At a rate it may take long: events tell how far it is, and it may be stopped. */
function manyAction(kind: 'redrive' | 'discard', { fingerprint, title }: Selected): Action {
  const filter = {
    action: kind === 'redrive' ? 'retry' : 'discard',
    state: 'QUARANTINED',
    ...(fingerprint === null ? {} : { error: fingerprint }),
  }
  return {
    title: `${kind === 'redrive' ? 'Retry' : 'Discard'} ${title}`,
    says: SAYS[kind],
    operation: 'bulk.run',
    progress: 'bulk.events',
    input: filter,
    isGrave: true,
    preview: { operation: 'bulk.preview', input: filter },
    fields: [RATE_FIELD],
  }
}

/** The same input for each of them. */
function editAction(fingerprint: string, title: string): Action {
  return {
    title: `Edit the input of ${title}, and retry them`,
    says: 'Each gets this input in place of its own, and is tried again with a fresh budget.',
    operation: 'quarantine.redrive',
    progress: 'quarantine.redrive.events',
    input: { fingerprint },
    isGrave: true,
    preview: { operation: 'quarantine.redrive', input: { fingerprint, dryRun: true } },
    fields: [{ name: 'input', label: 'Input of each', kind: 'json', hint: 'JSON.' }, RATE_FIELD],
    lacks: ({ input }) => (input === undefined ? 'Write the input that each of them gets.' : null),
  }
}

function opening(next: Action): () => void {
  return () => {
    action.value = next
  }
}

function Buttons({ of }: { readonly of: Selected }) {
  const { fingerprint, title } = of
  const which = fingerprint === null ? 'all' : 'them'
  return (
    <>
      {may('bulk.events') && (
        <button type="button" onClick={opening(manyAction('redrive', of))}>
          Retry {which}…
        </button>
      )}
      {may('quarantine.redrive.events') && seesPayloads() && fingerprint !== null && (
        <button type="button" onClick={opening(editAction(fingerprint, title))}>
          Edit input…
        </button>
      )}
      {may('bulk.events') && (
        <button type="button" onClick={opening(manyAction('discard', of))}>
          Discard {which}…
        </button>
      )}
    </>
  )
}

function Samples({ fingerprint }: { readonly fingerprint: string }) {
  const ask = (ended: AbortSignal): Promise<AnswerOf<'jobs.list'>> =>
    call('jobs.list', { state: 'QUARANTINED', error: fingerprint, limit: SAMPLES }, ended)
  const { data, problem } = useLive(fingerprint, ask, 5_000)
  if (data === null) return problem === null ? <Waiting /> : <Problem problem={problem} />
  return (
    <Table label="Some of the jobs" columns={['Job', 'Type', 'Submitted', 'Error', 'Actions']}>
      {data.jobs.map((one) => (
        <tr key={one.id}>
          <Cell of="Job">
            <JobLink id={one.id} />
          </Cell>
          <Cell of="Type">
            <Text text={one.type} />
          </Cell>
          <Cell of="Submitted">
            <Time at={one.submittedAt} />
          </Cell>
          <Cell of="Error">{one.error === null ? '–' : <Text text={one.error.message} />}</Cell>
          <Cell of="Actions">
            {may('jobs.retry') && seesPayloads() ? <EditButton job={one} /> : '–'}
          </Cell>
        </tr>
      ))}
    </Table>
  )
}

type SampleJob = AnswerOf<'jobs.list'>['jobs'][number]

/** What it was given is read when it is to be edited: it may be large. */
function EditButton({ job: { id, attempt } }: { readonly job: SampleJob }) {
  const [problem, setProblem] = useState<string | null>(null)
  const left = useRef(new AbortController())
  useEffect(() => () => left.current.abort(), [])
  const edit = async (): Promise<void> => {
    const { signal } = left.current
    try {
      const { input, exact, stages } = await call('jobs.show', { job: id }, signal)
      // The reader may be elsewhere by now, or at another dialog.
      if (signal.aborted || action.value !== null) return
      if (stages.length > 0) return setProblem('The input of a pipeline cannot be edited.')
      action.value = {
        title: 'Edit the input, and retry the job',
        says: 'It gets this input and a fresh budget, and is tried again.',
        operation: 'jobs.retry',
        input: { job: id, attempt },
        fields: [
          {
            name: 'input',
            label: 'Input',
            kind: 'json',
            value: json(input, exact?.input),
            isEdited: true,
            hint: KEPT_OR_NEW,
          },
        ],
      }
    } catch (error) {
      if (!signal.aborted) setProblem(messageOf(error))
    }
  }
  return (
    <>
      <button
        type="button"
        class="small"
        aria-label={`Edit and retry job ${id}`}
        onClick={() => void edit()}
      >
        Edit and retry…
      </button>
      <Problem problem={problem} />
    </>
  )
}
