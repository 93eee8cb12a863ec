/**
 * A filter of jobs as one types it (`type:mail state:FAILED ended-since:today`), as it stands in the address, and as the server
 * takes it. What has a space, or a quotation mark, stands in quotation marks.
 */
import type { JobState } from '../../../kernel/index.ts'
import { PIPELINE_JOB_TRANSITIONS } from '../../../kernel/index.ts'
import type { OperationInput } from '../../../protocol/index.ts'
import { FieldProblem } from '../action.ts'
import type { RouteParameters } from '../route.ts'

export type AskedJobs = Omit<OperationInput<'jobs.list'>, 'after' | 'limit' | 'order'>

/** As they are typed, and by what name the address and the server know them. */
export const WORDS = {
  state: 'state',
  type: 'type',
  queue: 'queue',
  tag: 'tag',
  key: 'key',
  group: 'group',
  worker: 'worker',
  error: 'error',
  'held-effects': 'heldEffects',
  since: 'submittedFrom',
  before: 'submittedBefore',
  'ended-since': 'completedFrom',
  'ended-before': 'completedBefore',
} as const

export type FilterWord = keyof typeof WORDS

export const HINTS: Readonly<Record<FilterWord | 'id', string>> = {
  state: 'a state',
  type: 'a type of job',
  queue: 'a queue',
  tag: 'a tag',
  key: 'its key',
  group: 'its group',
  worker: 'the worker that has it',
  error: 'what it failed of',
  'held-effects': 'a person has to say whether an effect happened',
  since: 'submitted since: 1h, today, 2026-11-18',
  before: 'submitted before: 1h, today, 2026-11-18',
  'ended-since': 'over since: 1h, today, 2026-11-18',
  'ended-before': 'over before: 1h, today, 2026-11-18',
  id: 'leads to that job',
}

/** Of jobs with held effects there is a list, and none of those without. */
export const ONLY = 'true'
/** In the order in which a job comes to them. */
export const STATES = Object.keys(PIPELINE_JOB_TRANSITIONS) as readonly JobState[]
const TIMES: ReadonlySet<string> = new Set([
  'submittedFrom',
  'submittedBefore',
  'completedFrom',
  'completedBefore',
])
const UNITS: Readonly<Record<string, number>> = {
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
}

export interface TypedFilter {
  readonly parameters: RouteParameters
  /** What is no word of a filter: the id of a job. Empty: there is none. */
  readonly id: string
}

export function isWord(word: string): word is FilterWord {
  return Object.hasOwn(WORDS, word)
}

/** Throws `FieldProblem` for what is none, and for what would be left out. */
export function typedFilter(text: string): TypedFilter {
  const parameters: Record<string, string> = {}
  const ids: string[] = []
  for (const { word, value, from } of partsIn(text)) {
    if (word === 'id' || word === '') ids.push(value)
    // An id may have a colon in it.
    else if (!isWord(word)) ids.push(`${text.slice(from, from + word.length)}:${value}`)
    else if (value === '')
      throw new FieldProblem(`What ${word}? Such as ${word}:${exampleOf(word)}`)
    else if (WORDS[word] in parameters)
      throw new FieldProblem(`There are two of ${word}: jobs are filtered by one.`)
    else {
      assertFits(word, value)
      parameters[WORDS[word]] = word === 'state' ? value.toUpperCase() : value
    }
  }
  const [id = '', ...others] = ids
  if (others.length > 0 || (id !== '' && Object.keys(parameters).length > 0)) {
    throw new FieldProblem(
      `'${id}' is taken as the id of a job, which stands alone. Jobs are filtered by ${Object.keys(WORDS).join(', ')}.`,
    )
  }
  // In one order, whatever the one in which they were typed: the same filter has one address.
  const ordered = Object.values(WORDS).filter((name) => name in parameters)
  return {
    parameters: Object.fromEntries(ordered.map((name) => [name, parameters[name] ?? ''])),
    id,
  }
}

function exampleOf(word: FilterWord): string {
  if (word === 'state') return 'FAILED'
  if (word === 'held-effects') return ONLY
  return TIMES.has(WORDS[word]) ? '1h' : 'mail'
}

function assertFits(word: FilterWord, value: string): void {
  if (word === 'held-effects' && value !== ONLY) {
    throw new FieldProblem(`There is ${word}:${ONLY} only: no list is kept of jobs without.`)
  }
  if (word === 'state' && !STATES.some((state) => state === value.toUpperCase())) {
    throw new FieldProblem(`A state is one of ${STATES.join(', ')}.`)
  }
  if (TIMES.has(WORDS[word])) timeOf(value, 0)
}

export interface FilterPart {
  readonly word: string
  readonly value: string
  /** Where it stands in the text. */
  readonly from: number
  readonly to: number
}

const PART = /(?:([\w-]+):)?(?:"((?:[^"\\]|\\.)*)"?|(\S*))/gy

/** In the order in which they stand. */
export function partsIn(text: string): readonly FilterPart[] {
  const parts: FilterPart[] = []
  for (let at = 0; at < text.length;) {
    if (/\s/.test(text[at] as string)) {
      at += 1
      continue
    }
    PART.lastIndex = at
    const [whole = '', word = '', quoted, bare = ''] = PART.exec(text) ?? []
    const value = quoted === undefined ? bare : quoted.replaceAll(/\\(.)/gs, '$1')
    const to = at + Math.max(1, whole.length)
    parts.push({ word: word.toLowerCase(), value, from: at, to })
    at = to
  }
  return parts
}

export function quotedValue(value: string): string {
  return /^[^\s"\\]+$/.test(value) ? value : `"${value.replaceAll(/["\\]/g, '\\$&')}"`
}

/** As one would type it. */
export function filterText(parameters: RouteParameters): string {
  return (Object.keys(WORDS) as FilterWord[])
    .flatMap((word) => {
      const value = parameters[WORDS[word]]
      return value === undefined || value === '' ? [] : [`${word}:${quotedValue(value)}`]
    })
    .join(' ')
}

/** As `timeIn`. Throws `FieldProblem` for what is no time. */
function timeOf(text: string, now: number): number {
  const time = timeIn(text, now)
  if (time !== null) return Math.max(0, time)
  throw new FieldProblem(`'${text}' is no time: 30m, 2h, 7d, today, or 2026-11-18T15:00.`)
}

/**
 * Milliseconds since 1970, as which digits alone are read. `now`: what '1h' and 'today' are measured from. Null: it is no
 * time.
 */
export function timeIn(text: string, now: number): number | null {
  if (/^\d{1,15}$/.test(text)) return Number(text)
  if (text === 'today') return new Date(now).setHours(0, 0, 0, 0)
  const [, count, unit] = /^(\d{1,6})\s*([mhdw])$/.exec(text) ?? []
  if (count !== undefined) return now - Number(count) * (UNITS[unit as string] as number)
  // Without a time of day, it would be taken as a day of UTC.
  const whole = /^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00` : text
  const time = /^\d{4}-/.test(text) ? Date.parse(whole) : Number.NaN
  return Number.isNaN(time) ? null : time
}

/**
 * What stands in the address, as the server takes it. Throws `FieldProblem` for a part that cannot be read: without it, other
 * jobs would be meant.
 */
export function filterIn(parameters: RouteParameters, now: number): AskedJobs {
  const filter: Record<string, unknown> = {}
  for (const name of Object.values(WORDS)) {
    const value = parameters[name]
    if (value === undefined || value === '') continue
    if (name === 'heldEffects') {
      assertFits('held-effects', value)
      filter[name] = true
    } else filter[name] = TIMES.has(name) ? timeOf(value, now) : value
  }
  return filter
}

/** What is wrong with the filter in the address; null: nothing. */
export function filterFault(parameters: RouteParameters): string | null {
  try {
    filterIn(parameters, 0)
    return null
  } catch (error) {
    return (error as FieldProblem).message
  }
}
