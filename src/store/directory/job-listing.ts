/**
 * Pages of jobs of a directory, in order of submission or against it: of those in memory, and of those in tables of
 * finished jobs. A page looks at so many jobs only; the next one goes on behind where it stopped. The event loop
 * turns in between, and what changes meanwhile is behind where it goes on.
 */
import type { Job } from '../../kernel/index.ts'
import { isFinal } from '../../kernel/index.ts'
import { eventLoopTurn } from '../../log/index.ts'
import type { JobsPage } from '../read-model.ts'
import { isUnloaded, tagsOf, typeOf } from '../state/job-with-stored-spec.ts'
import type { QueryOf } from '../store.ts'
import type { Listed } from '../views/job-pages.ts'
import { listing, PageOfJobs } from '../views/job-pages.ts'
import { jobsHeldBy, runningJobs } from '../views/live-jobs-of.ts'
import type { DirectoryState } from './directory-state.ts'
import type { FoundFinished } from './table-cursor.ts'

/** What looking at jobs costs, in units of about 25 ns. */
const PASSED_ROWS = 32_768
const LIVE_JOB = 4
const READ_JOB = 400
/** A page stops there: about 25 ms. */
const MOST_COST = 1_000_000
/** Between two turns of the event loop: about 5 ms. */
const TURN_COST = 200_000

/** Over, or not. */
interface Found {
  readonly first: number
  readonly cost: number
  /** Null: the filter leaves it out by what is in memory. */
  readonly read: () => Listed | null
}

export class JobListing {
  readonly #state: DirectoryState

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
      const listed = found.read()
      cost += found.cost
      if (listed !== null && !page.add(listed)) return { next: null, cost }
      last = found.first
      if (isOver) left = over.next()
      else right = others.next()
    }
    return { next: last, cost }
  }

  /** Those that are over. */
  *#over(query: QueryOf<'jobs'>, after: number): IterableIterator<Found | null> {
    const { finished } = this.#state
    const { key, type, state, worker, newest = false } = query
    if (worker !== undefined || (state !== undefined && !isFinal(state))) return
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
    const newest = query.newest === true
    const isAhead = ({ firstPosition }: Job): boolean => {
      return newest ? firstPosition < after : firstPosition > after
    }
    const some = this.#someLive(query)
    if (some === null) {
      const { live } = this.#state
      for (const job of newest ? live.before(after) : live.after(after)) {
        yield this.#ofLive(job, query)
      }
      return
    }
    const inOrder = some
      .filter(isAhead)
      .toSorted((a, b) => (a.firstPosition - b.firstPosition) * (newest ? -1 : 1))
    for (const job of inOrder) yield this.#ofLive(job, query)
  }

  /** Those that the filter has an index for; null: it has none. */
  #someLive({ key, type, state, worker, error }: QueryOf<'jobs'>): readonly Job[] | null {
    const { ledger } = this.#state
    if (state !== undefined && isFinal(state)) return []
    if (worker !== undefined) return jobsHeldBy(ledger, worker)
    if (key !== undefined) return ledger.jobsWithKey(key, type).filter((job) => !ledger.isOver(job))
    // Jobs in quarantine are in memory, and have a list of their own.
    if (state === 'QUARANTINED' || error !== undefined) return [...ledger.quarantined.after(0)]
    return state === 'RUNNING' ? runningJobs(ledger) : null
  }

  #ofLive(job: Job, query: QueryOf<'jobs'>): Found {
    const { ledger } = this.#state
    const isMeant = isMeantBy(job, query)
    return {
      first: job.firstPosition,
      cost: isMeant && isUnloaded(job) ? READ_JOB : LIVE_JOB,
      read: () => (isMeant ? listing(job, ledger.tallies(job), ledger.now) : null),
    }
  }
}

function ofFinished({ first, read }: FoundFinished): Found {
  return { first, cost: READ_JOB, read }
}

/** By what is in memory: what was submitted may have to be read. */
function isMeantBy(job: Job, { type, tag, queue }: QueryOf<'jobs'>): boolean {
  if (type !== undefined && typeOf(job) !== type) return false
  if (queue !== undefined && job.task !== null && job.task.policy.queue !== queue) return false
  return tag === undefined || tagsOf(job).includes(tag)
}
