/**
 * Texts of jobs, as a page may show them. Nothing is taken out: what cannot be seen, or would change the order of what
 * stands around it, is written as its code point.
 */

import { prettyJson } from '../../definition/exact-json.ts'

/** Controls but for tab and line feed, marks of direction, and what has no width. */
const UNSEEN =
  // oxlint-disable-next-line no-control-regex -- they are what is looked for
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|\p{Cs}/gu

export function seen(text: string): string {
  return text.replaceAll(UNSEEN, (one) => {
    const code = one.codePointAt(0) as number
    return `\\u{${code.toString(16)}}`
  })
}

/** In one line. */
export function line(text: string, most = 200): string {
  const short = text.length > most ? `${text.slice(0, most)}…` : text
  return seen(short).replaceAll(/[\t\n]+/g, ' ')
}

/** In one line of so many characters as they are shown: what is written as a code point is longer than it was. */
export function label(text: string, most: number): string {
  const shown = line(text, most)
  return shown.length > most ? `${shown.slice(0, most - 1)}…` : shown
}

/** As it is written in JSON; undefined is nothing. `exact`: as it is recorded, where reading it changed a number. */
export function json(value: unknown, exact?: string | null): string {
  if (exact != null) return prettyJson(exact)
  return value === undefined ? '' : JSON.stringify(value, null, 2)
}
