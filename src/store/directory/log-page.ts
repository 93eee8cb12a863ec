/**
 * Some entries of the whole log between two places, where no entry has to stand. What is not shown is read over, and not
 * decoded.
 */
import type { LoggedEntry, LogReader } from '../../log/index.ts'
import type { QueryOf } from '../store.ts'

/** `bases`: where each segment begins that is still there, in order. `durable`: what stands from there on is not shown. */
export async function logPage(
  reader: LogReader,
  bases: readonly number[],
  durable: number,
  { after, through, limit, newest = false }: QueryOf<'entries'>,
): Promise<LoggedEntry[]> {
  const end = Math.min(durable, through + 1)
  if (limit === 0) return []
  if (!newest) {
    const place = bases.findLast((base) => base <= after) ?? reader.begin
    return read(reader, place, end, after, limit)
  }
  const newestFirst: LoggedEntry[] = []
  for (let until = end; until > after && newestFirst.length < limit;) {
    const base = bases.findLast((one) => one < until)
    if (base === undefined) break
    const missing = limit - newestFirst.length
    const first = await lastPlace(reader, base, until, after, missing)
    if (first !== null) {
      newestFirst.push(...(await read(reader, first, until, after, missing)).toReversed())
    }
    until = base
  }
  return newestFirst.toReversed()
}

/** Where the first of the last `count` entries stands, from a place up to `until`; null: there is none. */
async function lastPlace(
  reader: LogReader,
  base: number,
  until: number,
  after: number,
  count: number,
): Promise<number | null> {
  const last: number[] = []
  let seen = 0
  await reader.from(base, until, (_code, _at, _subject, position) => {
    if (position > after) last[seen++ % count] = position
    return false
  })
  if (seen === 0) return null
  return last[seen < count ? 0 : seen % count] as number
}

async function read(
  reader: LogReader,
  place: number,
  until: number,
  after: number,
  limit: number,
): Promise<LoggedEntry[]> {
  const found: LoggedEntry[] = []
  for (let at = place; at < until && found.length < limit;) {
    const { entries, next } = await reader.from(at, until, (_code, _at, _subject, position) => {
      return position > after
    })
    for (const entry of entries) if (found.length < limit) found.push(entry)
    at = next
  }
  return found
}
