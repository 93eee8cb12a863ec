/**
 * The store in memory: the reference that the others are compared with.
 *
 * A ledger and a log, nothing else. What it is given it copies, and what it gives is copied,
 * as if there were a wire between. It keeps every entry for ever, so it is for tests, for
 * trying things out, and for work that may be lost with its process.
 */
import type { Command, Job, Lease } from '../kernel/index.ts'
import { malformed, reject } from '../kernel/index.ts'
import { claimed } from './claimed.ts'
import type { Clock } from './clock.ts'
import type { ClaimRequest } from './ledger.ts'
import { Ledger } from './ledger.ts'
import { MemoryLog } from './memory-log.ts'
import type {
  Answer,
  AnswerTo,
  Answers,
  Claimed,
  Positioned,
  Query,
  QueryKind,
  QueryOf,
  Store,
} from './store.ts'
import { BadRequest, StoreClosed } from './store.ts'
import { jobsPage, jobView, queueView } from './views.ts'

export class MemoryStore implements Store {
  readonly #ledger = new Ledger()
  readonly #log = new MemoryLog()
  readonly #clock: Clock
  #isClosed = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  async execute(commands: readonly Command[]): Promise<readonly Answer[]> {
    this.#assertOpen()
    const answers = commands.map((command) => this.#perform(command))
    // Here a store on a disk waits for the sync, BEFORE anybody hears of the batch.
    this.#log.wake()
    return answers
  }

  async claim(request: ClaimRequest): Promise<readonly Claimed[]> {
    this.#assertOpen()
    assertClaim(request)
    const { tasks, entries } = this.#ledger.claim(request, this.#clock.now())
    for (const entry of entries) this.#log.append(entry)
    // Here too: a lease that is not durable is nobody's.
    this.#log.wake()
    const { jobs } = this.#ledger.world
    return tasks.map((task) =>
      claimed(jobs.get(task.job) as Job, task, task.lease as Lease, this.#ledger.now),
    )
  }

  async query<const Q extends Query>(query: Q): Promise<AnswerTo<Q>> {
    this.#assertOpen()
    this.#ledger.tick(this.#clock.now())
    const answer = this.#answers[query.kind] as ((asked: Q) => AnswerTo<Q>) | undefined
    if (answer === undefined) throw new BadRequest(`There is no query '${query.kind}'.`)
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
    readonly [K in QueryKind]: (query: QueryOf<K>) => Answers[K]['answer']
  } = {
    job: ({ job }) => jobView(this.#ledger, job),
    jobs: (query) => jobsPage(this.#ledger, this.#log, query),
    history: ({ job, after = 0, limit }) => this.#log.ofJob(job, after, limit),
    queue: ({ queue }) => queueView(this.#ledger, queue),
    schedule: ({ schedule }) => {
      const known = this.#ledger.world.schedules.get(schedule)
      return known === undefined ? null : { ...known }
    },
    upkeep: ({ limit }) => this.#ledger.upkeep(this.#clock.now(), limit),
  }

  #perform(command: Command): Answer {
    const own = copyOf(command)
    if (own === null) {
      const rejection = reject('MalformedCommand', 'A command must be plain data.')
      rejection.check = 'well-formed'
      return { verdict: 'rejected', value: null, rejection }
    }
    const { verdict, value, rejection, entry } = this.#ledger.perform(own, this.#clock.now())
    if (entry !== null) this.#log.append(entry)
    return { verdict, value, rejection }
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

/** A claim is a series of grants, so it must have what a grant must have. */
function assertClaim({ worker, request, started, channels, max }: ClaimRequest): void {
  const grant = { type: 'GrantLease', job: '-', stage: 0, segment: 0, worker, request, started }
  const wrong = malformed(grant)
  if (wrong !== null) throw new BadRequest(`A claim is a grant. ${wrong.message}`)
  if (!Array.isArray(channels)) throw new BadRequest('A claim names a list of channels.')
  if (!Number.isSafeInteger(max) || max < 0) {
    throw new BadRequest(`A claim is for a whole number of leases, not ${String(max)}.`)
  }
}
