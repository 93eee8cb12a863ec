/**
 * The store in memory: the reference that the others are compared with.
 *
 * A ledger and a log, nothing else. What it is given it copies, and what it gives is copied,
 * as if there were a wire between. It keeps every entry for ever, so it is for tests, for
 * trying things out, and for work that may be lost with its process.
 */
import type { Command, Entry, Job } from '../../kernel/index.ts'
import { reject } from '../../kernel/index.ts'
import { eventLoopTurn } from '../../log/index.ts'
import { assertClaim } from '../claim-request.ts'
import { claimedBy } from '../views/claimed.ts'
import type { Clock } from '../clock.ts'
import { Examination } from '../views/examination.ts'
import { limitView, workerView } from '../views/lease-holders.ts'
import type { ClaimRequest } from '../claim-request.ts'
import { Ledger } from '../state/ledger.ts'
import { MemoryLog } from './memory-log.ts'
import { quarantinePage } from '../views/quarantine-page.ts'
import type {
  Answer,
  AnswerTo,
  Answers,
  Claimed,
  JobsPage,
  Positioned,
  Query,
  QueryKind,
  QueryOf,
  Store,
} from '../store.ts'
import { BadRequest, StoreClosed } from '../errors.ts'
import {
  jobView,
  listed,
  endedOf,
  outcome,
  outputsOf,
  overview,
  PageOfJobs,
  queueView,
  schedulesOf,
  taskView,
} from '../views/job-views.ts'

/** Calls between two turns of the event loop, at most. */
const CALLS_PER_TURN = 64

export class MemoryStore implements Store {
  readonly #log = new MemoryLog()
  readonly #ledger = new Ledger((entry, job) => this.#append(entry, job))
  readonly #examination = new Examination(this.#ledger)
  readonly #clock: Clock
  #isClosed = false
  #calls = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  async execute(commands: readonly Command[]): Promise<readonly Answer[]> {
    this.#assertOpen()
    const answers = commands.map((command) => this.#perform(command))
    // Here a store on a disk waits for the sync, BEFORE anybody hears of the batch.
    this.#log.wake()
    await this.#breathe()
    return answers
  }

  async claim(request: ClaimRequest): Promise<readonly Claimed[]> {
    this.#assertOpen()
    assertClaim(request)
    const tasks = this.#ledger.claim(request, this.#clock.now())
    // Here too: a lease that is not durable is nobody's.
    this.#log.wake()
    return tasks.map((task) => claimedBy(this.#ledger, task))
  }

  async query<const Q extends Query>(query: Q): Promise<AnswerTo<Q>> {
    this.#assertOpen()
    this.#ledger.tick(this.#clock.now())
    if (!Object.hasOwn(this.#answers, query.kind)) {
      throw new BadRequest(`There is no query '${query.kind}'.`)
    }
    const answer = this.#answers[query.kind] as (asked: Q) => AnswerTo<Q>
    return answer(query)
  }

  watch(from: number): AsyncIterable<Positioned> {
    this.#assertOpen()
    return this.#log.watch(from)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#log.close()
  }

  readonly #answers: {
    readonly [K in QueryKind]: (
      query: QueryOf<K>,
    ) => Answers[K]['answer'] | Promise<Answers[K]['answer']>
  } = {
    job: ({ job }) => jobView(this.#ledger, job),
    overview: ({ job }) => overview(this.#ledger, job),
    outcome: ({ job }) => outcome(this.#ledger, job),
    ended: ({ jobs }) => endedOf(jobs, (job) => outcome(this.#ledger, job)),
    input: ({ job }) => this.#ledger.world.jobs.get(job)?.spec.input ?? null,
    task: ({ job, stage, segment }) => taskView(this.#ledger, job, stage, segment),
    outputs: (query) => outputsOf(this.#ledger, query),
    jobs: (query) => this.#jobs(query),
    quarantine: (query) => quarantinePage(this.#ledger, query, eventLoopTurn),
    history: ({ job, after = 0, limit }) => this.#log.ofJob(job, after, limit),
    queue: ({ queue }) => queueView(this.#ledger, queue),
    limit: ({ key }) => limitView(this.#ledger, key),
    'worker-leases': ({ worker }) => workerView(this.#ledger, worker),
    schedule: ({ schedule }) => {
      const known = this.#ledger.world.schedules.get(schedule)
      return known === undefined ? null : { ...known }
    },
    schedules: (query) => schedulesOf(this.#ledger, query),
    examination: (query) => this.#examination.look(query),
    metrics: () => this.#ledger.metrics(),
    upkeep: ({ limit }) => this.#ledger.upkeep(this.#clock.now(), limit),
  }

  #jobs(query: QueryOf<'jobs'>): JobsPage {
    const page = new PageOfJobs(query)
    const after = query.after ?? 0
    const { quarantined } = this.#ledger
    // Nobody has to look at a million others for them.
    const jobs = query.state === 'QUARANTINED' ? quarantined.after(after) : this.#jobsAfter(after)
    for (const job of jobs) {
      if (!page.add(listed(this.#ledger, job))) break
    }
    return page.page
  }

  #append(entry: Entry, job: Job | null): void {
    const position = this.#log.append(entry)
    if (job === null) return
    if (entry.type === 'JobSubmitted') job.firstPosition = position
    job.lastPosition = position
  }

  /** An id may have been forgotten and used again: only its newest life is there. */
  *#jobsAfter(position: number): IterableIterator<Job> {
    for (const { entry } of this.#log.submitsAfter(position)) {
      const job = this.#ledger.world.jobs.get(entry.job)
      if (job !== undefined && job.spec === entry.spec) yield job
    }
  }

  #perform(command: Command): Answer {
    const own = copyOf(command)
    if (own === null) {
      const rejection = reject('MalformedCommand', 'A command must be plain data.')
      rejection.check = 'well-formed'
      return { verdict: 'rejected', value: null, rejection }
    }
    const { verdict, value, rejection } = this.#ledger.perform(own, this.#clock.now())
    return { verdict, value, rejection }
  }

  /** A disk makes everybody wait; without one, callers that never do would let no timer run. */
  #breathe(): Promise<void> | null {
    this.#calls += 1
    return this.#calls % CALLS_PER_TURN === 0 ? eventLoopTurn() : null
  }

  #assertOpen(): void {
    if (this.#isClosed) throw new StoreClosed()
  }
}

/** The caller may go on changing what it gave; null for what no wire could carry. */
function copyOf(command: Command): Command | null {
  try {
    return structuredClone(command)
  } catch {
    return null
  }
}
