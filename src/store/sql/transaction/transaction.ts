/**
 * Commands that arrived together, decided together: begin, load and lock, decide, write, commit. How it
 * begins and ends is for its boundary to say: it may be a part of the user's transaction.
 *
 * Two round trips when no row follows from a row that was loaded. The time is read behind the last
 * lock, and the positions are drawn there: a transaction that waited for a row writes behind the
 * transaction that had it locked.
 *
 * One round trip when nothing has to be loaded and the next position is known (see `NextPosition`).
 */
import type { Command, Decision, Job, SubmitJob } from '../../../kernel/index.ts'
import { decideIn, malformed, noReads } from '../../../kernel/index.ts'
import type { Answer } from '../../store.ts'
import type { Connection, Statement, StatementResult } from '../connection.ts'
import type { ForgetCount } from '../dialect.ts'
import { SqlFailed } from '../failures.ts'
import { JOB_ROW, rowKey } from '../rows/work-rows.ts'
import type { Statements } from '../statements.ts'
import { AlikeSubmits } from './alike-submits.ts'
import { buildWrites } from './build-writes.ts'
import type { LeasedRowCache, TransactionContext } from './context.ts'
import { redactStored } from './erasure.ts'
import { LockPlan } from './lock-plan.ts'
import { RowLoader } from './row-loader.ts'
import type { SubmitGrants } from './submit-grants.ts'
import type { AppliedEntry } from './working-set.ts'
import { WorkingSet } from './working-set.ts'

/** Sends what it begins with ahead of the first statements. If there are none, it never began. */
export class LazyTransaction implements Connection {
  readonly #connection: Connection
  #begin: readonly Statement[]

  constructor(connection: Connection, begin: readonly Statement[]) {
    this.#connection = connection
    this.#begin = begin
  }

  get hasBegun(): boolean {
    return this.#begin.length === 0
  }

  async run(statements: readonly Statement[]): Promise<readonly StatementResult[]> {
    const begin = this.#begin
    if (begin.length === 0) return this.#connection.run(statements)
    this.#begin = []
    const results = await this.#connection.run([...begin, ...statements])
    return results.slice(begin.length)
  }

  close(): Promise<void> {
    return this.#connection.close()
  }
}

export interface TransactionBoundary {
  /** Sent ahead of everything else. */
  readonly begin: readonly Statement[]
  /** Ends it when nothing is to be written. */
  readonly rollback: readonly Statement[]
  /** Writes what was decided, and ends it. */
  commit(
    connection: Connection,
    writes: readonly Statement[],
    answers: readonly Answer[],
  ): Promise<unknown>
}

/** A transaction of the store's own. */
export function ownTransaction({ begin, commit, rollback }: Statements): TransactionBoundary {
  return {
    begin: [{ sql: begin, values: [] }],
    rollback: [{ sql: rollback, values: [] }],
    commit: (connection, writes) => connection.run([...writes, { sql: commit, values: [] }]),
  }
}

export interface Executed {
  /** As many as could be decided in one transaction, from the first on; at least one. */
  readonly answers: readonly Answer[]
  readonly applied: readonly AppliedEntry[]
  /** Positions of more submits, all alike to the only one in `applied`. */
  readonly alike?: readonly number[]
}

/**
 * `isOptimistic`: some rows are not read (see `LockPlan`, `NextPosition`). If one was not as assumed, it
 * fails with a conflict. `submitGrants`: claims that came with the commands.
 */
export async function executeCommands(
  connection: Connection,
  commands: readonly Command[],
  context: TransactionContext,
  isOptimistic = false,
  boundary: TransactionBoundary = ownTransaction(context.sql),
  submitGrants: SubmitGrants | null = null,
): Promise<Executed> {
  const isGranting = submitGrants !== null && !submitGrants.isIdle
  if (isOptimistic && !isGranting && AlikeSubmits.are(commands, context)) {
    return submitAlike(connection, commands, context, boundary)
  }
  const loaded = new WorkingSet(context.records, context.lackingSteps)
  const wellFormed = commands.filter((command) => malformed(command) === null)
  // A transaction that is done again may be committed already: then it grants nothing new.
  const grants = isOptimistic && isGranting ? submitGrants : null
  const missing = (): LockPlan => {
    const plan = new LockPlan(loaded, context.queues, isOptimistic ? context.leasedRows : null)
    for (const command of wellFormed) plan.addCommand(command)
    grants?.addQueues(plan)
    return plan
  }
  const transaction = new LazyTransaction(connection, boundary.begin)
  const hasSubmit = wellFormed.some(({ type }) => type === 'SubmitJob')
  const forgetCount = isOptimistic && hasSubmit ? context.forgetCount : null
  const count = wellFormed.length + (grants?.most ?? 0)
  const known = isOptimistic ? knownPlace(context, missing, count) : null
  const place =
    known ?? (await loadPlace(transaction, missing, count, context, loaded, forgetCount, grants))
  const now = Math.max(place.now, loaded.latestTime)
  const answers = decideAll(loaded, commands, now, place.positions)
  if (place.isNoneReady) grants?.grantJobs(loaded, place.positions, now)
  else if (!isOptimistic) submitGrants?.findGranted(loaded, now)
  const last = loaded.applied.at(-1)
  if (last === undefined) {
    if (transaction.hasBegun) await transaction.run(boundary.rollback)
    return { answers, applied: [] }
  }
  const writes = await buildWrites(loaded, transaction, now, context)
  if (known !== null) writes.unshift(known.check)
  // AFTER the rows are inserted, and AFTER the positions were drawn.
  if (forgetCount !== null) writes.push({ sql: forgetCount.assertSame, values: [place.forgotten] })
  if (context.forgetCount !== null && loaded.forgotten.size > 0) {
    writes.push({ sql: context.forgetCount.increment, values: [] })
  }
  context.nextPosition?.sent(last.position)
  if (last.entry.type === 'JobErased') {
    await transaction.run(writes.splice(0))
    await redactStored(transaction, last.job as Job, context)
  }
  await boundary.commit(transaction, writes, answers)
  cacheLeased(loaded, loaded.applied, context.leasedRows)
  return { answers, applied: loaded.applied }
}

async function submitAlike(
  connection: Connection,
  commands: readonly SubmitJob[],
  context: TransactionContext,
  boundary: TransactionBoundary,
): Promise<Executed> {
  const transaction = new LazyTransaction(connection, boundary.begin)
  const { forgetCount, nextPosition } = context
  const loaded = new WorkingSet(context.records, context.lackingSteps)
  const missing = (): LockPlan => {
    const plan = new LockPlan(loaded, context.queues)
    plan.addRanking(AlikeSubmits.queueOf(commands))
    return plan
  }
  const count = commands.length
  const known = knownPlace(context, missing, count)
  const place =
    known ?? (await loadPlace(transaction, missing, count, context, loaded, forgetCount, null))
  const submits = AlikeSubmits.decide(commands, place.positions, place.now, context)
  const writes = submits.writes()
  if (known !== null) writes.unshift(known.check)
  if (forgetCount !== null) writes.push({ sql: forgetCount.assertSame, values: [place.forgotten] })
  nextPosition?.sent(submits.last)
  const { answers, first, others } = submits
  await boundary.commit(transaction, writes, answers)
  return { answers, applied: [first], alike: others }
}

/** The time and the positions of the entries. */
interface EntryPlace {
  readonly now: number
  readonly positions: readonly number[]
  /** How often jobs were forgotten BEFORE the positions were drawn; null: it was not read. */
  readonly forgotten: number | null
  /** No ready task comes before the jobs that may be granted with their submit. */
  readonly isNoneReady: boolean
}

/** Loads what is missing, and reads the rest AFTER the last lock. */
async function loadPlace(
  connection: Connection,
  missing: () => LockPlan,
  count: number,
  context: TransactionContext,
  loaded: WorkingSet,
  forgetCount: ForgetCount | null,
  grants: SubmitGrants | null,
): Promise<EntryPlace> {
  const last: Statement[] = [
    { sql: context.sql.clock, values: [context.now()] },
    ...(forgetCount === null ? [] : [{ sql: forgetCount.read, values: [] }]),
    ...(grants === null ? [] : [grants.readyStatement(context.sql)]),
    { sql: context.sql.positions, values: [count] },
  ]
  const results = await new RowLoader(connection, context, loaded).load(missing, last)
  return {
    now: results[0]?.rows[0]?.[0] as number,
    forgotten: forgetCount === null ? null : (results[1]?.rows[0]?.[0] as number),
    isNoneReady: grants !== null && results.at(-2)?.rows.length === 0,
    positions: positionsOf(results.at(-1)),
  }
}

/** Null: something has to be loaded, or the database has to be asked. */
function knownPlace(
  { nextPosition, now }: TransactionContext,
  missing: () => LockPlan,
  count: number,
): (EntryPlace & { readonly check: Statement }) | null {
  const first = nextPosition?.next ?? null
  const time = now()
  if (nextPosition === null || first === null || time === null || !missing().isEmpty) return null
  return {
    now: time,
    forgotten: null,
    isNoneReady: false,
    positions: Array.from({ length: count }, (_, i) => first + i),
    check: nextPosition.check(first),
  }
}

/** The result of the statement `positions`. */
export function positionsOf(result: StatementResult | undefined): readonly number[] {
  // One text, because five hundred rows are read ten times slower than this.
  const text = result?.rows[0]?.[0] as string | null | undefined
  return JSON.parse(`[${text ?? ''}]`) as number[]
}

/** AFTER the commit: plain jobs that hold a lease. */
export function cacheLeased(
  loaded: WorkingSet,
  applied: readonly AppliedEntry[],
  leasedRows: LeasedRowCache,
): void {
  for (const { job } of applied) {
    if (job === null || job.task === null || job.task.lease === null) continue
    const row = loaded.rows.get(rowKey(job.id, JOB_ROW, 0))
    if (row !== undefined) leasedRows.add({ job, row })
  }
}

function decideAll(
  loaded: WorkingSet,
  commands: readonly Command[],
  now: number,
  positions: readonly number[],
): Answer[] {
  const reads = noReads()
  const answers: Answer[] = []
  for (const command of commands) {
    // A transaction of its own ends with it: what is stored is read and written again.
    const isAlone = command?.type === 'EraseJob'
    if (isAlone && answers.length > 0) break
    const decision = decideIn(loaded.world, loaded, command, reads, now)
    if (loaded.hasUnknownTallies) break
    const { entry } = decision
    if (entry === null && !loaded.mayAnswer(command)) throw toBeRead(command)
    if (entry !== null) loaded.apply(entry, positions[loaded.applied.length] as number)
    answers.push(answerOf(decision))
    if (isAlone) break
  }
  return answers
}

/** A rejection, or a repeat, writes nothing that could be checked, so its job has to be read. */
function toBeRead(command: Command): SqlFailed {
  const { job } = command as { job: string }
  return new SqlFailed('conflict', `Job ${job} has to be read again.`, null)
}

function answerOf({ verdict, value, rejection }: Decision): Answer {
  return { verdict, value, rejection }
}
