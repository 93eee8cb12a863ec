/**
 * A claim: candidates are locked, best first, skipping those that others look at; the kernel decides
 * on each; and those that a limit stops are parked, so that nobody looks at them again until the
 * limit has room.
 *
 * The first candidates are looked for together with everything else, unless their queues may let
 * nothing through: two round trips are a claim. If something else turns out to come first, they are
 * looked for again. Rounds go on until enough is granted or nothing is in line. A task is parked at most once for each
 * time that its limit is used up, so what is blocked costs nothing.
 */
import type { Job, Lease, LimitSpec, StageTasks, Task, TaskAddress } from '../../../kernel/index.ts'
import { decideIn, eachPath, mayStartAt, noReads, stageIndex } from '../../../kernel/index.ts'
import { claimed, endingOf } from '../../views/claimed.ts'
import type { Claimed, ClaimRequest } from '../../store.ts'
import { FIRST_WITH_SUBMIT } from '../../taker.ts'
import { LazyTransaction, cacheLeased, positionsOf } from '../transaction/transaction.ts'
import type { Candidate, CandidateChannel } from './candidates.ts'
import { channelsOf, firstLook, inOrder, look } from './candidates.ts'
import type { StatementResult, Statement, Connection, Row } from '../connection.ts'
import type { AppliedEntry } from '../transaction/working-set.ts'
import { WorkingSet } from '../transaction/working-set.ts'
import { RowLoader } from '../transaction/row-loader.ts'
import { LockPlan } from '../transaction/lock-plan.ts'
import type { LoadedColumns, RowState } from '../rows/work-rows.ts'
import {
  JOB_ROW,
  leasedTasks,
  loadedColumns,
  LOWEST_LEVEL,
  RESUMED,
  rowKey,
} from '../rows/work-rows.ts'
import { buildWrites } from '../transaction/build-writes.ts'
import type { TransactionContext } from '../transaction/context.ts'

/** Looks at what has become due, and at limits whose time has come, in one claim. */
const MOST_DUE = 500

/** After so long somebody looks again at what others had locked. */
const SKIPPED_MS = 20

export interface ClaimResult {
  readonly leases: readonly Claimed[]
  readonly applied: readonly AppliedEntry[]
  /** After so long there may be something that was stopped or skipped now; null: time does not help. */
  readonly retryInMs: number | null
  /** It put something in line that others take: nobody else sees that its time has come. */
  readonly enqueuedForOthers: boolean
}

/** `mayRepeat`: the worker may have been answered before, and not have heard it. */
export async function claim(
  connection: Connection,
  request: ClaimRequest,
  mayRepeat: boolean,
  parts: TransactionContext,
): Promise<ClaimResult> {
  const begun = await new Claiming(connection, request, parts).run(mayRepeat, true)
  if (begun !== null) return begun
  // What others wait for was let go: it begins anew, and everything is in line by now.
  const done = await new Claiming(connection, request, parts).run(mayRepeat, false)
  return { ...(done as ClaimResult), enqueuedForOthers: true }
}

class Claiming {
  readonly #connection: Connection
  readonly #request: ClaimRequest
  readonly #parts: TransactionContext
  readonly #loaded: WorkingSet
  readonly #loading: RowLoader
  readonly #reads = noReads()
  readonly #granted: Task[] = []
  readonly #done: AppliedEntry[] = []
  /** Limits that have to be looked at again at a time. */
  readonly #wakes = new Map<string, number>()
  /** Queues that let nothing more through. */
  readonly #closed = new Set<string>()
  #againAt = Infinity
  #isForOthers = false
  #now = 0

  constructor(connection: Connection, request: ClaimRequest, parts: TransactionContext) {
    this.#connection = new LazyTransaction(connection, [{ sql: parts.sql.begin, values: [] }])
    this.#request = request
    this.#parts = parts
    this.#loaded = new WorkingSet(parts.records)
    this.#loading = new RowLoader(this.#connection, parts, this.#loaded)
  }

  /** `puts`: what has become due is put in line first. Null: that is all that was done. */
  async run(mayRepeat: boolean, puts: boolean): Promise<ClaimResult | null> {
    const { sql, now } = this.#parts
    const { request } = this.#request
    const stops = this.#request.channels.some(({ queue }) => this.#parts.queues.isRestricted(queue))
    const channels = stops ? [] : channelsOf(this.#request, this.#request.max)
    const most = puts ? MOST_DUE : 0
    const first = firstLook(this.#loaded, this.#request, channels, most, this.#parts)
    const last = [...first.asks, { sql: sql.clock, values: [now()] }]
    if (mayRepeat) last.push({ sql: sql.leased, values: [] })
    const [due, woken, found, clock, held] = await this.#loading.load(first.needed, last)
    this.#now = Math.max(clock?.rows[0]?.[0] as number, this.#loaded.latestTime)
    const before = mayRepeat ? await this.#heldBefore(held?.rows ?? [], request) : null
    if (before !== null) return before
    if (await this.#standInLine(due?.rows ?? [], woken?.rows ?? [])) {
      await this.#connection.run([{ sql: sql.commit, values: [] }])
      return null
    }
    const isFirst = due?.rows.length === 0 && woken?.rows.length === 0
    await this.#grantAll(isFirst && !stops ? (found?.rows ?? []) : null)
    return this.#finish()
  }

  /** What the same request got before, as far as it is still held; null: nothing is known of it. */
  async #heldBefore(rows: readonly Row[], request: number): Promise<ClaimResult | null> {
    const { records, sql } = this.#parts
    const { worker } = this.#request
    const held = leasedTasks(rows, records).filter(({ lease }) => {
      return lease.worker === worker && lease.request < FIRST_WITH_SUBMIT
    })
    const newest = held.reduce((most, { lease }) => Math.max(most, lease.request), 0)
    if (newest < request) return null
    // A worker never asks for the one before: it is told that it has nothing of it.
    const again = newest === request ? held.filter(({ lease }) => lease.request === request) : []
    const stages = new Set(again.map(({ job, stage, segment }) => rowKey(job, stage, segment)))
    const plain = new Set(again.map(({ job }) => rowKey(job, JOB_ROW, 0)))
    const columns = rows
      .map((row) => loadedColumns(row))
      .filter(({ job, stage, segment }) => {
        const key = rowKey(job, stage, segment)
        return stages.has(key) || plain.has(key)
      })
    await this.#take(columns)
    for (const { job, stage, segment } of again) this.#granted.push(this.#task(job, stage, segment))
    const leases = await this.#claimed()
    await this.#connection.run([{ sql: sql.rollback, values: [] }])
    return { leases, applied: [], retryInMs: null, enqueuedForOthers: false }
  }

  /**
   * What has become due, and what waits for a limit whose time has come. True: something is locked by
   * it that a claim must not have while it waits for other locks.
   */
  async #standInLine(due: readonly Row[], woken: readonly Row[]): Promise<boolean> {
    const { sql, turns: places } = this.#parts
    let isLocked = woken.length > 0
    if (due.length > 0) {
      const newcomers = due.map((row) => ({
        row: { turn: null as number | null },
        address: row.slice(0, 3),
        channel: row[3] as string,
        level: row[4] as number,
        group: row[5] as string | null,
      }))
      const own = new Set(channelsOf(this.#request, 1).map(({ channel }) => channel))
      this.#isForOthers = newcomers.some(({ channel }) => !own.has(channel))
      if (await places.assign(newcomers, this.#connection)) isLocked = true
      const rows = newcomers.map(({ address, row }) => address.concat(row.turn))
      await this.#connection.run([{ sql: sql.standInLine, rows }])
    }
    if (woken.length === 0) return isLocked
    const keys = woken.map(([key]) => key as string)
    await this.#connection.run([
      { sql: sql.clearWakes, rows: keys.map((key) => [key]) },
      { sql: sql.unpark, rows: keys.map((key) => [key, 1, this.#now]) },
    ])
    return isLocked
  }

  /** `found`: candidates of all channels; null: they are to be looked for. */
  async #grantAll(found: readonly Row[] | null): Promise<void> {
    for (let round = 0; ; round++) {
      const channels = this.#openChannels()
      if (channels.length === 0) return
      const isFound = round === 0 && channels.every(({ level }) => level === LOWEST_LEVEL)
      const rows = (isFound ? found : null) ?? (await this.#lookAgain(channels))
      const candidates = inOrder(rows).slice(0, channels[0]?.most)
      if (candidates.length === 0) return
      const isAll = await this.#takeAll(candidates, round === 0)
      for (const candidate of candidates)
        if (isAll || this.#isKnown(candidate)) this.#offer(candidate)
      // Others decide on the same limits just now: what they leave is for the next claim.
      if (!isAll || this.#granted.length >= this.#request.max) return
      // All that was asked for was there, and there may be more.
      const isMore = candidates.length >= channels[0]!.most || this.#loaded.freed.size > 0
      if (!isMore) return
    }
  }

  /** None when enough is granted. */
  #openChannels(): CandidateChannel[] {
    const most = this.#request.max - this.#granted.length
    if (most <= 0) return []
    return channelsOf(this.#request, most, (queue) => {
      const isClosed = this.#closed.has(queue) || this.#lets(queue) === 0
      return isClosed ? RESUMED : LOWEST_LEVEL
    })
  }

  /** How many more a queue lets through, as far as its own rules go. */
  #lets(name: string): number {
    const queue = this.#loaded.queues.get(name)
    if (queue === undefined) return Infinity
    if (queue.paused) return 0
    const own: LimitSpec = { key: name, concurrency: queue.concurrency, rate: queue.rate }
    const usage = this.#loaded.queueUsage(name) ?? undefined
    const at = mayStartAt(own, usage, this.#now)
    if (at <= this.#now) return Infinity
    this.#againAt = Math.min(this.#againAt, at)
    return 0
  }

  async #lookAgain(channels: readonly CandidateChannel[]): Promise<readonly Row[]> {
    const asks = await this.#save()
    const answers = await this.#connection.run([
      ...asks,
      look(this.#parts.sql, channels, this.#now),
    ])
    return (answers.at(-1) as StatementResult).rows
  }

  /**
   * Candidates, with the limits that are to let them through. False: some limits are not known, because
   * others have them. Only the first time they are waited for: who has some limits and waits for more
   * may wait for one that waits for him.
   *
   * Behind the locks of the limits, time and positions are asked for anew: a grant comes AFTER the
   * end of the lease that made room for it.
   */
  async #takeAll(candidates: readonly Candidate[], waits: boolean): Promise<boolean> {
    const { sql, now } = this.#parts
    await this.#take(candidates.map(({ columns }) => columns))
    const needed = (): LockPlan => {
      const needs = new LockPlan(this.#loaded, this.#parts.queues)
      for (const { columns } of candidates) {
        needs.addTask(this.#task(columns.job, columns.stage, columns.segment))
      }
      return needs
    }
    const isAll = needed().isEmpty
    if (!isAll) {
      const last = [
        { sql: sql.clock, values: [now()] },
        { sql: sql.positions, values: [candidates.length] },
      ]
      const [clock, given] = await (waits
        ? this.#loading.load(needed, last)
        : this.#loading.tryLimits(needed(), last))
      this.#now = Math.max(this.#now, clock?.rows[0]?.[0] as number)
      const positions = positionsOf(given)
      for (const [i, candidate] of candidates.entries()) {
        candidate.position = positions[i] as number
      }
    }
    // Somebody may have written these rows after the clock was read.
    this.#now = Math.max(this.#now, this.#loaded.latestTime)
    return isAll || needed().isEmpty
  }

  /** Takes rows in, with their jobs. */
  async #take(rows: readonly LoadedColumns[]): Promise<void> {
    for (const columns of rows) if (columns.stage === JOB_ROW) this.#loading.take(columns)
    const segments = rows.filter(({ stage }) => stage !== JOB_ROW)
    if (segments.length > 0) {
      await this.#loading.load(() => this.#jobsOf(segments), [])
      for (const columns of segments) this.#loading.take(columns)
    }
  }

  /** All of its limits are. */
  #isKnown({ columns: { job, stage, segment } }: Candidate): boolean {
    const needs = new LockPlan(this.#loaded, this.#parts.queues)
    needs.addTask(this.#task(job, stage, segment))
    return needs.isEmpty
  }

  #jobsOf(segments: readonly LoadedColumns[]): LockPlan {
    const needs = new LockPlan(this.#loaded, this.#parts.queues)
    for (const { job } of segments) needs.addJob(job)
    return needs
  }

  #task(job: string, stage: number, segment: number): Task {
    const record = this.#loaded.jobs.get(job) as Job
    return record.task ?? (this.#loaded.world.tasks.get(job)?.[stage]?.[segment] as Task)
  }

  #offer({ columns, position }: Candidate): void {
    const task = this.#task(columns.job, columns.stage, columns.segment)
    const { worker, request, started } = this.#request
    const { job, stage, segment } = task
    const decision = decideIn(
      this.#loaded.world,
      this.#loaded,
      { type: 'GrantLease', job, stage, segment, worker, request, started },
      this.#reads,
      this.#now,
    )
    if (decision.entry !== null) {
      this.#loaded.apply(decision.entry, position)
      this.#granted.push(task)
      return this.#callNext(task, null)
    }
    const key = decision.rejection?.code === 'LimitReached' ? this.#blockedBy(task) : undefined
    if (key !== undefined) return this.#park(columns, task, key)
    this.#closed.add(task.policy.queue)
  }

  /** The key of the first limit of the task that has no room; undefined: it is the queue's own. */
  #blockedBy(task: Task): LimitSpec | undefined {
    if (this.#lets(task.policy.queue) === 0) return undefined
    return task.policy.limits.find((limit) => {
      return mayStartAt(limit, this.#loaded.usage.get(limit.key), this.#now) > this.#now
    })
  }

  #park(columns: LoadedColumns, task: Task, limit: LimitSpec): void {
    const row = this.#loaded.rows.get(
      rowKey(columns.job, columns.stage, columns.segment),
    ) as RowState
    row.parked = limit.key
    this.#loaded.changed.add(row)
    this.#wake(limit, mayStartAt(limit, this.#loaded.usage.get(limit.key), this.#now))
    this.#callNext(task, limit.key)
  }

  /**
   * Others may wait for limits that this one left room in: it was called in their place, or there
   * is room for more than one.
   */
  #callNext({ policy }: Task, parkedFor: string | null): void {
    for (const limit of policy.limits) {
      if (limit.key === parkedFor) continue
      const at = mayStartAt(limit, this.#loaded.usage.get(limit.key), this.#now)
      if (at > this.#now) {
        this.#wake(limit, at)
        continue
      }
      this.#loaded.freed.set(limit.key, (this.#loaded.freed.get(limit.key) ?? 0) + 1)
    }
  }

  /** Infinity: only the end of a lease helps. */
  #wake({ key }: LimitSpec, at: number): void {
    if (at === Infinity) return
    this.#againAt = Math.min(this.#againAt, at)
    this.#wakes.set(key, Math.min(at, this.#wakes.get(key) ?? Infinity))
  }

  /** What is to be run so that the next look sees what was decided so far. */
  async #save(): Promise<Statement[]> {
    const { sql } = this.#parts
    const asks = await buildWrites(this.#loaded, this.#connection, this.#now, this.#parts)
    if (this.#wakes.size > 0) asks.push({ sql: sql.setWakes, rows: [...this.#wakes] })
    this.#done.push(...this.#loaded.applied)
    this.#loaded.clearChanges()
    this.#wakes.clear()
    return asks
  }

  async #finish(): Promise<ClaimResult> {
    const { sql } = this.#parts
    const leases = await this.#claimed()
    const left = this.#openChannels().map(({ channel, level }) => [channel, level, this.#now])
    const asks = await this.#save()
    const last = this.#done.reduce((most, { position }) => Math.max(most, position), 0)
    if (last > 0) this.#parts.nextPosition?.sent(last)
    const answers = await this.#connection.run([
      ...asks,
      { sql: sql.leftInLine, rows: left },
      { sql: sql.commit, values: [] },
    ])
    // It was skipped, because others had it locked. They may let go of it without taking it.
    if (answers.at(-2)?.rows.length !== 0) {
      this.#againAt = Math.min(this.#againAt, this.#now + SKIPPED_MS)
    }
    cacheLeased(this.#loaded, this.#done, this.#parts.leasedRows)
    const againInMs = this.#againAt === Infinity ? null : this.#againAt - this.#now
    return {
      leases,
      applied: this.#done,
      retryInMs: againInMs,
      enqueuedForOthers: this.#isForOthers,
    }
  }

  async #claimed(): Promise<Claimed[]> {
    await this.#loadForHandlers()
    return this.#granted.map((task) => {
      const job = this.#loaded.jobs.get(task.job) as Job
      const stages = this.#loaded.world.tasks.get(task.job) ?? null
      const isOnFailure = stages !== null && job.spec.stages?.[task.stage]?.onFailure === true
      const ending = isOnFailure ? endingOf(job, dense(stages), this.#loaded.tallies(job)) : null
      return claimed(job, stages, task, task.lease as Lease, this.#now, ending)
    })
  }

  /** What a segment is handed of other stages: the output it works on, or why the job ends. */
  async #loadForHandlers(): Promise<void> {
    const addresses: TaskAddress[] = []
    const failing = new Set<string>()
    for (const task of this.#granted) {
      const job = this.#loaded.jobs.get(task.job) as Job
      const stage = job.spec.stages?.[task.stage]
      if (stage === undefined) continue
      if (stage.onFailure) failing.add(job.id)
      const from = stage.each === null ? -1 : stageIndex(job, eachPath(stage.each).source)
      if (job.spec.stages?.[from]?.each == null) continue
      addresses.push({ job: job.id, stage: from, segment: task.segment })
    }
    if (addresses.length === 0 && failing.size === 0) return
    await this.#loading.load(() => {
      const needs = new LockPlan(this.#loaded, this.#parts.queues)
      for (const address of addresses) needs.addSeen(address)
      for (const id of failing) needs.addTallies(this.#loaded.jobs.get(id) as Job)
      return needs
    }, [])
    if (failing.size > 0) await this.#loading.loadTroubled(failing)
  }
}

/** Only the tasks that were loaded. */
function dense(stages: StageTasks): StageTasks {
  return stages.map((tasks) => tasks?.filter((task) => task !== undefined) ?? null)
}
