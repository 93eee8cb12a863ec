/**
 * Options as users write them: an object with known names, and no others. A name that is misspelt would be
 * left out without a word, and a job would run without what its author believes that it has.
 */
import { InvalidDefinition } from './errors.ts'

/** All names of a kind of options: the compiler says which one is missing, and which does not exist. */
export type OptionNames<T> = { readonly [Name in keyof T]-?: true }

/** What users of other engines, and of other parts of this one, call it. */
const OTHER_WORDS: Readonly<Record<string, readonly string[]>> = {
  attempts: ['retry', 'max'],
  maxAttempts: ['retry', 'max'],
  maxRetries: ['retry', 'max'],
  retries: ['retry', 'max'],
  retryLimit: ['retry', 'max'],
  retryDelay: ['retry', 'delay'],
  backoff: ['retry'],
  max: ['count', 'concurrency'],
  limit: ['limits', 'count'],
  handler: ['run'],
  handle: ['run'],
  perform: ['run'],
  process: ['run'],
  data: ['input'],
  payload: ['input'],
  schema: ['input'],
  jobId: ['id'],
  idempotencyKey: ['key'],
  uniqueKey: ['key'],
  singletonKey: ['key'],
  jobKey: ['key'],
  runAt: ['at'],
  startAfter: ['at', 'delay'],
  name: ['type'],
  status: ['state'],
  tags: ['tag'],
  pattern: ['cron'],
  tz: ['timezone'],
  timeZone: ['timezone'],
  tenant: ['group'],
  workers: ['concurrency'],
  batchSize: ['concurrency'],
  visibilityTimeout: ['lease'],
}

export class KnownOptions<T extends object> {
  readonly #names: ReadonlySet<string>

  constructor(names: OptionNames<T>) {
    this.#names = new Set(Object.keys(names))
  }

  /**
   * Throws `InvalidDefinition` if it is no object, or has another name.
   *
   * @param what whose options they are, for the message: "job 'mail'"
   * @param example of what to write instead of something that is no object
   */
  assert(given: unknown, what: string, example?: string): void {
    if (typeof given !== 'object' || given === null || Array.isArray(given)) {
      const write = example === undefined ? '' : ` Write ${example}.`
      throw new InvalidDefinition(
        `The options of ${what} are an object, not ${shown(given)}.${write}`,
      )
    }
    for (const name in given) if (!this.#names.has(name)) this.#refuse(name, what)
  }

  /**
   * The same of a filter, which must not say that something is undefined: that would select everything.
   *
   * @param places where a page begins and ends: these may be undefined
   */
  assertFilter(given: unknown, what: string, places: readonly string[] = []): void {
    this.assert(given, what)
    for (const [name, value] of Object.entries(given as object)) {
      if (value !== undefined || places.includes(name)) continue
      throw new InvalidDefinition(
        `\`${name}\` of ${what} is undefined, and would select everything: leave it out if that is meant.`,
        { option: name },
      )
    }
  }

  #refuse(option: string, what: string): never {
    const known = [...this.#names]
    const meant = nearest(option, known)
    const hint = meant === null ? '' : ` Is \`${meant}\` meant?`
    throw new InvalidDefinition(
      `There is no option \`${option.slice(0, MOST_SHOWN)}\` of ${what}.${hint} There are: ${known.join(', ')}.`,
      { option, known },
    )
  }
}

const MOST_SHOWN = 60
/** Fewer letters are the beginning of too much. */
const SHORTEST_BEGINNING = 3

/** A value, for a message. */
export function shown(value: unknown): string {
  if (typeof value === 'string') {
    return value.length > MOST_SHOWN ? `'${value.slice(0, MOST_SHOWN)}…'` : `'${value}'`
  }
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'function')
    return value.name === '' ? 'a function' : `the function ${value.name}`
  if (typeof value === 'object' && value !== null) return 'an object'
  return String(value)
}

/** The known name that is most likely meant; null: none is near. */
function nearest(name: string, known: readonly string[]): string | null {
  const other = OTHER_WORDS[name]?.find((word) => known.includes(word))
  let best: string | null = null
  let least = Math.min(3, Math.ceil(name.length / 3)) + 1
  for (const one of known) {
    const isBeginning = name.length >= SHORTEST_BEGINNING && one.startsWith(name)
    const distance = isBeginning ? 1 : editsBetween(name.toLowerCase(), one.toLowerCase())
    if (distance < least) [best, least] = [one, distance]
  }
  return least <= 1 ? best : (other ?? best)
}

/** How many letters must be put in, left out, changed or swapped with the next to make one of the other. */
function editsBetween(a: string, b: string): number {
  let before: number[] = []
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1
      let edits = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + same)
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      if (isSwapped) edits = Math.min(edits, before[j - 2]! + 1)
      next.push(edits)
    }
    before = row
    row = next
  }
  return row[b.length]!
}
