/**
 * Numbers in a JSON text that JavaScript reads as others: whole numbers whose digits would not come back, such as
 * 9007199254740993, and those beyond all numbers, such as 1e400. A fraction is rounded by every reader, and is not meant.
 *
 * Payloads are kept as texts, so such a number is exact on record. It is lost where a text is parsed and written again: who
 * does that asks here BEFORE.
 */

export interface InexactNumber {
  /** As it is written. */
  readonly text: string
  /** What it is once it was read. */
  readonly becomes: string
  /** Where it begins. */
  readonly at: number
}

/** What is known of a JSON text without parsing it. */
export interface JsonScan {
  /** The first number that is meant; null: there is none. Behind it nothing was looked at. */
  readonly inexact: InexactNumber | null
  /** How many lists and objects are within each other at the most. */
  readonly depth: number
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const MINUS = 0x2d
const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/y
const WHOLE = /^-?\d+$/
/** Whole numbers with fewer digits are exact. */
const LEAST_DIGITS = 16
/** Numbers with fewer digits before the point, and no exponent, are there. */
const MOST_DIGITS = 300

/** In what is no JSON there may be no such number either. `from`: where a value begins, or ends. */
export function scanJson(json: string, from = 0): JsonScan {
  let [deepest, depth] = [0, 0]
  for (let i = from; i < json.length; i++) {
    const code = json.charCodeAt(i)
    if (code === QUOTE) i = endOfText(json, i)
    else if (code >= 0x30 && code <= 0x39) {
      const end = endOfDigits(json, i)
      const isFraction = json.charCodeAt(end) === 0x2e
      const last = isFraction ? endOfDigits(json, end + 1) : end
      const digits = end - i
      const isSmall = digits < (isFraction ? MOST_DIGITS : LEAST_DIGITS)
      if (isSmall && (json.charCodeAt(last) | 0x20) !== 0x65) i = last - 1
      else {
        const inexact = inexactAt(json, i)
        if (inexact !== null) return { inexact, depth: deepest }
        // Behind all of the number: what is looked at again for each number makes a hostile text take for ever.
        i = NUMBER.lastIndex - 1
      }
    } else if (code === 0x5b || code === 0x7b) {
      depth += 1
      if (depth > deepest) deepest = depth
    } else if (code === 0x5d || code === 0x7d) depth -= 1
  }
  return { inexact: null, depth: deepest }
}

/** The first one; null: there is none. */
export function inexactNumber(json: string, from = 0): InexactNumber | null {
  return scanJson(json, from).inexact
}

/** The same text, with a text in place of each of them: two of these that are read differ where the numbers do. */
export function withTextsForInexact(json: string): string {
  let text = ''
  let from = 0
  for (let one = inexactNumber(json); one !== null; one = inexactNumber(json, from)) {
    text += `${json.slice(from, one.at)}"${one.text}"`
    from = one.at + one.text.length
  }
  return text + json.slice(from)
}

/** Where the text ends that begins at a place: its second quote; the end of all, if it does not. */
export function endOfText(json: string, from: number): number {
  const first = json.indexOf('"', from + 1)
  if (first === -1) return json.length
  if (!isEscaped(json, first)) return first
  // Where there is one there are more, as in JSON within a text: a search from one to the next costs more than a look.
  for (let i = first + 1; i < json.length; i++) {
    const code = json.charCodeAt(i)
    if (code === BACKSLASH) i += 1
    else if (code === QUOTE) return i
  }
  return json.length
}

/** By an odd number of backslashes before it. */
function isEscaped(json: string, at: number): boolean {
  let before = at - 1
  while (json.charCodeAt(before) === BACKSLASH) before -= 1
  return (at - before) % 2 === 0
}

function endOfDigits(json: string, from: number): number {
  for (let i = from; ; i++) {
    const code = json.charCodeAt(i)
    if (!(code >= 0x30 && code <= 0x39)) return i
  }
}

/** `at`: of its first digit. Leaves `NUMBER` behind the number. */
function inexactAt(json: string, at: number): InexactNumber | null {
  const begin = json.charCodeAt(at - 1) === MINUS ? at - 1 : at
  NUMBER.lastIndex = begin
  const [text] = NUMBER.exec(json) as RegExpExecArray
  const becomes = String(Number(text))
  const isOther = WHOLE.test(text) ? becomes !== text : becomes.endsWith('Infinity')
  return isOther ? { text, becomes, at: begin } : null
}
