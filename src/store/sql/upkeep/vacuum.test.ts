/**
 * When old rows are counted, and when they are vacuumed.
 */
import { describe, expect, it } from 'vitest'
import type { StatementResult, Statement, Connection } from '../connection.ts'
import { ConnectionPool } from '../connection-pool.ts'
import { Vacuum } from './vacuum.ts'

class Counted implements Connection {
  readonly said: string[] = []
  left = 0

  async run(statements: readonly Statement[]): Promise<readonly StatementResult[]> {
    for (const { sql } of statements) this.said.push(sql)
    return statements.map(() => ({ rows: [[this.left]], changed: 0 }))
  }

  close(): Promise<void> {
    return Promise.resolve()
  }
}

function setUp(): { counted: Counted; vacuum: Vacuum; pool: ConnectionPool } {
  const counted = new Counted()
  const connect = (): Promise<Connection> => Promise.resolve(counted)
  const texts = { begin: null, commit: 'commit', rollback: 'rollback' }
  const pool = new ConnectionPool<Connection>(counted, { ...texts, connect, size: 1 })
  return { counted, pool, vacuum: new Vacuum(pool, { count: 'count', run: 'vacuum' }) }
}

describe('old rows', () => {
  it('are counted when many tasks were granted, and vacuumed if there are enough', async () => {
    const { counted, vacuum } = setUp()
    vacuum.noteGrants(4_999)
    expect(counted.said).toEqual([])
    vacuum.noteGrants(1)
    await expect.poll(() => counted.said).toEqual(['count'])
    counted.left = 100_000
    await expect
      .poll(() => {
        vacuum.noteGrants(5_000)
        return counted.said
      })
      .toContain('vacuum')
  })

  it('are left where they are, if the database cannot be reached', async () => {
    const { counted, vacuum, pool } = setUp()
    await pool.close()
    vacuum.noteGrants(5_000)
    await Promise.resolve()
    expect(counted.said).toEqual([])
  })

  it('are not counted in a database that keeps none', () => {
    const { counted, pool } = setUp()
    new Vacuum(pool, null).noteGrants(1_000_000)
    expect(counted.said).toEqual([])
  })
})
