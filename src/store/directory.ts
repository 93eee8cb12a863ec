/**
 * The store in a directory: a ledger in memory, and a log on the disk that it can be made
 * from again.
 *
 * A command is decided and applied at once, and its entry appended; the answer waits until
 * the log is durable up to that point. So does every other word: a rejection or a read may
 * rest on an entry that is not yet durable. While the disk works, the event loop is free and
 * the next group forms.
 *
 * - open: all methods work.
 * - ended: the disk failed. What was pending is `UnknownOutcome`, all else is `StoreEnded`.
 * - closed.
 */
import type { Command, Job, Lease } from '../kernel/index.ts'
import { reject } from '../kernel/index.ts'
import type { LogReader, LogWriter } from '../log/index.ts'
import { StoreEnded } from '../log/index.ts'
import { assertClaim } from './claim-form.ts'
import { claimed } from './claimed.ts'
import type { Clock } from './clock.ts'
import { JobList } from './job-list.ts'
import type { ClaimRequest } from './ledger.ts'
import { Ledger } from './ledger.ts'
import { OwnCommands } from './own-command.ts'
import { bytesFor, GRANT_BYTES, isNewWork } from './room.ts'
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
import { Watching } from './watching.ts'

export class DirectoryStore implements Store {
  readonly #folder: string
  readonly #clock: Clock
  readonly #writer: LogWriter
  readonly #reader: LogReader
  readonly #ledger: Ledger
  readonly #list: JobList
  readonly #own = new OwnCommands()
  readonly #watching: Watching
  readonly #release: () => Promise<void>
  #closing: Promise<void> | null = null

  constructor(parts: DirectoryParts) {
    this.#folder = parts.folder
    this.#clock = parts.clock
    this.#writer = parts.writer
    this.#reader = parts.reader
    this.#ledger = parts.ledger
    this.#list = parts.list
    this.#release = parts.release
    this.#watching = new Watching(async (position) => {
      const { entries } = await this.#reader.after(position, this.#writer.durablePosition)
      return entries
    })
    this.#writer.onDurable = () => this.#durable()
  }

  async execute(commands: readonly Command[]): Promise<readonly Answer[]> {
    this.#assertOpen()
    let bytes = 0
    let newWork = false
    for (const command of commands) {
      bytes += bytesFor(command)
      newWork ||= isNewWork(command)
    }
    await this.#room(bytes, newWork)
    const now = this.#clock.now()
    const answers: Answer[] = []
    for (const command of commands) answers.push(this.#perform(command, now))
    await this.#writer.durable()
    return answers
  }

  async claim(request: ClaimRequest): Promise<readonly Claimed[]> {
    this.#assertOpen()
    assertClaim(request)
    await this.#room(request.max * GRANT_BYTES, false)
    const tasks = this.#deciding(() => this.#ledger.claim(request, this.#clock.now()))
    const { jobs } = this.#ledger.world
    const leases = tasks.map((task) =>
      claimed(jobs.get(task.job) as Job, task, task.lease as Lease, this.#ledger.now),
    )
    await this.#writer.durable()
    return leases
  }

  async query<const Q extends Query>(query: Q): Promise<AnswerTo<Q>> {
    this.#assertOpen()
    this.#ledger.tick(this.#clock.now())
    const answer = this.#answers[query.kind] as ((asked: Q) => Promise<AnswerTo<Q>>) | undefined
    if (answer === undefined) throw new BadRequest(`There is no query '${query.kind}'.`)
    return answer(query)
  }

  watch(from: number): AsyncIterable<Positioned> {
    this.#assertOpen()
    return this.#watching.watch(from)
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  readonly #answers: {
    readonly [K in QueryKind]: (query: QueryOf<K>) => Promise<Answers[K]['answer']>
  } = {
    job: ({ job }) => this.#shown(jobView(this.#ledger, job)),
    jobs: (query) => this.#shown(jobsPage(this.#ledger, this.#list.after(query.after ?? 0), query)),
    history: (query) => this.#history(query),
    queue: ({ queue }) => this.#shown(queueView(this.#ledger, queue)),
    schedule: ({ schedule }) => {
      const known = this.#ledger.world.schedules.get(schedule)
      return this.#shown(known === undefined ? null : { ...known })
    },
    upkeep: ({ limit }) => this.#shown(this.#ledger.upkeep(this.#clock.now(), limit)),
  }

  /** What was read may rest on what is not yet durable: shown AFTER that is. */
  async #shown<T>(answer: T): Promise<T> {
    await this.#writer.durable()
    return answer
  }

  #perform(command: Command, now: number): Answer {
    const own = this.#own.copy(command)
    if (own === null) {
      const rejection = reject('MalformedCommand', 'A command must be plain data.')
      rejection.check = 'well-formed'
      return { verdict: 'rejected', value: null, rejection }
    }
    const { verdict, value, rejection } = this.#deciding(() => this.#ledger.perform(own, now))
    return { verdict, value, rejection }
  }

  /** Whatever goes wrong between deciding and appending, memory and log have parted: no more. */
  #deciding<T>(decide: () => T): T {
    try {
      return decide()
    } catch (error) {
      throw this.#writer.end(error)
    }
  }

  async #room(bytes: number, newWork: boolean): Promise<void> {
    for (;;) {
      const wait = this.#writer.room(bytes, newWork)
      if (wait === null) return
      await wait
      this.#assertOpen()
    }
  }

  async #history({ job: id, after = 0, limit }: QueryOf<'history'>): Promise<Positioned[]> {
    let position = this.#ledger.world.jobs.get(id)?.lastPosition ?? 0
    await this.#writer.durable()
    const newestFirst: Positioned[] = []
    while (position > after) {
      const found = await this.#reader.at(position)
      if (found === null) break
      newestFirst.push({ position, entry: found.entry })
      position = found.before
    }
    return newestFirst.toReversed().slice(0, Math.max(0, limit))
  }

  #durable(): void {
    const { failure } = this.#writer
    if (failure === null) this.#watching.wake()
    else this.#watching.close(new StoreEnded(this.#folder, failure))
  }

  async #close(): Promise<void> {
    try {
      await this.#writer.close()
    } finally {
      this.#watching.close(null)
      await this.#reader.close()
      await this.#release()
    }
  }

  #assertOpen(): void {
    if (this.#closing !== null) throw new StoreClosed()
    const { failure } = this.#writer
    if (failure !== null) throw new StoreEnded(this.#folder, failure)
  }
}

/** What a directory is opened into. */
export interface DirectoryParts {
  readonly folder: string
  readonly clock: Clock
  readonly writer: LogWriter
  readonly reader: LogReader
  readonly ledger: Ledger
  readonly list: JobList
  readonly release: () => Promise<void>
}
