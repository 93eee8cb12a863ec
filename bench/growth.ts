/**
 * The growth bench: what a unit costs among few and among many, in CPU of process and server. A unit that
 * costs more than 1.5 times as much among many fails the bench, unless it is known to.
 */
import { Scratch } from './log/scratch.ts'
import { AimMissed, readOptions } from './options.ts'
import type { StoreName } from './growth/place.ts'
import { placeOf, seesServer, STORE_NAMES } from './growth/place.ts'
import type { Growth, GrowthRow, Point } from './growth/row.ts'
import { growthOf, grows, MOST_GROWTH } from './growth/row.ts'
import { ROWS } from './growth/rows.ts'
import { table, whole } from './table.ts'

type Say = (line: string) => void

const HELP = [
  '',
  'usage: npm run bench -- growth [options]',
  '',
  `  --only <row>      only one row; can be given more than once: ${Object.keys(ROWS).join(', ')}`,
  `  --stores <name>   only these: ${STORE_NAMES.join(', ')}`,
  '  --quick           a tenth of the sizes',
  '  --folder <path>   where to write (default: the folder of the system for temporary files)',
]

export async function* benchGrowth(say: Say, args: readonly string[]): AsyncGenerator<string> {
  const options = readOptions(args, Object.keys(ROWS), 1, {
    stores: { type: 'string', multiple: true },
    quick: { type: 'boolean' },
  })
  if (options.help) {
    yield* HELP
    return
  }
  const part = options.has('quick') ? 10 : 1
  const found: Growth[] = []
  const scratch = new Scratch(options.folder)
  try {
    for (const store of options.among('stores', STORE_NAMES)) {
      found.push(...(await measure(store, options.parts, part, scratch, say)))
    }
  } finally {
    scratch.close()
  }
  yield* ['', ...growthTable(found)]
  if (!seesServer()) yield 'The CPU of PostgreSQL cannot be seen on this system.'
  const wrong = found.filter(grows)
  if (wrong.length === 0) return
  const names = wrong.map(({ unit, store, ratio }) => `${unit} on ${store}: ${ratio.toFixed(2)}`)
  throw new AimMissed(`More than ${MOST_GROWTH} times as much among many: ${names.join('; ')}.`)
}

async function measure(
  store: StoreName,
  names: readonly string[],
  part: number,
  scratch: Scratch,
  say: Say,
): Promise<Growth[]> {
  const found: Growth[] = []
  const place = await placeOf(store, scratch)
  try {
    for (const name of names) {
      const row = ROWS[name] as GrowthRow
      const points: Point[] = []
      const sizes = row.sizes.map((size) => size / part)
      for await (const point of row.run(place, sizes)) {
        say(`${store}: ${point.unit} among ${whole(point.size)}: ${micros(point.us)} us`)
        points.push(point)
      }
      found.push(...growthOf(name, store, points, row.known))
    }
  } finally {
    await place.close()
  }
  return found
}

/** Ratios of short times are read off the table, too. */
function micros(us: number): string {
  return us < 100 ? us.toFixed(1) : whole(us)
}

function growthTable(found: readonly Growth[]): string[] {
  const rows = found.map((one) => {
    const costs = one.points.map(({ size, us }) => `${micros(us)} us among ${whole(size)}`)
    const verdict = grows(one) ? 'GROWS' : (one.known ?? '')
    return [one.unit, one.store, costs.join(', '), one.ratio.toFixed(2), verdict]
  })
  return table(['unit', 'store', 'CPU of process and server', 'ratio', ''], rows, 3)
}
