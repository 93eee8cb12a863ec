/**
 * The store in a directory: a ledger in memory, and a log on the disk that it can be made
 * from again.
 *
 * A command is decided and applied at once, and its entry appended; the answer waits until
 * the log is durable up to that point. So does every other answer: a rejection or a read may
 * rest on an entry that is not yet durable. While the disk works, the event loop is free and
 * the next group forms.
 *
 * - open: all methods work.
 * - ended: the disk failed. What was pending is `UnknownOutcome`, all else is `StoreEnded`.
 * - closed.
 */
import type { Command, Job, SubmitJob } from '../../kernel/index.ts'
import { areAlike, noReads } from '../../kernel/index.ts'
import type { Disk, JobRecord, LogReader, LogWriter, Torn } from '../../log/index.ts'
import { backUp, countUpTo, StoreEnded, UnknownOutcome } from '../../log/index.ts'
import type { ClaimRequest } from '../claim-request.ts'
import { assertClaim } from '../claim-request.ts'
import type { Clock } from '../clock.ts'
import { nowUs } from '../clock.ts'
import { BadRequest, StoreClosed } from '../errors.ts'
import type { Moment } from '../moment.ts'
import type { Presence } from '../presence.ts'
import { answerCharsOf } from '../state/call-checks.ts'
import { CommandCopies, notPlainData } from '../state/command-copies.ts'
import type { Ledger } from '../state/ledger.ts'
import { Undecided } from '../state/finished-job-source.ts'
import type {
  Answer,
  AnswerTo,
  Claimed,
  PositionedEntry,
  Query,
  QueryOf,
  Retention,
  Store,
  StoreSnapshot,
  StreamPage,
} from '../store.ts'
import type { Totals } from '../metrics.ts'
import { claimedBy } from '../views/claimed.ts'
import { EntryWatches } from '../views/entry-watch.ts'
import { taskView } from '../views/job-views.ts'
import type { LedgerAnswers } from '../views/ledger-queries.ts'
import { ledgerQueries } from '../views/ledger-queries.ts'
import { PageOfStream } from '../views/stream-pages.ts'
import type { CheckpointSchedule } from './checkpoint-schedule.ts'
import { openDirectorySnapshot } from './directory-snapshot.ts'
import type { DirectoryState } from './directory-state.ts'
import { HistoryLinks } from './history-links.ts'
import { JobListing } from './job-listing.ts'
import { logPage } from './log-page.ts'
import { OwnerPresence } from './owner-presence.ts'
import { bytesFor, bytesForAlike, GRANT_BYTES, isNewWork } from './size-estimate.ts'

/** How the store came up. */
export interface OpenedDirectory {
  /** The checkpoint that was read; null: none. */
  readonly checkpoint: number | null
  /** Entries that were replayed behind it. */
  readonly entries: number
  /** What was cut off at the end of the log: nothing that was acknowledged. */
  readonly torn: Torn | null
}

/** What `openDirectory` puts together. */
export interface DirectoryParts {
  readonly id: string
  readonly disk: Disk
  readonly folder: string
  readonly clock: Clock
  readonly state: DirectoryState
  readonly writer: LogWriter
  readonly reader: LogReader
  readonly checkpoints: CheckpointSchedule
  readonly retention: Retention
  readonly opening: OpenedDirectory
  readonly snapshotJobs: number
  readonly hasPresence: boolean
  readonly release: () => Promise<void>
}

/** No claim gets more at once, so that room for it can be reserved; the next one gets the others. */
const MOST_LEASES = 4_096
/** Submits that are alike: fewer are decided one by one. */
const FEWEST_ALIKE = 8
const copyNothing = async (): Promise<void> => undefined

export class DirectoryStore implements Store {
  readonly id: string
  readonly opening: OpenedDirectory
  readonly presence?: Presence
  readonly #parts: DirectoryParts
  readonly #clock: Clock
  readonly #writer: LogWriter
  readonly #ledger: Ledger
  readonly #copies = new CommandCopies()
  readonly #watches: EntryWatches
  readonly #answers: LedgerAnswers
  readonly #links = new HistoryLinks()
  readonly #listing: JobListing
  #closing: Promise<void> | null = null

  constructor(parts: DirectoryParts) {
    this.id = parts.id
    this.opening = parts.opening
    if (parts.hasPresence) this.presence = new OwnerPresence()
    this.#parts = parts
    this.#clock = parts.clock
    this.#writer = parts.writer
    this.#ledger = parts.state.ledger
    this.#watches = new EntryWatches(async (position, _watch, place) => {
      const until = this.#writer.durablePosition
      const { entries } = await (place === null
        ? parts.reader.after(position, until)
        : parts.reader.from(place, until))
      return parts.state.erased
        .shownAll(entries)
        .map(({ position: at, entry }) => ({ position: at, entry }))
    })
    this.#listing = new JobListing(parts.state)
    this.#answers = this.#queryAnswers()
    this.#writer.onDurable = () => this.#onDurable()
    parts.checkpoints.consider()
  }

  async execute(commands: readonly Command[], isHandedOver = false): Promise<readonly Answer[]> {
    this.#assertOpen()
    // FIRST copies: what a caller gave may not say the same twice.
    const own = commands.map((command) => this.#copies.copy(command, isHandedOver))
    const alike = alikeSubmits(own)
    const bytes = alike === null ? bytesOf(own, this.#ledger) : bytesForAlike(alike)
    const newWork = alike !== null || own.some(isNew)
    for (let wait = this.#waitForRoom(bytes, newWork); wait !== null;) {
      await wait
      this.#assertOpen()
      wait = this.#waitForRoom(bytes, newWork)
    }
    const decidedUs = nowUs()
    const answers = alike === null ? this.#performAll(own) : this.#submitAlike(alike)
    await this.#writer.durable()
    this.#ledger.meters.durableUs.add(nowUs() - decidedUs)
    return answers
  }

  async claim(request: ClaimRequest): Promise<readonly Claimed[]> {
    this.#assertOpen()
    assertClaim(request)
    const max = Math.min(request.max, MOST_LEASES)
    const ahead = Math.min(request.ahead ?? 0, MOST_LEASES - max)
    const bytes = (max + ahead) * GRANT_BYTES
    for (let wait = this.#writer.ensureRoom(bytes, false); wait !== null;) {
      await wait
      this.#assertOpen()
      wait = this.#writer.ensureRoom(bytes, false)
    }
    const bounded = { ...request, max, ahead }
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
    const answer = this.#answers[query.kind] as (asked: Q) => AnswerTo<Q> | Promise<AnswerTo<Q>>
    const found = answer(query)
    const shown = found instanceof Promise ? await found : found
    // AFTER everything is durable that the answer may rest on.
    await this.#writer.durable()
    return shown
  }

  totals(): Totals | null {
    return this.#ledger.meters.totals()
  }

  watch(from: number): AsyncIterable<PositionedEntry> {
    this.#assertOpen()
    return this.#watches.watch(from)
  }

  async watchNew(): Promise<AsyncIterable<PositionedEntry>> {
    this.#assertOpen()
    return this.#watches.watch(0, this.#writer.durablePosition)
  }

  async at(moment: Moment): Promise<StoreSnapshot> {
    this.#assertOpen()
    const now = this.#ledger.tick(this.#clock.now())
    const findNow = (id: string): Job | null => this.#find(id)
    const { erased } = this.#parts.state
    return openDirectorySnapshot({ ...this.#parts, findNow, erased }, moment, now)
  }

  /** Makes a checkpoint now. They are made by themselves; this is for before a planned stop. */
  async checkpoint(): Promise<void> {
    this.#assertOpen()
    await this.#parts.checkpoints.make()
  }

  async compact(): Promise<void> {
    this.#assertOpen()
    await this.#parts.checkpoints.compact()
  }

  /**
   * A copy of the store as it is now, in an empty folder, while work goes on; it opens as a store.
   * `also` copies what else belongs to it: it opens only AFTER that.
   */
  async backup(to: string, also = copyNothing): Promise<{ files: number; position: number }> {
    this.#assertOpen()
    const { disk, folder: from, checkpoints } = this.#parts
    return checkpoints.pinned(async () => {
      const position = this.#writer.durablePosition
      const segments = this.#writer.segments.filter(({ head }) => head.base <= position)
      const { manifests } = checkpoints
      return backUp({ disk, from, to, segments, manifests, position, also })
    })
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  #queryAnswers(): LedgerAnswers {
    const { finished } = this.#parts.state
    const shared = ledgerQueries(this.#ledger, {
      find: (id) => finished.findForQuery(id),
      outcome: (id, now) => finished.outcome(id, now),
      outputs: (...page) => finished.outputs(...page),
    })
    return {
      ...shared,
      jobs: (query) => this.#listing.page(query, () => this.#assertOpen()),
      history: (query) => this.#history(query),
      entries: (query) => this.#entries(query),
      stream: (query) => this.#stream(query),
      upkeep: ({ limit, forgets = true }) => this.#upkeep(limit, forgets),
    }
  }

  #upkeep(limit: number, forgets: boolean): Command[] {
    const now = this.#clock.now()
    const commands = this.#ledger.upkeep(now, limit)
    if (!forgets) return commands
    const { state, retention } = this.#parts
    try {
      const left = limit - commands.length
      commands.push(...state.finished.forgetCommands(retention, this.#ledger.now, left))
    } catch (error) {
      // Leases must still run out when a file of finished jobs cannot be read.
      if (commands.length === 0) throw error
    }
    return commands
  }

  /** Resolves when there may be room for what is to be decided; null: there is. */
  #waitForRoom(bytes: number, newWork: boolean): Promise<void> | null {
    const wait = newWork ? this.#parts.checkpoints.waitForRoom() : null
    return wait ?? this.#writer.ensureRoom(bytes, newWork)
  }

  #submitAlike(commands: readonly SubmitJob[]): Answer[] {
    let isDone = false
    try {
      isDone = this.#parts.state.submitAlike(commands, this.#clock.now())
    } catch (error) {
      throw this.#endStore(error)
    }
    return isDone ? commands.map(committedSubmit) : this.#performAll(commands)
  }

  #performAll(own: readonly (Command | null)[]): Answer[] {
    const now = this.#clock.now()
    const answers: Answer[] = []
    // BEFORE the first is decided, what the others need is read: if that fails, nothing was done.
    for (let i = 1; i < own.length; i++) {
      const command = own[i]
      if (command != null) this.#ledger.preload(command, now)
    }
    try {
      for (const command of own) answers.push(this.#perform(command, now))
    } catch (error) {
      if (!(error instanceof Undecided)) throw this.#endStore(error)
      if (answers.length === 0) throw error.cause
      throw new UnknownOutcome(this.#parts.folder, error.cause, partlyDone(answers.length))
    }
    return answers
  }

  #perform(own: Command | null, now: number): Answer {
    const { verdict, value, rejection } =
      own === null ? notPlainData() : this.#ledger.perform(own, now)
    if (rejection !== null) this.#ledger.meters.refused(rejection)
    if (own?.type === 'ForgetJob' && verdict === 'rejected') {
      this.#parts.state.finished.postpone(own.job, this.#ledger.now)
    }
    return { verdict, value, rejection }
  }

  #grant(request: ClaimRequest): Claimed[] {
    try {
      const tasks = this.#ledger.claim(request, this.#clock.now())
      return tasks.map((task) => claimedBy(this.#ledger, task))
    } catch (error) {
      throw this.#endStore(error)
    }
  }

  /** Something went wrong between deciding and appending: memory and log differ, so the store ends. */
  #endStore(error: unknown): Error {
    const cause = error instanceof Undecided ? error.cause : error
    this.#writer.end(cause)
    return new UnknownOutcome(this.#parts.folder, cause)
  }

  async #history({
    job: id,
    after = 0,
    limit,
    newest = false,
  }: QueryOf<'history'>): Promise<PositionedEntry[]> {
    const job = this.#find(id)
    if (job === null) return []
    const { reader, state } = this.#parts
    await this.#writer.durable()
    const all = newest
      ? await newestPositions(reader, job.lastPosition, after, limit)
      : await this.#links.positionsOf(job, reader.links())
    const from = countUpTo(after, all.length, (n) => all[n] as number)
    const entries: PositionedEntry[] = []
    for (let i = from; i < all.length && entries.length < limit; i++) {
      const position = all[i] as number
      // Null: it is older than what is kept by now.
      const found = await reader.at(position)
      if (found !== null)
        entries.push({ position, entry: state.erased.shown(found.entry, position) })
    }
    return entries
  }

  async #entries(query: QueryOf<'entries'>): Promise<PositionedEntry[]> {
    const { reader, state, checkpoints } = this.#parts
    await this.#writer.durable()
    // No file goes away meanwhile.
    const found = await checkpoints.pinned(() => {
      const bases = this.#writer.segments.map(({ head }) => head.base)
      return logPage(reader, bases, this.#writer.durablePosition, query)
    })
    return state.erased.shownAll(found).map(({ position, entry }) => ({ position, entry }))
  }

  async #stream(query: QueryOf<'stream'>): Promise<StreamPage | null> {
    const record = this.#recordOf(query.job)
    const task = record === null ? null : taskView(record, query.stage, query.segment)
    if (record === null || task === null) return null
    let position = record.job.lastPosition
    const page = new PageOfStream(query, task)
    await this.#writer.durable()
    while (!page.isEmpty && position > 0) {
      const found = await this.#parts.reader.at(position)
      if (found === null) break
      if (!page.add(this.#parts.state.erased.shown(found.entry, position))) break
      position = found.before
    }
    return page.page
  }

  #recordOf(id: string): JobRecord | null {
    const job = this.#ledger.inMemory(id)
    if (job === undefined) return this.#parts.state.finished.findForQuery(id)
    return { job, stages: this.#ledger.world.tasks.get(id) ?? null }
  }

  #find(id: string): Job | null {
    return this.#recordOf(id)?.job ?? null
  }

  #onDurable(): void {
    const { failure } = this.#writer
    if (failure === null) {
      this.#watches.wake()
      this.#parts.checkpoints.consider()
      const { state, writer } = this.#parts
      void state.specs.unloadLarge(writer.durablePosition, writer.segments)
    } else {
      this.#watches.close(new StoreEnded(this.#parts.folder, failure))
    }
  }

  /** Whatever goes wrong, nothing stays open. */
  async #close(): Promise<void> {
    const { checkpoints, reader, state, release } = this.#parts
    let failure: unknown = null
    const parts = [checkpoints, this.#writer, reader, state, { close: release }]
    for (const part of parts) {
      try {
        await part.close()
      } catch (error) {
        failure ??= error
      }
      // AFTER the writer is closed, all that a watch may still read is on the disk.
      if (part === this.#writer) this.#watches.close(null)
    }
    if (failure !== null) throw failure
  }

  #assertOpen(): void {
    if (this.#closing !== null) throw new StoreClosed()
    const { failure } = this.#writer
    if (failure !== null) throw new StoreEnded(this.#parts.folder, failure)
  }
}

/** Of the newest entries of a job, in the order of the log: those before them are not passed. */
async function newestPositions(
  reader: LogReader,
  lastPosition: number,
  after: number,
  limit: number,
): Promise<number[]> {
  const newestFirst: number[] = []
  const linkOf = reader.links()
  for (let position = lastPosition; position > after && newestFirst.length < limit;) {
    const before = await linkOf(position)
    if (before === null) break
    newestFirst.push(position)
    position = before
  }
  return newestFirst.toReversed()
}

// Loops over commands stand in functions of their own: in one that waits they would be slow.

function bytesOf(own: readonly (Command | null)[], ledger: Ledger): number {
  let bytes = 0
  for (const command of own) {
    if (command !== null) bytes += bytesFor(command) + 3 * answerChars(command, ledger)
  }
  return bytes
}

/** Characters that its entry has and the command does not carry. */
function answerChars(command: Command, ledger: Ledger): number {
  if (command?.type !== 'AnswerCall' && command?.type !== 'EndWait') return 0
  return answerCharsOf(command, noReads(), ledger.world, ledger, ledger.now)
}

/** Null: they are not alike, or so few that it costs more to find out. */
function alikeSubmits(own: readonly (Command | null)[]): readonly SubmitJob[] | null {
  if (own.length < FEWEST_ALIKE) return null
  const commands = own as readonly Command[]
  return areAlike(commands) ? commands : null
}

function committedSubmit({ job }: SubmitJob): Answer {
  return { verdict: 'committed', value: job, rejection: null }
}

function isNew(command: Command | null): boolean {
  return command !== null && isNewWork(command)
}

/** That a command needs what cannot be read showed only AFTER others of the same call were done. */
function partlyDone(done: number): string {
  return `The first ${done} commands of this call were done, and no other, because what the next one needs cannot be read: see the cause. Each is safe to repeat.`
}
