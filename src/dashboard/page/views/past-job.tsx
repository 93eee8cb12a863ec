/**
 * One job as it was after each of its entries: the scrubber goes over its history, and beside the job as it was then stands
 * what is different from the entry before, from now, or from another moment.
 */
import { jsonWith, readExactly } from '../../../definition/exact-json.ts'
import type { AnswerOf } from '../api.ts'
import { call } from '../api.ts'
import { serverNow } from '../clock.ts'
import { countText } from '../duration-text.ts'
import { ONCE, useLive } from '../live.ts'
import {
  Cell,
  Empty,
  JobLink,
  JsonBlock,
  Problem,
  State,
  Table,
  Text,
  Time,
  Waiting,
} from '../parts.tsx'
import type { RouteParameters } from '../route.ts'
import { goTo, linkTo } from '../route.ts'
import { seen as shown } from '../safe-text.ts'
import type { ChangedField } from './changed-fields.ts'
import { changedFields } from './changed-fields.ts'
import { momentText, useKept } from './past-machine.tsx'
import type { PastMoment } from './past-moment.ts'
import { momentIn, otherMomentIn, withMoment } from './past-moment.ts'
import { Scrubber } from './past-scrubber.tsx'

type Item = AnswerOf<'jobs.history'>['items'][number]
type JobThen = AnswerOf<'past.show'>

const MOST_ITEMS = 1_000
const COMING_MS = 60_000

interface PastJobProps {
  readonly job: string
  readonly parameters: RouteParameters
}

export function PastJob({ job, parameters }: PastJobProps) {
  const ask = (ended: AbortSignal) => call('jobs.history', { job, limit: MOST_ITEMS }, ended)
  const { data, problem } = useLive(`history ${job}`, ask, 5_000)
  if (data === null) return problem === null ? <Waiting /> : <Problem problem={problem} />
  const { items } = data
  if (items.length === 0) return <Empty>The history of this job is gone.</Empty>
  const index = placeIn(items, momentIn(parameters))
  const go = (to: number): void => goTo('past', withMoment(parameters, momentOf(items[to] as Item)))
  const item = items[index] as Item
  return (
    <>
      <p class="crumbs">
        <a href={linkTo('past', { position: String(item.position) })}>The whole machine then</a> ·{' '}
        <JobLink id={job}>the job as it is now</JobLink>
      </p>
      <Scrubber
        label="Entries of the job"
        value={index}
        least={0}
        most={items.length - 1}
        step={1}
        says={(value) => itemText(items[value] as Item)}
        onRest={go}
        onPrevious={index === 0 ? null : () => go(index - 1)}
        onNext={index === items.length - 1 ? null : () => go(index + 1)}
      >
        <span class="position">
          {countText(index + 1)} of {countText(items.length)}
        </span>
        <a class="button" href={linkTo('past', { ...parameters, with: otherOf(item) })}>
          Compare from here
        </a>
      </Scrubber>
      <ItemFacts item={item} />
      <JobAt
        job={job}
        item={item}
        before={index === 0 ? null : (items[index - 1] as Item)}
        parameters={parameters}
      />
    </>
  )
}

/** Of what only time did there is no entry: it is named by its time. */
function momentOf({ type, position, at }: Item): PastMoment {
  return type === 'TimePassed' ? { time: Date.parse(at) } : { position }
}

function otherOf(item: Item): string {
  const moment = momentOf(item)
  return 'time' in moment ? `t${moment.time}` : `p${moment.position}`
}

/** The newest that had happened; the first, if none had. */
function placeIn(items: readonly Item[], moment: PastMoment | null): number {
  if (moment === null) return items.length - 1
  const place = items.findLastIndex((one) =>
    'time' in moment
      ? Date.parse(one.at) <= moment.time
      : one.type !== 'TimePassed' && one.position <= moment.position,
  )
  return Math.max(0, place)
}

function itemText({ type, at }: Item): string {
  return `${type}, ${momentText(Date.parse(at), serverNow())}`
}

function ItemFacts({
  item: { type, position, at, by, reason, from, to },
}: {
  readonly item: Item
}) {
  return (
    <dl class="facts">
      <div>
        <dt>What happened</dt>
        <dd>{type}</dd>
      </div>
      <div>
        <dt>State after it</dt>
        <dd>
          {to === null ? '–' : <State state={to} />}
          {from !== null && from !== to && <small> was {from}</small>}
        </dd>
      </div>
      <div>
        <dt>By</dt>
        <dd>
          <Text text={by} most={80} />
        </dd>
      </div>
      <div>
        <dt>Why</dt>
        <dd>{reason === null ? '–' : <Text text={reason} most={400} />}</dd>
      </div>
      <div>
        <dt>When</dt>
        <dd>
          <Time at={at} />
        </dd>
      </div>
      <div>
        <dt>Entry</dt>
        <dd>{countText(position)}</dd>
      </div>
    </dl>
  )
}

interface JobAtProps {
  readonly job: string
  readonly item: Item
  readonly before: Item | null
  readonly parameters: RouteParameters
}

interface TwoMoments {
  readonly shown: JobThen
  /** Null: there was no such job then. */
  readonly other: JobThen | null
}

function JobAt({ job, item, before, parameters }: JobAtProps) {
  const chosen = otherMomentIn(parameters)
  const isNow = parameters['with'] === 'now'
  const other =
    chosen ??
    (isNow
      ? { time: Math.round(serverNow()) + COMING_MS }
      : before === null
        ? null
        : momentOf(before))
  const ask = async (ended: AbortSignal): Promise<TwoMoments> => {
    const [own, compared] = await Promise.all([
      call('past.show', { job, ...momentOf(item) }, ended),
      other === null ? null : call('past.show', { job, ...other }, ended).catch(() => null),
    ])
    return { shown: own, other: compared }
  }
  const key = JSON.stringify([job, momentOf(item), isNow ? 'now' : other])
  const { data, problem } = useLive(key, ask, ONCE)
  const kept = useKept(data)
  if (kept === null) return problem === null ? <Waiting /> : <Problem problem={problem} />
  const isEarlier = isNow || (chosen !== null && isBehind(chosen, item))
  return (
    <div aria-busy={data === null} class="past">
      <Problem problem={problem} />
      <section aria-labelledby="fields">
        <h2 id="fields">What changed</h2>
        <nav class="tabs" aria-label="Compared with">
          <ul>
            <CompareTab name="the entry before" value={null} parameters={parameters} />
            <CompareTab name="now" value="now" parameters={parameters} />
            {chosen !== null && (
              <CompareTab
                name={`the moment ${parameters['with'] ?? ''}`}
                value={parameters['with'] ?? null}
                parameters={parameters}
              />
            )}
          </ul>
        </nav>
        <FieldTable
          fields={
            isEarlier
              ? changedFields(exactly(kept.shown), exactly(kept.other))
              : changedFields(exactly(kept.other) ?? {}, exactly(kept.shown))
          }
        />
      </section>
      <section aria-labelledby="whole">
        <h2 id="whole">
          The job as it was <State state={kept.shown.state} />
        </h2>
        <JsonBlock value={kept.shown} exact={textOf(kept.shown)} label="The job as it was" />
      </section>
    </div>
  )
}

/** With the numbers as they are recorded; null: they are in it already. */
function textOf({ exact, ...job }: JobThen): string | null {
  return exact === undefined ? null : jsonWith(job, exact)
}

function exactly(job: JobThen | null): unknown {
  const text = job === null ? null : textOf(job)
  return text === null ? job : readExactly(text)
}

function isBehind(moment: PastMoment, { at, position }: Item): boolean {
  return 'time' in moment ? moment.time > Date.parse(at) : moment.position > position
}

interface CompareTabProps {
  readonly name: string
  readonly value: string | null
  readonly parameters: RouteParameters
}

function CompareTab({ name, value, parameters }: CompareTabProps) {
  const isCurrent = (parameters['with'] ?? null) === value
  return (
    <li>
      <a
        href={linkTo('past', { ...parameters, with: value })}
        aria-current={isCurrent ? 'true' : undefined}
      >
        {shown(name)}
      </a>
    </li>
  )
}

function FieldTable({ fields }: { readonly fields: readonly ChangedField[] }) {
  if (fields.length === 0) return <Empty>Nothing that can be seen is different.</Empty>
  return (
    <Table label="What changed" columns={['Field', 'Before', 'After']}>
      {fields.map(({ path, before, after }) => (
        <tr key={path}>
          <Cell of="Field">
            <Text text={path === '' ? 'all of it' : path} most={120} />
          </Cell>
          <Cell of="Before">{before === null ? '–' : <Value text={before} />}</Cell>
          <Cell of="After">{after === null ? '–' : <Value text={after} />}</Cell>
        </tr>
      ))}
    </Table>
  )
}

function Value({ text }: { readonly text: string }) {
  return (
    <code>
      <Text text={text} most={300} />
    </code>
  )
}
