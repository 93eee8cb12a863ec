/**
 * Queues and schedules: their events, folded, and their rows beside what the events say. They are few,
 * and all fit into memory.
 */
import type {
  Entry,
  Job,
  Queue,
  QueueEntry,
  Rate,
  Schedule,
  ScheduleEntry,
} from '../../../kernel/index.ts'
import { createWorld, fold, sameContent, tickId } from '../../../kernel/index.ts'
import { checkEntry } from '../../state/entry-check.ts'
import type { Row, Value } from '../connection.ts'
import type { Baseline, EventRow, EventProblem } from '../rows/event-rows.ts'
import { readEvent, shown } from '../rows/event-rows.ts'
import type { Records } from '../rows/records.ts'
import { CorruptRecord } from '../rows/records.ts'
import type { Fix, ReportProblem } from './database-problem.ts'
import type { FoldListener } from './job-fold.ts'
import type { CountedLimitUses } from './limit-check.ts'
import { fillMs } from './limit-check.ts'
import { isSame } from './row-check.ts'

export class QueueScheduleFold {
  readonly wrong: EventProblem[] = []
  /** What these came to is not known: an event cannot be read, or does not fit. */
  readonly damaged = new Set<'queue' | 'schedule'>()
  /** How a queue ranked what waits in it, at any time. */
  readonly ageings = new Map<string, Set<number | null>>()
  readonly #records: Records
  readonly #listener: FoldListener
  readonly #world = createWorld()
  readonly #through = new Map<string, number>()
  readonly #rates = new Map<string, Rate[]>()
  readonly #configuredAt = new Map<string, number>()

  constructor(baselines: readonly Baseline[], records: Records, listener: FoldListener) {
    this.#records = records
    this.#listener = listener
    // They come in order, and the last one of a name counts.
    for (const one of baselines) this.#restore(one)
  }

  get queues(): ReadonlyMap<string, Queue> {
    return this.#world.queues
  }

  get schedules(): ReadonlyMap<string, Schedule> {
    return this.#world.schedules
  }

  /** A queue's bucket is full by then at the latest: the newest grant in it, and all of its tokens. */
  latestFull(queue: string, grantedAt: number): number {
    const at = Math.max(grantedAt, this.#configuredAt.get(queue) ?? 0)
    return at + Math.max(0, ...(this.#rates.get(queue) ?? []).map(fillMs))
  }

  apply(row: EventRow): void {
    const { entry, wrong } = readEvent(row, this.#records)
    const { position } = row
    if (entry === null || !('queue' in entry || 'schedule' in entry)) {
      for (const what of wrong) this.wrong.push({ what, position })
      if (entry !== null) this.wrong.push({ what: `${entry.type}: it has no job`, position })
      return this.#noteDamage(row.type)
    }
    const kind = 'queue' in entry ? 'queue' : 'schedule'
    const name = 'queue' in entry ? entry.queue : entry.schedule
    this.#noteSettings(entry)
    if (position <= (this.#through.get(`${kind}/${name}`) ?? -1)) return
    for (const what of wrong) this.wrong.push({ what, position })
    if (row.before !== null) {
      this.wrong.push({ what: `${entry.type}: it has a before, and needs none`, position })
    }
    const stub = this.#addStub(entry, position)
    const { step, isApplied } = checkEntry(this.#world, entry, () => fold(this.#world, entry))
    if (stub !== null) this.#world.jobs.delete(stub)
    for (const what of step) this.wrong.push({ what: `${name}: ${what}`, position })
    if (!isApplied) this.damaged.add(kind)
  }

  #noteDamage(type: string): void {
    if (!type.startsWith('Schedule')) this.damaged.add('queue')
    if (!type.startsWith('Queue')) this.damaged.add('schedule')
  }

  #noteSettings(entry: QueueEntry | ScheduleEntry): void {
    if (entry.type !== 'QueueConfigured') return
    const { queue, ageingMs, rate, at } = entry
    this.#noteAgeing(queue, ageingMs)
    if (rate !== null) this.#rates.set(queue, [...(this.#rates.get(queue) ?? []), rate])
    this.#configuredAt.set(queue, at)
  }

  #noteAgeing(queue: string, ageingMs: number | null): void {
    const known = this.ageings.get(queue) ?? new Set([null])
    this.ageings.set(queue, known.add(ageingMs))
  }

  /** A stub for the job of a tick, which `JobFold` folds: whether it was submitted is counted. */
  #addStub(entry: Entry, position: number): string | null {
    if (entry.type !== 'ScheduleFired' || entry.skipped) return null
    const { schedule, tick } = entry
    const id = tickId(schedule, tick)
    this.#listener.recorded(id, position)
    this.#world.jobs.set(id, { id, spec: { schedule: { id: schedule, tick } } } as unknown as Job)
    return id
  }

  #restore({ kind, name, through, record }: Baseline): void {
    this.#through.set(`${kind}/${name}`, through)
    try {
      if (kind === 'queue') {
        const queue = this.#records.queue(record, name)
        this.#world.queues.set(name, queue)
        this.#noteAgeing(name, queue.ageingMs)
        if (queue.rate !== null) this.#rates.set(name, [queue.rate])
        this.#configuredAt.set(name, queue.time)
      } else if (kind === 'schedule') {
        this.#world.schedules.set(name, this.#records.schedule(record, name))
      }
    } catch (error) {
      if (!(error instanceof CorruptRecord)) throw error
      this.wrong.push({ what: `the baseline of ${kind} ${name}: ${error.why}`, position: through })
      this.damaged.add(kind === 'queue' ? 'queue' : 'schedule')
    }
  }
}

export function checkQueues(
  rows: readonly Row[],
  folded: QueueScheduleFold,
  uses: CountedLimitUses,
  records: Records,
  report: ReportProblem,
): void {
  checkRows({
    table: 'queues',
    rows,
    expected: folded.queues,
    isDamaged: folded.damaged.has('queue'),
    decode: (record, name) => records.queue(record, name),
    columns: (queue, row) => {
      const latest = folded.latestFull(queue.name, uses.grantedIn(queue.name))
      const fullAt = (row?.[5] as number | undefined) ?? latest
      const isLimited = queue.concurrency !== null || queue.rate !== null
      const isTooFull = fullAt > Math.max(latest, uses.fullInSpiteOfRemoved)
      const bound = isTooFull || !(fullAt >= 0) ? latest : fullAt
      const record = records.ofQueue(queue)
      return [queue.name, 0, queue.version, record, isLimited, queue.paused, bound]
    },
    compared: [
      [1, 2, 'version'],
      [3, 4, 'is_limited'],
      [4, 5, 'is_paused'],
      [5, 6, 'full_at'],
    ],
    report,
  })
}

export function checkSchedules(
  rows: readonly Row[],
  folded: QueueScheduleFold,
  records: Records,
  report: ReportProblem,
): void {
  checkRows({
    table: 'schedules',
    rows,
    expected: folded.schedules,
    isDamaged: folded.damaged.has('schedule'),
    decode: (record, name) => records.schedule(record, name),
    columns: (schedule) => {
      const record = records.ofSchedule(schedule)
      return [schedule.id, 0, schedule.version, record, schedule.definition !== null]
    },
    compared: [
      [1, 2, 'version'],
      [3, 4, 'is_set'],
    ],
    report,
  })
}

interface TableCheck<T> {
  readonly table: 'queues' | 'schedules'
  /** With the name first, and the record third. */
  readonly rows: readonly Row[]
  readonly expected: ReadonlyMap<string, T>
  /** The events do not say what is expected: only the records of the rows are read. */
  readonly isDamaged: boolean
  readonly decode: (record: Uint8Array, name: string) => T
  /** As `saveQueues` and `saveSchedules` want it: there was none before. */
  readonly columns: (expected: T, row: Row | undefined) => readonly Value[]
  /** Where a column stands in a row, in what is expected, and its name. */
  readonly compared: readonly (readonly [found: number, expected: number, name: string])[]
  readonly report: ReportProblem
}

function checkRows<T>(check: TableCheck<T>): void {
  const { table, expected, isDamaged, decode, compared } = check
  const found = new Map(check.rows.map((row) => [row[0] as string, row]))
  for (const name of new Set([...found.keys(), ...expected.keys()])) {
    const value = isDamaged ? undefined : expected.get(name)
    const row = found.get(name)
    const columns = value === undefined ? null : check.columns(value, row)
    const fix: Fix | null = isDamaged ? null : { table, name, row: columns }
    const report = (what: string): void => check.report(table, name, what, fix)
    if (row === undefined) {
      if (!isDamaged) report('it is missing')
      continue
    }
    if (value === undefined && !isDamaged) {
      report('no event leads to it')
      continue
    }
    const stored = readRecord(() => decode(row[2] as Uint8Array, name), report)
    if (value === undefined || columns === null) continue
    if (stored !== null && !sameContent(stored, value)) {
      report('its record is not what the events say')
    }
    for (const [at, from, column] of compared) {
      if (isSame(columns[from] as Value, row[at] as Value)) continue
      report(`${column} is ${shown(row[at])}, and must be ${shown(columns[from])}`)
    }
  }
}

function readRecord<T>(decode: () => T, report: (what: string) => void): T | null {
  try {
    return decode()
  } catch (error) {
    if (!(error instanceof CorruptRecord)) throw error
    report(`its record is damaged: ${error.why}`)
    return null
  }
}
