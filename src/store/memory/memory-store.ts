/**
 * The store in memory: the reference that the others are compared with.
 *
 * A ledger and a log, nothing else. What it is given it copies, and what it gives is copied,
 * as if there were a wire between. It keeps every entry for ever, so it is for tests, for
 * trying things out, and for work that may be lost with its process.
 */
import type { Command, Entry, Job, JobSubmitted } from '../../kernel/index.ts'
import { countUpTo, eventLoopTurn } from '../../log/index.ts'
import type { ClaimRequest } from '../claim-request.ts'
import { assertClaim } from '../claim-request.ts'
import type { Clock } from '../clock.ts'
import { BadRequest, StoreClosed } from '../errors.ts'
import { CommandCopies, notPlainData } from '../state/command-copies.ts'
import { Ledger } from '../state/ledger.ts'
import type {
  Answer,
  AnswerTo,
  Claimed,
  JobsPage,
  Positioned,
  Query,
  QueryOf,
  Store,
} from '../store.ts'
import { claimedBy } from '../views/claimed.ts'
import { EntryWatches } from '../views/entry-watch.ts'
import { listing, PageOfJobs } from '../views/job-pages.ts'
import type { QueryAnswers } from '../views/ledger-queries.ts'
import { ledgerQueries } from '../views/ledger-queries.ts'

/** Calls between two turns of the event loop, at most. */
const CALLS_PER_TURN = 64

export class MemoryStore implements Store {
  readonly #log = new MemoryLog()
  readonly #ledger = new Ledger((entry, job) => this.#append(entry, job))
  readonly #copies = new CommandCopies()
  readonly #clock: Clock
  #isClosed = false
  #calls = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  async execute(commands: readonly Command[]): Promise<readonly Answer[]> {
    this.#assertOpen()
    const answers = commands.map((command) => this.#perform(command))
    // Here a store on a disk waits for the sync, BEFORE it answers or shows anything of the batch.
    this.#log.wake()
    await this.#turn()
    return answers
  }

  async claim(request: ClaimRequest): Promise<readonly Claimed[]> {
    this.#assertOpen()
    assertClaim(request)
    const tasks = this.#ledger.claim(request, this.#clock.now())
    // Here too: a lease must be durable BEFORE a worker has it.
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

  readonly #answers: QueryAnswers = {
    ...ledgerQueries(this.#ledger),
    jobs: (query) => this.#jobs(query),
    history: ({ job, after = 0, limit }) => this.#log.ofJob(job, after, limit),
    upkeep: ({ limit }) => this.#ledger.upkeep(this.#clock.now(), limit),
  }

  #jobs(query: QueryOf<'jobs'>): JobsPage {
    const page = new PageOfJobs(query)
    const after = query.after ?? 0
    const { quarantined, now } = this.#ledger
    // They have a list of their own: no other job is looked at.
    const jobs = query.state === 'QUARANTINED' ? quarantined.after(after) : this.#jobsAfter(after)
    for (const job of jobs) {
      if (!page.add(listing(job, this.#ledger.tallies(job), now))) break
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
    const own = this.#copies.copy(command)
    if (own === null) return notPlainData()
    const { verdict, value, rejection } = this.#ledger.perform(own, this.#clock.now())
    return { verdict, value, rejection }
  }

  /** A disk makes callers wait. Here none does, and callers in a loop would let no timer run. */
  #turn(): Promise<void> | null {
    this.#calls += 1
    return this.#calls % CALLS_PER_TURN === 0 ? eventLoopTurn() : null
  }

  #assertOpen(): void {
    if (this.#isClosed) throw new StoreClosed()
  }
}

/** Every entry in order, by position (from 1) and by job, and watched. */
class MemoryLog {
  readonly #entries: Entry[] = []
  readonly #byJob = new Map<string, number[]>()
  /** Positions of the submits, in order. */
  readonly #submits: number[] = []
  readonly #watching = new EntryWatches(async (position) => {
    const entry = this.at(position + 1)
    return entry === undefined ? [] : [{ position: position + 1, entry }]
  })

  get length(): number {
    return this.#entries.length
  }

  at(position: number): Entry | undefined {
    return this.#entries[position - 1]
  }

  /** Its position. */
  append(entry: Entry): number {
    this.#entries.push(entry)
    const position = this.#entries.length
    if (entry.type === 'JobSubmitted') this.#submits.push(position)
    if (entry.type === 'JobForgotten') this.#byJob.delete(entry.job)
    else if ('job' in entry) this.#addPosition(entry.job, position)
    return position
  }

  #addPosition(job: string, position: number): void {
    const known = this.#byJob.get(job)
    if (known === undefined) this.#byJob.set(job, [position])
    else known.push(position)
  }

  /** What was appended is durable: watches may see it. */
  wake(): void {
    this.#watching.wake()
  }

  close(): void {
    this.#watching.close(null)
  }

  ofJob(job: string, after: number, limit: number): Positioned[] {
    const positions = this.#byJob.get(job) ?? []
    const from = indexBehind(positions, after)
    return positions
      .slice(from, from + Math.max(0, limit))
      .map((position) => ({ position, entry: this.at(position) as Entry }))
  }

  /** The submits after a position, in order. */
  *submitsAfter(after: number): IterableIterator<{ position: number; entry: JobSubmitted }> {
    for (let i = indexBehind(this.#submits, after); i < this.#submits.length; i++) {
      const position = this.#submits[i] as number
      yield { position, entry: this.at(position) as JobSubmitted }
    }
  }

  watch(from: number): AsyncIterable<Positioned> {
    return this.#watching.watch(from)
  }
}

/** The index of the first position that is larger. */
function indexBehind(positions: readonly number[], after: number): number {
  return countUpTo(after, positions.length, (n) => positions[n] as number)
}
