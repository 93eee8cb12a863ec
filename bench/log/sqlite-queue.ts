/**
 * The queue that one would write by hand on SQLite: one table, WAL, synchronous=FULL, prepared
 * statements, the same three steps of a life.
 */
import { openSqlite } from '../../src/log/disk/sqlite-driver.ts'
import type { SqliteDatabase, SqliteStatement } from '../../src/log/disk/sqlite-driver.ts'
import { payload } from '../lives.ts'

interface Row {
  readonly id: string
  readonly lease: number
  readonly payload: string
}

const SCHEMA = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  CREATE TABLE jobs (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    type TEXT NOT NULL,
    state INTEGER NOT NULL DEFAULT 0,
    payload TEXT NOT NULL,
    lease INTEGER NOT NULL DEFAULT 0,
    worker TEXT,
    expires_at INTEGER,
    output TEXT
  );
  CREATE INDEX waiting ON jobs (type, seq) WHERE state = 0;
`
const CLAIM = `
  UPDATE jobs SET state = 1, lease = lease + 1, worker = ?, expires_at = ?
  WHERE seq = (SELECT seq FROM jobs WHERE state = 0 AND type = ? ORDER BY seq LIMIT 1)
  RETURNING id, lease, payload`
const COMMIT = `
  UPDATE jobs SET state = 2, output = ?
  WHERE id = ? AND lease = ? AND worker = ? AND state = 1 AND expires_at > ?
  RETURNING seq`

class SqliteQueue {
  readonly #database: SqliteDatabase
  readonly #submit: SqliteStatement
  readonly #claim: SqliteStatement
  readonly #commit: SqliteStatement
  #submitted = 0

  constructor(path: string) {
    this.#database = openSqlite(path)
    this.#database.exec(SCHEMA)
    this.#submit = this.#database.prepare('INSERT INTO jobs (id, type, payload) VALUES (?, ?, ?)')
    this.#claim = this.#database.prepare(CLAIM)
    this.#commit = this.#database.prepare(COMMIT)
  }

  /** A batch of lives, step by step; each step of a batch is one transaction. */
  live(batch: number, input: string): void {
    this.#transaction(batch, () => {
      for (let i = 0; i < batch; i++) {
        this.#submitted += 1
        const id = `job-${this.#submitted.toString(36).padStart(12, '0')}`
        this.#submit.run(id, 'invoice', input)
      }
    })
    const claimed: Row[] = []
    this.#transaction(batch, () => {
      for (let i = 0; i < batch; i++) {
        claimed.push(this.#claim.get('w-1', Date.now() + 30_000, 'invoice') as Row)
      }
    })
    this.#transaction(batch, () => {
      for (const { id, lease } of claimed) {
        const row = this.#commit.get('{"ok":true}', id, lease, 'w-1', Date.now())
        if (row === undefined) throw new Error(`SQLite did not commit ${id}.`)
      }
    })
  }

  close(): void {
    this.#database.close()
  }

  /** A single statement is a transaction by itself. */
  #transaction(batch: number, steps: () => void): void {
    if (batch === 1) return steps()
    this.#database.exec('BEGIN IMMEDIATE')
    steps()
    this.#database.exec('COMMIT')
  }
}

/** Lives per second with one transaction for each step of a batch. */
export function measureSqlite(path: string, batch: number, forMs: number): number {
  const queue = new SqliteQueue(path)
  try {
    const input = payload('sqlite', 200)
    const warm = performance.now() + forMs / 4
    while (performance.now() < warm) queue.live(batch, input)
    let lives = 0
    const started = performance.now()
    let elapsed = 0
    do {
      queue.live(batch, input)
      lives += batch
      elapsed = performance.now() - started
    } while (elapsed < forMs)
    return (lives / elapsed) * 1e3
  } finally {
    queue.close()
  }
}
