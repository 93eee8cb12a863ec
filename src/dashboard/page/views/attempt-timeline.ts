/**
 * Where attempts stand on a line of time: times in which nothing ran are cut short, so that an hour of waiting between two
 * attempts of a second leaves room to see them.
 */

export interface Span {
  readonly from: number
  readonly to: number
}

export interface Timeline {
  /** From 0 to 1. */
  readonly placeOf: (time: number) => number
  /** Where nothing ran for long: they are cut short. */
  readonly gaps: readonly { readonly span: Span; readonly at: number; readonly width: number }[]
}

/** A gap is as wide as this share of all that ran, at the most. */
const WIDEST_GAP = 0.08

export function timelineOf(spans: readonly Span[]): Timeline {
  const busy = merged(spans)
  const [first] = busy
  if (first === undefined) return { placeOf: () => 0, gaps: [] }
  const ran = busy.reduce((sum, span) => sum + lengthOf(span), 0)
  const widest = ran * WIDEST_GAP
  const pieces: { span: Span; start: number; size: number; isCut: boolean }[] = []
  let [end, last] = [0, first.from]
  const addGap = (span: Span): void => {
    const size = Math.min(span.to - span.from, widest)
    pieces.push({ span, start: end, size, isCut: size < span.to - span.from })
    end += size
  }
  for (const span of busy) {
    if (span.from > last) addGap({ from: last, to: span.from })
    pieces.push({ span, start: end, size: lengthOf(span), isCut: false })
    end += lengthOf(span)
    last = span.to
  }
  const all = end || 1
  const placeOf = (time: number): number => {
    const piece = pieces.find(({ span }) => time <= span.to) ?? pieces.at(-1)
    if (piece === undefined) return 0
    const length = piece.span.to - piece.span.from || 1
    const share = Math.min(1, Math.max(0, (time - piece.span.from) / length))
    return (piece.start + share * piece.size) / all
  }
  const gaps = pieces
    .filter(({ isCut }) => isCut)
    .map(({ span, start, size }) => ({ span, at: start / all, width: size / all }))
  return { placeOf, gaps }
}

/** What took no time is seen all the same. */
function lengthOf({ from, to }: Span): number {
  return Math.max(1, to - from)
}

/** Those that overlap are one. */
function merged(spans: readonly Span[]): Span[] {
  const found: { from: number; to: number }[] = []
  for (const { from, to } of spans.toSorted((a, b) => a.from - b.from)) {
    const last = found.at(-1)
    if (last !== undefined && from <= last.to) last.to = Math.max(last.to, to)
    else found.push({ from, to: Math.max(from, to) })
  }
  return found
}
