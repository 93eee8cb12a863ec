/**
 * The schedules of an engine: set, listed, paused, removed, run when a person asks for it, and fired when their time comes.
 *
 * They share one timer. A round reads those again that are due as far as is known, fires what is due, and
 * sets the timer to the next due time. Every engine on a store does this: ids and the kernel make sure that
 * a time has one job, whichever engine fires it. Within an engine, rounds and changes run one after the
 * other, so that nothing is fired once a pause or a removal has been answered.
 *
 * All schedules are read now and then, and after news of a change by another process; never because of a
 * change that this engine makes.
 */
import type { AnyJob, SubmitDefaults } from '../../definition/index.ts'
import { assertName, InvalidDefinition } from '../../definition/index.ts'
import type { Command, Rejection, Schedule } from '../../kernel/index.ts'
import { LIMITS, sameContent } from '../../kernel/index.ts'
import type { Timer, Timing } from '../../store/clock.ts'
import { StoreEnded } from '../../store/index.ts'
import type { Actor } from '../actor.ts'
import { actorOrDefault } from '../actor.ts'
import { Refused, UnknownSchedule, UnreadableSchedule } from '../errors.ts'
import { newJobId } from '../random.ts'
import type { Due, ReadSchedule } from './due-times.ts'
import { ScheduleCache } from './due-times.ts'
import type { FiringParts } from './firing.ts'
import { fire } from './firing.ts'
import type { RunScheduleOptions } from './run-now.ts'
import { submitNow, submittedNow } from './run-now.ts'
import type { ScheduleInfo, UnreadableScheduleInfo } from './schedule-info.ts'
import { nextTimes, scheduleInfo, unreadableInfo } from './schedule-info.ts'
import type { StoredSchedule } from './stored-schedule.ts'
import { scheduleText } from './stored-schedule.ts'
import type { ScheduleTerms } from './terms.ts'
import { checkTerms } from './terms.ts'

interface SchedulesParts extends FiringParts {
  readonly now: () => number
  readonly timing: Timing
  /** For what the definitions of jobs do not say. */
  readonly defaults: SubmitDefaults
}

/** So long between two reads of all: another process may have set a schedule, and be gone. */
const READ_ALL_EVERY_MS = 5_000
const AFTER_FAILURE_MS = 1_000
/** Not at once: news of changes come together. */
const AFTER_NEWS_MS = 20
/** Reading all takes at most one part in so many of the time, however many there are. */
const READ_ALL_SHARE = 20
/** Schedules of one query. */
const PAGE = 1_000
/** Jobs that go to the store together. */
const BATCH = 500
const MOST_NEXT_TIMES = 1_000

export class Schedules {
  readonly #parts: SchedulesParts
  readonly #cache: ScheduleCache
  #timer: Timer | null = null
  #nextAt = 0
  /** When all are read again, and the earliest time at which they may be. By `timing`. */
  #readAllAt = -Infinity
  #mayReadAllAt = -Infinity
  #last: Promise<unknown> = Promise.resolve()
  #isClosed = false

  constructor(parts: SchedulesParts) {
    this.#parts = parts
    this.#cache = new ScheduleCache(parts.onError)
    this.#scheduleRound(0)
  }

  async set<J extends AnyJob>(id: string, terms: ScheduleTerms<J>, actor: Actor): Promise<void> {
    assertName(id, 'A schedule')
    const checkedTerms = await checkTerms(id, terms, this.#parts.now(), this.#parts.defaults)
    await this.#change(id, actorOrDefault(actor, 'Set'), (schedule) => {
      const before = schedule?.definition == null ? null : this.#readable(schedule)
      const isSameTiming = before !== null && sameContent(before.timing, checkedTerms.timing)
      return {
        ...checkedTerms,
        since: isSameTiming ? before.since : this.#parts.now(),
        // Setting it again, as every start of a program does, does not resume it.
        paused: before?.paused ?? null,
        resumed: before?.resumed ?? null,
      }
    })
  }

  pause(id: string, actor: Actor): Promise<void> {
    const named = actorOrDefault(actor, 'Paused')
    return this.#change(id, named, (schedule) => {
      const { stored } = this.#read(id, schedule)
      if (stored.paused !== null) return null
      return { ...stored, paused: { at: this.#parts.now(), ...named } }
    })
  }

  /** Times that passed meanwhile are not made up for. */
  resume(id: string, actor: Actor): Promise<void> {
    const named = actorOrDefault(actor, 'Resumed')
    return this.#change(id, named, (schedule) => {
      const { stored } = this.#read(id, schedule)
      if (stored.paused === null) return null
      const at = this.#parts.now()
      return { ...stored, since: at, paused: null, resumed: { at, ...named } }
    })
  }

  remove(id: string, actor: Actor): Promise<void> {
    const named = actorOrDefault(actor, 'Removed')
    return this.#inOrder(async () => {
      const schedule = await this.#find(id)
      if (schedule?.definition == null) return
      await this.#skipDue(schedule)
      this.#throwIfRefused(id, await this.#send({ type: 'RemoveSchedule', schedule: id, ...named }))
      this.#cache.remove(id)
    })
  }

  /** Submits a job of it at once, whether or not it is paused. The id of the job. */
  async run(id: string, { id: job = newJobId(), ...actor }: RunScheduleOptions): Promise<string> {
    const { stored } = this.#read(id, await this.#find(id))
    const submit = submitNow(id, stored, job, actor)
    return submittedNow(id, submit, await this.#parts.batcher.send(submit))
  }

  /** With those that cannot be read. */
  async list(): Promise<(ScheduleInfo | UnreadableScheduleInfo)[]> {
    const infos: (ScheduleInfo | UnreadableScheduleInfo)[] = []
    for await (const page of this.#pages())
      infos.push(...page.map((one) => this.#infoOrUnreadable(one)))
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
  fireDue(): Promise<number> {
    this.#readAllAt = -Infinity
    this.#mayReadAllAt = -Infinity
    return this.#inOrder(() => this.#fireDue())
  }

  /** Another process set, changed or removed one. */
  onNews(): void {
    const at = Math.max(this.#mayReadAllAt, this.#parts.timing.now() + AFTER_NEWS_MS)
    this.#readAllAt = Math.min(this.#readAllAt, at)
    this.#scheduleNextRound()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#timer?.cancel()
    await this.#last.catch(() => undefined)
  }

  async #fireDue(): Promise<number> {
    if (this.#isClosed) return 0
    if (this.#parts.timing.now() >= this.#readAllAt) await this.#readAll()
    const now = this.#parts.now()
    const ids = this.#cache.idsDue(now)
    let sent = 0
    for (let first = 0; first < ids.length; first += PAGE) {
      sent += await this.#fire(ids.slice(first, first + PAGE), now)
    }
    return sent
  }

  async #readAll(): Promise<void> {
    const { timing } = this.#parts
    // BEFORE the read: news that come meanwhile are of changes that it may have missed.
    this.#readAllAt = Infinity
    const began = timing.now()
    const ids = new Set<string>()
    try {
      for await (const page of this.#pages()) {
        for (const schedule of page) {
          ids.add(schedule.id)
          this.#cache.update(schedule)
        }
      }
    } catch (error) {
      this.#readAllAt = -Infinity
      throw error
    }
    this.#cache.keepOnly(ids)
    const now = timing.now()
    this.#mayReadAllAt = now + (now - began) * READ_ALL_SHARE
    const soonest = this.#readAllAt === Infinity ? now + READ_ALL_EVERY_MS : this.#readAllAt
    this.#readAllAt = Math.max(soonest, this.#mayReadAllAt)
  }

  /** Those that are due by what is known: they are read again first. */
  async #fire(ids: readonly string[], now: number): Promise<number> {
    const found = await this.#parts.store.query({ kind: 'schedules', ids, limit: ids.length })
    const gone = new Set(ids)
    let sent = 0
    let batch: Due[] = []
    let jobs = 0
    const flush = async (): Promise<void> => {
      if (batch.length === 0 || this.#isClosed) return
      sent += await fire(this.#parts, batch)
      batch = []
      jobs = 0
    }
    for (const schedule of found) {
      gone.delete(schedule.id)
      const due = this.#cache.due(schedule, now)
      if (due === null) continue
      batch.push(due)
      jobs += due.times.length
      if (jobs >= BATCH) await flush()
    }
    for (const id of gone) this.#cache.remove(id)
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

  /** `change` gets the schedule as it is (null: never set) and gives null if nothing is to change. It is
   * called again if another process changed the schedule meanwhile. */
  #change(
    id: string,
    actor: Required<Actor>,
    change: (schedule: Schedule | null) => StoredSchedule | null,
  ): Promise<void> {
    return this.#inOrder(async () => {
      for (;;) {
        const schedule = await this.#find(id)
        const changed = change(schedule)
        if (changed === null) return
        const isOver = schedule !== null && this.#endsTimes(schedule, changed)
        if (isOver && (await this.#skipDue(schedule))) continue
        const definition = definitionOf(id, changed)
        const isSame = schedule?.definition === definition
        if (!isSame && !(await this.#write(id, definition, schedule?.version ?? 0, actor))) continue
        this.#cache.update({ ...(schedule ?? NEVER_SET), id, definition })
        this.#scheduleNextRound()
        return
      }
    })
  }

  /** Whether times that are due now will not be any more. */
  #endsTimes(schedule: Schedule, changed: StoredSchedule): boolean {
    const before = schedule.definition === null ? null : this.#readable(schedule)
    if (before === null || before.paused !== null) return false
    return changed.paused !== null || changed.since !== before.since
  }

  /**
   * Records what is due as skipped, BEFORE the change: another process may have submitted its job and
   * died, and no round would record it any more. Whether there was something.
   */
  async #skipDue(schedule: Schedule): Promise<boolean> {
    const due = this.#cache.due(schedule, this.#parts.now())
    if (due === null) return false
    const { id, record: tick } = due
    this.#throwIfRefused(
      id,
      await this.#send({ type: 'FireSchedule', schedule: id, tick, skipped: true }),
    )
    return true
  }

  /** False: another process has changed it since it was read. */
  async #write(
    id: string,
    definition: string,
    seen: number,
    actor: Required<Actor>,
  ): Promise<boolean> {
    const set = { type: 'SetSchedule', schedule: id, definition, seen, ...actor } as const
    const rejection = await this.#send(set)
    if (rejection?.code === 'ScheduleChanged') return false
    this.#throwIfRefused(id, rejection)
    return true
  }

  async #send(command: Command): Promise<Rejection | null> {
    const { rejection } = await this.#parts.batcher.send(command)
    return rejection
  }

  #throwIfRefused(id: string, rejection: Rejection | null): void {
    if (rejection !== null) throw new Refused(`Schedule '${id}'`, rejection)
  }

  /** Null: it was never set. One that was removed has no definition. */
  #find(id: string): Promise<Schedule | null> {
    return this.#parts.store.query({ kind: 'schedule', schedule: id })
  }

  #read(id: string, schedule: Schedule | null): ReadSchedule {
    const read = schedule === null ? null : this.#cache.read(schedule)
    if (read === null) throw new UnknownSchedule(id)
    return read
  }

  /** A schedule that cannot be read is replaced as if it had not been set. */
  #readable(schedule: Schedule): StoredSchedule | null {
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

  #infoOrUnreadable(schedule: Schedule): ScheduleInfo | UnreadableScheduleInfo {
    try {
      return this.#infoOf(schedule.id, schedule)
    } catch (error) {
      const { id } = schedule
      const isKnown = error instanceof UnreadableSchedule
      const why = isKnown ? error : new UnreadableSchedule(id, (error as Error).message, error)
      return unreadableInfo(schedule, why)
    }
  }

  /** One after the other. */
  #inOrder<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work, work)
    this.#last = result
    // The caller gets the error; the next one only waits.
    result.catch(() => undefined)
    return result
  }

  /** A timer that is set for earlier stays. */
  #scheduleRound(ms: number): void {
    const at = this.#parts.now() + ms
    if (this.#isClosed || (this.#timer !== null && this.#nextAt <= at)) return
    this.#timer?.cancel()
    this.#nextAt = at
    this.#timer = this.#parts.timing.after(ms, () => {
      this.#timer = null
      void this.#runRound()
    })
  }

  #scheduleNextRound(): void {
    // In the past if something was fired: then there may be more.
    const dueMs = this.#cache.nextAt - this.#parts.now()
    const readAllMs = this.#readAllAt - this.#parts.timing.now()
    this.#scheduleRound(Math.max(0, Math.min(dueMs, readAllMs, READ_ALL_EVERY_MS)))
  }

  async #runRound(): Promise<void> {
    try {
      await this.#inOrder(() => this.#fireDue())
      this.#scheduleNextRound()
    } catch (error) {
      if (this.#isClosed) return
      this.#parts.onError(error as Error)
      // A store that has ended stays so.
      if (!(error instanceof StoreEnded)) this.#scheduleRound(AFTER_FAILURE_MS)
    }
  }
}

const NEVER_SET: Schedule = { id: '', version: 0, time: 0, definition: null, firedTick: null }

function definitionOf(id: string, stored: StoredSchedule): string {
  const definition = scheduleText(stored)
  if (definition.length <= LIMITS.scheduleChars) return definition
  throw new InvalidDefinition(
    `Schedule '${id}' takes ${definition.length} characters, more than ${LIMITS.scheduleChars}: give its job a smaller input, such as the name of something that the handler reads.`,
  )
}
