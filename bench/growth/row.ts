/**
 * A row of the growth bench: what a unit of something costs when there are few of it, and when there are
 * many.
 */
import type { Place, StoreName } from './place.ts'

export interface Point {
  /** What a unit is, such as a segment: a row may measure several. */
  readonly unit: string
  /** How many there were. */
  readonly size: number
  /** Microseconds of CPU for one. */
  readonly us: number
}

export interface GrowthRow {
  /** From few to many. */
  readonly sizes: readonly number[]
  /** Units that are known to grow, by store, and why: `'a step on sqlite'`. */
  readonly known?: Readonly<Record<string, string>>
  run(place: Place, sizes: readonly number[]): AsyncIterable<Point>
}

export interface Growth {
  readonly row: string
  readonly store: StoreName
  readonly unit: string
  readonly points: readonly Point[]
  /** Of a unit at the largest size to one at the size before it. */
  readonly ratio: number
  /** Why it is known to grow; null: it must not. */
  readonly known: string | null
}

/** What a unit may cost among many, to one among few. */
export const MOST_GROWTH = 1.5

export function growthOf(
  row: string,
  store: StoreName,
  points: readonly Point[],
  known: GrowthRow['known'] = {},
): Growth[] {
  const units = [...new Set(points.map(({ unit }) => unit))]
  return units.map((unit) => {
    const own = points.filter((point) => point.unit === unit)
    // At the smallest of three sizes, what a store does anyhow would hide how a cost grows from there on.
    const ratio = (own.at(-1)?.us ?? NaN) / (own.at(-2)?.us ?? NaN)
    return { row, store, unit, points: own, ratio, known: known[`${unit} on ${store}`] ?? null }
  })
}

export function grows({ ratio, known }: Growth): boolean {
  return known === null && !(ratio <= MOST_GROWTH)
}
