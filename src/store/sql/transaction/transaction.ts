/**
 * Commands that arrived together, decided together: begin, load and lock, decide, save, commit. How it
 * begins and ends is for its frame to say: it may be a part of a transaction of somebody else.
 *
 * Two round trips when nothing follows from what was loaded. The time is asked for behind the last
 * lock, and so are the positions of the entries: whoever waited for a row writes behind the one that
 * had it.
 *
 * One round trip when nothing has to be loaded and the next position is known (see `NextPosition`): it
 * is checked with the rest.
 */
import type { Command, Decision } from '../../../kernel/index.ts'
import { decideIn, malformed, noReads } from '../../../kernel/index.ts'
import type { Answer } from '../../store.ts'
import type { StatementResult, Statement, Connection } from '../connection.ts'
import type { ForgetCount } from '../dialect.ts'
import { SqlFailed } from '../failures.ts'
import type { LeasedRowCache, TransactionContext } from './context.ts'
import type { AppliedEntry } from './working-set.ts'
import { WorkingSet } from './working-set.ts'
import { RowLoader } from './row-loader.ts'
import { LockPlan } from './lock-plan.ts'
import type { SubmitGrants } from './submit-grants.ts'
import { JOB_ROW, rowKey } from '../rows/work-rows.ts'
import { buildWrites } from './build-writes.ts'
import type { Statements } from '../statements.ts'

/** Sends what it begins with together with the first statements. Without any, it never began. */
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

  async run(asks: readonly Statement[]): Promise<readonly StatementResult[]> {
    const begin = this.#begin
    if (begin.length === 0) return this.#connection.run(asks)
    this.#begin = []
    const answers = await this.#connection.run([...begin, ...asks])
    return answers.slice(begin.length)
  }

  close(): Promise<void> {
    return this.#connection.close()
  }
}

export interface TransactionBoundary {
  /** Sent ahead of everything else. */
  readonly begin: readonly Statement[]
  /** Ends it when nothing is to be saved. */
  readonly rollback: readonly Statement[]
  /** Saves what follows from the answers, and ends it. */
  commit(
    connection: Connection,
    asks: readonly Statement[],
    answers: readonly Answer[],
  ): Promise<unknown>
}

/** A transaction of its own. */
export function ownTransaction({ begin, commit, rollback }: Statements): TransactionBoundary {
  return {
    begin: [{ sql: begin, values: [] }],
    rollback: [{ sql: rollback, values: [] }],
    commit: (connection, asks) => connection.run([...asks, { sql: commit, values: [] }]),
  }
}

export interface Executed {
  /** As many as could be decided in one transaction, from the first on; at least one. */
  readonly answers: readonly Answer[]
  readonly applied: readonly AppliedEntry[]
}

/**
 * `trusts`: some things are not looked up (see `LockPlan`). If that was wrong, it fails with a conflict.
 * `riding`: jobs that there is room for.
 */
export async function execute(
  connection: Connection,
  commands: readonly Command[],
  parts: TransactionContext,
  trusts = false,
  frame: TransactionBoundary = ownTransaction(parts.sql),
  submitGrants: SubmitGrants | null = null,
): Promise<Executed> {
  const loaded = new WorkingSet(parts.records)
  const formed = commands.filter((command) => malformed(command) === null)
  // What is done again may be done already: then nothing is granted but what was.
  const rides = trusts && submitGrants?.isIdle === false ? submitGrants : null
  const needed = (): LockPlan => {
    const needs = new LockPlan(loaded, parts.queues, trusts ? parts.leasedRows : null)
    for (const command of formed) needs.addCommand(command)
    rides?.need(needs, loaded)
    return needs
  }
  const own = new LazyTransaction(connection, frame.begin)
  const known = trusts ? placeKnown(parts, needed, formed.length) : null
  const forgets =
    trusts && formed.some(({ type }) => type === 'SubmitJob') ? parts.forgetCount : null
  const count = formed.length + (rides?.places ?? 0)
  const found = known ?? (await place(own, needed, count, parts, loaded, forgets, rides))
  const { now, positions } = found
  const time = Math.max(now, loaded.latestTime)
  const answers = decideAll(loaded, commands, time, positions)
  if (found.isFree) rides?.grant(loaded, positions, time)
  else if (!trusts) submitGrants?.find(loaded, time)
  const last = loaded.applied.at(-1)
  if (last === undefined) {
    if (own.hasBegun) await own.run(frame.rollback)
    return { answers, applied: [] }
  }
  const asks = await buildWrites(loaded, own, time, parts)
  if (known !== null) asks.unshift(known.check)
  // AFTER the rows are in, and AFTER the positions of this one were drawn.
  if (forgets !== null) asks.push({ sql: forgets.assertSame, values: [found.forgets] })
  if (parts.forgetCount !== null && loaded.forgotten.size > 0) {
    asks.push({ sql: parts.forgetCount.increment, values: [] })
  }
  parts.nextPosition?.sent(last.position)
  await frame.commit(own, asks, answers)
  cacheLeased(loaded, loaded.applied, parts.leasedRows)
  return { answers, applied: loaded.applied }
}

/** When it is, and where the entries will stand. */
interface EntryPlace {
  readonly now: number
  readonly positions: readonly number[]
  /** How often jobs were forgotten BEFORE the positions were drawn; null: nobody asked. */
  readonly forgets: number | null
  /** Nothing stands in line before those that there is room for. */
  readonly isFree: boolean
}

/** Loads what is needed. */
async function place(
  connection: Connection,
  needed: () => LockPlan,
  count: number,
  parts: TransactionContext,
  loaded: WorkingSet,
  forgets: ForgetCount | null,
  rides: SubmitGrants | null,
): Promise<EntryPlace> {
  const last: Statement[] = [
    { sql: parts.sql.clock, values: [parts.now()] },
    ...(forgets === null ? [] : [{ sql: forgets.read, values: [] }]),
    ...(rides === null ? [] : [rides.look(parts.sql)]),
    { sql: parts.sql.positions, values: [count] },
  ]
  const loading = new RowLoader(connection, parts, loaded)
  const answers = await loading.load(needed, last)
  return {
    now: answers[0]?.rows[0]?.[0] as number,
    forgets: forgets === null ? null : (answers[1]?.rows[0]?.[0] as number),
    isFree: rides !== null && answers.at(-2)?.rows.length === 0,
    positions: positionsOf(answers.at(-1)),
  }
}

/** What `positions` was answered with. */
export function positionsOf(answered: StatementResult | undefined): readonly number[] {
  // One text, because five hundred rows are read ten times slower than this.
  const text = answered?.rows[0]?.[0] as string | null | undefined
  return JSON.parse(`[${text ?? ''}]`) as number[]
}

/** Null: something has to be loaded, or asked for. */
function placeKnown(
  { nextPosition: position, now }: TransactionContext,
  needed: () => LockPlan,
  count: number,
): (EntryPlace & { readonly check: Statement }) | null {
  const first = position?.next ?? null
  const time = now()
  if (position === null || first === null || time === null || !needed().isEmpty) return null
  return {
    now: time,
    forgets: null,
    isFree: false,
    positions: Array.from({ length: count }, (_, i) => first + i),
    check: position.check(first),
  }
}

/** AFTER the commit of what was done: plain jobs whose leases go on. */
export function cacheLeased(
  loaded: WorkingSet,
  done: readonly AppliedEntry[],
  held: LeasedRowCache,
): void {
  for (const { job } of done) {
    if (job === null || job.task === null || job.task.lease === null) continue
    const row = loaded.rows.get(rowKey(job.id, JOB_ROW, 0))
    if (row !== undefined) held.add({ job, row })
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
    const decision = decideIn(loaded.world, loaded, command, reads, now)
    if (loaded.hasUnknownTallies) break
    const { entry } = decision
    if (entry === null && loaded.fromCache.size > 0) assertLookedUp(loaded, command)
    if (entry !== null) loaded.apply(entry, positions[loaded.applied.length] as number)
    answers.push(answerOf(decision))
  }
  return answers
}

/** A no, or a repeat, writes nothing that could be checked: it is said of what was looked up only. */
function assertLookedUp(loaded: WorkingSet, command: Command): void {
  if (typeof command !== 'object' || command === null || !('job' in command)) return
  if (!loaded.fromCache.has(command.job)) return
  throw new SqlFailed('conflict', `Job ${command.job} has to be looked up.`, null)
}

function answerOf({ verdict, value, rejection }: Decision): Answer {
  return { verdict, value, rejection }
}
