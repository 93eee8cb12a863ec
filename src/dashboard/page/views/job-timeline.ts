/**
 * What happened to a job along time: a line for each attempt, with its lease, its run and what it waited for after it, and
 * one for each effect. Attempts come from the records; commits, steps and effects from the part of the history that is
 * shown.
 */
import type { Settlement } from '../../../kernel/index.ts'
import type { AnswerOf } from '../api.ts'
import { durationText } from '../duration-text.ts'
import { label } from '../safe-text.ts'
import type { Span, Timeline } from './attempt-timeline.ts'
import { timelineOf } from './attempt-timeline.ts'
import type { ShownJob } from './job-actions.ts'

export type ShownAttempt = ShownJob['executions'][number]
export type ShownHistory = AnswerOf<'jobs.history'>['items']
type ShownItem = ShownHistory[number]

export interface TimelineSpan extends Span {
  readonly kind: 'queued' | 'lease' | 'run' | 'suspended' | 'pause' | 'effect'
  /** Of a run: its status. Of an effect: whether it finished. */
  readonly status: string
  readonly title: string
}

export interface TimelineMark {
  readonly at: number
  readonly kind: 'commit' | 'step' | 'end'
  readonly title: string
}

export interface TimelineLine {
  /** In so many characters. */
  readonly label: (most: number) => string
  readonly spans: readonly TimelineSpan[]
  readonly marks: readonly TimelineMark[]
}

export interface JobTimeline extends Timeline {
  readonly from: number
  readonly to: number
  readonly lines: readonly TimelineLine[]
}

/** Effects that have a line of their own. */
const MOST_EFFECTS = 12

export function jobTimeline(job: ShownJob, history: ShownHistory, now: number): JobTimeline {
  const from = Date.parse(job.submittedAt)
  const to = job.completedAt === null ? now : Date.parse(job.completedAt)
  const attempts = job.executions
  const places = placesOf(job, history)
  // To a job that is over nothing happens any more.
  const lines = [
    ...queuedLine(job, from, to),
    ...attempts.map((one, i) => attemptLine(one, nextOf(attempts, i), places, to)),
    ...effectLines(places, to),
  ]
  const busy = lines.flatMap(({ spans }) =>
    spans.filter(({ kind }) => kind === 'lease' || kind === 'run' || kind === 'effect'),
  )
  const ends = [from, to].map((time) => ({ from: time, to: time }))
  return { ...timelineOf([...busy, ...ends]), from, to, lines }
}

export function attemptName({ stage, segment, attempt }: ShownAttempt): string {
  const place = stage === null ? '' : `${stage}${segment === null ? '' : ` ${segment}`} `
  return `${place}#${attempt}`
}

/** The same in so many characters: of a long name of a stage, the beginning. */
export function shortName(one: ShownAttempt, most: number): string {
  const { stage, segment, attempt } = one
  if (stage === null) return `#${attempt}`
  const rest = `${segment === null ? '' : ` ${segment}`} #${attempt}`
  return `${label(stage, Math.max(4, most - rest.length))}${rest}`
}

export function endOf({ finishedAt }: ShownAttempt, now: number): number {
  return finishedAt === null ? now : Date.parse(finishedAt)
}

function isSameTask(a: ShownAttempt, b: ShownAttempt): boolean {
  return a.stage === b.stage && a.segment === b.segment
}

function nextOf(attempts: readonly ShownAttempt[], i: number): ShownAttempt | null {
  const one = attempts[i] as ShownAttempt
  return attempts.slice(i + 1).find((other) => isSameTask(one, other)) ?? null
}

/** Until a worker had it for the first time. */
function queuedLine(job: ShownJob, from: number, end: number): TimelineLine[] {
  const [first] = job.executions
  const isKnown = first === undefined || first.attempt === 1
  if (!isKnown || job.stages.length > 0) return []
  const to = first === undefined ? end : Date.parse(first.leasedAt)
  const title = `in line for ${durationText(to - from)}`
  return [
    { label: () => 'in line', spans: [{ from, to, kind: 'queued', status: '', title }], marks: [] },
  ]
}

interface EntryAt {
  readonly at: number
  readonly name: string | null
  readonly entry: NonNullable<ShownItem['entry']> & Readonly<Record<string, unknown>>
}

/** The entries of tasks, each with the name of the attempt that it is of; of what a person did, of none. */
function placesOf(job: ShownJob, history: ShownHistory): readonly EntryAt[] {
  return history.flatMap((item) => {
    const entry = item.entry as EntryAt['entry'] | null
    if (entry === null || typeof entry['segment'] !== 'number') return []
    const stage = job.stages[entry['stage'] as number]
    const place = {
      stage: stage?.name ?? null,
      segment: stage === undefined || stage.each === null ? null : entry['segment'],
      attempt: entry['lease'],
    }
    const name = typeof entry['lease'] === 'number' ? attemptName(place as ShownAttempt) : null
    return [{ at: Date.parse(item.at), name, entry }]
  })
}

function attemptLine(
  one: ShownAttempt,
  next: ShownAttempt | null,
  entries: readonly EntryAt[],
  now: number,
): TimelineLine {
  const name = attemptName(one)
  const [from, to] = [Date.parse(one.leasedAt), endOf(one, now)]
  const began = one.startedAt === null ? null : Date.parse(one.startedAt)
  const took = durationText(to - from)
  const title = `${name}: ${one.status}, ${took}, ${one.worker}`
  const spans: TimelineSpan[] = [{ from, to, kind: 'lease', status: one.status, title }]
  if (began !== null) spans.push({ from: began, to, kind: 'run', status: one.status, title })
  const after = waitAfter(one, next, to, now)
  if (after !== null) spans.push(after)
  const marks = entries.filter((entry) => entry.name === name).flatMap(markOf)
  return { label: (most) => shortName(one, most), spans, marks }
}

function waitAfter(
  one: ShownAttempt,
  next: ShownAttempt | null,
  from: number,
  now: number,
): TimelineSpan | null {
  const isSuspended = one.endedBy === 'ExecutionSuspended'
  if (next === null && !isSuspended) return null
  const to = next === null ? now : Date.parse(next.leasedAt)
  const title = `${isSuspended ? 'suspended' : 'waited'} for ${durationText(to - from)}`
  return { from, to, kind: isSuspended ? 'suspended' : 'pause', status: '', title }
}

function markOf({ at, entry }: EntryAt): TimelineMark[] {
  switch (entry.type) {
    case 'StepRecorded':
      return [{ at, kind: 'step', title: `step ${entry.name}` }]
    case 'ExecutionCommitted':
      return [{ at, kind: 'commit', title: 'committed' }]
    case 'TaskFailed':
    case 'LeaseExpired':
    case 'LeaseRevoked':
      return [{ at, kind: 'end', title: entry.type }]
    default:
      return []
  }
}

/** Each from its start to its end, as often as it was run. */
function effectLines(entries: readonly EntryAt[], now: number): TimelineLine[] {
  const names = new Map<string, string>()
  const lines = new Map<string, EffectSpans>()
  for (const { at, entry } of entries) {
    const task = `${String(entry['stage'])}/${String(entry['segment'])}`
    if (entry.type === 'ExecutionCommitted') {
      const effects = (entry['effects'] ?? []) as readonly { readonly name: string }[]
      for (const [i, { name }] of effects.entries()) names.set(`${task}/${i}`, name)
    }
    // With their lease, effects that were begun have come to an end of which nothing is known.
    const settled = (entry['settled'] ?? []) as readonly Settlement[]
    for (const { effect, to } of settled) lines.get(`${task}/${effect}`)?.end(at, to)
    if (typeof entry['effect'] !== 'number') continue
    const key = `${task}/${entry['effect']}`
    const line = lines.get(key) ?? new EffectSpans(names.get(key) ?? `effect ${entry['effect']}`)
    lines.set(key, line)
    if (entry.type === 'EffectStarted') line.begin(at)
    else if (entry.type === 'EffectFinished') line.end(at, 'FINISHED')
    else if (entry.type === 'EffectFailed') line.end(at, 'FAILED')
    else if (entry.type === 'EffectResolved') line.end(at, 'RESOLVED')
  }
  return [...lines.values()].slice(0, MOST_EFFECTS).map((line) => ({
    label: (most) => label(line.name, most),
    spans: line.until(now),
    marks: [],
  }))
}

/** The runs of one effect. */
class EffectSpans {
  readonly name: string
  readonly #spans: TimelineSpan[] = []
  /** Null: it does not run. */
  #begun: number | null = null

  constructor(name: string) {
    this.name = name
  }

  begin(at: number): void {
    this.#begun = at
  }

  /** Of a run that began before the part of the history that is shown, only the end is there. */
  end(at: number, status: string): void {
    const from = this.#begun ?? at
    const took = from === at ? '' : `, ${durationText(at - from)}`
    const title = `${this.name}: ${status}${took}`
    this.#spans.push({ from, to: at, kind: 'effect', status, title })
    this.#begun = null
  }

  until(now: number): readonly TimelineSpan[] {
    const from = this.#begun
    if (from === null) return this.#spans
    const title = `${this.name} began`
    return [...this.#spans, { from, to: now, kind: 'effect', status: 'STARTED', title }]
  }
}
