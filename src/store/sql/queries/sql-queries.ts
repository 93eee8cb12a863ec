/**
 * Answers every kind of query from the database. What the caller names is looked up as it is; a name
 * that cannot be written is the name of nothing.
 */
import { createQueue, inputOf } from '../../../kernel/index.ts'
import { isWritable } from '../../../kernel/wellformed.ts'
import type {
  Answers,
  AnswerTo,
  Holder,
  InUse,
  LimitView,
  Outcome,
  Query,
  QueryKind,
  QueryOf,
  QueueView,
  WorkerView,
} from '../../store.ts'
import { recordTallies } from '../../../log/index.ts'
import { BadRequest } from '../../errors.ts'
import { jobOverview, jobView } from '../../views/job-views.ts'
import { sessionLease } from '../../views/session-lease.ts'
import type { Connection, Row, Statement, StatementResult, Value } from '../connection.ts'
import type { ConnectionPool } from '../connection-pool.ts'
import type { Lists } from '../list-statements.ts'
import type { TaskWithLease } from '../rows/work-rows.ts'
import { leasedTasks } from '../rows/work-rows.ts'
import { CountQueries, MOST_WITHOUT_TURN } from './count-queries.ts'
import { JobLists } from './job-lists.ts'
import { limitsPage } from './limit-list.ts'
import { questionsPage } from './question-list.ts'
import type { JobQueries, QueryContext } from './job-queries.ts'
import { LargePipelines } from './large-pipelines.ts'

/** More than a person looks at. */
const MOST_HOLDERS = 20

type QueryAnswers = {
  readonly [K in QueryKind]: (
    query: QueryOf<K>,
    connection: Connection,
  ) => Promise<Answers[K]['answer']>
}

export class SqlQueries {
  readonly #pool: ConnectionPool
  readonly #context: QueryContext
  readonly #jobs: JobQueries
  readonly #counts: CountQueries
  readonly #lists: JobLists
  readonly #large: LargePipelines
  readonly #answers: QueryAnswers
  readonly #outcomes = new QueryBatcher<string, Outcome | null>((jobs) =>
    this.#pool.run((connection) => this.#jobs.outcomes(withSafeNames(connection), jobs)),
  )

  /** `others`: the kinds that are answered from more than the tables. */
  constructor(
    pool: ConnectionPool,
    context: QueryContext,
    lists: Lists,
    jobs: JobQueries,
    others: Pick<QueryAnswers, 'examination' | 'metrics' | 'upkeep'>,
  ) {
    this.#pool = pool
    this.#context = context
    this.#jobs = jobs
    this.#counts = new CountQueries(context)
    this.#lists = new JobLists(context, lists, jobs, this.#counts)
    this.#large = new LargePipelines(context.sql, (connection, id) => jobs.record(connection, id))
    this.#answers = { ...this.#own, ...others }
  }

  async answer<const Q extends Query>(query: Q): Promise<AnswerTo<Q>> {
    if (!Object.hasOwn(this.#answers, query.kind)) {
      throw new BadRequest(`There is no query '${query.kind}'.`)
    }
    // Every caller that waits for a job asks for its outcome, and many ask at once.
    if (query.kind === 'outcome') return this.#outcomes.ask(query.job)
    const answer = this.#answers[query.kind] as (
      asked: Q,
      connection: Connection,
    ) => Promise<AnswerTo<Q>>
    return this.#pool.run((connection) => answer(query, withSafeNames(connection)))
  }

  readonly #own: Omit<QueryAnswers, 'examination' | 'metrics' | 'upkeep'> = {
    job: async ({ job }, connection) => {
      const record = await this.#large.record(connection, job)
      return record === null
        ? null
        : jobView(record, recordTallies(record), await this.#jobs.now(connection))
    },
    overview: async ({ job }, connection) => {
      const record = await this.#large.record(connection, job)
      return record === null
        ? null
        : jobOverview(record, recordTallies(record), await this.#jobs.now(connection))
    },
    outcome: async ({ job }, connection) => {
      const [outcome] = await this.#jobs.outcomes(connection, [job])
      return outcome ?? null
    },
    ended: ({ jobs }, connection) => this.#jobs.ended(connection, jobs),
    input: async ({ job }, connection) => {
      const [own] = await this.#jobs.ownRecords(connection, [job])
      return own === undefined ? null : inputOf(own)
    },
    task: (query, connection) => this.#jobs.task(connection, query),
    outputs: (query, connection) => this.#jobs.outputs(connection, query),
    segments: (query, connection) => this.#jobs.segments(connection, query),
    jobs: (query, connection) => this.#lists.page(connection, query),
    counts: (query, connection) => this.#counts.counts(connection, query),
    queues: (_query, connection) => this.#counts.queues(connection),
    quarantine: (query, connection) => this.#jobs.quarantine(connection, query),
    questions: (query, connection) =>
      questionsPage(this.#context.sql, this.#jobs, connection, query),
    history: (query, connection) => this.#jobs.history(connection, query),
    entries: (query, connection) => this.#jobs.entries(connection, query),
    stream: (query, connection) => this.#jobs.stream(connection, query),
    queue: ({ queue }, connection) => this.#queue(connection, queue),
    limit: ({ key }, connection) => this.#limit(connection, key),
    limits: (query, connection) => limitsPage(this.#context, this.#jobs, connection, query),
    'session-leases': async (_query, connection) => {
      const { sql, records } = this.#context
      const [found] = await connection.run([{ sql: sql.leased, values: [] }])
      return leasedTasks(found?.rows ?? [], records).flatMap((task) => sessionLease(task) ?? [])
    },
    'worker-leases': ({ worker }, connection) => this.#worker(connection, worker),
    schedule: async ({ schedule }, connection) => {
      const { sql, records } = this.#context
      const [found] = await connection.run([{ sql: sql.schedule, values: [schedule] }])
      const record = found?.rows[0]?.[0] as Uint8Array | undefined
      return record === undefined ? null : records.schedule(record, schedule)
    },
    schedules: async ({ after, limit, ids }, connection) => {
      const { sql, records } = this.#context
      // No id has U+0000 in it, which comes before all others.
      const [from = ''] = (after ?? '').split('\0')
      const statement =
        ids === undefined
          ? { sql: sql.schedules, values: [from, limit] }
          : { sql: sql.schedulesNamed, rows: namedAfter(ids, from) }
      const [found] = await connection.run([statement])
      const schedules = (found?.rows ?? []).map(([id, record]) => {
        return records.schedule(record as Uint8Array, id as string)
      })
      if (ids === undefined) return schedules
      return schedules.toSorted((a, b) => (a.id < b.id ? -1 : 1)).slice(0, limit)
    },
  }

  async #queue(connection: Connection, name: string): Promise<QueueView> {
    const { sql, records, now } = this.#context
    const [clock, found] = await connection.run([
      { sql: sql.clock, values: [now()] },
      { sql: sql.queueView, values: [now(), name, MOST_WITHOUT_TURN] },
    ])
    const [record, fullAt, held, ready, withoutTurn] = (found as StatementResult).rows[0] as Row
    const queue = record === null ? createQueue(name) : records.queue(record as Uint8Array, name)
    const use = await this.#inUse(
      connection,
      held as number,
      fullLater((fullAt as number | null) ?? 0, clock),
      ({ policy }) => policy.queue === name,
    )
    return { queue, ready: (ready as number) + (withoutTurn as number), ...use }
  }

  async #limit(connection: Connection, key: string): Promise<LimitView> {
    const { sql, now } = this.#context
    const [clock, found] = await connection.run([
      { sql: sql.clock, values: [now()] },
      { sql: sql.limitView, values: [key] },
    ])
    const [held, fullAt] = found?.rows[0] ?? [0, 0]
    const later = fullLater(fullAt as number, clock)
    const use = await this.#inUse(connection, held as number, later, ({ policy }) => {
      return policy.limits.some((limit) => limit.key === key)
    })
    return { key, ...use }
  }

  async #worker(connection: Connection, worker: string): Promise<WorkerView> {
    const holders = await this.#holders(connection, ({ lease }) => lease.worker === worker)
    return { worker, held: holders.length, holders: holders.slice(0, MOST_HOLDERS) }
  }

  async #inUse(
    connection: Connection,
    held: number,
    fullAt: number,
    isMeant: (task: TaskWithLease) => boolean,
  ): Promise<InUse> {
    const holders = await this.#holders(connection, isMeant)
    return { held, fullAt, holders: holders.slice(0, MOST_HOLDERS) }
  }

  async #holders(
    connection: Connection,
    isMeant: (task: TaskWithLease) => boolean,
  ): Promise<Holder[]> {
    const { sql, records } = this.#context
    const [found] = await connection.run([{ sql: sql.leased, values: [] }])
    const leased = leasedTasks(found?.rows ?? [], records)
    return leased.filter(isMeant).map(({ job, stage, segment, lease }) => {
      return { job, stage, segment, worker: lease.worker, since: lease.grantedAt }
    })
  }
}

/** 0: the bucket is full by now. */
function fullLater(fullAt: number, clock: StatementResult | undefined): number {
  return fullAt > (clock?.rows[0]?.[0] as number) ? fullAt : 0
}

/** Every name has a character. */
const NO_NAME = ''

function namedAfter(ids: readonly string[], after: string): Row[] {
  return [...new Set(ids)].flatMap((id) => (id > after ? [[id]] : []))
}

/**
 * A connection for queries about what the caller named. A text that cannot be written (it has U+0000
 * in it, or half of a character) names nothing, but some databases refuse it and others take it for
 * another text, so the empty text is sent in its place.
 */
function withSafeNames(connection: Connection): Connection {
  return {
    run: (statements) => connection.run(statements.map(withSafeValues)),
    close: () => connection.close(),
  }
}

function withSafeValues(statement: Statement): Statement {
  return 'rows' in statement
    ? { ...statement, rows: statement.rows.map(safeRow) }
    : { ...statement, values: safeRow(statement.values) }
}

function safeRow(row: Row): Row {
  return row.every(isSafe) ? row : row.map((value) => (isSafe(value) ? value : NO_NAME))
}

function isSafe(value: Value): boolean {
  return typeof value !== 'string' || isWritable(value)
}

interface WaitingQuery<Q, A> {
  readonly question: Q
  readonly resolve: (answer: A) => void
  readonly reject: (error: unknown) => void
}

/** Asks questions that arrive together as one. While one batch is under way, the next one forms. */
class QueryBatcher<Q, A> {
  readonly #ask: (questions: readonly Q[]) => Promise<readonly A[]>
  #waiting: WaitingQuery<Q, A>[] = []
  #isAsking = false

  /** `ask`: gives an answer for each question, in order. */
  constructor(ask: (questions: readonly Q[]) => Promise<readonly A[]>) {
    this.#ask = ask
  }

  ask(question: Q): Promise<A> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ question, resolve, reject })
      if (!this.#isAsking) void this.#askAll()
    })
  }

  async #askAll(): Promise<void> {
    this.#isAsking = true
    // Questions that are asked without a pause between them are one batch.
    await Promise.resolve()
    while (this.#waiting.length > 0) {
      const asked = this.#waiting
      this.#waiting = []
      try {
        const answers = await this.#ask(asked.map(({ question }) => question))
        asked.forEach(({ resolve }, i) => resolve(answers[i] as A))
      } catch (error) {
        for (const { reject } of asked) reject(error)
      }
    }
    this.#isAsking = false
  }
}
