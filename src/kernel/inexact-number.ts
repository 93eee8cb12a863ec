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

const QUOTE = 0x22
const BACKSLASH = 0x5c
const MINUS = 0x2d
const NUMBER = /[-+.\deE]+/y
const WHOLE = /^-?\d+$/
/** Whole numbers with fewer digits are exact. */
const LEAST_DIGITS = 16

/** The first one behind a place; null: there is none. In what is no JSON there may be none either. */
export function inexactNumber(json: string, from = 0): InexactNumber | null {
  for (let i = from; i < json.length; i++) {
    const code = json.charCodeAt(i)
    if (code === QUOTE) i = endOfJsonText(json, i)
    else if (isDigit(code)) {
      let end = i + 1
      while (isDigit(json.charCodeAt(end))) end += 1
      if (end - i >= LEAST_DIGITS || isMore(json.charCodeAt(end))) {
        const at = json.charCodeAt(i - 1) === MINUS ? i - 1 : i
        const text = numberAt(json, at)
        const becomes = String(Number(text))
        if (WHOLE.test(text) ? becomes !== text : becomes.endsWith('Infinity')) {
          return { text, becomes, at }
        }
        end = at + text.length
      }
      i = end - 1
    }
  }
  return null
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

/** Where the text ends that begins at a place; the end of all, if it does not. */
export function endOfJsonText(json: string, from: number): number {
  let end = json.indexOf('"', from + 1)
  while (end !== -1 && isEscaped(json, end)) end = json.indexOf('"', end + 1)
  return end === -1 ? json.length : end
}

/** By an odd number of backslashes before it. */
function isEscaped(json: string, at: number): boolean {
  let before = at - 1
  while (json.charCodeAt(before) === BACKSLASH) before -= 1
  return (at - before) % 2 === 0
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39
}

/** A fraction or an exponent follows. */
function isMore(code: number): boolean {
  return code === 0x2e || code === 0x65 || code === 0x45
}

function numberAt(json: string, at: number): string {
  NUMBER.lastIndex = at
  return (NUMBER.exec(json) as RegExpExecArray)[0]
}
