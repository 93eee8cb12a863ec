/**
 * Claims: the store locks candidates, best first, skipping those that other processes have locked; the
 * kernel decides on each. A task that a limit stops is parked: no claim reads it again until the limit
 * has room. It is parked at most once for each time that its limit is used up, so blocked tasks cost
 * nothing.
 *
 * A claim is two round trips. The first locks candidates together with everything else, unless their
 * queues may let nothing through. If something else turns out to come first, candidates are locked
 * again. Rounds go on until enough is granted or no task is ready.
 */
import type { Job, Lease, LimitSpec, StageTasks, Task, TaskAddress } from '../../../kernel/index.ts'
import {
  decideIn,
  eachPath,
  isSuspect,
  mayStartAt,
  noReads,
  stageIndex,
} from '../../../kernel/index.ts'
import type { ClaimRequest } from '../../claim-request.ts'
import { FIRST_SUBMIT_CLAIM, mayBeClaimedAhead, mostLeases } from '../../claim-request.ts'
import type { Claimed } from '../../store.ts'
import { claimed, endingOf } from '../../views/claimed.ts'
import type { Connection, Row, Statement, StatementResult } from '../connection.ts'
import type { ConnectionPool } from '../connection-pool.ts'
import { CountTable } from '../../state/job-counts.ts'
import { tagsOf } from '../rows/counted-rows.ts'
import type { LoadedColumns, RowState } from '../rows/work-rows.ts'
import {
  JOB_ROW,
  leasedTasks,
  loadedColumns,
  LOWEST_LEVEL,
  RESUMED,
  rowKey,
  waitingAs,
} from '../rows/work-rows.ts'
import { buildWrites, limitKeys } from '../transaction/build-writes.ts'
import type { TransactionContext } from '../transaction/context.ts'
import { LockPlan } from '../transaction/lock-plan.ts'
import { RowLoader } from '../transaction/row-loader.ts'
import { cacheLeased, LazyTransaction, positionsOf } from '../transaction/transaction.ts'
import type { AppliedEntry } from '../transaction/working-set.ts'
import { WorkingSet } from '../transaction/working-set.ts'
import { hasManyChannels, withBusyChannels } from './busy-channels.ts'
import type { Candidate, CandidateChannel, ClaimResult } from './candidates.ts'
import {
  candidatesInOrder,
  channelsOf,
  firstReads,
  lockCandidates,
  suspectChannelsOf,
  withLessAhead,
  withWritableChannels,
} from './candidates.ts'
import { QuickClaims } from './quick-claims.ts'

/** Tasks that became due, and limits to wake, that one claim handles at most. */
const MOST_DUE = 500

/** Job, stage and segment; the stage of a plain job is that of its row. */
type TaskPlace = [string, number, number]

/** After this a worker claims again, if candidates were skipped because they were locked. */
const SKIPPED_MS = 20

const NOTHING: ClaimResult = {
  leases: [],
  applied: [],
  retryInMs: null,
  enqueuedForOthers: false,
}

export class Claims {
  readonly #pool: ConnectionPool
  readonly #context: TransactionContext
  readonly #quickClaims: QuickClaims
  /** The newest request of each worker that came here. */
  readonly #newest = new Map<string, number>()

  constructor(pool: ConnectionPool, context: TransactionContext) {
    this.#pool = pool
    this.#context = context
    this.#quickClaims = new QuickClaims(pool, context)
  }

  async claim(request: ClaimRequest): Promise<ClaimResult> {
    const { worker, request: number } = request
    const newest = this.#newest.get(worker)
    const isRepeat = newest === undefined || number <= newest
    this.#newest.set(worker, Math.max(number, newest ?? 0))
    return this.#claimBusy(withWritableChannels(request), isRepeat)
  }

  async #claimBusy(request: ClaimRequest, isRepeat: boolean): Promise<ClaimResult> {
    if (!hasManyChannels(request) && request.isPoll !== true) return this.#claim(request, isRepeat)
    const { request: busy, hasOthers } = await this.#pool.run((connection) => {
      return withBusyChannels(connection, request, this.#context)
    })
    if (busy.channels.length === 0 && !isRepeat) return NOTHING
    const result = await this.#claim(busy, isRepeat)
    if (!hasOthers || result.leases.length >= request.max) return result
    // The tasks of these were stopped, or locked: the others have some.
    return { ...result, retryInMs: Math.min(result.retryInMs ?? Infinity, SKIPPED_MS) }
  }

  async #claim(whole: ClaimRequest, isRepeat: boolean): Promise<ClaimResult> {
    const request = withLessAhead(whole)
    const quick = isRepeat ? { mayRepeat: true } : await this.#quickClaims.claim(request)
    if (!('mayRepeat' in quick)) return quick
    let { mayRepeat } = quick
    return this.#pool.run((connection) => {
      const running = claimInTransaction(connection, request, mayRepeat, this.#context)
      // If the pool runs this again after a lost connection, the first run may have been committed.
      mayRepeat = true
      return running
    })
  }
}

/** `mayRepeat`: the request may have been granted before, and its answer lost. */
async function claimInTransaction(
  connection: Connection,
  request: ClaimRequest,
  mayRepeat: boolean,
  context: TransactionContext,
): Promise<ClaimResult> {
  const first = await new ClaimTransaction(connection, request, context).run(mayRepeat, true)
  if (first !== null) return first
  // The first one gave turns, and committed to let go of the locks on them.
  const second = await new ClaimTransaction(connection, request, context).run(mayRepeat, false)
  return { ...(second as ClaimResult), enqueuedForOthers: true }
}

class ClaimTransaction {
  readonly #connection: Connection
  readonly #request: ClaimRequest
  readonly #context: TransactionContext
  readonly #loaded: WorkingSet
  readonly #loader: RowLoader
  readonly #reads = noReads()
  readonly #granted: Task[] = []
  readonly #applied: AppliedEntry[] = []
  /** When to look at a limit again, by its key. */
  readonly #wakes = new Map<string, number>()
  /** Queues that let nothing more through, but for tasks that resume. */
  readonly #closedQueues = new Set<string>()
  #retryAt = Infinity
  #enqueuedForOthers = false
  #now = 0

  constructor(connection: Connection, request: ClaimRequest, context: TransactionContext) {
    this.#connection = new LazyTransaction(connection, [{ sql: context.sql.begin, values: [] }])
    this.#request = request
    this.#context = context
    this.#loaded = new WorkingSet(context.records, context.lackingSteps)
    this.#loader = new RowLoader(this.#connection, context, this.#loaded)
  }

  /** `givesTurns`: to tasks that became due. Null: that is all that this transaction did. */
  async run(mayRepeat: boolean, givesTurns: boolean): Promise<ClaimResult | null> {
    const { sql, now, queues } = this.#context
    const { request } = this.#request
    const isRestricted = this.#request.channels.some(({ queue }) => queues.isRestricted(queue))
    const channels = isRestricted
      ? []
      : [
          ...channelsOf(this.#request, mostLeases(this.#request)),
          ...suspectChannelsOf(this.#request),
        ]
    const mostDue = givesTurns ? MOST_DUE : 0
    const first = firstReads(this.#loaded, this.#request, channels, mostDue, this.#context)
    const last = [...first.statements, { sql: sql.clock, values: [now()] }]
    if (mayRepeat) last.push({ sql: sql.leased, values: [] })
    const [due, toWake, found, clock, leased] = await this.#loader.load(first.missing, last)
    this.#now = Math.max(clock?.rows[0]?.[0] as number, this.#loaded.latestTime)
    const before = mayRepeat ? await this.#grantedBefore(leased?.rows ?? [], request) : null
    if (before !== null) return before
    if (await this.#giveTurns(due?.rows ?? [], toWake?.rows ?? [])) {
      await this.#connection.run([{ sql: sql.commit, values: [] }])
      return null
    }
    const isFirst = due?.rows.length === 0 && toWake?.rows.length === 0
    await this.#grantAll(isFirst && !isRestricted ? (found?.rows ?? []) : null)
    return this.#finish()
  }

  /** What the same request was granted before, as far as its leases last; null: it was not answered. */
  async #grantedBefore(rows: readonly Row[], request: number): Promise<ClaimResult | null> {
    const { records, sql } = this.#context
    const { worker } = this.#request
    const leased = leasedTasks(rows, records).filter(({ lease }) => {
      return lease.worker === worker && lease.request < FIRST_SUBMIT_CLAIM
    })
    const newest = leased.reduce((most, { lease }) => Math.max(most, lease.request), 0)
    if (newest < request) return null
    // A worker has two claims under way: what the earlier one was granted counts when it is repeated.
    const again = leased.filter(({ lease }) => lease.request === request)
    const stages = new Set(again.map(({ job, stage, segment }) => rowKey(job, stage, segment)))
    const plain = new Set(again.map(({ job }) => rowKey(job, JOB_ROW, 0)))
    const columns = rows
      .map((row) => loadedColumns(row))
      .filter(({ job, stage, segment }) => {
        const key = rowKey(job, stage, segment)
        return stages.has(key) || plain.has(key)
      })
    await this.#addRows(columns)
    for (const { job, stage, segment } of again) this.#granted.push(this.#task(job, stage, segment))
    const leases = await this.#claimed()
    await this.#connection.run([{ sql: sql.rollback, values: [] }])
    return { leases, applied: [], retryInMs: null, enqueuedForOthers: false }
  }

  /**
   * Gives turns to tasks that became due, and unparks tasks whose limit has room by now. True: it
   * locked rows that a claim must not hold while it waits for other locks.
   */
  async #giveTurns(due: readonly Row[], toWake: readonly Row[]): Promise<boolean> {
    const { sql, turns } = this.#context
    let hasLocks = toWake.length > 0
    if (due.length > 0) {
      await this.#loadGrouped(due)
      const tasks = due.map((row) => ({
        row: { turn: null as number | null },
        address: row.slice(0, 3),
        channel: row[3] as string,
        level: row[4] as number,
        group: row[5] as string | null,
        limits: row[5] === null ? [] : limitKeys(this.#task(...(row.slice(0, 3) as TaskPlace))),
        due: row,
      }))
      const own = new Set(channelsOf(this.#request, 1).map(({ channel }) => channel))
      this.#enqueuedForOthers = tasks.some(({ channel }) => !own.has(channel))
      if (await turns.assign(tasks, this.#connection)) hasLocks = true
      const rows = tasks.map(({ address, row }) => address.concat(row.turn))
      const counts = new CountTable()
      for (const { due: one, row } of tasks) if (row.turn !== null) countAsReady(counts, one)
      await this.#connection.run([
        { sql: sql.setTurns, rows },
        { sql: sql.addCounts, rows: counts.columns() },
      ])
    }
    if (toWake.length === 0) return hasLocks
    const keys = toWake.map(([key]) => key as string)
    await this.#connection.run([
      { sql: sql.clearWakes, rows: keys.map((key) => [key]) },
      { sql: sql.unpark, rows: keys.map((key) => [key, 1, this.#now]) },
    ])
    return hasLocks
  }

  /** Where they begin follows from their limits. */
  async #loadGrouped(due: readonly Row[]): Promise<void> {
    const grouped = due.filter((row) => row[5] !== null)
    if (grouped.length === 0) return
    const missing = (): LockPlan => {
      const plan = new LockPlan(this.#loaded, this.#context.queues)
      for (const [job, stage, segment] of grouped as unknown as TaskPlace[]) {
        plan.addReadJob(job)
        if (stage !== JOB_ROW) plan.addReadTask({ job, stage, segment })
      }
      return plan
    }
    await this.#loader.load(missing, [])
  }

  /** `found`: the first candidates; null: they are not locked yet. */
  async #grantAll(found: readonly Row[] | null): Promise<void> {
    for (let round = 0; ; round++) {
      const channels = this.#openChannels(mostLeases(this.#request) - this.#granted.length)
      if (channels.length === 0) return
      const isFound = round === 0 && channels.every(({ level }) => level === LOWEST_LEVEL)
      const suspects = round === 0 ? suspectChannelsOf(this.#request, this.#lowestLevel) : []
      const rows = (isFound ? found : null) ?? (await this.#lockMore([...channels, ...suspects]))
      const most = channels[0]?.most as number
      const inOrder = candidatesInOrder(rows).slice(0, most + suspects.length)
      if (inOrder.length === 0) return
      await this.#addRows(inOrder.map(({ columns }) => columns))
      const isAlone = this.#isSuspect(inOrder[0] as Candidate)
      const others = inOrder.filter((one) => !this.#isSuspect(one)).slice(0, most)
      const locked = isAlone ? inOrder.slice(0, 1) : others
      const candidates = this.#forRequest(locked)
      const isAll = await this.#loadAll(candidates, round === 0)
      for (const candidate of candidates) {
        if (isAll || this.#hasLimits(candidate)) this.#offer(candidate)
      }
      // Other processes decide on the same limits now: what they leave is for the next claim.
      if (!isAll || this.#granted.length >= this.#request.max) return
      if (isAlone) {
        if (this.#granted.length > 0) return
        // It is stopped, by its limit or its queue: the others need not be.
        continue
      }
      const isMore = candidates.length < locked.length || locked.length >= most
      if (!isMore && this.#loaded.freed.size === 0) return
    }
  }

  #isSuspect({ columns: { job, stage, segment } }: Candidate): boolean {
    return isSuspect(this.#task(job, stage, segment))
  }

  /** As many as there are places, and the next ones as long as they may be claimed ahead. */
  #forRequest(locked: readonly Candidate[]): readonly Candidate[] {
    const places = Math.max(0, this.#request.max - this.#granted.length)
    const end = locked.findIndex(({ columns }, i) => {
      if (i < places) return false
      const task = this.#task(columns.job, columns.stage, columns.segment)
      const group = this.#loaded.jobs.get(task.job)?.spec.group ?? null
      return !mayBeClaimedAhead(task, group, this.#loaded.queues.get(task.policy.queue))
    })
    return end === -1 ? locked : locked.slice(0, end)
  }

  /** No channel when enough is granted. */
  #openChannels(most: number): CandidateChannel[] {
    if (most <= 0) return []
    return channelsOf(this.#request, most, this.#lowestLevel)
  }

  /** A queue that is closed lets only tasks through that resume. */
  readonly #lowestLevel = (queue: string): number => {
    const isClosed = this.#closedQueues.has(queue) || !this.#isOpen(queue)
    return isClosed ? RESUMED : LOWEST_LEVEL
  }

  /** Whether a queue's own pause and limits let another task through. */
  #isOpen(name: string): boolean {
    const queue = this.#loaded.queues.get(name)
    if (queue === undefined) return true
    if (queue.paused) return false
    const own: LimitSpec = { key: name, concurrency: queue.concurrency, rate: queue.rate }
    const at = mayStartAt(own, this.#loaded.queueUsage(name) ?? undefined, this.#now)
    if (at <= this.#now) return true
    this.#retryAt = Math.min(this.#retryAt, at)
    return false
  }

  async #lockMore(channels: readonly CandidateChannel[]): Promise<readonly Row[]> {
    const writes = await this.#takeWrites()
    const answers = await this.#connection.run([
      ...writes,
      lockCandidates(this.#context.sql, channels, this.#now),
    ])
    return (answers.at(-1) as StatementResult).rows
  }

  /**
   * Locks the limits of candidates. False: other processes have locked some of the limits. It
   * waits for limits only the first time: a transaction that holds some and waits for more may wait
   * for one that waits for it.
   *
   * Time and positions are read again AFTER the limits are locked: a grant comes after the end of the
   * lease that made room for it.
   */
  async #loadAll(candidates: readonly Candidate[], waits: boolean): Promise<boolean> {
    const { sql, now } = this.#context
    const missing = (): LockPlan => {
      const plan = this.#plan()
      for (const { columns } of candidates) {
        plan.addLimits(this.#task(columns.job, columns.stage, columns.segment))
      }
      return plan
    }
    const isAll = missing().isEmpty
    if (!isAll) {
      const last = [
        { sql: sql.clock, values: [now()] },
        { sql: sql.positions, values: [candidates.length] },
      ]
      const [clock, given] = await (waits
        ? this.#loader.load(missing, last)
        : this.#loader.tryLockLimits(missing(), last))
      this.#now = Math.max(this.#now, clock?.rows[0]?.[0] as number)
      const positions = positionsOf(given)
      for (const [i, candidate] of candidates.entries()) {
        candidate.position = positions[i] as number
      }
    }
    // Another transaction may have written these rows after the clock was read.
    this.#now = Math.max(this.#now, this.#loaded.latestTime)
    return isAll || missing().isEmpty
  }

  /** Adds rows to the working set, with their jobs. */
  async #addRows(rows: readonly LoadedColumns[]): Promise<void> {
    for (const columns of rows) if (columns.stage === JOB_ROW) this.#loader.addRow(columns)
    const segments = rows.filter(({ stage }) => stage !== JOB_ROW)
    if (segments.length > 0) {
      await this.#loader.load(() => this.#jobsOf(segments), [])
      for (const columns of segments) this.#loader.addRow(columns)
    }
  }

  #hasLimits({ columns: { job, stage, segment } }: Candidate): boolean {
    const plan = this.#plan()
    plan.addLimits(this.#task(job, stage, segment))
    return plan.isEmpty
  }

  #jobsOf(segments: readonly LoadedColumns[]): LockPlan {
    const plan = this.#plan()
    for (const { job } of segments) plan.addReadJob(job)
    return plan
  }

  #plan(): LockPlan {
    return new LockPlan(this.#loaded, this.#context.queues)
  }

  #task(job: string, stage: number, segment: number): Task {
    const record = this.#loaded.jobs.get(job) as Job
    return record.task ?? (this.#loaded.world.tasks.get(job)?.[stage]?.[segment] as Task)
  }

  #offer({ columns, position }: Candidate): void {
    const task = this.#task(columns.job, columns.stage, columns.segment)
    const { worker, request, max, session = '' } = this.#request
    const { job, stage, segment } = task
    const started = this.#request.started && this.#granted.length < max
    const decision = decideIn(
      this.#loaded.world,
      this.#loaded,
      { type: 'GrantLease', job, stage, segment, worker, request, started, session },
      this.#reads,
      this.#now,
    )
    if (decision.entry !== null) {
      this.#loaded.apply(decision.entry, position)
      this.#granted.push(task)
      return this.#freeOtherLimits(task, null)
    }
    const full = decision.rejection?.code === 'LimitReached' ? this.#fullLimit(task) : undefined
    if (full !== undefined) return this.#park(columns, task, full)
    this.#closedQueues.add(task.policy.queue)
  }

  /** The first limit of the task that has no room; undefined: it is the queue's own. */
  #fullLimit(task: Task): LimitSpec | undefined {
    if (!this.#isOpen(task.policy.queue)) return undefined
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
    this.#wakeAt(limit, mayStartAt(limit, this.#loaded.usage.get(limit.key), this.#now))
    this.#freeOtherLimits(task, limit.key)
  }

  /**
   * Unparks a task for each limit of this one that has room left: this one was unparked in place of
   * another, or there is room for more than one.
   */
  #freeOtherLimits({ policy }: Task, parkedFor: string | null): void {
    for (const limit of policy.limits) {
      if (limit.key === parkedFor) continue
      const at = mayStartAt(limit, this.#loaded.usage.get(limit.key), this.#now)
      if (at > this.#now) {
        this.#wakeAt(limit, at)
        continue
      }
      this.#loaded.freed.set(limit.key, (this.#loaded.freed.get(limit.key) ?? 0) + 1)
    }
  }

  /** Infinity: only the end of a lease helps. */
  #wakeAt({ key }: LimitSpec, at: number): void {
    if (at === Infinity) return
    this.#retryAt = Math.min(this.#retryAt, at)
    this.#wakes.set(key, Math.min(at, this.#wakes.get(key) ?? Infinity))
  }

  /** Statements that write what was decided so far. */
  async #takeWrites(): Promise<Statement[]> {
    const { sql } = this.#context
    const writes = await buildWrites(this.#loaded, this.#connection, this.#now, this.#context)
    if (this.#wakes.size > 0) writes.push({ sql: sql.setWakes, rows: [...this.#wakes] })
    this.#applied.push(...this.#loaded.applied)
    this.#loaded.clearChanges()
    this.#wakes.clear()
    return writes
  }

  async #finish(): Promise<ClaimResult> {
    const { sql } = this.#context
    const leases = await this.#claimed()
    const channels = this.#openChannels(this.#request.max - this.#granted.length)
    const left = channels.map(({ channel, level }) => [channel, level, this.#now])
    const writes = await this.#takeWrites()
    const last = this.#applied.reduce((most, { position }) => Math.max(most, position), 0)
    if (last > 0) this.#context.nextPosition?.sent(last)
    const answers = await this.#connection.run([
      ...writes,
      { sql: sql.channelsWithReady, rows: left },
      { sql: sql.commit, values: [] },
    ])
    // Other processes have these locked. They may let go of them without a grant.
    if (answers.at(-2)?.rows.length !== 0) {
      this.#retryAt = Math.min(this.#retryAt, this.#now + SKIPPED_MS)
    }
    cacheLeased(this.#loaded, this.#applied, this.#context.leasedRows)
    const retryInMs = this.#retryAt === Infinity ? null : this.#retryAt - this.#now
    return {
      leases,
      applied: this.#applied,
      retryInMs,
      enqueuedForOthers: this.#enqueuedForOthers,
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

  /** What a handler is given of other stages: the output that it works on, or why the job ends. */
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
    await this.#loader.load(() => {
      const plan = this.#plan()
      for (const address of addresses) plan.addReadTask(address)
      for (const id of failing) plan.addTallies(this.#loaded.jobs.get(id) as Job)
      return plan
    }, [])
    if (failing.size > 0) await this.#loader.loadFailedTasks(failing)
  }
}

/** Only the tasks that were loaded. */
function dense(stages: StageTasks): StageTasks {
  return stages.map((tasks) => tasks?.filter((task) => task !== undefined) ?? null)
}

/** A task that became due, as `lockDueTasks` gives it, has a turn now. */
function countAsReady(counts: CountTable, row: Row): void {
  const [, stage, , , , , queue, type, attempt, suspended, tags] = row
  const [ofQueue, ofType] = [queue as string, type as string]
  if (stage !== JOB_ROW) {
    counts.addSegment(ofType, ofQueue, 'CREATED', -1)
    counts.addSegment(ofType, ofQueue, 'QUEUED', 1)
    return
  }
  const job = { type: ofType, queue: ofQueue, tags: tagsOf(tags), error: null, held: false }
  counts.addJob(job, waitingAs(attempt as number, Boolean(suspended)), -1)
  counts.addJob(job, 'QUEUED', 1)
}
