/**
 * A pool whose connections run what they are sent in order: work releases its connection when it has
 * sent the end of its transaction.
 */
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { StatementResult, Statement, Connection } from './connection.ts'
import { SqlFailed } from './failures.ts'
import { ConnectionPool } from './connection-pool.ts'

interface Sent {
  readonly text: string
  readonly answer: () => void
  readonly fail: (error: Error) => void
}

const nothing = (): void => undefined

/** Answers when it is told to. */
class Slow implements Connection {
  readonly sent: Sent[] = []
  isClosed = false

  run(statements: readonly Statement[]): Promise<readonly StatementResult[]> {
    return new Promise((resolve, reject) => {
      const text = statements.map(({ sql }) => sql).join(' ')
      const answer = (): void => resolve(statements.map(() => ({ rows: [], changed: 0 })))
      this.sent.push({ text, answer, fail: reject })
    })
  }

  close(): Promise<void> {
    this.isClosed = true
    return Promise.resolve()
  }

  get texts(): string[] {
    return this.sent.map(({ text }) => text)
  }
}

function asked(text: string): Statement[] {
  return text.split(' ').map((sql) => ({ sql, values: [] }))
}

function setUp(): { pool: ConnectionPool<Slow>; slow: Slow; all: Slow[] } {
  const slow = new Slow()
  const all = [slow]
  const connect = (): Promise<Slow> => {
    const another = new Slow()
    all.push(another)
    return Promise.resolve(another)
  }
  const options = { connect, size: 1, begin: 'begin', commit: 'commit', rollback: 'rollback' }
  return { pool: new ConnectionPool(slow, options), slow, all }
}

describe('work that has sent the end of its transaction', () => {
  it('lets the next work send, and waits for its own answer', async () => {
    const { pool, slow } = setUp()
    const first = pool.run((connection) => connection.run(asked('begin a commit')))
    const second = pool.run((connection) => connection.run(asked('begin b commit')))
    expect(slow.texts).toEqual(['begin a commit', 'begin b commit'])
    slow.sent[1]?.answer()
    await second
    slow.sent[0]?.answer()
    expect(await first).toHaveLength(3)
  })

  it('or a read outside of a transaction, lets the next work send', async () => {
    const { pool, slow } = setUp()
    const first = pool.run(async (connection) => {
      await connection.run(asked('read'))
      return connection.run(asked('more'))
    })
    const second = pool.run((connection) => connection.run(asked('begin b')))
    expect(slow.texts).toEqual(['read', 'begin b'])
    slow.sent[0]?.answer()
    await Promise.resolve()
    expect(slow.texts).toEqual(['read', 'begin b'])
    slow.sent[1]?.answer()
    await second
    await expect.poll(() => slow.texts.at(-1)).toBe('more')
    slow.sent[2]?.answer()
    await first
  })

  it('keeps the connection while its transaction is open', async () => {
    const { pool, slow } = setUp()
    const first = pool.run(async (connection) => {
      await connection.run(asked('begin a'))
      await connection.run(asked('more commit'))
    })
    void pool.run((connection) => connection.run(asked('read')))
    expect(slow.texts).toEqual(['begin a'])
    slow.sent[0]?.answer()
    await expect.poll(() => slow.texts).toEqual(['begin a', 'more commit', 'read'])
    slow.sent[1]?.answer()
    await first
  })

  it('takes the connection again for another transaction, when it is free', async () => {
    const { pool, slow } = setUp()
    const first = pool.run(async (connection) => {
      await connection.run(asked('begin a commit'))
      await connection.run(asked('begin again commit'))
    })
    const second = pool.run(async (connection) => {
      await connection.run(asked('begin b'))
      await connection.run(asked('more commit'))
    })
    slow.sent[0]?.answer()
    await Promise.resolve()
    expect(slow.texts).toEqual(['begin a commit', 'begin b'])
    slow.sent[1]?.answer()
    await expect.poll(() => slow.texts.at(-1)).toBe('begin again commit')
    expect(slow.texts).toEqual(['begin a commit', 'begin b', 'more commit', 'begin again commit'])
    for (const { answer } of slow.sent) answer()
    await Promise.all([first, second])
  })

  it('is run again after a conflict', async () => {
    const { pool, slow } = setUp()
    let tries = 0
    const first = pool.run((connection) => {
      tries += 1
      return connection.run(asked(`begin a${tries} commit`))
    })
    slow.sent[0]?.fail(new SqlFailed('conflict', 'Another transaction wrote first.', null))
    await expect.poll(() => slow.texts.at(-1)).toBe('rollback')
    slow.sent[1]?.answer()
    await expect.poll(() => slow.texts.at(-1)).toBe('begin a2 commit')
    slow.sent[2]?.answer()
    await first
    expect(tries).toBe(2)
  })

  it('is run again, with the others, on a new connection if theirs was lost', async () => {
    const { pool, slow, all } = setUp()
    const both = Promise.all(
      ['a', 'b'].map((name) => pool.run((connection) => connection.run(asked(`${name} commit`)))),
    )
    for (const { fail } of slow.sent) fail(new SqlFailed('lost', 'It is gone.', null))
    await expect
      .poll(() => {
        for (const { answer } of all[1]?.sent ?? []) answer()
        return all[1]?.texts.filter((text) => text.endsWith('commit')).toSorted()
      })
      .toEqual(['a commit', 'b commit'])
    for (const { answer } of all[1]?.sent ?? []) answer()
    await both
    expect(slow.isClosed).toBe(true)
    expect(all).toHaveLength(2)
  })

  it('closes no connection that the others have found instead of its own', async () => {
    const { pool, slow, all } = setUp()
    const first = pool.run(async (connection) => {
      await connection.run(asked('read'))
      return connection.run(asked('more'))
    })
    const second = pool.run((connection) => connection.run(asked('begin b commit')))
    slow.sent[1]?.fail(new SqlFailed('lost', 'It is gone.', null))
    await expect.poll(() => all[1]?.texts).toEqual(['begin b commit'])
    // It was answered before the connection was lost, and has more to ask.
    slow.sent[0]?.answer()
    await expect
      .poll(() => {
        for (const { answer } of all.slice(1).flatMap(({ sent }) => sent)) answer()
        return all.at(-1)?.texts.at(-1)
      })
      .toBe('more')
    for (const { answer } of all.slice(1).flatMap(({ sent }) => sent)) answer()
    await Promise.all([first, second])
    expect(all.map(({ isClosed }) => isClosed)).toEqual([true, false])
  })
})

describe('connections that no work uses', () => {
  it('are closed after a while, but for the last, and opened again when they are needed', async () => {
    const opened: Quick[] = []
    const closed: Quick[] = []
    let onClosed = nothing
    class Quick implements Connection {
      run(statements: readonly Statement[]): Promise<readonly StatementResult[]> {
        return Promise.resolve(statements.map(() => ({ rows: [], changed: 0 })))
      }

      close(): Promise<void> {
        closed.push(this)
        onClosed()
        return Promise.resolve()
      }
    }
    const pool = new ConnectionPool<Quick>(null, {
      connect: () => {
        const connection = new Quick()
        opened.push(connection)
        return Promise.resolve(connection)
      },
      size: 4,
      commit: 'commit',
      rollback: 'rollback',
      begin: null,
      idleMs: 20,
    })
    const busy = (count: number): Promise<unknown> => {
      let arrived = 0
      let letGo = nothing
      const all = new Promise<void>((resolve) => (letGo = resolve))
      return Promise.all(
        Array.from({ length: count }, () =>
          pool.run(() => {
            arrived += 1
            if (arrived === count) letGo()
            return all
          }),
        ),
      )
    }
    const threeClosed = new Promise<void>((resolve) => {
      onClosed = () => {
        if (closed.length === 3) resolve()
      }
    })
    await busy(4)
    expect(opened).toHaveLength(4)
    await threeClosed
    expect(new Set(closed).size).toBe(3)
    await busy(1)
    expect(opened).toHaveLength(4)
    await busy(4)
    expect(opened).toHaveLength(7)
    await pool.close()
    expect(closed).toHaveLength(7)
  })
})

describe('a pool at rest', () => {
  it('lets work wait a moment for the connection that is open, and opens another if that is not enough', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    onTestFinished(() => void vi.useRealTimers())
    let opened = 0
    const connection = { run: () => Promise.resolve([]), close: () => Promise.resolve() }
    const pool = new ConnectionPool<Connection>(null, {
      connect: () => {
        opened += 1
        return Promise.resolve(connection)
      },
      size: 4,
      commit: 'commit',
      rollback: 'rollback',
      begin: null,
    })
    for (let i = 0; i < 8; i++) {
      await pool.run(() => Promise.resolve())
      await vi.advanceTimersByTimeAsync(500)
    }
    expect(opened).toBe(1)
    let end = nothing
    const first = pool.run(() => new Promise<void>((resolve) => (end = resolve)))
    const second = pool.run(() => Promise.resolve())
    await vi.advanceTimersByTimeAsync(20)
    end()
    await Promise.all([first, second])
    expect(opened).toBe(1)
    await vi.advanceTimersByTimeAsync(2_000)
    const third = pool.run(() => new Promise<void>((resolve) => (end = resolve)))
    const fourth = pool.run(() => Promise.resolve())
    await vi.advanceTimersByTimeAsync(60)
    await fourth
    expect(opened).toBe(2)
    end()
    await third
    await pool.close()
  })
})

describe('work whose connection was lost, on a server that stays away', () => {
  it('fails as lost: its first try may have been committed', async () => {
    const slow = new Slow()
    const pool = new ConnectionPool(slow, {
      connect: () => Promise.reject(new SqlFailed('unreachable', 'There is no server.', null)),
      size: 1,
      mostAwayMs: 50,
      begin: 'begin',
      commit: 'commit',
      rollback: 'rollback',
    })
    const sent = pool.run((connection) => connection.run(asked('begin a commit')))
    slow.sent[0]?.fail(new SqlFailed('lost', 'It is gone.', null))
    await expect(sent).rejects.toMatchObject({ reason: 'lost', kind: 'unknown_outcome' })
    const unsent = pool.run((connection) => connection.run(asked('begin b commit')))
    await expect(unsent).rejects.toMatchObject({ reason: 'unreachable', kind: 'retryable' })
  })
})
