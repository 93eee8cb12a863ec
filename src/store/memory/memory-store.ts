/**
 * The store in memory: the reference that the others are compared with.
 *
 * A ledger and an array of entries, nothing else. What it is given it copies, and what it gives is copied,
 * as if there were a wire between. It keeps every entry for ever, so it is for tests, for
 * trying things out, and for work that may be lost with its process.
 */
import type { Command, Entry, Job } from '../../kernel/index.ts'
import { findTask, redactEntry } from '../../kernel/index.ts'
import { countUpTo, eventLoopTurn } from '../../log/index.ts'
import type { ClaimRequest } from '../claim-request.ts'
import { assertClaim } from '../claim-request.ts'
import type { Clock } from '../clock.ts'
import { BadRequest, StoreClosed } from '../errors.ts'
import type { Moment } from '../moment.ts'
import { CommandCopies, notPlainData } from '../state/command-copies.ts'
import { Ledger } from '../state/ledger.ts'
import type { JobsPage } from '../read-model.ts'
import type {
  Answer,
  AnswerTo,
  Claimed,
  PositionedEntry,
  Query,
  QueryOf,
  Store,
  StoreSnapshot,
} from '../store.ts'
import type { Totals } from '../metrics.ts'
import { claimedBy } from '../views/claimed.ts'
import { EntryWatches } from '../views/entry-watch.ts'
import { listing, PageOfJobs } from '../views/job-pages.ts'
import type { LedgerAnswers } from '../views/ledger-queries.ts'
import { ledgerQueries } from '../views/ledger-queries.ts'
import { jobsHeldBy } from '../views/live-jobs-of.ts'
import { PageOfStream } from '../views/stream-pages.ts'
import { foldJob, pastSummary } from '../views/past-job.ts'

/** Calls between two turns of the event loop, at most. */
const CALLS_PER_TURN = 64

export class MemoryStore implements Store {
  /** The log: the entry at position 1 comes first. */
  readonly #entries: Entry[] = []
  /** Where the entries of each job are. */
  readonly #positions = new Map<string, number[]>()
  /** Jobs that were submitted with a key, in order. */
  readonly #byKey = new Map<string, Job[]>()
  readonly #watches = new EntryWatches(async (position) => this.#entriesAt([position + 1]))
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
    this.#watches.wake()
    await this.#turn()
    return answers
  }

  async claim(request: ClaimRequest): Promise<readonly Claimed[]> {
    this.#assertOpen()
    assertClaim(request)
    const tasks = this.#ledger.claim(request, this.#clock.now())
    // Here too: a lease must be durable BEFORE a worker has it.
    this.#watches.wake()
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

  totals(): Totals | null {
    return this.#ledger.meters.totals()
  }

  watch(from: number): AsyncIterable<PositionedEntry> {
    this.#assertOpen()
    return this.#watches.watch(from)
  }

  async watchNew(): Promise<AsyncIterable<PositionedEntry>> {
    return this.watch(this.#entries.length)
  }

  async at(moment: Moment): Promise<StoreSnapshot> {
    this.#assertOpen()
    const now = this.#ledger.tick(this.#clock.now())
    const end = this.#endOf(moment)
    const time = 'time' in moment ? Math.min(moment.time, now) : (this.#entries[end - 1]?.at ?? 0)
    const entriesOf = (): Map<string, PositionedEntry[]> => this.#livesUpTo(end)
    return {
      time,
      position: async () => end,
      job: async (id) => {
        const entries = entriesOf().get(id) ?? []
        const record = foldJob(null, entries)
        return record === null ? null : { record, entries }
      },
      jobs: async function* jobs(filter) {
        for (const entries of entriesOf().values()) {
          const record = foldJob(null, entries)
          const summary = record === null ? null : pastSummary(record, time, filter)
          if (summary !== null) yield summary
        }
      },
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#watches.close(null)
  }

  readonly #answers: LedgerAnswers = {
    ...ledgerQueries(this.#ledger),
    jobs: (query) => this.#jobs(query),
    history: ({ job, after = 0, limit, newest = false }) => {
      const positions = (this.#positions.get(job) ?? []).filter((one) => one > after)
      const from = newest ? Math.max(0, positions.length - limit) : 0
      return this.#entriesAt(positions.slice(from, from + Math.max(0, limit)))
    },
    entries: ({ after, through, limit, newest = false }) => {
      const last = Math.min(through, this.#entries.length)
      const first = newest ? Math.max(after, last - limit) : after
      const end = Math.min(last, first + limit)
      const entries = this.#entries.slice(first, Math.max(first, end))
      return entries.map((entry, i) => ({ position: first + i + 1, entry }))
    },
    stream: (query) => {
      const task = findTask(this.#ledger.world, query.job, query.stage, query.segment)
      if (task === undefined) return null
      const page = new PageOfStream(query, task)
      if (page.isEmpty) return page.page
      for (const position of (this.#positions.get(query.job) ?? []).toReversed()) {
        if (!page.add(this.#entries[position - 1] as Entry)) break
      }
      return page.page
    },
    upkeep: ({ limit }) => this.#ledger.upkeep(this.#clock.now(), limit),
  }

  #jobs(query: QueryOf<'jobs'>): JobsPage {
    const page = new PageOfJobs(query)
    const newest = query.newest === true
    const after = query.after ?? (newest ? Infinity : 0)
    const { now } = this.#ledger
    for (const job of this.#jobsToList(query, newest, after)) {
      if (!page.add(listing(job, this.#ledger.tallies(job), now))) break
    }
    return page.page
  }

  /** They have lists of their own, where it says so: no other job is looked at. */
  #jobsToList(
    { key, state, worker, heldEffects }: QueryOf<'jobs'>,
    newest: boolean,
    after: number,
  ): Iterable<Job> {
    const isAhead = ({ firstPosition }: Job): boolean => {
      return newest ? firstPosition < after : firstPosition > after
    }
    const { dead } = this.#ledger
    let some: readonly Job[] | null = null
    if (worker !== undefined) some = jobsHeldBy(this.#ledger, worker)
    else if (key !== undefined) some = this.#byKey.get(key) ?? []
    else if (heldEffects === true) return newest ? dead.held.before(after) : dead.held.after(after)
    else if (state === 'QUARANTINED') {
      return newest ? dead.quarantined.before(after) : dead.quarantined.after(after)
    }
    if (some === null) return newest ? this.#jobsBefore(after) : this.#jobsAfter(after)
    return some
      .filter(isAhead)
      .toSorted((a, b) => (a.firstPosition - b.firstPosition) * (newest ? -1 : 1))
  }

  #append(entry: Entry, job: Job | null): void {
    const position = this.#entries.push(entry)
    if (job === null) return
    const { key } = job.spec
    if (entry.type === 'JobForgotten') {
      this.#positions.delete(job.id)
      if (key !== null) this.#removeFromKey(job, key)
      return
    }
    if (entry.type === 'JobSubmitted') {
      job.firstPosition = position
      this.#positions.set(job.id, [position])
      if (key !== null) this.#addToKey(job, key)
    } else this.#positions.get(job.id)?.push(position)
    if (entry.type === 'JobErased') this.#redact(job.id)
    job.lastPosition = position
  }

  #redact(job: string): void {
    for (const position of this.#positions.get(job) ?? []) {
      this.#entries[position - 1] = redactEntry(this.#entries[position - 1] as Entry)
    }
  }

  #addToKey(job: Job, key: string): void {
    const known = this.#byKey.get(key)
    if (known === undefined) this.#byKey.set(key, [job])
    else known.push(job)
  }

  #removeFromKey(job: Job, key: string): void {
    const left = (this.#byKey.get(key) ?? []).filter((one) => one !== job)
    if (left.length > 0) this.#byKey.set(key, left)
    else this.#byKey.delete(key)
  }

  #entriesAt(positions: readonly number[]): PositionedEntry[] {
    return positions.flatMap((position) => {
      const entry = this.#entries[position - 1]
      return entry === undefined ? [] : [{ position, entry }]
    })
  }

  /** How many entries happened up to a moment. Times only grow. */
  #endOf(moment: Moment): number {
    if ('position' in moment) return Math.min(moment.position, this.#entries.length)
    return countUpTo(moment.time, this.#entries.length, (n) => (this.#entries[n] as Entry).at)
  }

  /** The entries of each job that was there at the end of so many, in order of submission. */
  #livesUpTo(end: number): Map<string, PositionedEntry[]> {
    const lives = new Map<string, PositionedEntry[]>()
    for (let position = 1; position <= end; position++) {
      const entry = this.#entries[position - 1] as Entry
      if (!('job' in entry)) continue
      if (entry.type === 'JobForgotten') lives.delete(entry.job)
      else if (entry.type === 'JobSubmitted') lives.set(entry.job, [{ position, entry }])
      else lives.get(entry.job)?.push({ position, entry })
    }
    return lives
  }

  /** An id may have been forgotten and used again: only its newest job is there. */
  *#jobsAfter(position: number): IterableIterator<Job> {
    for (let at = position + 1; at <= this.#entries.length; at++) {
      const entry = this.#entries[at - 1]
      if (entry?.type !== 'JobSubmitted') continue
      const job = this.#ledger.world.jobs.get(entry.job)
      if (job?.firstPosition === at) yield job
    }
  }

  *#jobsBefore(position: number): IterableIterator<Job> {
    for (let at = Math.min(position - 1, this.#entries.length); at > 0; at--) {
      const entry = this.#entries[at - 1]
      if (entry?.type !== 'JobSubmitted') continue
      const job = this.#ledger.world.jobs.get(entry.job)
      if (job?.firstPosition === at) yield job
    }
  }

  #perform(command: Command): Answer {
    const own = this.#copies.copy(command)
    const { verdict, value, rejection } =
      own === null ? notPlainData() : this.#ledger.perform(own, this.#clock.now())
    if (rejection !== null) this.#ledger.meters.refused(rejection)
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
