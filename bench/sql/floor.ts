/**
 * The least SQL that any queue on a database needs: a submit is one insert, and a job that is run two
 * updates, in batches. No leases, no limits, no history, nothing checked.
 */
import type { Statement, Connection, Row } from '../../src/store/sql/connection.ts'
import { idsFrom, payload } from '../lives.ts'

export interface Floor {
  readonly tables: readonly string[]
  readonly begin: string | null
  readonly commit: string | null
  /** rows (id, payload). */
  readonly insert: string
  /** most → id, payload; in the order of submission. */
  readonly take: string
  /** rows (id, output). */
  readonly finish: string
}

export const POSTGRES_FLOOR: Floor = {
  tables: [
    `drop table if exists floor`,
    `create table floor (
      id text collate "C" primary key, seq bigserial, state int not null, payload text not null,
      worker text, output text)`,
    `create index floor_ready on floor (seq) where state = 0`,
  ],
  begin: null,
  commit: null,
  insert: `
    insert into floor (id, state, payload)
    select id, 0, payload from unnest($1::text[], $2::text[]) as given (id, payload)`,
  take: `
    update floor set state = 1, worker = 'w' where id in (
      select id from floor where state = 0 order by seq limit $1::int4 for update skip locked
    ) returning id, payload`,
  finish: `
    update floor f set state = 2, output = given.output
    from unnest($1::text[], $2::text[]) as given (id, output)
    where f.id = given.id and f.state = 1`,
}

export const SQLITE_FLOOR: Floor = {
  tables: [
    `drop table if exists floor`,
    `create table floor (
      id text primary key, seq integer, state int not null, payload text not null,
      worker text, output text)`,
    // By its row ids, which are the order of submission.
    `create index floor_ready on floor (state) where state = 0`,
  ],
  begin: 'begin immediate',
  commit: 'commit',
  insert: 'insert into floor (id, state, payload) values (?, 0, ?)',
  take: `
    update floor set state = 1, worker = 'w'
    where rowid in (select rowid from floor where state = 0 order by rowid limit ?)
    returning id, payload`,
  finish: `update floor set state = 2, output = ?2 where id = ?1 and state = 1`,
}
export class FloorQueue {
  readonly #floor: Floor
  readonly #connections: readonly Connection[]
  readonly #payload = payload('floor', 200)
  #submitted = 0

  constructor(floor: Floor, connections: readonly Connection[]) {
    this.#floor = floor
    this.#connections = connections
  }

  async prepare(): Promise<void> {
    const asks = this.#floor.tables.map((sql) => ({ sql, values: [] }))
    for (const ask of asks) await this.#connections[0]?.run([ask])
  }

  /** So many jobs, so many at once on each connection. */
  async submit(jobs: number, batch: number): Promise<void> {
    let left = jobs
    await this.#onEach(async (connection) => {
      while (left > 0) {
        const count = Math.min(left, batch)
        left -= count
        const ids = idsFrom(this.#submitted, count)
        this.#submitted += count
        const rows = ids.map((id): Row => [id, this.#payload])
        await this.#write(connection, { sql: this.#floor.insert, rows })
      }
    })
  }

  /** One by one, with so many under way on all connections together. */
  async submitSingly(jobs: number, inFlight: number): Promise<void> {
    let left = jobs
    const callers = Array.from({ length: inFlight }, async (_, i) => {
      const connection = this.#connections[i % this.#connections.length] as Connection
      while (left-- > 0) {
        const [id = ''] = idsFrom(this.#submitted++, 1)
        await connection.run([{ sql: this.#floor.insert, rows: [[id, this.#payload]] }])
      }
    })
    await Promise.all(callers)
  }

  /** All that were submitted. */
  async drain(batch: number): Promise<number> {
    let done = 0
    await this.#onEach(async (connection) => {
      for (;;) {
        const take = { sql: this.#floor.take, values: [batch] }
        const taken = await this.#write(connection, take)
        if (taken.length === 0) return
        const rows = taken.map((row): Row => [row[0] as string, '{"ok":true}'])
        await this.#write(connection, { sql: this.#floor.finish, rows })
        done += taken.length
      }
    })
    return done
  }

  async #write(connection: Connection, ask: Statement): Promise<readonly Row[]> {
    const { begin, commit } = this.#floor
    const asks: Statement[] = [ask]
    if (begin !== null) asks.unshift({ sql: begin, values: [] })
    if (commit !== null) asks.push({ sql: commit, values: [] })
    const answers = await connection.run(asks)
    return answers[begin === null ? 0 : 1]?.rows ?? []
  }

  async #onEach(work: (connection: Connection) => Promise<void>): Promise<void> {
    await Promise.all(this.#connections.map(work))
  }
}
