/**
 * Where a row is in its table: the page, and the line on it. PostgreSQL writes `(12,3)`; here it is one
 * number, as `RowState` has it.
 */

/** No page has so many. */
export const LINES = 65_536
const ZERO = '0'.charCodeAt(0)
const COMMA = ','.charCodeAt(0)
const END = ')'.charCodeAt(0)

/** `(12,3)`. */
export function spotIn(text: string): number {
  const comma = text.indexOf(',')
  return Number(text.slice(1, comma)) * LINES + Number(text.slice(comma + 1, -1))
}

/** All that stand in a text, one behind the other: `(12,3)(12,4)`. */
export function spotsIn(text: string): number[] {
  const spots: number[] = []
  let page = 0
  let number = 0
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit === COMMA) {
      page = number
      number = 0
    } else if (unit === END) {
      spots.push(page * LINES + number)
      number = 0
    } else if (unit >= ZERO) {
      number = number * 10 + unit - ZERO
    }
  }
  return spots
}
