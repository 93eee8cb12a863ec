/**
 * The rows of queues, schedules and limits beside what the events say.
 */
import type { Queue, Schedule } from '../../../kernel/index.ts'
import { sameContent } from '../../../kernel/index.ts'
import type { Row, Value } from '../connection.ts'
import { shown } from '../rows/event-rows.ts'
import type { CountedLimitUses } from './limit-use-check.ts'
import type { Fix } from './database-problem.ts'
import type { Records } from '../rows/records.ts'
import { CorruptRecord } from '../rows/records.ts'
import { isSame } from './row-check.ts'
import type { RegisterFold } from './register-fold.ts'

export type Say = (table: string, row: string, what: string, fix: Fix | null) => void

export function checkQueues(
  rows: readonly Row[],
  small: RegisterFold,
  uses: CountedLimitUses,
  records: Records,
  say: Say,
): void {
  const found = new Map(rows.map((row) => [row[0] as string, row]))
  for (const name of new Set([...found.keys(), ...small.queues.keys()])) {
    const queue = small.queues.get(name)
    const row = found.get(name)
    const latest = small.latestFull(name, uses.grantedIn(name))
    const fullAt = (row?.[5] as number | undefined) ?? latest
    if (small.damaged.has('queue')) {
      if (row !== undefined) {
        read(
          () => records.queue(row[2] as Uint8Array, name),
          (what) => say('queues', name, what, null),
        )
      }
      continue
    }
    const bound = fullAt > latest || !(fullAt >= 0) ? latest : fullAt
    const columns = queue === undefined ? null : queueColumns(queue, records, bound)
    const fix: Fix = { table: 'queues', name, row: columns }
    const whole = (what: string): void => say('queues', name, what, fix)
    if (row === undefined) whole('it is missing')
    else if (queue === undefined) whole('no event leads to it')
    else {
      const stored = read(() => records.queue(row[2] as Uint8Array, name), whole)
      if (stored !== null && !sameContent(stored, queue)) {
        whole('its record is not what the events say')
      }
      const expected = columns as readonly Value[]
      compare(
        row,
        expected,
        [
          [1, 2, 'version'],
          [3, 4, 'is_limited'],
          [4, 5, 'is_paused'],
        ],
        whole,
      )
      if (fullAt !== bound) whole(`full_at is ${fullAt}, and its rate was used up to ${bound}`)
    }
  }
}

/** As `saveQueues` wants it: there was none before. */
function queueColumns(queue: Queue, records: Records, fullAt: number): Value[] {
  const isLimited = queue.concurrency !== null || queue.rate !== null
  const record = records.ofQueue(queue)
  return [queue.name, 0, queue.version, record, isLimited, queue.paused, fullAt]
}

export function checkSchedules(
  rows: readonly Row[],
  small: RegisterFold,
  records: Records,
  say: Say,
): void {
  const found = new Map(rows.map((row) => [row[0] as string, row]))
  for (const name of new Set([...found.keys(), ...small.schedules.keys()])) {
    const schedule = small.schedules.get(name)
    const row = found.get(name)
    if (small.damaged.has('schedule')) {
      if (row !== undefined) {
        read(
          () => records.schedule(row[2] as Uint8Array, name),
          (what) => say('schedules', name, what, null),
        )
      }
      continue
    }
    const columns = schedule === undefined ? null : scheduleColumns(schedule, records)
    const fix: Fix = { table: 'schedules', name, row: columns }
    const whole = (what: string): void => say('schedules', name, what, fix)
    if (row === undefined) whole('it is missing')
    else if (schedule === undefined) whole('no event leads to it')
    else {
      const stored = read(() => records.schedule(row[2] as Uint8Array, name), whole)
      if (stored !== null && !sameContent(stored, schedule)) {
        whole('its record is not what the events say')
      }
      compare(
        row,
        columns as readonly Value[],
        [
          [1, 2, 'version'],
          [3, 4, 'is_set'],
        ],
        whole,
      )
    }
  }
}

function scheduleColumns(schedule: Schedule, records: Records): Value[] {
  const record = records.ofSchedule(schedule)
  return [schedule.id, 0, schedule.version, record, schedule.definition !== null]
}

/** `isCopied`: what was granted before it was copied is not known, so neither is its bucket. */
export function checkLimits(
  rows: readonly Row[],
  uses: CountedLimitUses,
  isCopied: boolean,
  say: Say,
): void {
  const found = new Map(rows.map((row) => [row[0] as string, row]))
  for (const key of new Set([...found.keys(), ...uses.keys])) {
    const use = uses.of(key)
    const row = found.get(key)
    // Nobody holds it, and who waits for it is called by somebody in line: then it need not be there.
    const isCalled = use.parked === 0 || use.inLine > 0
    if (row === undefined && use.held === 0 && isCalled) continue
    const fullAt = (row?.[2] as number | undefined) ?? use.latestFull
    const isTooFull = !(fullAt >= 0) || (!isCopied && fullAt > use.latestFull)
    const bound = isTooFull ? use.latestFull : fullAt
    const fix: Fix = {
      table: 'limits',
      key,
      held: use.held,
      fullAt: bound,
      isThere: row !== undefined,
    }
    const held = (row?.[1] as number | undefined) ?? 0
    if (row === undefined) say('limits', key, 'it is missing', fix)
    if (held !== use.held) {
      say('limits', key, `held is ${held}, and ${use.held} leases hold it`, fix)
    }
    if (isTooFull) say('limits', key, `full_at is ${fullAt}, and it was used up to ${bound}`, fix)
    const isWoken = use.held > 0 || use.inLine > 0 || row?.[3] != null
    if (use.parked > 0 && !isWoken) {
      say('limits', key, `${use.parked} tasks wait for it, and nobody will call them`, fix)
    }
  }
}

function read<T>(decode: () => T, wrong: (what: string) => void): T | null {
  try {
    return decode()
  } catch (error) {
    if (!(error instanceof CorruptRecord)) throw error
    wrong(`its record is damaged: ${error.why}`)
    return null
  }
}

/** Where a column stands in what was found, in what is expected, and its name. */
type Pair = readonly [found: number, expected: number, name: string]

function compare(
  row: Row,
  expected: readonly Value[],
  pairs: readonly Pair[],
  wrong: (what: string) => void,
): void {
  for (const [at, from, name] of pairs) {
    if (isSame(expected[from] as Value, row[at] as Value)) continue
    wrong(`${name} is ${shown(row[at])}, and must be ${shown(expected[from])}`)
  }
}
