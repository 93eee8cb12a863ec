/**
 * The store on a database: SQLite for several processes on one host, PostgreSQL for many machines.
 *
 * Rows are a projection of the entries and are written in the same transaction. What is decided is
 * decided by the kernel, on rows that are locked; SQL only finds them. Nothing is kept in memory
 * that others could change, but for proposals.
 *
 * - open: all methods work. A database that is away is waited for, for a while.
 * - closed.
 */
import type { Command } from '../../kernel/index.ts'
import { reject } from '../../kernel/index.ts'
import { assertClaim } from '../claim-request.ts'
import type { Clock } from '../clock.ts'
import { nowUs } from '../clock.ts'
import { Meters } from '../state/meters.ts'
import type { News } from '../news.ts'
import { CommandCopies } from '../state/command-copies.ts'
import type { Retention } from '../state/retention.ts'
import type {
  Answer,
  AnswerTo,
  Answers,
  Claimed,
  ClaimRequest,
  Metrics,
  Outcome,
  Positioned,
  Query,
  QueryKind,
  QueryOf,
  Store,
} from '../store.ts'
import { BadRequest, StoreClosed } from '../store.ts'
import type { UserTransaction, Writes } from '../user-transaction.ts'
import { recordOverview, recordTask, recordView } from '../views/job-views.ts'
import type { Taker } from '../taker.ts'
import { EntryWatches } from '../views/entry-watch.ts'
import { CommandBatches } from './transaction/command-batches.ts'
import type { ClaimResult } from './claim/claim.ts'
import { claim } from './claim/claim.ts'
import type { Connection } from './connection.ts'
import type { Dialect } from './dialect.ts'
import { SqlExamination } from './upkeep/sql-examination.ts'
import { EntryFeed } from './queries/entry-feed.ts'
import { SqlRetention } from './upkeep/sql-retention.ts'
import { UserTransactions } from './user-transaction/user-transactions.ts'
import { LeasedRowCache, NextPosition, QueueCache, SubmissionCache } from './transaction/context.ts'
import { ConnectionPool } from './connection-pool.ts'
import { MOST_AWAY_MS } from './dialect.ts'
import type { AppliedEntry } from './transaction/working-set.ts'
import { ChangeNotifier } from './notify/change-notifier.ts'
import { TurnAssignment } from './transaction/turn-assignment.ts'
import { JobQueries } from './queries/job-queries.ts'
import { QuickClaims } from './claim/quick-claims.ts'
import { Records } from './rows/records.ts'
import { Takers } from './transaction/submit-grants.ts'
import { TableVersion } from './tables.ts'
import { channelsOfAny, withSafeNames } from './queries/name-lookups.ts'
import type { Statements } from './statements.ts'
import { Vacuum } from './upkeep/vacuum.ts'
import { QueryBatcher } from './queries/query-batcher.ts'
import type { TransactionContext } from './transaction/context.ts'
import { SqlDueCommands } from './upkeep/sql-due-commands.ts'
import { UnusedRows } from './upkeep/unused-rows.ts'
import { UsageQueries } from './queries/usage-queries.ts'
import { CommitWithWrites } from './user-transaction/commit-with-writes.ts'

export interface SqlStoreParts {
  readonly id: string
  readonly dialect: Dialect
  /** The one that the tables were looked at with. */
  readonly first: Connection
  /** Null: the database's own. */
  readonly clock: Clock | null
  /** How far the database's clock is ahead of this process's. */
  readonly aheadMs: number
  readonly retention: Retention
}

export class SqlStore implements Store {
  readonly id: string
  readonly #sql: Statements
  readonly #pool: ConnectionPool
  readonly #parts: TransactionContext
  readonly #batches: CommandBatches
  readonly #quick: QuickClaims
  readonly #sweeping: Vacuum
  readonly #guests: UserTransactions
  readonly #writing: CommitWithWrites
  readonly #queries: JobQueries
  readonly #uses: UsageQueries
  readonly #upkeep: SqlDueCommands
  readonly #unused: UnusedRows
  readonly #forgetting: SqlRetention
  readonly #examination: SqlExamination
  readonly #feed: EntryFeed
  readonly #meters = new Meters()
  readonly #own = new CommandCopies()
  readonly #takers = new Takers(() => this.now())
  readonly #watching = new EntryWatches(
    (position) => this.#readOn(position),
    (isWaiting) => this.#news.keep(isWaiting),
  )
  readonly #news: ChangeNotifier
  readonly #outcomes = new QueryBatcher<string, Outcome | null>((jobs) =>
    this.#pool.run((connection) => {
      return this.#queries.outcomes(withSafeNames(connection), jobs, this.#parts.now())
    }),
  )
  /** The newest request of each worker that was answered here. */
  readonly #answered = new Map<string, number>()
  #isClosed = false
  #closing: Promise<void> | null = null

  constructor({ id, dialect, first, clock, aheadMs, retention }: SqlStoreParts) {
    const {
      statements: sql,
      connections: count,
      preconditions: checks = null,
      mostAwayMs = MOST_AWAY_MS,
    } = dialect
    this.id = id
    this.#sql = sql
    this.#pool = new ConnectionPool(first, {
      connect: () => dialect.connect(),
      size: count,
      commit: sql.commit,
      rollback: sql.rollback,
      begin: checks === null ? null : sql.begin,
      mostAwayMs,
      tableVersion: new TableVersion(sql.meta, dialect.migrations.length),
    })
    const records = new Records()
    const now = (): number | null => (clock === null ? null : Math.floor(clock.now()))
    this.#queries = new JobQueries(sql, records)
    const turns = new TurnAssignment(sql)
    const parts = {
      sql,
      records,
      now,
      turns,
      queues: new QueueCache(),
      submissions: new SubmissionCache(),
      leasedRows: new LeasedRowCache(),
      nextPosition: checks === null ? null : new NextPosition(checks.isLast),
      forgetCount: dialect.forgetCount ?? null,
    }
    this.#parts = parts
    const onDone = (done: readonly AppliedEntry[]): void => this.#noteDone(done)
    // Where transactions come one after the other, a claim is as quick as another message.
    const takers = checks === null ? this.#takers : null
    this.#batches = new CommandBatches(this.#pool, dialect.manyCommands, parts, onDone, takers)
    this.#quick = new QuickClaims(this.#pool, checks, parts)
    this.#sweeping = new Vacuum(this.#pool, dialect.vacuum ?? null)
    const { migrations: steps, userTransactions: guest } = dialect
    const tables = new TableVersion(guest.statements.meta, steps.length)
    this.#guests = new UserTransactions(id, guest, { ...parts, turns: turns.withoutLocks }, tables)
    this.#writing = new CommitWithWrites(guest, parts, onDone, tables)
    this.#uses = new UsageQueries(sql, this.#queries, records)
    this.#unused = new UnusedRows(sql)
    this.#upkeep = new SqlDueCommands(sql, this.#queries, () => this.#news.found('ends'))
    this.#forgetting = new SqlRetention(sql, retention)
    this.#examination = new SqlExamination(sql, this.#queries)
    this.#feed = new EntryFeed(sql, this.#queries)
    this.#news = new ChangeNotifier({
      id,
      dialect,
      clock,
      aheadMs,
      run: (work) => this.#pool.run(work),
      mayStop: (queue) => this.#parts.queues.mayBeRestricted(queue),
      onBeat: () => this.#othersWrote(),
    })
  }

  /** The authority's time, as well as it is known here. */
  now(): number {
    return this.#news.now()
  }

  onNews(listener: (news: News) => void): () => void {
    this.#assertOpen()
    return this.#news.onNews(listener)
  }

  standBy(taker: Taker): () => void {
    return this.#takers.add(taker)
  }

  async execute(commands: readonly Command[]): Promise<readonly Answer[]> {
    this.#assertOpen()
    const startedUs = nowUs()
    const answers = await this.#onOwn(commands, (own) => this.#decide(own))
    this.#meters.durableUs.add(nowUs() - startedUs)
    return answers
  }

  #decide(own: readonly Command[]): Promise<readonly Answer[]> {
    if (!this.#writing.isUnderWay) return this.#batches.execute(own)
    return this.#writing.around(own, (some) => this.#batches.execute(some))
  }

  async executeIn(
    transaction: UserTransaction,
    commands: readonly Command[],
  ): Promise<readonly Answer[]> {
    this.#assertOpen()
    return this.#onOwn(commands, (own) => this.#guests.execute(transaction, own))
  }

  async executeWith(command: Command, writes: Writes): Promise<Answer> {
    this.#assertOpen()
    const [answer] = await this.#onOwn([command], async ([own]) => {
      return own === undefined ? [] : [await this.#writing.execute(own, writes)]
    })
    return answer as Answer
  }

  /** Commands that nobody can change any more; one that cannot be copied is refused. */
  async #onOwn(
    commands: readonly Command[],
    decide: (own: readonly Command[]) => Promise<readonly Answer[]>,
  ): Promise<readonly Answer[]> {
    const own: Command[] = []
    const answers: (Answer | null)[] = commands.map((command) => {
      const copy = this.#own.copy(command)
      if (copy === null) return notPlain()
      own.push(copy)
      return null
    })
    const decided = await decide(own)
    let next = 0
    return answers.map((answer) => {
      if (answer !== null) return answer
      const command = own[next] as Command
      const given = decided[next++] as Answer
      if (command?.type === 'ForgetJob' && given.verdict === 'rejected') {
        this.#forgetting.postpone(command.job, command.endedBefore)
      }
      return given
    })
  }

  async claim(request: ClaimRequest): Promise<readonly Claimed[]> {
    this.#assertOpen()
    assertClaim(request)
    const { worker, request: number } = request
    const channels = channelsOfAny(request.channels)
    const known = this.#answered.get(worker)
    this.#answered.delete(worker)
    const mayRepeat = known === undefined || number <= known
    const claimed = await this.#claim({ ...request, channels }, mayRepeat)
    const { leases, applied: done, retryInMs: againInMs, enqueuedForOthers: isForOthers } = claimed
    this.#answered.set(worker, Math.max(number, known ?? 0))
    this.#noteDone(done)
    this.#sweeping.taken(leases.length)
    if (againInMs !== null) this.#news.soon(againInMs)
    if (isForOthers) this.#news.found('work')
    return leases
  }

  async #claim(request: ClaimRequest, asked: boolean): Promise<ClaimResult> {
    const quick = asked ? { mayRepeat: true } : await this.#quick.claim(request)
    if (!('mayRepeat' in quick)) return quick
    let { mayRepeat } = quick
    return this.#pool.run((connection) => {
      const running = claim(connection, request, mayRepeat, this.#parts)
      // Done again after a lost connection, it may have been granted the first time.
      mayRepeat = true
      return running
    })
  }

  async query<const Q extends Query>(query: Q): Promise<AnswerTo<Q>> {
    this.#assertOpen()
    if (!Object.hasOwn(this.#answers, query.kind)) {
      throw new BadRequest(`There is no query '${query.kind}'.`)
    }
    // Everybody who waits for a job asks for it, and many do at once.
    if (query.kind === 'outcome') return this.#outcomes.ask(query.job)
    const answer = this.#answers[query.kind] as (
      asked: Q,
      connection: Connection,
    ) => Promise<AnswerTo<Q>>
    return this.#pool.run((connection) => answer(query, withSafeNames(connection)))
  }

  watch(from: number): AsyncIterable<Positioned> {
    this.#assertOpen()
    this.#news.begin()
    return this.#watching.watch(from)
  }

  close(): Promise<void> {
    this.#isClosed = true
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    this.#watching.close(null)
    await this.#writing.close()
    await this.#pool.close()
    await this.#news.close()
  }

  readonly #answers: {
    readonly [K in QueryKind]: (
      query: QueryOf<K>,
      connection: Connection,
    ) => Promise<Answers[K]['answer']>
  } = {
    job: async ({ job }, connection) => {
      const record = await this.#queries.record(connection, job)
      return record === null ? null : recordView(record, await this.#now(connection))
    },
    overview: async ({ job }, connection) => {
      const record = await this.#queries.record(connection, job)
      return record === null ? null : recordOverview(record, await this.#now(connection))
    },
    outcome: async ({ job }, connection) => {
      const [outcome] = await this.#queries.outcomes(connection, [job], this.#parts.now())
      return outcome ?? null
    },
    ended: ({ jobs }, connection) => this.#queries.ended(connection, jobs, this.#parts.now()),
    input: async ({ job }, connection) => {
      const record = await this.#queries.record(connection, job)
      return record?.job.spec.input ?? null
    },
    task: async ({ job, stage, segment }, connection) => {
      const record = await this.#queries.record(connection, job)
      return record === null ? null : recordTask(record, stage, segment)
    },
    outputs: (query, connection) => this.#queries.outputs(connection, query),
    jobs: async (query, connection) => {
      return this.#queries.jobs(connection, query, await this.#now(connection))
    },
    quarantine: async (query, connection) => {
      return this.#queries.quarantine(connection, query, await this.#now(connection))
    },
    history: (query, connection) => this.#queries.history(connection, query),
    queue: ({ queue }, connection) => this.#uses.queue(connection, queue, this.#parts.now()),
    limit: ({ key }, connection) => this.#uses.limit(connection, key, this.#parts.now()),
    'worker-leases': ({ worker }, connection) => this.#uses.worker(connection, worker),
    schedule: async ({ schedule }, connection) => {
      const [answered] = await connection.run([{ sql: this.#sql.schedule, values: [schedule] }])
      const record = answered?.rows[0]?.[0] as Uint8Array | undefined
      return record === undefined ? null : this.#parts.records.schedule(record, schedule)
    },
    schedules: async ({ after, limit }, connection) => {
      // No id has U+0000 in it, which comes before all others.
      const [from = ''] = (after ?? '').split('\0')
      const ask = { sql: this.#sql.schedules, values: [from, limit] }
      const [answered] = await connection.run([ask])
      return (answered?.rows ?? []).map(([id, record]) => {
        return this.#parts.records.schedule(record as Uint8Array, id as string)
      })
    },
    examination: async (query, connection) => {
      return this.#examination.look(connection, query, await this.#now(connection))
    },
    metrics: (_query, connection) => this.#metrics(connection),
    upkeep: ({ limit }, connection) => this.#dueUpkeep(connection, limit),
  }

  async #dueUpkeep(connection: Connection, limit: number): Promise<Command[]> {
    const commands = await this.#upkeep.due(connection, this.#parts.now(), limit)
    const now = await this.#now(connection)
    await this.#unused.sweepIfItIsTime(connection, now)
    const left = limit - commands.length
    return [...commands, ...(await this.#forgetting.due(connection, now, left))]
  }

  async #metrics(connection: Connection): Promise<Metrics> {
    const [answered] = await connection.run([{ sql: this.#sql.counts, values: [] }])
    const [leases, quarantined] = answered?.rows[0] ?? [0, 0]
    const now = await this.#now(connection)
    return this.#meters.metrics(now, leases as number, quarantined as number)
  }

  async #now(connection: Connection): Promise<number> {
    const ask = { sql: this.#sql.clock, values: [this.#parts.now()] }
    const [answered] = await connection.run([ask])
    return answered?.rows[0]?.[0] as number
  }

  #readOn(position: number): Promise<readonly Positioned[]> {
    // Closed: what a watch has not seen by then it sees when it is resumed.
    return this.#pool.runUntilClosed<readonly Positioned[]>(
      (connection) => this.#feed.read(connection, position),
      [],
    )
  }

  /** AFTER it is durable. */
  #noteDone(done: readonly AppliedEntry[]): void {
    if (done.length === 0) return
    for (const { entry, job, task, taskBefore: was } of done) {
      if (entry.type === 'JobSubmitted') this.#meters.submitted(entry)
      else if ('segment' in entry && job !== null && task !== null && was !== null) {
        const isDead = task.state === 'DEAD'
        this.#meters.changedTask(entry, job, was, isDead, task.policy.queue)
      } else this.#meters.changed(entry)
    }
    this.#watching.wake()
    this.#news.wrote(done)
  }

  /** Maybe. */
  #othersWrote(): void {
    this.#parts.queues.clear()
    this.#watching.wake()
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
