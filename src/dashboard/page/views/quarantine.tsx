/**
 * Jobs that were given up and wait for a person, grouped by what went wrong. The store keeps the counts of the groups; a few
 * jobs of one are read when it is opened.
 */
import { useState } from 'preact/hooks'
import type { Action, ActionField } from '../action.ts'
import { action } from '../action.ts'
import type { AnswerOf } from '../api.ts'
import { call } from '../api.ts'
import { countText } from '../duration-text.ts'
import { useLive } from '../live.ts'
import { Cell, Empty, JobLink, Problem, Table, Text, Time, Waiting } from '../parts.tsx'
import { linkTo } from '../route.ts'
import { may } from '../session.ts'

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
}

/** Groups are also of jobs that FAILED: a page of them is looked through. */
const PAGE = 500

async function look(ended: AbortSignal): Promise<FoundErrors> {
  const { states, groups, next } = await call('counts', { by: 'error', limit: PAGE }, ended)
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
          <Buttons selection={{ all: true }} title="all of the quarantine" />
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
        {sample === null ? fingerprint : <Text text={sample.code} most={80} />}
      </h2>
      {sample !== null && (
        <p>
          <Text text={sample.message} most={400} />
        </p>
      )}
      <div class="buttons">
        <button type="button" aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}>
          {isOpen ? 'Hide jobs' : 'Show some jobs'}
        </button>
        <a class="button" href={linkTo('jobs', { state: 'QUARANTINED', error: fingerprint })}>
          All of them
        </a>
        <Buttons selection={{ fingerprint }} title={`${count} jobs with this error`} />
      </div>
      {isOpen && <Samples fingerprint={fingerprint} />}
    </li>
  )
}

const RATE: ActionField = {
  name: 'rate',
  label: 'Rate',
  kind: 'text',
  hint: 'Such as 10/s. Empty: as quickly as possible.',
}

function manyAction(
  kind: 'redrive' | 'discard',
  selection: Readonly<Record<string, unknown>>,
  title: string,
): Action {
  const operation = `quarantine.${kind}` as const
  return {
    title: `${kind === 'redrive' ? 'Retry' : 'Discard'} ${title}`,
    says:
      kind === 'redrive'
        ? 'Each gets a fresh budget and is tried again. Jobs that wait for the outcome of an effect are left alone.'
        : 'Each is given up for good: it FAILED.',
    operation,
    input: selection,
    isGrave: kind === 'discard',
    preview: { operation, input: { ...selection, dryRun: true } },
    fields: [
      ...(kind === 'redrive'
        ? [
            {
              name: 'input',
              label: 'Another input for each of them',
              kind: 'json',
              hint: 'JSON. Empty: inputs stay as they are.',
            } as const,
          ]
        : []),
      RATE,
    ],
  }
}

function Buttons({
  selection,
  title,
}: {
  readonly selection: Readonly<Record<string, unknown>>
  readonly title: string
}) {
  return (
    <>
      {may('quarantine.redrive') && (
        <button
          type="button"
          onClick={() => {
            action.value = manyAction('redrive', selection, title)
          }}
        >
          Retry {title === 'all of the quarantine' ? 'all' : 'them'}…
        </button>
      )}
      {may('quarantine.discard') && (
        <button
          type="button"
          onClick={() => {
            action.value = manyAction('discard', selection, title)
          }}
        >
          Discard {title === 'all of the quarantine' ? 'all' : 'them'}…
        </button>
      )}
    </>
  )
}

function Samples({ fingerprint }: { readonly fingerprint: string }) {
  const ask = (ended: AbortSignal): Promise<AnswerOf<'jobs.list'>> =>
    call('jobs.list', { state: 'QUARANTINED', error: fingerprint, limit: 10 }, ended)
  const { data, problem } = useLive(fingerprint, ask, 5_000)
  if (data === null) return problem === null ? <Waiting /> : <Problem problem={problem} />
  return (
    <Table label="Some of the jobs" columns={['Job', 'Type', 'Submitted', 'Error']}>
      {data.jobs.map(({ id, type, submittedAt, error }) => (
        <tr key={id}>
          <Cell of="Job">
            <JobLink id={id} />
          </Cell>
          <Cell of="Type">
            <Text text={type} />
          </Cell>
          <Cell of="Submitted">
            <Time at={submittedAt} />
          </Cell>
          <Cell of="Error">{error === null ? '–' : <Text text={error.message} />}</Cell>
        </tr>
      ))}
    </Table>
  )
}
