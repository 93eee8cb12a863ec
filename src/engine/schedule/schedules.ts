/**
 * The schedules of an engine: set, listed, paused, removed, and fired when their time comes.
 *
 * One timer stands for all of them. A look reads what is set, fires what is due, and plans the
 * next look for the next due time. Every engine on a store does this, by itself: that a time has
 * one job is settled by ids and by the kernel, and not by who looks. Within an engine, looks and
 * changes take turns, so that nothing is fired once a pause or a removal has been answered.
 */
import type { AnyJob } from '../../definition/index.ts'
import { assertName, InvalidDefinition } from '../../definition/index.ts'
import type { Command, Rejection, Schedule } from '../../kernel/index.ts'
import { LIMITS, sameContent } from '../../kernel/index.ts'
import { StoreEnded } from '../../store/index.ts'
import { Refused, UnknownSchedule, UnreadableSchedule } from '../errors.ts'
import type { FiringParts } from './firing.ts'
import { fire } from './firing.ts'
import { nextTimes, scheduleInfo, unreadableInfo } from './schedule-info.ts'
import type { ScheduleInfo, UnreadableScheduleInfo } from './schedule-info.ts'
import type { StoredSchedule } from './stored-schedule.ts'
import { toText } from './stored-schedule.ts'
import type { ScheduleTerms } from './terms.ts'
import { checked } from './terms.ts'
import type { Timer, Timing } from '../../store/clock.ts'
import type { Actor } from '../actor.ts'
import { recorded } from '../actor.ts'
import type { Due, ReadSchedule } from './due-times.ts'
import { KnownSchedules } from './due-times.ts'

interface SchedulesParts extends FiringParts {
  readonly now: () => number
  /** When to look. */
  readonly timing: Timing
}

/** At most so long between two looks: another process may have set one, and be gone. */
const LONGEST_PAUSE_MS = 5_000
const AFTER_FAILURE_MS = 1_000
/** Not at once: a program that sets thousands would look at all of them thousands of times. */
const AFTER_CHANGE_MS = 20
/** Schedules of one query. */
const PAGE = 1_000
/** Jobs that go to the store together. */
const BATCH = 500
const MOST_NEXT_TIMES = 1_000

export class Schedules {
  readonly #parts: SchedulesParts
  readonly #known: KnownSchedules
  #timer: Timer | null = null
  #plannedAt = 0
  #turn: Promise<unknown> = Promise.resolve()
  #isClosed = false

  constructor(parts: SchedulesParts) {
    this.#parts = parts
    this.#known = new KnownSchedules(parts.onError)
    this.#plan(0)
  }

  async set<J extends AnyJob>(id: string, terms: ScheduleTerms<J>, on: Actor): Promise<void> {
    assertName(id, 'A schedule')
    const termed = await checked(id, terms, this.#parts.now())
    await this.#change(id, recorded(on, 'Set'), (schedule) => {
      const before = schedule?.definition == null ? null : this.#before(schedule)
      const isSameTiming = before !== null && sameContent(before.timing, termed.timing)
      return {
        ...termed,
        since: isSameTiming ? before.since : this.#parts.now(),
        // Setting it again, as every start of a program does, is no operator's word.
        paused: before?.paused ?? null,
        resumed: before?.resumed ?? null,
      }
    })
  }

  pause(id: string, on: Actor): Promise<void> {
    const record = recorded(on, 'Paused')
    return this.#change(id, record, (schedule) => {
      const { stored } = this.#read(id, schedule)
      if (stored.paused !== null) return null
      return { ...stored, paused: { at: this.#parts.now(), ...record } }
    })
  }

  /** Times that passed meanwhile are not made up for. */
  resume(id: string, on: Actor): Promise<void> {
    const record = recorded(on, 'Resumed')
    return this.#change(id, record, (schedule) => {
      const { stored } = this.#read(id, schedule)
      if (stored.paused === null) return null
      const at = this.#parts.now()
      return { ...stored, since: at, paused: null, resumed: { at, ...record } }
    })
  }

  remove(id: string, on: Actor): Promise<void> {
    const record = recorded(on, 'Removed')
    return this.#inTurn(async () => {
      const schedule = await this.#find(id)
      if (schedule?.definition == null) return
      await this.#settle(schedule)
      this.#accept(id, await this.#send({ type: 'RemoveSchedule', schedule: id, ...record }))
    })
  }

  /** One that cannot be read is no reason to keep the others back. */
  async list(): Promise<(ScheduleInfo | UnreadableScheduleInfo)[]> {
    const infos: (ScheduleInfo | UnreadableScheduleInfo)[] = []
    for await (const page of this.#pages()) infos.push(...page.map((one) => this.#listed(one)))
    return infos
  }

  async info(id: string): Promise<ScheduleInfo> {
    return this.#infoOf(id, await this.#find(id))
  }

  async nextTimes(id: string, count: number): Promise<Date[]> {
    if (!Number.isSafeInteger(count) || count < 1 || count > MOST_NEXT_TIMES) {
      throw new InvalidDefinition(
        `nextTimes() takes a whole number from 1 to ${MOST_NEXT_TIMES}, not ${count}.`,
      )
    }
    const { stored, timetable } = this.#read(id, await this.#find(id))
    return nextTimes(stored, timetable, this.#parts.now(), count)
  }

  /** Fires what is due: of each schedule a bounded number. How many commands that were. */
  look(): Promise<number> {
    return this.#inTurn(() => this.#look())
  }

  /** Somebody set, changed or removed one. */
  changed(): void {
    this.#plan(AFTER_CHANGE_MS)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#timer?.cancel()
    await this.#turn.catch(() => undefined)
  }

  async #look(): Promise<number> {
    if (this.#isClosed) return 0
    const now = this.#parts.now()
    const ids = new Set<string>()
    let sent = 0
    for await (const page of this.#pages()) {
      for (const { id } of page) ids.add(id)
      sent += await this.#fire(page, now)
    }
    this.#known.keep(ids)
    return sent
  }

  async #fire(page: readonly Schedule[], now: number): Promise<number> {
    let sent = 0
    let batch: Due[] = []
    let jobs = 0
    const flush = async (): Promise<void> => {
      if (batch.length === 0 || this.#isClosed) return
      sent += await fire(this.#parts, batch)
      batch = []
      jobs = 0
    }
    for (const schedule of page) {
      const due = this.#known.due(schedule, now)
      if (due === null) continue
      batch.push(due)
      jobs += due.times.length
      if (jobs >= BATCH) await flush()
    }
    await flush()
    return sent
  }

  async *#pages(): AsyncIterable<readonly Schedule[]> {
    let after: string | undefined
    for (;;) {
      const { store } = this.#parts
      const asked = after === undefined ? { limit: PAGE } : { after, limit: PAGE }
      const page: readonly Schedule[] = await store.query({ kind: 'schedules', ...asked })
      yield page
      if (page.length < PAGE) return
      after = page.at(-1)?.id
    }
  }

  /** Of what is there; null: none is needed. If somebody else was faster: of what he made of it. */
  #change(
    id: string,
    record: Required<Actor>,
    change: (schedule: Schedule | null) => StoredSchedule | null,
  ): Promise<void> {
    return this.#inTurn(async () => {
      for (;;) {
        const schedule = await this.#find(id)
        const changed = change(schedule)
        if (changed === null) return
        const isOver = schedule !== null && this.#endsTimes(schedule, changed)
        if (isOver && (await this.#settle(schedule))) continue
        if (await this.#write(id, changed, schedule?.version ?? 0, record)) return
      }
    })
  }

  /** Whether times that are due now will not be any more. */
  #endsTimes(schedule: Schedule, changed: StoredSchedule): boolean {
    const before = schedule.definition === null ? null : this.#before(schedule)
    if (before === null || before.paused !== null) return false
    return changed.paused !== null || changed.since !== before.since
  }

  /**
   * Records what is due, BEFORE it counts as over: its job may be in, by one that died, and
   * nobody would come back to it. Whether there was something.
   */
  async #settle(schedule: Schedule): Promise<boolean> {
    const due = this.#known.due(schedule, this.#parts.now())
    if (due === null) return false
    const { id, record: tick } = due
    this.#accept(id, await this.#send({ type: 'FireSchedule', schedule: id, tick, skipped: true }))
    return true
  }

  /** False: it is not any more what was seen. */
  async #write(
    id: string,
    stored: StoredSchedule,
    seen: number,
    record: Required<Actor>,
  ): Promise<boolean> {
    const definition = toText(stored)
    if (definition.length > LIMITS.scheduleChars) {
      throw new InvalidDefinition(
        `Schedule '${id}' takes ${definition.length} characters, more than ${LIMITS.scheduleChars}: give its job a smaller input, such as the name of something that the handler reads.`,
      )
    }
    const set = { type: 'SetSchedule', schedule: id, definition, seen, ...record } as const
    const rejection = await this.#send(set)
    if (rejection?.code === 'ScheduleChanged') return false
    this.#accept(id, rejection)
    return true
  }

  async #send(command: Command): Promise<Rejection | null> {
    const { rejection } = await this.#parts.batcher.send(command)
    this.#plan(AFTER_CHANGE_MS)
    return rejection
  }

  #accept(id: string, rejection: Rejection | null): void {
    if (rejection !== null) throw new Refused(`Schedule '${id}'`, rejection)
  }

  /** Null: it was never set. One that was removed has no definition. */
  #find(id: string): Promise<Schedule | null> {
    return this.#parts.store.query({ kind: 'schedule', schedule: id })
  }

  #read(id: string, schedule: Schedule | null): ReadSchedule {
    const read = schedule === null ? null : this.#known.read(schedule)
    if (read === null) throw new UnknownSchedule(id)
    return read
  }

  /** What cannot be read is replaced as if it had not been set. */
  #before(schedule: Schedule): StoredSchedule | null {
    try {
      return this.#read(schedule.id, schedule).stored
    } catch (error) {
      if (error instanceof UnreadableSchedule) return null
      throw error
    }
  }

  #infoOf(id: string, schedule: Schedule | null): ScheduleInfo {
    const { stored, timetable } = this.#read(id, schedule)
    return scheduleInfo(
      { id, firedTick: schedule?.firedTick ?? null },
      stored,
      timetable,
      this.#parts.now(),
    )
  }

  #listed(schedule: Schedule): ScheduleInfo | UnreadableScheduleInfo {
    try {
      return this.#infoOf(schedule.id, schedule)
    } catch (error) {
      const { id } = schedule
      const isSaid = error instanceof UnreadableSchedule
      const said = isSaid ? error : new UnreadableSchedule(id, (error as Error).message, error)
      return unreadableInfo(schedule, said)
    }
  }

  /** One after the other. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(work, work)
    this.#turn = turn
    // Whoever asked is told; the next one only waits.
    turn.catch(() => undefined)
    return turn
  }

  /** A look that is planned for earlier stays so. */
  #plan(ms: number): void {
    const at = this.#parts.now() + ms
    if (this.#isClosed || (this.#timer !== null && this.#plannedAt <= at)) return
    this.#timer?.cancel()
    this.#plannedAt = at
    this.#timer = this.#parts.timing.after(ms, () => {
      this.#timer = null
      void this.#lookAndPlan()
    })
  }

  async #lookAndPlan(): Promise<void> {
    try {
      await this.look()
      // In the past if something was fired: then there may be more, and what comes next is read.
      const left = this.#known.nextAt - this.#parts.now()
      this.#plan(Math.min(Math.max(0, left), LONGEST_PAUSE_MS))
    } catch (error) {
      if (this.#isClosed) return
      this.#parts.onError(error as Error)
      // A store that has ended stays so.
      if (!(error instanceof StoreEnded)) this.#plan(AFTER_FAILURE_MS)
    }
  }
}
