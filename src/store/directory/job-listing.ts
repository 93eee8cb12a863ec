/**
 * Pages of jobs of a directory, in order of submission or against it: of those in memory, and of those in tables of
 * finished jobs. A page looks at so many jobs only; the next one goes on behind where it stopped. The event loop
 * turns in between, and what changes meanwhile is behind where it goes on.
 */
import type { Job, JobState } from '../../kernel/index.ts'
import { errorOf, fingerprintOf, isFinal, jobState, NO_TALLIES } from '../../kernel/index.ts'
import { eventLoopTurn } from '../../log/index.ts'
import type { JobsPage } from '../read-model.ts'
import { COUNTED_STATES } from '../state/job-counts.ts'
import { isUnloaded, tagsOf, typeOf } from '../state/job-with-stored-spec.ts'
import type { QueryOf } from '../store.ts'
import { mostMatches } from '../views/count-views.ts'
import type { Listed } from '../views/job-pages.ts'
import { listing, PageOfJobs } from '../views/job-pages.ts'
import { jobsHeldBy, runningJobs } from '../views/live-jobs-of.ts'
import type { DirectoryState } from './directory-state.ts'
import type { FoundFinished } from './table-cursor.ts'

/** What looking at jobs costs, in units of about 25 ns: rows and live jobs that are passed over, and jobs that are listed. */
const PASSED_ROWS = 32_768
const PASSED_JOB = 5
const LIVE_JOB = 100
const READ_JOB = 400
/** Live jobs that are passed over at once. */
const PASSED_LIVE = 2_048
/** A page stops there: about 25 ms. */
const MOST_COST = 1_000_000
/** Between two turns of the event loop: about 5 ms. */
const TURN_COST = 200_000
const OPEN: readonly JobState[] = COUNTED_STATES.filter((state) => !isFinal(state))

/** Over, or not. */
interface Found {
  /** Of the job, or of the last one that was passed over. */
  readonly first: number
  readonly cost: number
  /** Null: jobs that the filter leaves out by what is in memory were passed over. */
  readonly read: (() => Listed) | null
}

export class JobListing {
  readonly #state: DirectoryState
  readonly #fingerprints = new WeakMap<object, string>()
  #fingerprintsMade = 0

  constructor(state: DirectoryState) {
    this.#state = state
  }

  /** `assertOpen`: throws once the store is closed. */
  async page(query: QueryOf<'jobs'>, assertOpen: () => void): Promise<JobsPage> {
    const page = new PageOfJobs(query)
    let at = query.after ?? (query.newest === true ? Infinity : 0)
    for (let cost = 0; ;) {
      const step = this.#addToPage(page, query, at)
      if (step.next === null) return page.page
      at = step.next
      cost += step.cost
      if (cost >= MOST_COST) {
        page.cut(at)
        return page.page
      }
      await eventLoopTurn()
      assertOpen()
    }
  }

  /** Adds some jobs behind a position. Where to go on; null: the page is complete. */
  #addToPage(
    page: PageOfJobs,
    query: QueryOf<'jobs'>,
    after: number,
  ): { next: number | null; cost: number } {
    const newest = query.newest === true
    const over = this.#over(query, after)
    const others = this.#others(query, after)
    let left = over.next()
    let right = others.next()
    let last = after
    let cost = 0
    while (cost < TURN_COST) {
      if (left.done === true && right.done === true) return { next: null, cost }
      if (left.done !== true && left.value === null) {
        cost += PASSED_ROWS
        left = over.next()
        continue
      }
      const isOver =
        left.done !== true &&
        (right.done === true || (left.value as Found).first < right.value.first === !newest)
      const found = (isOver ? left.value : right.value) as Found
      cost += found.cost
      if (found.read !== null && !page.add(found.read())) return { next: null, cost }
      last = found.first
      if (isOver) left = over.next()
      else right = others.next()
    }
    return { next: last, cost }
  }

  /** Those that are over. */
  *#over(query: QueryOf<'jobs'>, after: number): IterableIterator<Found | null> {
    const { finished } = this.#state
    const { key, type, state, worker, heldEffects, newest = false } = query
    if (worker !== undefined || heldEffects === true) return
    if (state !== undefined && !isFinal(state)) return
    if (key !== undefined) {
      for (const one of finished.withKey(key, type, after, newest)) yield ofFinished(one)
      return
    }
    for (const one of finished.inOrder(after, newest, query)) {
      yield one === null ? null : ofFinished(one)
    }
  }

  /** The others. */
  *#others(query: QueryOf<'jobs'>, after: number): IterableIterator<Found> {
    const { live, ledger } = this.#state
    const newest = query.newest === true
    const some = this.#someLive(query, after)
    // The counters say when the last one that is meant was found.
    const isFirst = query.after === undefined && after === (newest ? Infinity : 0)
    let left = some === null && isFirst ? this.#openMatches(query) : Infinity
    let passed = 0
    let made = this.#fingerprintsMade
    for (const job of some ?? (newest ? live.before(after) : live.after(after))) {
      if (left === 0 || isBehind(query, job.submittedAt)) return
      if (this.#isMeantBy(job, query, ledger.now)) {
        left -= 1
        yield this.#ofLive(job)
        continue
      }
      passed += 1
      if (passed < PASSED_LIVE) continue
      const cost = PASSED_LIVE * PASSED_JOB + (this.#fingerprintsMade - made) * LIVE_JOB
      passed = 0
      made = this.#fingerprintsMade
      yield { first: job.firstPosition, cost, read: null }
    }
  }

  /** How many there are at most, of those that are not over. */
  #openMatches(query: QueryOf<'jobs'>): number {
    const { counts } = this.#state.ledger.counter
    const { tag } = query
    const rows =
      tag === undefined
        ? counts.from({ dimension: 'job', name: '' })
        : counts.from({ dimension: 'tag', name: tag })
    return mostMatches(rows, query, OPEN)
  }

  /** Those behind a position that the filter has an index for, in order; null: it has none. */
  #someLive(query: QueryOf<'jobs'>, after: number): Iterable<Job> | null {
    const { key, type, state, worker, error, heldEffects, endedFrom, endedBefore } = query
    const { ledger } = this.#state
    const newest = query.newest === true
    if (state !== undefined && isFinal(state)) return []
    if (endedFrom !== undefined || endedBefore !== undefined) return []
    if (worker !== undefined) return inOrder(jobsHeldBy(ledger, worker), after, newest)
    if (key !== undefined) {
      const open = ledger.jobsWithKey(key, type).filter((job) => !ledger.isOver(job))
      return inOrder(open, after, newest)
    }
    // Jobs in quarantine, or with held effects, are in memory, and have lists of their own.
    if (heldEffects === true)
      return newest ? ledger.dead.held.before(after) : ledger.dead.held.after(after)
    if (state === 'QUARANTINED' || error !== undefined) {
      return newest ? ledger.dead.quarantined.before(after) : ledger.dead.quarantined.after(after)
    }
    if (state === 'RUNNING') return inOrder(runningJobs(ledger), after, newest)
    return this.#openMatches(query) === 0 ? [] : null
  }

  /** By what is in memory: what was submitted may have to be read. */
  #isMeantBy(job: Job, query: QueryOf<'jobs'>, now: number): boolean {
    const { type, tag, queue, state, error, submittedFrom, submittedBefore } = query
    if (type !== undefined && typeOf(job) !== type) return false
    if (submittedFrom !== undefined && job.submittedAt < submittedFrom) return false
    if (submittedBefore !== undefined && job.submittedAt >= submittedBefore) return false
    if (error !== undefined && this.#fingerprintOf(job) !== error) return false
    const { task } = job
    if (queue !== undefined && task !== null && task.policy.queue !== queue) return false
    if (state !== undefined && task !== null && jobState(job, NO_TALLIES, now) !== state)
      return false
    return tag === undefined || tagsOf(job).includes(tag)
  }

  /** A list by error passes all jobs in quarantine, and a page asks for one of each error: each is looked at once. */
  #fingerprintOf(job: Job): string | null {
    const error = errorOf(job)
    if (error === null) return null
    const known = this.#fingerprints.get(error)
    if (known !== undefined) return known
    const made = fingerprintOf(error)
    this.#fingerprintsMade += 1
    this.#fingerprints.set(error, made)
    return made
  }

  #ofLive(job: Job): Found {
    const { ledger } = this.#state
    return {
      first: job.firstPosition,
      cost: isUnloaded(job) ? READ_JOB : LIVE_JOB,
      read: () => listing(job, ledger.tallies(job), ledger.now),
    }
  }
}

/** Of few jobs, those behind a position. */
function inOrder(jobs: readonly Job[], after: number, newest: boolean): readonly Job[] {
  const ahead = jobs.filter(({ firstPosition }) => {
    return newest ? firstPosition < after : firstPosition > after
  })
  const sign = newest ? -1 : 1
  return ahead.toSorted((a, b) => (a.firstPosition - b.firstPosition) * sign)
}

function ofFinished({ first, read }: FoundFinished): Found {
  return { first, cost: READ_JOB, read }
}

/** Nothing that comes later can have been submitted in the time of the filter: times grow with positions. */
function isBehind(
  { newest, submittedFrom, submittedBefore }: QueryOf<'jobs'>,
  at: number,
): boolean {
  if (newest === true) return submittedFrom !== undefined && at < submittedFrom
  return submittedBefore !== undefined && at >= submittedBefore
}
