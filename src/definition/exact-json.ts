/**
 * JSON as it is written, where parsing it would change a number: the texts beside what was parsed, printed and read without a
 * change to any number, and the words with which such a number is refused.
 */
import type { InexactNumber } from '../kernel/index.ts'
import { inexactNumber } from '../kernel/index.ts'
import { endOfText } from '../kernel/inexact-number.ts'

/**
 * Of fields that were parsed: the texts, as they are recorded, of those in which JavaScript changed a number. It stands beside
 * the fields as `exact`, which is left out where there are none: that is the usual case.
 */
export type ExactTexts<F extends string> = { readonly [K in F]?: string }

/** `texts`: what fields were parsed from; null: it is not there. */
export function exactPart<F extends string>(
  texts: Readonly<Record<F, string | null>>,
): { readonly exact?: ExactTexts<F> } {
  let exact: Partial<Record<F, string>> | null = null
  for (const field of Object.keys(texts) as F[]) {
    const text = texts[field]
    if (text === null || inexactNumber(text) === null) continue
    exact ??= {}
    exact[field] = text
  }
  return exact === null ? {} : { exact }
}

/** The JSON of an object, some of whose fields are texts of JSON already. */
export function jsonWith(
  fields: object,
  texts: Readonly<Record<string, string | null | undefined>>,
): string {
  const parts = Object.entries(fields).flatMap(([name, value]) => {
    const text = texts[name] ?? null
    if (text === null && value === undefined) return []
    return [`${JSON.stringify(name)}:${text ?? JSON.stringify(value)}`]
  })
  return `{${parts.join(',')}}`
}

/**
 * Why a text is not taken; null: it is. `what`: where the text stands, as 'The body'.
 */
export function inexactFault(json: string, what: string): string | null {
  const found = inexactNumber(json)
  return found === null ? null : inexactWords(json, found, what)
}

/** Why what was made of `read`, as JavaScript reads it, is not taken: a number that reading changed is still in it. */
export function carriedFault(read: string, made: string, what: string): string | null {
  let values: ReadonlySet<string> | null = null
  for (let one = inexactNumber(read); one !== null; one = inexactNumber(read, endOf(one))) {
    values ??= valuesIn(made)
    if (values.has(one.becomes)) return inexactWords(read, one, what)
  }
  return null
}

function endOf({ at, text }: InexactNumber): number {
  return at + text.length
}

/** Numbers, and texts without their quotes: one may have been made of a number. */
function valuesIn(json: string): ReadonlySet<string> {
  return new Set(Array.from(tokensOf(json), ({ token }) => token.replaceAll('"', '')))
}

/** What is said of one that was found in JSON. */
export function inexactWords(
  json: string,
  { text, becomes, at }: InexactNumber,
  what: string,
): string {
  const path = pathAt(json, at)
  const where = path === '' ? '' : ` at \`${path}\``
  const number = shortened(text)
  const instead = `write it as a text, "${number}"`
  return `${what} has the number ${number}${where}, which would be kept as ${becomes}: ${instead}.`
}

const MOST_DIGITS = 60

function shortened(text: string): string {
  return text.length > MOST_DIGITS ? `${text.slice(0, MOST_DIGITS)}…` : text
}

interface JsonToken {
  readonly token: string
  /** Where it begins. */
  readonly at: number
}

/** Of what JSON is made of: where a text begins, or all of another. */
const TOKEN = /"|[-+.\w]+|[{}[\],:]/g

/** What JSON is made of, spaces left out. */
function* tokensOf(json: string): Generator<JsonToken, void> {
  const tokens = new RegExp(TOKEN)
  for (let one = tokens.exec(json); one !== null; one = tokens.exec(json)) {
    const at = one.index
    // A regular expression keeps a place for each character of a text, and has not room for millions.
    if (one[0] === '"') tokens.lastIndex = endOfText(json, at) + 1
    yield { token: json.slice(at, tokens.lastIndex), at }
  }
}

const MOST_PATH = 200

/** Of the value that begins there: 'input.ids[3]'. */
function pathAt(json: string, at: number): string {
  const levels: (string | number)[] = []
  let last = ''
  for (const { token, at: begin } of tokensOf(json)) {
    if (begin >= at) break
    if (token === '{') levels.push('')
    else if (token === '[') levels.push(0)
    else if (token === '}' || token === ']') levels.pop()
    else if (token === ':') levels[levels.length - 1] = JSON.parse(last) as string
    else if (token === ',' && typeof levels.at(-1) === 'number') {
      levels[levels.length - 1] = (levels.at(-1) as number) + 1
    }
    last = token
  }
  const parts = levels.map((one) => (typeof one === 'number' ? `[${one}]` : `.${one}`))
  return parts.join('').replace(/^\./, '').slice(0, MOST_PATH)
}

/** Below this, no line begins farther to the right: JSON may be nested as deep as it is long. */
const DEEPEST_INDENT = 100

/** As `JSON.stringify` prints with two spaces, with each number as it is written. */
export function prettyJson(json: string): string {
  const parts: string[] = []
  let depth = 0
  let before = ''
  const newLine = (): string => `\n${'  '.repeat(Math.min(depth, DEEPEST_INDENT))}`
  for (const { token } of tokensOf(json)) {
    const isEnd = token === '}' || token === ']'
    const isEmpty = isEnd && (before === '{' || before === '[')
    if (isEnd) depth -= 1
    const isFirst = before === '{' || before === '['
    if (!isEmpty && (isEnd || isFirst || before === ',')) parts.push(newLine())
    parts.push(token === ':' ? ': ' : shownToken(token))
    if (token === '{' || token === '[') depth += 1
    before = token
  }
  return parts.join('')
}

/** A text may be written with more escapes than it needs. */
function shownToken(token: string): string {
  return token.includes('\\') ? JSON.stringify(JSON.parse(token)) : token
}

/** A number that JavaScript has no value for. */
export class ExactNumber {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** As `JSON.parse` reads it, with an `ExactNumber` for each number that it would change. */
export function readExactly(json: string): unknown {
  // Each text that is no key begins with a letter for what it stands for.
  const parts: string[] = []
  for (const { token } of tokensOf(json)) {
    if (token === ':') parts.push(`"${(parts.pop() as string).slice(2)}`)
    parts.push(markedToken(token))
  }
  return JSON.parse(parts.join(''), (_, value: unknown) => {
    if (typeof value !== 'string') return value
    return value.startsWith('n') ? new ExactNumber(value.slice(1)) : value.slice(1)
  }) as unknown
}

function markedToken(token: string): string {
  if (token.startsWith('"')) return `"t${token.slice(1)}`
  return inexactNumber(token) === null ? token : `"n${token}"`
}

/** What `readExactly` read, as JSON again. */
export function writeExactly(value: unknown): string {
  if (value instanceof ExactNumber) return value.text
  if (Array.isArray(value)) return `[${value.map(writeExactly).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const parts = Object.entries(value).map(
    ([name, one]) => `${JSON.stringify(name)}:${writeExactly(one)}`,
  )
  return `{${parts.join(',')}}`
}
