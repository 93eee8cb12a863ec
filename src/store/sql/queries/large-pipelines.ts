/**
 * Pipelines with very many segments, as they were read last. A view of such a job asks several questions at once, again
 * and again, and to read all of its rows takes the database and this process ten times longer than to see that none of them
 * changed.
 *
 * Nothing is taken for true: what was kept is an answer only if the rows, in one statement, have the same mark. Each
 * version only grows, and a row goes only with all others of its job, so the mark changes with every entry.
 * What nothing was asked about for some seconds is let go.
 */
import type { Task } from '../../../kernel/index.ts'
import type { JobRecord } from '../../../log/index.ts'
import { afterMs } from '../../clock.ts'
import type { Connection } from '../connection.ts'
import type { Statements } from '../statements.ts'

/** What is read of a smaller one costs little. */
const LARGE = 1_000
/** Of all that are kept: some are 1 kB in memory. */
const MOST_SEGMENTS = 100_000
/** Longer than a page that is open lets pass between two looks. */
const KEPT_MS = 6_000

/** Reads a job with all of its tasks; null: there is none. */
type ReadJob = (connection: Connection, id: string) => Promise<JobRecord | null>

interface KeptPipeline {
  readonly record: JobRecord
  readonly mark: string
  readonly segments: number
  /** Ends the wait for the time at which it is let go. */
  readonly stopTimer: () => void
}

/** `next`: for those that asked since `now` began; null: none did. */
interface AskedJob {
  readonly now: Promise<JobRecord | null>
  next: Promise<JobRecord | null> | null
}

export class LargePipelines {
  readonly #sql: Pick<Statements, 'jobMark'>
  readonly #read: ReadJob
  /** The one that was asked about last is the last. */
  readonly #kept = new Map<string, KeptPipeline>()
  readonly #asked = new Map<string, AskedJob>()

  constructor(sql: Pick<Statements, 'jobMark'>, read: ReadJob) {
    this.#sql = sql
    this.#read = read
  }

  /**
   * Any job with all of its tasks; null: there is none. The record is shared: the caller changes nothing in it. While one
   * look at a job is under way, all that ask about it share the next one: theirs must not be older than their question.
   */
  record(connection: Connection, id: string): Promise<JobRecord | null> {
    const asked = this.#asked.get(id)
    if (asked === undefined) return this.#look(connection, id)
    asked.next ??= asked.now.then(
      () => this.#look(connection, id),
      () => this.#look(connection, id),
    )
    return asked.next
  }

  #look(connection: Connection, id: string): Promise<JobRecord | null> {
    const asked: AskedJob = { now: this.#lookOnce(connection, id), next: null }
    this.#asked.set(id, asked)
    const end = (): void => {
      if (this.#asked.get(id) === asked && asked.next === null) this.#asked.delete(id)
    }
    asked.now.then(end, end)
    return asked.now
  }

  async #lookOnce(connection: Connection, id: string): Promise<JobRecord | null> {
    const kept = this.#kept.get(id)
    if (kept !== undefined && kept.mark === (await this.#markNow(connection, id))) {
      this.#keep(kept.record, kept.segments, kept.mark)
      return kept.record
    }
    const record = await this.#read(connection, id)
    if (record === null) this.#drop(id)
    else this.#keepIfLarge(record)
    return record
  }

  async #markNow(connection: Connection, id: string): Promise<string> {
    const [found] = await connection.run([{ sql: this.#sql.jobMark, values: [id] }])
    return markText(found?.rows[0] ?? [])
  }

  #keepIfLarge(record: JobRecord): void {
    const tasks = (record.stages ?? []).flatMap((stage) => stage ?? [])
    if (tasks.length < LARGE) this.#drop(record.job.id)
    else this.#keep(record, tasks.length, markOf(record, tasks))
  }

  #keep(record: JobRecord, segments: number, mark: string): void {
    const { id } = record.job
    this.#drop(id)
    const stopTimer = afterMs(KEPT_MS, () => this.#drop(id))
    this.#kept.set(id, { record, mark, segments, stopTimer })
    let room = MOST_SEGMENTS
    for (const [other, { segments: its }] of [...this.#kept].toReversed()) {
      room -= its
      if (room < 0) this.#drop(other)
    }
  }

  #drop(id: string): void {
    this.#kept.get(id)?.stopTimer()
    this.#kept.delete(id)
  }
}

/** As the statement `jobMark` makes it from the rows. */
function markOf({ job }: JobRecord, tasks: readonly Task[]): string {
  const versions = tasks.reduce((sum, { version }) => sum + version, job.version)
  return markText([job.firstPosition, tasks.length + 1, versions])
}

function markText(columns: readonly unknown[]): string {
  return columns.join('/')
}
