/**
 * One job as it was after each of its entries: the scrubber goes over its history, and beside the job as it was then stands
 * what is different from the entry before, from now, or from another moment.
 */
import { jsonWith, readExactly } from '../../../definition/exact-json.ts'
import { useRef } from 'preact/hooks'
import type { AnswerOf } from '../api.ts'
import { call, CallRefused, messageOf } from '../api.ts'
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
import { goInstead, linkTo } from '../route.ts'
import { seen as shown } from '../safe-text.ts'
import { seesPayloads } from '../session.ts'
import type { ChangedField } from './changed-fields.ts'
import { changedFields } from './changed-fields.ts'
import { momentText, useKept } from './past-machine.tsx'
import type { PastMoment } from './past-moment.ts'
import { momentIn, nowMoment, otherMomentIn, withMoment } from './past-moment.ts'
import { Scrubber } from './past-scrubber.tsx'

type Item = AnswerOf<'jobs.history'>['items'][number]
type JobThen = AnswerOf<'past.show'>

/** The server gives no more at once. */
const PAGE = 1_000
/** Of a longer history, what comes behind them is not in the scrubber. */
const MOST_ITEMS = 10_000

interface SeenHistory {
  /** From the first on, without a gap. */
  readonly items: readonly Item[]
  /** There are more. */
  readonly isPart: boolean
}

/** What was read once does not change: only what comes behind it is asked for again. */
class HistoryPages {
  readonly #job: string
  /** Whole pages. */
  readonly #settled: Item[] = []
  /** What only time did behind the last of them. */
  #passed: readonly Item[] = []

  constructor(job: string) {
    this.#job = job
  }

  async read(ended: AbortSignal): Promise<SeenHistory> {
    const settled = this.#settled
    while (settled.length < MOST_ITEMS) {
      const after = settled.at(-1)?.position ?? 0
      const { items } = await call('jobs.history', { job: this.#job, after, limit: PAGE }, ended)
      const last = items.findLastIndex(isEntry)
      if (items.filter(isEntry).length < PAGE) {
        return { items: [...settled, ...(last === -1 ? this.#passed : items)], isPart: false }
      }
      settled.push(...items.slice(0, last + 1))
      this.#passed = items.slice(last + 1)
    }
    return { items: [...settled], isPart: true }
  }
}

function isEntry({ type }: Item): boolean {
  return type !== 'TimePassed'
}

interface PastJobProps {
  readonly job: string
  readonly parameters: RouteParameters
}

export function PastJob({ job, parameters }: PastJobProps) {
  const pages = useRef(new HistoryPages(job))
  const opened = useRef(nowMoment())
  const ask = (ended: AbortSignal) => pages.current.read(ended)
  const { data, problem } = useLive(`history ${job}`, ask, 5_000)
  if (data === null) return problem === null ? <Waiting /> : <Problem problem={problem} />
  const { items, isPart } = data
  if (items.length === 0) return <Empty>The history of this job is gone.</Empty>
  const chosen = momentIn(parameters)
  const index = placeIn(data, chosen)
  const most = isPart ? items.length : items.length - 1
  /** Null: it is later than what was read. */
  const item = items[index] ?? null
  const moment = item === null ? (chosen ?? opened.current) : momentOf(item)
  const go = (to: number): void => {
    const next = items[to]
    goInstead(
      'past',
      next === undefined
        ? { ...parameters, time: null, position: null }
        : withMoment(parameters, momentOf(next)),
    )
  }
  return (
    <>
      <p class="crumbs">
        <a href={linkTo('past', withMoment({}, item === null ? moment : atEntry(item)))}>
          The whole machine then
        </a>{' '}
        · <JobLink id={job}>the job as it is now</JobLink>
      </p>
      <Scrubber
        label="Entries of the job"
        value={index}
        least={0}
        most={most}
        step={1}
        says={(value) => itemText(items[value])}
        onRest={go}
        onPrevious={index === 0 ? null : () => go(index - 1)}
        onNext={index === most ? null : () => go(index + 1)}
      >
        <span class="position">
          {item === null ? 'later' : countText(index + 1)} of {isPart && 'more than '}
          {countText(items.length)}
        </span>
        <a class="button" href={linkTo('past', { ...parameters, with: nameOf(moment) })}>
          Compare from here
        </a>
      </Scrubber>
      {isPart && (
        <p class="aside">
          The slider goes over the first {countText(items.length)} entries. Of what came later, the
          job is shown at the moment that the address names, and as it is now if that names none.
        </p>
      )}
      {item !== null && <ItemFacts item={item} />}
      <JobAt
        job={job}
        moment={moment}
        at={item}
        before={index === 0 ? null : (items[index - 1] as Item)}
        parameters={parameters}
      />
    </>
  )
}

function atEntry({ position }: Item): PastMoment {
  return { position }
}

/** Of what only time did there is no entry: it is named by its time. */
function momentOf({ type, position, at }: Item): PastMoment {
  return type === 'TimePassed' ? { time: Date.parse(at) } : { position }
}

function nameOf(moment: PastMoment): string {
  return 'time' in moment ? `t${moment.time}` : `p${moment.position}`
}

/** The newest that had happened; the first, if none had; behind the last, if that is not known. */
function placeIn({ items, isPart }: SeenHistory, moment: PastMoment | null): number {
  const last = items.length - 1
  if (moment === null) return isPart ? last + 1 : last
  const place = items.findLastIndex((one) =>
    'time' in moment
      ? Date.parse(one.at) <= moment.time
      : isEntry(one) && one.position <= moment.position,
  )
  const end = items[last] as Item
  return isPart && place === last && isBehind(moment, end) ? last + 1 : Math.max(0, place)
}

function itemText(item: Item | undefined): string {
  if (item === undefined) return 'later'
  return `${item.type}, ${momentText(Date.parse(item.at), serverNow())}`
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
  readonly moment: PastMoment
  /** What happened then; null: it is not known. */
  readonly at: Item | null
  readonly before: Item | null
  readonly parameters: RouteParameters
}

interface TwoMoments {
  readonly shown: JobThen
  /** Null: there was no such job then; a text: why it is not known. */
  readonly other: JobThen | string | null
}

function JobAt({ job, moment, at, before, parameters }: JobAtProps) {
  const chosen = otherMomentIn(parameters)
  const isNow = parameters['with'] === 'now'
  const other = chosen ?? (isNow ? nowMoment() : before === null ? null : momentOf(before))
  const ask = async (ended: AbortSignal): Promise<TwoMoments> => {
    const [own, compared] = await Promise.all([
      call('past.show', { job, ...moment }, ended),
      other === null ? null : call('past.show', { job, ...other }, ended).catch(whyNotThen),
    ])
    return { shown: own, other: compared }
  }
  const key = JSON.stringify([job, moment, isNow ? 'now' : other])
  const { data, problem } = useLive(key, ask, ONCE)
  const kept = useKept(data)
  if (kept === null) return problem === null ? <Waiting /> : <Problem problem={problem} />
  const isEarlier = isNow || (chosen !== null && at !== null && isBehind(chosen, at))
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
        {typeof kept.other === 'string' ? (
          <Problem problem={kept.other} />
        ) : (
          <FieldTable
            fields={
              isEarlier
                ? changedFields(exactly(kept.shown), exactly(kept.other))
                : changedFields(exactly(kept.other) ?? {}, exactly(kept.shown))
            }
          />
        )}
      </section>
      <section aria-labelledby="whole">
        <h2 id="whole">
          The job as it was <State state={kept.shown.state} />
        </h2>
        <JsonBlock
          value={seenOf(kept.shown)}
          exact={textOf(kept.shown)}
          label="The job as it was"
          isOfJob={false}
        />
      </section>
    </div>
  )
}

/** What the server does not know says nothing of the job: it is asked again. */
function whyNotThen(error: unknown): string | null {
  const code = error instanceof CallRefused ? error.code : null
  if (code === 'UnknownJob') return null
  if (code === 'BeforeHistory') return messageOf(error)
  throw error
}

/** In place of payloads that the reader does not see, the server says nothing. */
function seenOf(job: JobThen): Partial<JobThen> {
  if (seesPayloads()) return job
  const { input: _, output: __, metadata: ___, progress: ____, lines: _____, ...others } = job
  return others
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
