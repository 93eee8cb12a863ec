/**
 * Answers about counts, made from the rows of counters.
 */
import type { JobState, Queue } from '../../kernel/index.ts'
import { createQueue } from '../../kernel/index.ts'
import { BadRequest } from '../errors.ts'
import type {
  CountGroup,
  CountsAnswer,
  CountsFilter,
  JobsFilter,
  QueueSummary,
  StateCounts,
} from '../read-model.ts'
import type { CountRow, CountsSource } from '../state/job-counts.ts'
import { COUNTED_STATES, NO_QUEUE } from '../state/job-counts.ts'
import type { QueryOf } from '../store.ts'

/** What the jobs are counted from that a filter lets through. */
export function totalsSource({ tag, error, heldEffects }: CountsFilter): CountsSource {
  if (heldEffects === true) return { dimension: 'held', name: '' }
  if (tag !== undefined) return { dimension: 'tag', name: tag }
  if (error !== undefined) return { dimension: 'error', name: error }
  return { dimension: 'job', name: '' }
}

/** What the groups are counted from. */
export function groupsSource(query: QueryOf<'counts'>): CountsSource {
  const { by } = query
  return by === 'tag' || by === 'error' ? { dimension: by, name: null } : totalsSource(query)
}

/** No counter knows the tags of an error, nor two tags of a job, nor either of what has held effects. */
export function assertCountable({ by, tag, error, heldEffects }: QueryOf<'counts'>): void {
  const names = [
    tag === undefined ? [] : 'tag',
    error === undefined ? [] : 'error',
    heldEffects === true ? 'heldEffects' : [],
  ].flat()
  const isOne = by === 'tag' || by === 'error' ? names.length === 0 : names.length < 2
  if (isOne) return
  const asked = by === undefined || names.includes(by) ? names : [by, ...names]
  throw new BadRequest(`No counter knows ${asked.join(' and ')} together.`)
}

/** `groups`: rows of `groupsSource`, from behind `after` on. `isCut`: there are more. */
export function countsAnswer(
  query: QueryOf<'counts'>,
  totals: Iterable<CountRow>,
  groups: Iterable<CountRow>,
  isCut = false,
): CountsAnswer {
  const states = emptyStates()
  for (const row of totals) if (isMeantBy(row, query)) addTo(states, row)
  if (query.by === undefined) return { states, groups: [], next: null }
  const byName = new Map<string, Record<string, number>>()
  for (const row of groups) {
    const name = groupName(row, query.by)
    if (!isMeantBy(row, query) || (query.after !== undefined && name <= query.after)) continue
    const known = byName.get(name) ?? emptyStates()
    byName.set(name, known)
    addTo(known, row)
  }
  const found = [...byName].filter(([, one]) => COUNTED_STATES.some((state) => one[state] !== 0))
  const sorted = found.toSorted(([a], [b]) => (a < b ? -1 : 1))
  const page = sorted.slice(0, query.limit)
  const isLast = !isCut && page.length === sorted.length
  return {
    states,
    groups: page.map(([name, one]): CountGroup => {
      return { name: name === NO_QUEUE ? null : name, states: one as StateCounts }
    }),
    next: isLast ? null : (page.at(-1)?.[0] ?? null),
  }
}

export function queueSummaries(
  configured: Iterable<Queue>,
  rows: Iterable<CountRow>,
  oldestDueIn: (queue: string) => number | null,
): QueueSummary[] {
  const byName = new Map<
    string,
    { queue: Queue; states: Record<string, number>; segments: Segments }
  >()
  const of = (queue: Queue): { states: Record<string, number>; segments: Segments } => {
    const known = byName.get(queue.name)
    if (known !== undefined) return known
    const one = { queue, states: emptyStates(), segments: { ready: 0, running: 0 } }
    byName.set(queue.name, one)
    return one
  }
  for (const queue of configured) of({ ...queue })
  for (const row of rows) {
    if (row.queue === NO_QUEUE) continue
    if (row.dimension === 'job') addTo(of(createQueue(row.queue)).states, row)
    else if (row.dimension === 'segment') addSegments(of(createQueue(row.queue)).segments, row)
  }
  return [...byName.values()]
    .map(({ queue, states, segments }) => ({
      queue,
      states: states as StateCounts,
      segments,
      oldestDueAt: oldestDueIn(queue.name),
    }))
    .toSorted((a, b) => (a.queue.name < b.queue.name ? -1 : 1))
}

interface Segments {
  ready: number
  running: number
}

function addSegments(segments: Segments, { cells }: CountRow): void {
  segments.ready += cells[COUNTED_STATES.indexOf('QUEUED')] as number
  segments.running += cells[COUNTED_STATES.indexOf('RUNNING')] as number
}

function groupName(row: CountRow, by: 'type' | 'queue' | 'tag' | 'error'): string {
  if (by === 'type') return row.type
  return by === 'queue' ? row.queue : row.name
}

function isMeantBy(row: CountRow, { type, queue }: CountsFilter): boolean {
  return (type ?? row.type) === row.type && (queue ?? row.queue) === row.queue
}

function emptyStates(): StateCounts & Record<string, number> {
  return Object.fromEntries(COUNTED_STATES.map((state) => [state, 0])) as StateCounts &
    Record<string, number>
}

function addTo(states: Record<string, number>, { cells }: CountRow): void {
  COUNTED_STATES.forEach((state, cell) => {
    states[state] = (states[state] as number) + (cells[cell] as number)
  })
}

/** How many jobs at most a list by this filter can have. Pipelines may be in any queue, and in any state by now. */
export function mostMatches(
  rows: Iterable<CountRow>,
  { type, state, queue }: JobsFilter,
  among: readonly JobState[] = COUNTED_STATES,
): number {
  const states = state === undefined ? among : among.filter((one) => one === state)
  let most = 0
  for (const row of rows) {
    if ((type ?? row.type) !== row.type) continue
    const isPipeline = row.queue === NO_QUEUE
    if (!isPipeline && (queue ?? row.queue) !== row.queue) continue
    most += countJobs([row], () => true, isPipeline ? among : states)
  }
  return most
}

export function countJobs(
  rows: Iterable<CountRow>,
  isMeant: (row: CountRow) => boolean = () => true,
  states: readonly JobState[] = COUNTED_STATES,
): number {
  let total = 0
  for (const row of rows) {
    if (!isMeant(row)) continue
    for (const state of states) total += row.cells[COUNTED_STATES.indexOf(state)] as number
  }
  return total
}
