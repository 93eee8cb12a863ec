/**
 * Answers for tokens that see no payloads: what jobs were given and made, what people and handlers said, and what was thrown,
 * is left out. Names, ids, states, times and counts stay, as when a job is erased.
 */
import type { Entry } from '../kernel/index.ts'
import { redactEntry } from '../kernel/index.ts'
import type { Operation } from '../protocol/index.ts'
import { RequestRefused } from './errors.ts'

/** Of the views of jobs: what any JSON value may stand in, and texts that may quote one. */
const VALUES = new Set(['input', 'output', 'result', 'value', 'metadata', 'progress', 'schema'])
const TEXTS = new Set(['message', 'lastError', 'stack', 'reason', 'why', 'ask', 'lines'])
/** What values are read from, word for word. */
const EXACT = 'exact'
/** Reasons of an explanation that say nothing but what the engine knows. */
const OWN_WORDS = new Set([
  'held',
  'prerequisites',
  'not-due',
  'start-by-passed',
  'deadline-passed',
  'queue-paused',
  'queue-limit',
  'limit',
  'no-worker',
  'workers-busy',
  'next',
])

/** Records of a store, and what processes and handlers say as one text, are read by engines, which need them whole. */
const AS_IT_IS = /^(?:query|store\.at)\.|^presence\.(?:heard|report)$/

/** Whether payloads can be left out of its answer. */
export function hasView({ name }: Pick<Operation, 'name'>): boolean {
  return !AS_IT_IS.test(name)
}

export function assertHasView(operation: Operation): void {
  if (hasView(operation)) return
  throw new RequestRefused(
    'Forbidden',
    `${operation.name} answers with what is recorded as it is, and this token sees no payloads: ask jobs.*, past.*, workers.list and counts.`,
  )
}

export function withoutPayloads(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutPayloads)
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  const isOwn = 'what' in value && OWN_WORDS.has(value.what as string)
  const { [EXACT]: _, ...fields } = value as Readonly<Record<string, unknown>>
  return Object.fromEntries(
    Object.entries(fields).map(([name, one]) => {
      if (name === 'entry' && one !== null) return [name, entryWithoutPayloads(one as Entry)]
      if (VALUES.has(name)) return [name, null]
      const isText = TEXTS.has(name) && !(isOwn && name === 'message')
      return [name, isText ? nothingOf(one) : withoutPayloads(one)]
    }),
  )
}

/** An event is an entry of the log, a value of a stream, or a report. */
export function eventWithoutPayloads(data: unknown): unknown {
  const isEntry = typeof data === 'object' && data !== null && 'type' in data && 'at' in data
  return isEntry ? entryWithoutPayloads(data as Entry) : withoutPayloads(data)
}

/** A schedule has the input of its jobs in what defines it. */
function entryWithoutPayloads(entry: Entry): Entry {
  return entry.type === 'ScheduleSet' ? { ...entry, definition: '' } : redactEntry(entry)
}

/** Of the same kind, so that it still fits where it stands. */
function nothingOf(value: unknown): unknown {
  if (typeof value === 'string') return ''
  return Array.isArray(value) ? [] : null
}
