/**
 * Presence of the processes on a PostgreSQL database. What they say is in unlogged tables. A process lives
 * as long as the session that listens for it: that session holds an advisory lock for it, which the server
 * gives up when the session ends.
 *
 * - not connected: the connection that listens is lost, or not there yet. Claims name no session.
 * - judged: a notification that was sent on another connection came back, and the lock is held.
 * - without presence: it did not come back, or it is known that a pooler stands in between, which hands the
 *   session to others: a lock would say nothing, so none is taken.
 *
 * A session whose lock is missing is dead after a grace period, unless its process spoke meanwhile: its
 * connections may be cut one by one. The period counts only on rounds of one unbroken connection of this
 * process, so that a server that was away, or has just been started, is not taken for the end of all others.
 * Processes take turns to look, by the authority's clock: one that misses a session looks at each call until it
 * is back or judged.
 * The lock is shared: after a cut the server may keep the former session of a process for a while.
 */
import { afterMs, nowUs, pause } from '../../clock.ts'
import type { DeadSessions, HeardProcess, JobReport, Presence } from '../../presence.ts'
import { HEARD_WITHIN_MS, MOST_REPORTS, NOTHING_ASKED } from '../../presence.ts'
import { newSessionName } from '../../random.ts'
import type { Statement } from '../connection.ts'
import type { PresenceParts } from '../dialect.ts'
import type { ConnectedClient } from './client.ts'
import { within } from './client.ts'

/** A process whose connections are cut for less than this loses nothing. */
export const GRACE_MS = 2_000
/** How long it may take a process to connect again once it can: less than a third of the grace period. */
export const RECONNECT_MS = 600
/** A notification that takes longer does not come back. */
const ECHO_MS = 2_000
const ANSWER_MS = 5_000
/** The first claim does not wait for longer: until the lock is held, claims name no session. */
const BEGIN_MS = 3_000
/** While no session is missed, one process after the other looks, this far apart. */
const TURN_MS = 250
/** Between two looks of one process: at least, however few there are, and at most, however many. */
const ROUND_MS = 1_000
const LONGEST_ROUND_MS = 4_000
const TIDY_MS = 60_000
const CLOSE_MS = 500

const KEY = (name: string): string => `hashtextextended('pawl/session/' || ${name}, 0)`
const IS_HELD = `exists (
    select from pg_catalog.pg_locks l
    where l.locktype = 'advisory' and l.granted and l.objsubid = 1
      and l.database = (select d.oid from pg_catalog.pg_database d where d.datname = current_database())
      and ((l.classid::int8 << 32) | l.objid::int8) = ${KEY('p.name')}
  )`
const NOW = `(extract(epoch from clock_timestamp()) * 1000)::int8`
const SAY = `
  insert into processes as known (name, heard_at, is_judged, text)
  values ($1::text, ${NOW}, $2::bool, $3::text)
  on conflict (name) do update
  set heard_at = excluded.heard_at, is_judged = known.is_judged or excluded.is_judged, text = excluded.text
  returning known.asked::text`
const SAY_LAST = `
  insert into processes (name, heard_at, is_judged, text)
  values ($1::text, ${NOW}, false, $2::text)
  on conflict (name) do update
  set heard_at = excluded.heard_at, is_judged = false, text = excluded.text`
const ASK = `
  update processes set asked = asked || jsonb_build_object($2::text, $3::text) where name = $1::text`
const REPORT = `
  insert into reports as known (job, said_at, text)
  select * from jsonb_to_recordset($1::jsonb) as said (job text, said_at int8, text text)
  order by job
  on conflict (job) do update set said_at = excluded.said_at, text = excluded.text
  where excluded.said_at >= known.said_at`
const FORGET_REPORT = `
  insert into reports (job, said_at, text) values ($1::text, $2::int8, '')
  on conflict (job) do update set said_at = excluded.said_at, text = excluded.text`
const HEARD = `
  select p.name, p.heard_at, p.text from processes p
  where p.text <> '' and p.heard_at >= ${NOW} - ${HEARD_WITHIN_MS}`
// Not what can be judged, however old: no process may have been up to judge it. `bury` removes it.
const TIDY = [
  `delete from processes where not is_judged and heard_at < ${NOW} - ${TIDY_MS}`,
  `delete from reports where job in (
    select job from reports order by said_at desc offset ${MOST_REPORTS}
  )`,
]

const ignore = (): void => undefined

interface MissedSession {
  readonly sinceUs: number
  /** What was heard last when it was missed first. */
  readonly heardAt: number
}

export class PostgresPresence implements Presence {
  readonly name = newSessionName('postgres')
  readonly #parts: PresenceParts
  /** For the connection that listens, which has no path of names. */
  readonly #table: string
  readonly #isPooled: boolean
  #client: ConnectedClient | null = null
  /** The newest that was connected, until it is lost: its session may not be judged yet. */
  #newest: ConnectedClient | null = null
  readonly #missed = new Map<string, MissedSession>()
  /** Living processes as they were seen last, in order of their names: how many, and this one's place. */
  #order = { count: 1, place: 0 }
  /** In which it looked last. */
  #round = -Infinity
  #tidyFrom = 0
  /** It held its lock at least once. */
  #isJudged = false
  #beginning: Promise<void> | null = null
  #settled = ignore
  #isTold = false
  #saidLast = false
  #isClosed = false
  #asked = NOTHING_ASKED
  /** As it was read last. */
  #askedText = '{}'

  /** `isPooled`: no session stays with this process. */
  constructor(schema: string, parts: PresenceParts, isPooled = false) {
    this.#isPooled = isPooled
    this.#table = `"${schema.replaceAll('"', '""')}".processes`
    this.#parts = parts
  }

  get session(): string {
    return this.#client === null ? '' : this.name
  }

  get isMissed(): boolean {
    return this.#isJudged && this.#client === null
  }

  begin(): Promise<void> {
    this.#beginning ??= new Promise((resolve) => {
      const stop = afterMs(BEGIN_MS, resolve, true)
      this.#settled = () => {
        stop()
        resolve()
      }
      if (this.#isPooled) this.#tell('a pooler gives each transaction another session.')
      // It may have been connected BEFORE the first claim.
      if (this.#client !== null || this.#isTold) this.#settled()
      else this.#parts.listen()
    })
    return this.#beginning
  }

  /** The connection that listens is there: by the listener, for each one. Never rejects. */
  async connected(client: ConnectedClient): Promise<void> {
    this.#missed.clear()
    this.#newest = client
    try {
      if (await this.#comesBack(client)) {
        const lock = `select pg_advisory_lock_shared(${KEY('$1::text')})`
        await within(client, ANSWER_MS, () => client.query(lock, [this.name]))
        // BEFORE the first claim, so that others can judge what was never heard.
        if (!this.#isJudged) {
          await this.#parts.run((connection) => connection.run([this.#saying('', true)]))
          this.#isJudged = true
        }
        // It may be lost by now, and another one connected.
        if (!this.#isClosed && this.#newest === client) this.#client = client
      } else this.#tell('a notification does not come back: a pooler hands the session to others.')
    } catch {
      // The connection was lost meanwhile: the listener opens another.
    }
    this.#settled()
  }

  /** The connection that listens is lost. */
  lost(): void {
    this.#newest = null
    this.#client = null
    this.#missed.clear()
  }

  get asked(): ReadonlyMap<string, string> {
    return this.#asked
  }

  async ask(process: string, worker: string, text: string): Promise<boolean> {
    const values = [process, worker, text]
    const [done] = await this.#parts.run((connection) => connection.run([{ sql: ASK, values }]))
    return (done?.changed ?? 0) > 0
  }

  /** Along with what is asked and said anyway. */
  #noteAsked(text: string): void {
    if (text === this.#askedText) return
    this.#askedText = text
    this.#asked = new Map(Object.entries(JSON.parse(text) as Record<string, string>))
  }

  async say(text: string, reports: readonly JobReport[]): Promise<void> {
    const said = reports.map(({ job, saidAt, text: own }) => {
      return { job, said_at: Math.floor(saidAt), text: own }
    })
    const now = this.#parts.now()
    const isDue = now >= this.#tidyFrom
    if (isDue) this.#tidyFrom = now + TIDY_MS
    const [own] = await this.#parts.run((connection) =>
      connection.run([
        this.#saying(text),
        ...(said.length === 0 ? [] : [{ sql: REPORT, values: [JSON.stringify(said)] }]),
        ...(isDue ? TIDY.map((sql) => ({ sql, values: [] })) : []),
      ]),
    )
    this.#noteAsked((own?.rows[0]?.[0] as string | undefined) ?? '{}')
  }

  /** Once it can be judged, it can be by others whether or not it is connected now. */
  #saying(text: string, isJudged = this.#isJudged): Statement {
    return { sql: SAY, values: [this.name, isJudged, text] }
  }

  async heard(isChecked: boolean): Promise<readonly HeardProcess[]> {
    const sql = isChecked ? `${HEARD} and (not p.is_judged or ${IS_HELD})` : HEARD
    const [found] = await this.#parts.run((connection) => connection.run([{ sql, values: [] }]))
    return (found?.rows ?? []).map(([name, heardAt, text]) => {
      return { name: name as string, heardAt: heardAt as number, text: text as string }
    })
  }

  async reportOf(job: string): Promise<JobReport | null> {
    const sql = 'select said_at, text from reports where job = $1::text'
    const [found] = await this.#parts.run((connection) => connection.run([{ sql, values: [job] }]))
    const row = found?.rows[0]
    return row === undefined ? null : { job, saidAt: row[0] as number, text: row[1] as string }
  }

  async forgetReport(job: string, until: number): Promise<void> {
    const forget = { sql: FORGET_REPORT, values: [job, Math.floor(until)] }
    await this.#parts.run((connection) => connection.run([forget]))
  }

  async compact(): Promise<void> {
    // Its tables are compacted with the others.
  }

  async dead(): Promise<DeadSessions | null> {
    const client = this.#client
    if (client === null) return null
    if (!this.#isTurn() && this.#missed.size === 0) return null
    const sql = `select p.name, p.heard_at::float8, ${IS_HELD}, p.asked::text from ${this.#table} p where p.is_judged`
    const { rows } = await within(client, ANSWER_MS, () =>
      client.query<[string, number, boolean, string]>({ text: sql, rowMode: 'array' }),
    )
    const own = rows.find(([name]) => name === this.name)
    if (own !== undefined) this.#noteAsked(own[3])
    // What was asked on a connection that is lost by now says nothing of the others.
    if (client !== this.#client) return null
    const living = rows.flatMap(([name, , isHeld]) => (isHeld ? [name] : [])).toSorted()
    this.#order = { count: Math.max(living.length, 1), place: living.indexOf(this.name) }
    const missing = rows.filter(([, , isHeld]) => !isHeld)
    const dead = this.#overdue(new Map(missing.map(([name, heardAt]) => [name, heardAt])))
    if (dead.length === 0) return null
    return {
      isDead: (session) => dead.includes(session),
      bury: async () => {
        for (const name of dead) this.#missed.delete(name)
        await this.#forget(dead)
      },
    }
  }

  /** Once in each round, at a time that no other process has. */
  #isTurn(): boolean {
    const { count, place } = this.#order
    const roundMs = Math.min(Math.max(count * TURN_MS, ROUND_MS), LONGEST_ROUND_MS)
    const round = Math.floor(this.#parts.now() / roundMs - place / count)
    if (round === this.#round) return false
    this.#round = round
    return true
  }

  /** Of those that are missing now: those that were all the time, and said nothing. */
  #overdue(missing: ReadonlyMap<string, number>): string[] {
    const now = nowUs()
    for (const [name, { heardAt }] of this.#missed) {
      if (missing.get(name) !== heardAt) this.#missed.delete(name)
    }
    const dead: string[] = []
    for (const [name, heardAt] of missing) {
      const missed = this.#missed.get(name)
      if (missed === undefined) this.#missed.set(name, { sinceUs: now, heardAt })
      else if (now - missed.sinceUs > (GRACE_MS + RECONNECT_MS) * 1_000) dead.push(name)
    }
    return dead
  }

  /** Of no session: what it says is not taken for that of a process that may be dead. */
  async sayLast(text: string): Promise<void> {
    const said = this.#parts
      .run((connection) => connection.run([{ sql: SAY_LAST, values: [this.name, text] }]))
      .then(() => (this.#saidLast = true))
      .catch(ignore)
    // As at the end: a database that is away must not hold it up.
    await Promise.race([said, pause(CLOSE_MS, true)])
  }

  /** The lock goes with the connection that listens. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#settled()
    this.#client = null
    if (this.#saidLast || (this.#tidyFrom === 0 && !this.#isJudged)) return
    // A database that is away must not hold up the end: what was said is too old to be shown soon.
    const forgotten = this.#forget([this.name]).catch(ignore)
    await Promise.race([forgotten, pause(CLOSE_MS, true)])
  }

  async #forget(names: readonly string[]): Promise<void> {
    const sql = 'delete from processes where name = $1::text'
    const statements = names.map((name) => ({ sql, values: [name] }))
    await this.#parts.run((connection) => connection.run(statements))
  }

  /** Sent on another connection: on its own, a pooler would pass it on with the answer. */
  async #comesBack(client: ConnectedClient): Promise<boolean> {
    const channel = `pawl_${this.name}`
    let stop = ignore
    const came = new Promise<boolean>((resolve) => {
      stop = afterMs(ECHO_MS, () => resolve(false), true)
      client.on('notification', (heard) => heard.channel === channel && resolve(true))
    })
    try {
      const listen = `listen ${client.escapeIdentifier(channel)}`
      await within(client, ANSWER_MS, () => client.query(listen))
      await this.#parts.run((connection) =>
        connection.run([{ sql: `select pg_notify($1::text, '')`, values: [channel] }]),
      )
      return await came
    } finally {
      stop()
    }
  }

  #tell(why: string): void {
    if (this.#isTold) return
    this.#isTold = true
    this.#parts.onNotice({ kind: 'no-presence', why })
  }
}
