/**
 * The store on a database: SQLite for several processes on one host, PostgreSQL for many machines.
 *
 * Rows are a projection of the entries, and are written in the same transaction. The kernel decides, on
 * locked rows; SQL only finds them. What the store remembers between transactions is checked or only
 * proposed (see `transaction/context.ts`).
 *
 * - open: all methods work. A call waits for a database that is away, for a while.
 * - closed.
 */
import type { Command } from '../../kernel/index.ts'
import { reject } from '../../kernel/index.ts'
import type { ClaimRequest } from '../claim-request.ts'
import { assertClaim } from '../claim-request.ts'
import type { Clock } from '../clock.ts'
import { afterMs, FAR_BEHIND_MS, nowUs, pause } from '../clock.ts'
import { StoreClosed } from '../errors.ts'
import type { Moment } from '../moment.ts'
import type { News, StoreNotice } from '../notice.ts'
import type { Presence } from '../presence.ts'
import { CommandCopies } from '../state/command-copies.ts'
import { Meters } from '../state/metrics.ts'
import type {
  Retention,
  Answer,
  AnswerTo,
  Claimed,
  PositionedEntry,
  Query,
  Store,
  StoreSnapshot,
  SubmittedAndClaimed,
} from '../store.ts'
import type { Metrics, Totals } from '../metrics.ts'
import type { Reachability } from '../reachability.ts'
import type { UserTransaction, Writes } from '../user-transaction.ts'
import { EntryWatches } from '../views/entry-watch.ts'
import type { Availability } from './availability.ts'
import { Claims } from './claim/claim.ts'
import type { Connection } from './connection.ts'
import { ConnectionPool } from './connection-pool.ts'
import type { Dialect } from './dialect.ts'
import { MOST_AWAY_MS } from './dialect.ts'
import type { ChangeNotifierOptions } from './notify/change-notifier.ts'
import { ChangeNotifier } from './notify/change-notifier.ts'
import { EntryFeed } from './queries/entry-feed.ts'
import { eventRow } from './rows/event-rows.ts'
import { JobQueries } from './queries/job-queries.ts'
import { SqlQueries } from './queries/sql-queries.ts'
import { logEntries, openSqlSnapshot } from './queries/sql-snapshot.ts'
import { TableVersion } from './tables.ts'
import type { OnCommitted } from './transaction/transaction-batcher.ts'
import { TransactionBatcher } from './transaction/transaction-batcher.ts'
import type { TransactionContext } from './transaction/context.ts'
import { newContext } from './transaction/context.ts'
import type { AppliedEntry } from './transaction/working-set.ts'
import { compactTables } from './upkeep/compaction.ts'
import { HistoryPruning } from './upkeep/history-pruning.ts'
import { SqlExamination } from './upkeep/sql-examination.ts'
import { SqlUpkeep } from './upkeep/sql-upkeep.ts'
import { Vacuum } from './upkeep/vacuum.ts'
import { CommitWithWrites } from './user-transaction/commit-with-writes.ts'
import { UserTransactions } from './user-transaction/user-transactions.ts'

export interface SqlStoreOptions {
  readonly id: string
  readonly dialect: Dialect
  /** The connection that the tables were checked on. */
  readonly first: Connection
  /** Null: the database's own. */
  readonly clock: Clock | null
  /** How far the database's clock is ahead of this process's. */
  readonly aheadMs: number
  readonly retention: Retention
  /** How long events are kept; Infinity: for ever. */
  readonly historyMs: number
  /** False: whether processes live is not looked at. */
  readonly hasPresence: boolean
  readonly onNotice: (notice: StoreNotice) => void
}

/** After news of other processes, it is read how far their clocks are: once for all news until then. */
const FOLLOW_AFTER_MS = 1_000
/** Between two looks whether older transactions are over. */
const FENCE_MS = 20

/** Dead segments that are read to count their jobs. */
const MOST_SEGMENTS = 10_000

export class SqlStore implements Store {
  readonly id: string
  readonly presence?: Presence
  readonly availability?: Reachability
  readonly #dialect: Dialect
  readonly #pool: ConnectionPool
  readonly #context: TransactionContext
  readonly #copies = new CommandCopies()
  readonly #batches: TransactionBatcher
  readonly #userTransactions: UserTransactions
  readonly #commitWithWrites: CommitWithWrites
  readonly #claims: Claims
  readonly #vacuum: Vacuum
  readonly #jobQueries: JobQueries
  readonly #queries: SqlQueries
  readonly #upkeep: SqlUpkeep
  readonly #feed: EntryFeed
  readonly #meters = new Meters()
  readonly #notifier: ChangeNotifier
  readonly #watches = new EntryWatches(
    (position, watch) => this.#readEntries(position, watch),
    (isWaiting) => this.#notifier.keepProcessAlive(isWaiting),
  )
  /** Only where a claim that follows would be another transaction. */
  submitAndClaim?: NonNullable<Store['submitAndClaim']>
  readonly #clock: Clock | null
  readonly #onNotice: (notice: StoreNotice) => void
  #stopFollowing: (() => void) | null = null
  #isClosed = false
  #closing: Promise<void> | null = null

  constructor(options: SqlStoreOptions) {
    const { id, dialect, first, clock, aheadMs, retention, historyMs, onNotice } = options
    const { statements: sql, connections: size, mostAwayMs = MOST_AWAY_MS } = dialect
    const { preconditions = null, userTransactions: userDialect } = dialect
    this.id = id
    this.#dialect = dialect
    this.#clock = clock
    this.#onNotice = onNotice
    this.#pool = new ConnectionPool(first, {
      connect: () => dialect.connect(),
      size,
      commit: sql.commit,
      rollback: sql.rollback,
      begin: preconditions === null ? null : sql.begin,
      mostAwayMs,
      tableVersion: new TableVersion(sql.readMeta, dialect.migrations.length),
    })
    const context = newContext(dialect, clock)
    this.#context = context
    const onCommitted: OnCommitted = (applied, alike) => this.#noteCommitted(applied, alike)
    const { manyCommands } = dialect
    this.#batches = new TransactionBatcher(this.#pool, manyCommands, context, onCommitted, () =>
      this.now(),
    )
    // Where transactions come one after the other, a claim is as quick as another message.
    if (preconditions === null) {
      this.submitAndClaim = (commands, claims) => this.#submitAndClaim(commands, claims)
    }
    this.#claims = new Claims(this.#pool, context)
    this.#vacuum = new Vacuum(this.#pool, dialect.vacuum ?? null)
    const tables = new TableVersion(userDialect.statements.readMeta, dialect.migrations.length)
    this.#userTransactions = new UserTransactions(
      id,
      userDialect,
      { ...context, turns: context.turns.withoutLocks },
      tables,
    )
    this.#commitWithWrites = new CommitWithWrites(userDialect, context, onCommitted, tables)
    if (dialect.availability !== undefined) this.availability = this.#watched(dialect.availability)
    const run: ChangeNotifierOptions['run'] = (work) => this.#pool.run(work)
    if (options.hasPresence) {
      this.presence = dialect.openPresence({
        run,
        now: () => this.now(),
        listen: () => this.#notifier.begin(),
        onNotice: options.onNotice,
      })
    }
    this.#notifier = new ChangeNotifier({
      id,
      dialect,
      clock,
      aheadMs,
      run,
      presence: this.presence ?? null,
      mayBeRestricted: (queue) => context.queues.mayBeRestricted(queue),
      onOtherWrites: () => this.#noteOtherWrites(),
    })
    this.#feed = new EntryFeed(sql, dialect.history, context.records)
    const jobQueries = new JobQueries(context)
    const examination = new SqlExamination(context, jobQueries, dialect)
    this.#jobQueries = jobQueries
    const pruning = new HistoryPruning(dialect, context.records, historyMs)
    this.#upkeep = new SqlUpkeep(context, jobQueries, retention, pruning, () =>
      this.#notifier.tellAll('ends'),
    )
    this.#queries = new SqlQueries(this.#pool, context, dialect.lists, jobQueries, {
      entries: (query, connection) =>
        logEntries(connection, dialect.snapshots, context.records, this.#feed, query),
      examination: (query, connection) => examination.examine(connection, query),
      metrics: (_query, connection) => this.#metrics(connection),
      upkeep: ({ limit, forgets = true }, connection) =>
        this.#upkeep.dueCommands(connection, limit, forgets),
    })
  }

  #watched(availability: Availability): Reachability {
    availability.onNotice = (notice) => this.#isClosed || this.#onNotice(notice)
    return availability
  }

  /** The authority's time, as well as it is known here. */
  now(): number {
    return this.#notifier.now()
  }

  onNews(listener: (news: News) => void): () => void {
    this.#assertOpen()
    return this.#notifier.onNews(listener)
  }

  async execute(commands: readonly Command[], isHandedOver = false): Promise<readonly Answer[]> {
    this.#assertOpen()
    const startedUs = nowUs()
    const answers = await this.#withCopies(commands, (copies) => this.#decide(copies), isHandedOver)
    this.#meters.durableUs.add(nowUs() - startedUs)
    return answers
  }

  async #submitAndClaim(
    commands: readonly Command[],
    claims: readonly ClaimRequest[],
  ): Promise<SubmittedAndClaimed> {
    // A submit may have to wait for a user who writes with the same job: no room is kept meanwhile.
    if (this.#commitWithWrites.isUnderWay) {
      return { answers: await this.execute(commands, true), claimed: claims.map(() => []) }
    }
    this.#assertOpen()
    claims.forEach(assertClaim)
    const startedUs = nowUs()
    let claimed: SubmittedAndClaimed['claimed'] = []
    const submit = async (own: readonly Command[]): Promise<readonly Answer[]> => {
      const done = await this.#batches.submitAndClaim(own, claims)
      claimed = done.claimed
      return done.answers
    }
    const answers = await this.#withCopies(commands, submit, true)
    this.#meters.durableUs.add(nowUs() - startedUs)
    return { answers, claimed }
  }

  #decide(commands: readonly Command[]): Promise<readonly Answer[]> {
    if (!this.#commitWithWrites.isUnderWay) return this.#batches.execute(commands)
    return this.#commitWithWrites.decideAround(commands, (some) => this.#batches.execute(some))
  }

  async executeIn(
    transaction: UserTransaction,
    commands: readonly Command[],
  ): Promise<readonly Answer[]> {
    this.#assertOpen()
    return this.#withCopies(commands, (copies) => {
      return this.#userTransactions.execute(transaction, copies)
    })
  }

  async executeWith(command: Command, writes: Writes): Promise<Answer> {
    this.#assertOpen()
    const [answer] = await this.#withCopies([command], async ([copy]) => {
      return copy === undefined ? [] : [await this.#commitWithWrites.execute(copy, writes)]
    })
    return answer as Answer
  }

  /** Decides copies of the commands, which no caller can change; one that cannot be copied is refused. */
  async #withCopies(
    commands: readonly Command[],
    decide: (copies: readonly Command[]) => Promise<readonly Answer[]>,
    isHandedOver = false,
  ): Promise<readonly Answer[]> {
    const copies: Command[] = []
    const answers: (Answer | null)[] = commands.map((command) => {
      const copy = this.#copies.copy(command, isHandedOver)
      if (copy === null) return notPlain()
      copies.push(copy)
      return null
    })
    const decided = await decide(copies)
    let next = 0
    return answers.map((answer) => {
      if (answer !== null) return this.#counted(answer)
      const command = copies[next] as Command
      const given = decided[next++] as Answer
      if (command?.type === 'ForgetJob' && given.verdict === 'rejected') {
        this.#upkeep.postponeForget(command.job, command.endedBefore)
      }
      return this.#counted(given)
    })
  }

  #counted(answer: Answer): Answer {
    if (answer.rejection !== null) this.#meters.refused(answer.rejection)
    return answer
  }

  async claim(request: ClaimRequest): Promise<readonly Claimed[]> {
    this.#assertOpen()
    assertClaim(request)
    const { leases, applied, retryInMs, enqueuedForOthers } = await this.#claims.claim(request)
    this.#noteCommitted(applied)
    this.#vacuum.noteGrants(leases.length)
    if (retryInMs !== null) this.#notifier.tellWorkIn(retryInMs)
    if (enqueuedForOthers) this.#notifier.tellAll('work')
    return leases
  }

  async query<const Q extends Query>(query: Q): Promise<AnswerTo<Q>> {
    this.#assertOpen()
    return this.#queries.answer(query)
  }

  async compact(): Promise<void> {
    this.#assertOpen()
    await compactTables(this.#pool, this.#dialect)
    await this.presence?.compact()
  }

  watch(from: number): AsyncIterable<PositionedEntry> {
    this.#assertOpen()
    this.#notifier.begin()
    return this.#watches.watch(from)
  }

  async watchNew(): Promise<AsyncIterable<PositionedEntry>> {
    this.#assertOpen()
    const fence = await this.#pool.run((connection) => this.#feed.fence(connection))
    while (!(await this.#pool.run((connection) => this.#feed.isPassed(connection, fence)))) {
      await pause(FENCE_MS)
    }
    return this.watch(fence.position)
  }

  async at(moment: Moment): Promise<StoreSnapshot> {
    this.#assertOpen()
    const { records, sql } = this.#context
    const { snapshots, history } = this.#dialect
    const parts = { pool: this.#pool, sql, snapshots, history, records }
    const now = await this.#pool.run((connection) => this.#jobQueries.now(connection))
    return openSqlSnapshot(parts, moment, now)
  }

  expectClose(): void {
    this.#pool.expectClose()
    this.#commitWithWrites.expectClose()
  }

  close(): Promise<void> {
    this.#isClosed = true
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    this.#watches.close(null)
    this.#stopFollowing?.()
    await this.#commitWithWrites.close()
    await this.presence?.close()
    await this.#pool.close()
    await this.#notifier.close()
  }

  totals(): Totals | null {
    return this.#meters.totals()
  }

  async #metrics(connection: Connection): Promise<Metrics> {
    const [counted] = await connection.run([
      { sql: this.#context.sql.counts, values: [MOST_SEGMENTS] },
    ])
    const [leases = 0, quarantined = 0, heldEffects = 0] = (counted?.rows[0] ?? []) as number[]
    const now = await this.#jobQueries.now(connection)
    return this.#meters.metrics(now, { leases, quarantined, heldEffects })
  }

  #readEntries(position: number, watch: object): Promise<readonly PositionedEntry[]> {
    // Once the pool is closed: a watch sees the rest when it is resumed.
    return this.#pool.runUntilClosed<readonly PositionedEntry[]>(
      (connection) => this.#feed.read(connection, position, watch),
      [],
    )
  }

  /** AFTER they are durable. */
  #noteCommitted(applied: readonly AppliedEntry[], alike: readonly number[] = []): void {
    if (applied.length === 0) return
    for (const { entry, job, task, taskBefore, states } of applied) {
      if (states !== null) this.#meters.moved(job?.task === null, states)
      if (entry.type === 'JobSubmitted') this.#meters.submitted(entry, 1 + alike.length)
      else if ('segment' in entry && job !== null && task !== null && taskBefore !== null) {
        const isDead = task.state === 'DEAD'
        this.#meters.changedTask(entry, job, taskBefore, isDead, task.policy.queue)
      } else this.#meters.changed(entry)
    }
    this.#upkeep.noteCommitted()
    this.#watches.wake()
    this.#notifier.noteCommitted(applied, alike)
  }

  /** Other processes may have written. */
  #noteOtherWrites(): void {
    this.#context.queues.clear()
    this.#watches.wake()
    if (this.#clock?.goOnFrom === undefined || this.#stopFollowing !== null) return
    this.#stopFollowing = afterMs(FOLLOW_AFTER_MS, () => {
      this.#stopFollowing = null
      // Best effort: the next news are another chance.
      if (!this.#isClosed) void this.followClock().catch(() => undefined)
    })
  }

  /**
   * Where the clock is this machine's: if the newest entry is far ahead of it, time goes on from there. Else
   * all that was written while the clock was wrong would wait for as long as it was wrong.
   */
  async followClock(): Promise<void> {
    const clock = this.#clock
    if (clock?.goOnFrom === undefined) return
    const { newestEvents } = this.#context.sql
    const [found] = await this.#pool.run((connection) =>
      connection.run([{ sql: newestEvents, values: [1] }]),
    )
    const [event] = (found?.rows ?? []).map(eventRow)
    if (event === undefined) return
    const byMs = event.at - clock.now()
    if (byMs <= FAR_BEHIND_MS) return
    clock.goOnFrom(event.at)
    this.#onNotice({ kind: 'clock-behind', byMs })
  }

  #assertOpen(): void {
    if (this.#isClosed) throw new StoreClosed()
  }
}

function notPlain(): Answer {
  const rejection = reject('MalformedCommand', 'A command must be plain data.')
  rejection.check = 'well-formed'
  return { verdict: 'rejected', value: null, rejection }
}
