/**
 * Submits that are alike, as those of one `submitMany` are: what follows from the first of them, its row, its state
 * and its news, is that of all but for the id, the input and the position.
 *
 * Their ids are taken to be new: an insert fails if one is not. Nothing is loaded, so there is no working set.
 */
import type { Command, Job, JobSubmitted, SubmitJob } from '../../../kernel/index.ts'
import { areAlike, createJob, decideAlike } from '../../../kernel/index.ts'
import { CountTable } from '../../state/job-counts.ts'
import type { Answer } from '../../store.ts'
import type { Row, Statement } from '../connection.ts'
import { NO_ROWS } from '../rows/question-rows.ts'
import type { RowState } from '../rows/work-rows.ts'
import { countedAs, freshColumns, JOB_ROW } from '../rows/work-rows.ts'
import type { TransactionContext } from './context.ts'
import type { AppliedEntry } from './working-set.ts'

/** Fewer are decided one by one: the first costs more here. */
const FEWEST = 8
/** Of a task that is due, and whose channel has no groups. */
const FIRST_TURN = 0

export class AlikeSubmits {
  readonly answers: readonly Answer[]
  /** The first one, with its job. */
  readonly first: AppliedEntry
  readonly #entries: readonly JobSubmitted[]
  readonly #positions: readonly number[]
  readonly #context: TransactionContext

  private constructor(
    entries: readonly JobSubmitted[],
    positions: readonly number[],
    context: TransactionContext,
  ) {
    const [entry] = entries as readonly [JobSubmitted]
    const [position] = positions as readonly [number]
    const job = createJob(entry)
    job.firstPosition = position
    job.lastPosition = position
    this.#entries = entries
    this.#positions = positions
    this.#context = context
    this.first = {
      entry,
      position,
      previousPosition: null,
      job,
      task: job.task,
      taskBefore: null,
      states: null,
    }
    this.answers = entries.map((one) => ({ verdict: 'committed', value: one.job, rejection: null }))
  }

  /** Whether these are alike, and none of them has to wait for its group's turn. */
  static are(
    commands: readonly Command[],
    { turns }: TransactionContext,
  ): commands is readonly SubmitJob[] {
    if (commands.length < FEWEST || !areAlike(commands)) return false
    const { type } = (commands[0] as SubmitJob).spec
    return !turns.mayHaveGroups(AlikeSubmits.queueOf(commands), type)
  }

  /** Of submits that are alike. */
  static queueOf(commands: readonly SubmitJob[]): string {
    return commands[0]?.spec.policy?.queue ?? ''
  }

  /** AFTER the positions were drawn. */
  static decide(
    commands: readonly SubmitJob[],
    positions: readonly number[],
    now: number,
    context: TransactionContext,
  ): AlikeSubmits {
    return new AlikeSubmits(decideAlike(commands, now), positions, context)
  }

  get last(): number {
    return this.#positions[this.#entries.length - 1] as number
  }

  /** Positions of all but the first. */
  get others(): readonly number[] {
    return this.#positions.slice(1, this.#entries.length)
  }

  writes(): Statement[] {
    const { sql, records } = this.#context
    const entries = this.#entries
    const recorded = records.ofSubmits(entries)
    const events = entries.map(({ job, type, at }, i): Row => {
      return [this.#positions[i] as number, job, null, type, at, recorded[i] as Uint8Array]
    })
    return [
      { sql: sql.insertEvents, rows: events },
      { sql: sql.insertFresh, rows: this.#freshRows() },
      { sql: sql.addCounts, rows: this.#counts() },
    ]
  }

  #freshRows(): Row[] {
    const { queues } = this.#context
    const job = this.first.job as Job
    const row = newRow(job)
    const columns = freshColumns(row, job, true, (queue) => queues.ageingMs(queue))
    return this.#entries.map((entry, i) => {
      const own = columns.slice()
      own[0] = entry.job
      own[1] = this.#positions[i] as number
      return own
    })
  }

  #counts(): Row[] {
    const { type, policy } = this.first.job!.spec
    const job = this.first.job as Job
    const state = countedAs(job, job.task, FIRST_TURN)
    const counts = new CountTable()
    const under = { type, queue: policy?.queue ?? '', tags: [], error: null, held: false }
    if (state !== null) counts.addJob(under, state, this.#entries.length)
    return counts.columns()
  }
}

function newRow({ id, firstPosition }: Job): RowState {
  return {
    job: id,
    stage: JOB_ROW,
    segment: 0,
    position: firstPosition,
    lastPosition: firstPosition,
    version: 0,
    turn: FIRST_TURN,
    parked: null,
    countedAs: null,
    error: null,
    held: false,
    questions: NO_ROWS,
  }
}
