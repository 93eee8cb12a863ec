/**
 * Jobs that were given up and wait for a person, grouped by what went wrong. The store keeps the counts of the groups; a few
 * jobs of one are read when it is opened.
 */
import { useState } from 'preact/hooks'
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
  /** There are more than one page. */
  readonly isMore: boolean
  /** Those of which a person has to say what became of an effect. */
  readonly held: SeenHeld
}

/** Groups are also of jobs that FAILED: a page of them is looked through. */
const PAGE = 500
const SAMPLES = 10

async function look(ended: AbortSignal): Promise<FoundErrors> {
  const [{ states, groups, next }, held] = await Promise.all([
    call('counts', { by: 'error', limit: PAGE }, ended),
    lookForHeld(ended),
  ])
  const found = groups
    .filter((one) => one.name !== null && one.states.QUARANTINED > 0)
    .map(({ name, states: own, sample }) => ({
      fingerprint: name as string,
      count: own.QUARANTINED,
      sample,
    }))
  return {
    total: states.QUARANTINED,
    groups: found.toSorted((a, b) => b.count - a.count),
    isMore: next !== null,
    held,
  }
}

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
            {data.isMore && ', or have rarer errors'}
          </a>
        </p>
      )}
      {data.total > 0 && (
        <div class="buttons">
          <Buttons of={{ fingerprint: null, count: data.total, title: 'all of the quarantine' }} />
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
            count,
            title:
              count === 1 ? 'the job with this error' : `${countText(count)} jobs with this error`,
          }}
        />
      </div>
      {isOpen && <Samples fingerprint={fingerprint} />}
    </li>
  )
}

/** What is to be done to a group, or to all. */
interface Selected {
  readonly fingerprint: string | null
  readonly count: number
  readonly title: string
}

/** A dry run looks at each job, and says why some would be left. Of more than these, they are only counted. */
const MOST_DRY = 2_000

const SAYS = {
  redrive:
    'Each gets a fresh budget and is tried again. Jobs that wait for the outcome of an effect are left alone.',
  discard:
    'Each is given up for good: it FAILED. Jobs that wait for the outcome of an effect are left alone.',
} as const

/** At a rate it may take long: events tell how far it is, and it may be stopped. */
function manyAction(kind: 'redrive' | 'discard', { fingerprint, count, title }: Selected): Action {
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
    isGrave: kind === 'discard',
    preview:
      count > MOST_DRY
        ? { operation: 'bulk.preview', input: filter }
        : { operation: `quarantine.${kind}`, input: dryRunOf(fingerprint) },
    fields: [RATE_FIELD],
  }
}

function dryRunOf(fingerprint: string | null): Readonly<Record<string, unknown>> {
  return { ...(fingerprint === null ? { all: true } : { fingerprint }), dryRun: true }
}

/** The same input for each of them. */
function editAction({ fingerprint, title }: Selected): Action {
  return {
    title: `Edit the input of ${title}, and retry them`,
    says: 'Each gets this input in place of its own, and is tried again with a fresh budget.',
    operation: 'quarantine.redrive',
    progress: 'quarantine.redrive.events',
    input: fingerprint === null ? { all: true } : { fingerprint },
    isGrave: true,
    preview: { operation: 'quarantine.redrive', input: dryRunOf(fingerprint) },
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
  const isAll = of.fingerprint === null
  const which = isAll ? 'all' : 'them'
  return (
    <>
      {may('bulk.events') && (
        <button type="button" onClick={opening(manyAction('redrive', of))}>
          Retry {which}…
        </button>
      )}
      {may('quarantine.redrive.events') && seesPayloads() && !isAll && (
        <button type="button" onClick={opening(editAction(of))}>
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
  const edit = async (): Promise<void> => {
    try {
      const { input, exact, stages } = await call('jobs.show', { job: id })
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
      setProblem(messageOf(error))
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
