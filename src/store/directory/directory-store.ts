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
import type { Command, Job, Payload, Task } from '../../kernel/index.ts'
import { reject } from '../../kernel/index.ts'
import type { Disk, LogReader, LogWriter, Torn } from '../../log/index.ts'
import { backUp, StoreEnded, eventLoopTurn, UnknownOutcome } from '../../log/index.ts'
import type { CheckpointSchedule } from './checkpoint-schedule.ts'
import { assertClaim } from '../claim-request.ts'
import { claimedBy } from '../views/claimed.ts'
import type { Clock } from '../clock.ts'
import { nowUs } from '../clock.ts'
import { partly, Undecided } from '../state/deciding.ts'
import type { FinishedJobs } from './finished-jobs.ts'
import { Examination } from '../views/examination.ts'
import { limitView, workerView } from '../views/lease-holders.ts'
import type { JobList } from '../state/job-list.ts'
import type { LiveJobSpecs } from './live-job-specs.ts'
import type { Ledger } from '../state/ledger.ts'
import type { ClaimRequest } from '../claim-request.ts'
import { OldestOf } from '../views/oldest-of.ts'
import { CommandCopies } from '../state/command-copies.ts'
import { quarantinePage } from '../views/quarantine-page.ts'
import type {
  Retention,
  Answer,
  AnswerTo,
  Answers,
  Claimed,
  JobOverview,
  JobsPage,
  JobView,
  Outcome,
  OutputsPage,
  Positioned,
  Query,
  QueryKind,
  QueryOf,
  Store,
} from '../store.ts'
import { bytesFor, GRANT_BYTES, isNewWork } from './size-estimate.ts'
import { BadRequest, StoreClosed } from '../errors.ts'
import { outputsPage, tasksIn } from '../views/stage-views.ts'
import type { Listed } from '../views/job-views.ts'
import {
  jobView,
  listed,
  endedOf,
  outcome,
  outputsOf,
  overview,
  PageOfJobs,
  queueView,
  recordOutcome,
  recordOverview,
  recordTask,
  recordView,
  schedulesOf,
  taskView,
} from '../views/job-views.ts'
import { EntryWatches } from '../views/entry-watch.ts'

/** How the store came up. */
export interface OpenedDirectory {
  /** The checkpoint that was read; null: none. */
  readonly checkpoint: number | null
  /** Entries that were replayed behind it. */
  readonly entries: number
  /** What was cut off at the end of the log: nothing that was acknowledged. */
  readonly torn: Torn | null
}

/** What a directory is opened into. */
export interface DirectoryParts {
  readonly id: string
  readonly disk: Disk
  readonly folder: string
  readonly clock: Clock
  readonly writer: LogWriter
  readonly reader: LogReader
  readonly ledger: Ledger
  readonly list: JobList
  readonly ended: FinishedJobs
  readonly live: LiveJobSpecs
  readonly checkpointing: CheckpointSchedule
  readonly retention: Retention
  readonly opening: OpenedDirectory
  readonly release: () => Promise<void>
}

/** No claim gets more at once, so that room for it can be reserved; the next one gets the others. */
const MOST_LEASES = 4_096
const NOTHING: readonly Listed[] = []
const nothing = async (): Promise<void> => undefined
/** Between two looks at the event loop while a page is put together. */
const PAGE_STEP = 200

export class DirectoryStore implements Store {
  readonly id: string
  readonly opening: OpenedDirectory
  readonly #parts: DirectoryParts
  readonly #clock: Clock
  readonly #writer: LogWriter
  readonly #ledger: Ledger
  readonly #examination: Examination
  readonly #own = new CommandCopies()
  readonly #watching: EntryWatches
  #closing: Promise<void> | null = null

  constructor(parts: DirectoryParts) {
    this.id = parts.id
    this.opening = parts.opening
    this.#parts = parts
    this.#clock = parts.clock
    this.#writer = parts.writer
    this.#ledger = parts.ledger
    this.#examination = new Examination(parts.ledger)
    this.#watching = new EntryWatches(async (position) => {
      const { entries } = await parts.reader.after(position, this.#writer.durablePosition)
      return entries.map(({ position: at, entry }) => ({ position: at, entry }))
    })
    this.#writer.onDurable = () => this.#durable()
    parts.checkpointing.consider()
  }

  async execute(commands: readonly Command[]): Promise<readonly Answer[]> {
    this.#assertOpen()
    // FIRST copies: what a caller gave may not say the same twice.
    const own = commands.map((command) => this.#own.copy(command))
    const bytes = bytesOf(own)
    const newWork = own.some(isNew)
    for (let wait = this.#room(bytes, newWork); wait !== null;) {
      await wait
      this.#assertOpen()
      wait = this.#room(bytes, newWork)
    }
    const decidedUs = nowUs()
    const answers = this.#performAll(own)
    await this.#writer.durable()
    this.#ledger.meters.durableUs.add(nowUs() - decidedUs)
    return answers
  }

  async claim(request: ClaimRequest): Promise<readonly Claimed[]> {
    this.#assertOpen()
    assertClaim(request)
    const max = Math.min(request.max, MOST_LEASES)
    const bytes = max * GRANT_BYTES
    for (let wait = this.#writer.room(bytes, false); wait !== null;) {
      await wait
      this.#assertOpen()
      wait = this.#writer.room(bytes, false)
    }
    const bounded = { ...request, max }
    const leases = this.#grant(bounded)
    await this.#writer.durable()
    return leases
  }

  async query<const Q extends Query>(query: Q): Promise<AnswerTo<Q>> {
    this.#assertOpen()
    this.#ledger.tick(this.#clock.now())
    if (!Object.hasOwn(this.#answers, query.kind)) {
      throw new BadRequest(`There is no query '${query.kind}'.`)
    }
    const answer = this.#answers[query.kind] as (asked: Q) => Promise<AnswerTo<Q>>
    return answer(query)
  }

  watch(from: number): AsyncIterable<Positioned> {
    this.#assertOpen()
    return this.#watching.watch(from)
  }

  /** Makes a checkpoint now. They are made by themselves; this is for before a planned stop. */
  async checkpoint(): Promise<void> {
    this.#assertOpen()
    await this.#parts.checkpointing.make()
  }

  /**
   * A copy of the store as it is now, in an empty folder, while work goes on; it opens as a store.
   * `also` copies what else belongs to it: it opens only AFTER that.
   */
  async backup(to: string, also = nothing): Promise<{ files: number; position: number }> {
    this.#assertOpen()
    const { disk, folder: from, checkpointing } = this.#parts
    return checkpointing.pinned(async () => {
      const position = this.#writer.durablePosition
      const segments = this.#writer.segments.filter(({ head }) => head.base <= position)
      const { manifests } = checkpointing
      return backUp({ disk, from, to, segments, manifests, position, also })
    })
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  readonly #answers: {
    readonly [K in QueryKind]: (query: QueryOf<K>) => Promise<Answers[K]['answer']>
  } = {
    job: ({ job }) => this.#shown(this.#job(job)),
    overview: ({ job }) => this.#shown(this.#overview(job)),
    outcome: ({ job }) => this.#shown(this.#outcome(job)),
    ended: ({ jobs }) => this.#shown(endedOf(jobs, (job) => this.#outcome(job))),
    input: ({ job }) => this.#shown(this.#input(job)),
    task: (query) => this.#shown(this.#task(query)),
    outputs: (query) => this.#shown(this.#outputs(query)),
    jobs: (query) => this.#jobs(query),
    quarantine: async (query) =>
      this.#shown(await quarantinePage(this.#ledger, query, eventLoopTurn)),
    history: (query) => this.#history(query),
    queue: ({ queue }) => this.#shown(queueView(this.#ledger, queue)),
    limit: ({ key }) => this.#shown(limitView(this.#ledger, key)),
    'worker-leases': ({ worker }) => this.#shown(workerView(this.#ledger, worker)),
    schedule: ({ schedule }) => {
      const known = this.#ledger.world.schedules.get(schedule)
      return this.#shown(known === undefined ? null : { ...known })
    },
    schedules: (query) => this.#shown(schedulesOf(this.#ledger, query)),
    examination: (query) => this.#shown(this.#examination.look(query)),
    metrics: () => this.#shown(this.#ledger.metrics()),
    upkeep: ({ limit }) => this.#shown(this.#upkeep(limit)),
  }

  #job(id: string): JobView | null {
    const view = jobView(this.#ledger, id)
    if (view !== null) return view
    const record = this.#parts.ended.find(id)
    return record === null ? null : recordView(record, this.#ledger.now)
  }

  #overview(id: string): JobOverview | null {
    const here = overview(this.#ledger, id)
    if (here !== null) return here
    const record = this.#parts.ended.find(id)
    return record === null ? null : recordOverview(record, this.#ledger.now)
  }

  #outcome(id: string): Outcome | null {
    const here = outcome(this.#ledger, id)
    if (here !== null) return here
    const record = this.#parts.ended.find(id)
    return record === null ? null : recordOutcome(record, this.#ledger.now)
  }

  #input(id: string): Payload | null {
    const job = this.#ledger.inMemory(id) ?? this.#parts.ended.find(id)?.job
    return job?.spec.input ?? null
  }

  #task({ job, stage, segment }: QueryOf<'task'>): Task | null {
    if (this.#ledger.inMemory(job) !== undefined) {
      return taskView(this.#ledger, job, stage, segment)
    }
    const record = this.#parts.ended.find(job)
    return record === null ? null : recordTask(record, stage, segment)
  }

  #outputs(query: QueryOf<'outputs'>): OutputsPage | null {
    const here = outputsOf(this.#ledger, query)
    if (here !== null) return here
    const { job, stage, after, limit } = query
    const record = this.#parts.ended.findToRead(job)
    if (record === null) return null
    const page = outputsPage(tasksIn(record.job, record.stages, stage), after, limit)
    if (page.next === null) this.#parts.ended.wasRead(job)
    return page
  }

  /**
   * Jobs that are over and those that are not, in order of submission. It may have to look at
   * many, so others have their turn; what changes meanwhile is behind where it goes on.
   */
  async #jobs(query: QueryOf<'jobs'>): Promise<JobsPage> {
    const page = new PageOfJobs(query)
    // What waits for a person is in memory, and has a list of its own.
    const isQuarantine = query.state === 'QUARANTINED'
    for (let at = query.after ?? 0; ;) {
      const next = this.#look(page, isQuarantine, at)
      if (next === null) return this.#shown(page.page)
      at = next
      await eventLoopTurn()
      this.#assertOpen()
    }
  }

  /** Looks at some jobs behind a position. Where to go on; null: the page is as it will be. */
  #look(page: PageOfJobs, isQuarantine: boolean, after: number): number | null {
    const over = isQuarantine ? NOTHING.values() : this.#parts.ended.after(after)
    const others = (isQuarantine ? this.#ledger.quarantined : this.#parts.list).after(after)
    let left = over.next()
    let right = others.next()
    let last = after
    for (let looked = 0; looked < PAGE_STEP; looked++) {
      if (left.done === true && right.done === true) return null
      const isOver =
        left.done !== true &&
        (right.done === true || left.value.job.firstPosition < right.value.firstPosition)
      const next = isOver ? left.value : listed(this.#ledger, right.value as Job)
      if (!page.add(next)) return null
      last = next.job.firstPosition
      if (isOver) left = over.next()
      else right = others.next()
    }
    return last
  }

  #upkeep(limit: number): Command[] {
    const now = this.#clock.now()
    const commands = this.#ledger.upkeep(now, limit)
    const { ended, retention } = this.#parts
    try {
      const left = limit - commands.length
      commands.push(...ended.toForget(retention, this.#ledger.now, left))
    } catch (error) {
      // A shelf that cannot be read is no reason to let leases run on.
      if (commands.length === 0) throw error
    }
    return commands
  }

  /** What was read may rest on what is not yet durable: shown AFTER that is. */
  async #shown<T>(answer: T): Promise<T> {
    await this.#writer.durable()
    return answer
  }

  /** Settled when there may be room for what is to be decided; null: there is. */
  #room(bytes: number, newWork: boolean): Promise<void> | null {
    const wait = newWork ? this.#parts.checkpointing.room() : null
    return wait ?? this.#writer.room(bytes, newWork)
  }

  #performAll(own: readonly (Command | null)[]): Answer[] {
    const now = this.#clock.now()
    const answers: Answer[] = []
    // The first is decided on what is read then; BEFORE it, what the others need is looked at.
    for (let i = 1; i < own.length; i++) this.#ledger.preload(own[i] ?? null, now)
    try {
      for (const command of own) answers.push(this.#perform(command, now))
    } catch (error) {
      if (!(error instanceof Undecided)) throw this.#parted(error)
      if (answers.length === 0) throw error.cause
      throw new UnknownOutcome(this.#parts.folder, error.cause, partly(answers.length))
    }
    return answers
  }

  #perform(own: Command | null, now: number): Answer {
    if (own === null) {
      const rejection = reject('MalformedCommand', 'A command must be plain data.')
      rejection.check = 'well-formed'
      return { verdict: 'rejected', value: null, rejection }
    }
    const { verdict, value, rejection } = this.#ledger.perform(own, now)
    if (own.type === 'ForgetJob' && verdict === 'rejected') {
      this.#parts.ended.postpone(own.job, this.#ledger.now)
    }
    return { verdict, value, rejection }
  }

  #grant(request: ClaimRequest): Claimed[] {
    try {
      const tasks = this.#ledger.claim(request, this.#clock.now())
      return tasks.map((task) => claimedBy(this.#ledger, task))
    } catch (error) {
      throw this.#parted(error)
    }
  }

  /** Something went wrong between deciding and appending: memory and log have parted, so no more. */
  #parted(error: unknown): Error {
    const cause = error instanceof Undecided ? error.cause : error
    this.#writer.end(cause)
    return new UnknownOutcome(this.#parts.folder, cause)
  }

  async #history({ job: id, after = 0, limit }: QueryOf<'history'>): Promise<Positioned[]> {
    let position = this.#job(id)?.job.lastPosition ?? 0
    await this.#writer.durable()
    const oldest = new OldestOf<Positioned>(limit)
    while (position > after) {
      const found = await this.#parts.reader.at(position)
      if (found === null) break
      oldest.add({ position, entry: found.entry })
      position = found.before
    }
    return oldest.page
  }

  #durable(): void {
    const { failure } = this.#writer
    if (failure === null) {
      this.#watching.wake()
      this.#parts.checkpointing.consider()
    } else {
      this.#watching.close(new StoreEnded(this.#parts.folder, failure))
    }
  }

  /** Whatever goes wrong, nothing stays open. */
  async #close(): Promise<void> {
    const { checkpointing, reader, ended, live, release } = this.#parts
    let failure: unknown = null
    const parts = [checkpointing, this.#writer, reader, ended, live, { close: release }]
    for (const part of parts) {
      try {
        await part.close()
      } catch (error) {
        failure ??= error
      }
      // What is left to be seen is on the disk once the writer is closed.
      if (part === this.#writer) this.#watching.close(null)
    }
    if (failure !== null) throw failure
  }

  #assertOpen(): void {
    if (this.#closing !== null) throw new StoreClosed()
    const { failure } = this.#writer
    if (failure !== null) throw new StoreEnded(this.#parts.folder, failure)
  }
}

// Loops over commands stand in functions of their own: in one that waits they would be slow.

function bytesOf(own: readonly (Command | null)[]): number {
  let bytes = 0
  for (const command of own) if (command !== null) bytes += bytesFor(command)
  return bytes
}

function isNew(command: Command | null): boolean {
  return command !== null && isNewWork(command)
}
