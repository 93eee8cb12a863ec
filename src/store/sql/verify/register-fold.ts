/**
 * The events of queues and schedules, folded: few things, all of which fit into memory.
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
import { createWorld, fold, tickId } from '../../../kernel/index.ts'
import { checkEntry } from '../../state/entry-check.ts'
import type { Baseline, EventRow, EventProblem } from '../rows/event-rows.ts'
import { readEvent } from '../rows/event-rows.ts'
import type { Onlooker } from './job-fold.ts'
import type { Records } from '../rows/records.ts'
import { CorruptRecord } from '../rows/records.ts'

type RegisterKind = 'queue' | 'schedule'

export class RegisterFold {
  readonly wrong: EventProblem[] = []
  /** What these came to is not known: an event cannot be read, or does not fit. */
  readonly damaged = new Set<RegisterKind>()
  /** How a queue ranked what waits in it, at any time. */
  readonly ageings = new Map<string, Set<number | null>>()
  readonly #records: Records
  readonly #onlooker: Onlooker
  readonly #world = createWorld()
  readonly #through = new Map<string, number>()
  readonly #rates = new Map<string, Rate[]>()
  readonly #configuredAt = new Map<string, number>()

  constructor(baselines: readonly Baseline[], records: Records, onlooker: Onlooker) {
    this.#records = records
    this.#onlooker = onlooker
    // The last one of a name counts, and they come in order.
    for (const one of baselines) this.#restore(one)
  }

  get queues(): ReadonlyMap<string, Queue> {
    return this.#world.queues
  }

  get schedules(): ReadonlyMap<string, Schedule> {
    return this.#world.schedules
  }

  /** A bucket of a queue is never fuller than this: the newest grant in it, and all of its tokens. */
  latestFull(queue: string, grantedAt: number): number {
    const at = Math.max(grantedAt, this.#configuredAt.get(queue) ?? 0)
    return at + Math.max(0, ...(this.#rates.get(queue) ?? []).map(wholeBucketMs))
  }

  apply(row: EventRow): void {
    const { entry, wrong } = readEvent(row, this.#records)
    const { position } = row
    if (entry === null || !('queue' in entry || 'schedule' in entry)) {
      for (const what of wrong) this.wrong.push({ what, position })
      if (entry !== null) this.wrong.push({ what: `${entry.type}: it has no job`, position })
      return this.#lost(row.type)
    }
    const kind = 'queue' in entry ? 'queue' : 'schedule'
    const name = 'queue' in entry ? entry.queue : entry.schedule
    this.#follow(entry)
    if (position <= (this.#through.get(`${kind}/${name}`) ?? -1)) return
    for (const what of wrong) this.wrong.push({ what, position })
    if (row.before !== null) {
      this.wrong.push({ what: `${entry.type}: it has a before, and needs none`, position })
    }
    const stub = this.#stub(entry, position)
    const { step, isApplied } = checkEntry(this.#world, entry, () => fold(this.#world, entry))
    if (stub !== null) this.#world.jobs.delete(stub)
    for (const what of step) this.wrong.push({ what: `${name}: ${what}`, position })
    if (!isApplied) this.damaged.add(kind)
  }

  #lost(type: string): void {
    if (!type.startsWith('Schedule')) this.damaged.add('queue')
    if (!type.startsWith('Queue')) this.damaged.add('schedule')
  }

  #follow(entry: QueueEntry | ScheduleEntry): void {
    if (entry.type !== 'QueueConfigured') return
    const { queue, ageingMs, rate, at } = entry
    this.#ageing(queue, ageingMs)
    if (rate !== null) this.#rates.set(queue, [...(this.#rates.get(queue) ?? []), rate])
    this.#configuredAt.set(queue, at)
  }

  #ageing(queue: string, ageingMs: number | null): void {
    const known = this.ageings.get(queue) ?? new Set([null])
    this.ageings.set(queue, known.add(ageingMs))
  }

  /** The job of a tick is elsewhere: see `JobFold`. */
  #stub(entry: Entry, position: number): string | null {
    if (entry.type !== 'ScheduleFired' || entry.skipped) return null
    const { schedule, tick } = entry
    const id = tickId(schedule, tick)
    this.#onlooker.recorded(id, position)
    this.#world.jobs.set(id, { id, spec: { schedule: { id: schedule, tick } } } as unknown as Job)
    return id
  }

  #restore({ kind, name, through, record }: Baseline): void {
    this.#through.set(`${kind}/${name}`, through)
    try {
      if (kind === 'queue') {
        const queue = this.#records.queue(record, name)
        this.#world.queues.set(name, queue)
        this.#ageing(name, queue.ageingMs)
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

/** How long it takes to fill an empty bucket; each token may be rounded up. */
export function wholeBucketMs({ count, perMs }: Rate): number {
  return perMs + count / 1_024 + 1
}
