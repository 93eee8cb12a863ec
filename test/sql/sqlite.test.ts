/**
 * What only a connection to a SQLite file can meet: a file that others write to, that is full,
 * damaged, or not one of its own, and the end of its thread.
 */
import { execFile } from 'node:child_process'
import { readdirSync, readlinkSync } from 'node:fs'
import { mkdir, mkdtemp, open as openFile, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { DatabaseSync } from '@photostructure/sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Connection } from '../../src/store/sql/connection.ts'
import { DatabaseDamaged } from '../../src/store/sql/failures.ts'
import type { SqliteAddress } from '../../src/store/sql/sqlite/connection.ts'
import {
  borrowThread,
  openConnection,
  returnThread,
} from '../../src/store/sql/sqlite/connection.ts'
import { InThreadConnection } from '../../src/store/sql/sqlite/sqlite-file.ts'
import { SmallDisk } from '../faults/crash/small-disk.ts'
import { ask, reasonOf } from './databases.ts'

let folder: string
let path: string
const open = new Set<Connection>()

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pawl-sqlite-'))
  path = join(folder, 'jobs.db')
})

afterEach(async () => {
  await Promise.all([...open].map((one) => one.close()))
  open.clear()
  await rm(folder, { recursive: true, force: true })
})

async function opened(address: Partial<SqliteAddress> = {}): Promise<Connection> {
  const connection = await openConnection({ path, ...address })
  open.add(connection)
  return connection
}

async function valueOf(connection: Connection, sql: string): Promise<unknown> {
  const [answer] = await connection.run([ask(sql)])
  return answer?.rows[0]?.[0]
}

function child(...args: readonly string[]): Promise<string> {
  const file = new URL('sqlite-child.ts', import.meta.url).pathname
  return new Promise((resolve, reject) => {
    execFile(
      process.execPath,
      ['--import', 'tsx', file, ...args],
      { timeout: 120_000 },
      (error, stdout) => (error === null ? resolve(stdout) : reject(error)),
    )
  })
}

const CREATE = ask('create table t (id text primary key, n integer)')
const CREATE_IF_MISSING = ask('create table if not exists t (id text primary key, n integer)')
const ADD = 'insert into t values (?1, ?2)'

describe('a file', () => {
  it('is written ahead, and synced at every commit', async () => {
    const connection = await opened()
    expect(await valueOf(connection, 'pragma journal_mode')).toBe('wal')
    expect(await valueOf(connection, 'pragma synchronous')).toBe(2)
  })

  it('takes parameters by number, in any order and more than once', async () => {
    const connection = await opened()
    const [answer] = await connection.run([ask('select ?3, ?1, ?2, ?1', 'a', 'b', 'c')])
    expect(answer?.rows).toEqual([['c', 'a', 'b', 'a']])
  })

  it('gives all columns, also of the same name', async () => {
    const connection = await opened()
    const [answer] = await connection.run([ask('select 1 as a, 2 as a, 3 as "1"')])
    expect(answer?.rows).toEqual([[1, 2, 3]])
  })

  it('leaves the bytes that it is given as they are', async () => {
    const connection = await opened()
    const large = new Uint8Array(1_000_000).fill(7)
    const [answer] = await connection.run([ask('select ?1', large.subarray(10, 13))])
    expect(answer?.rows).toEqual([[Uint8Array.of(7, 7, 7)]])
    expect([large.length, large[999_999]]).toEqual([1_000_000, 7])
  })

  it('refuses a statement that lacks a value', async () => {
    const connection = await opened()
    await connection.run([CREATE])
    expect(await reasonOf(connection.run([ask(ADD, 'a')]))).toBe('broken')
    expect(await valueOf(connection, 'select count(*) from t')).toBe(0)
  })
})

describe('a file that is closed', () => {
  it('is whole, and nobody has it open any more', async () => {
    const connection = await opened()
    await connection.run([CREATE, ask(ADD, 'a', 1), ask('begin'), ask(ADD, 'b', 2)])
    expect(await readdir(folder)).toEqual(['jobs.db', 'jobs.db-shm', 'jobs.db-wal'])
    await connection.close()
    expect(await readdir(folder)).toEqual(['jobs.db'])
    expect(await valueOf(await opened(), 'select count(*) from t')).toBe(1)
  })

  it.runIf(process.platform === 'linux')('leaves its thread for the next one', async () => {
    const first = await threadOf()
    expect(await threadOf()).toBe(first)
  })

  it.runIf(process.platform === 'linux')(
    'is closed all the same while this process has it open elsewhere',
    async () => {
      const other = new InThreadConnection(join(folder, 'jobs.db'))
      const connection = await opened()
      await connection.run([CREATE, ask(ADD, 'a', 1)])
      await connection.close()
      expect(isOpenHere()).toBe(true)
      expect(await valueOf(other, 'select count(*) from t')).toBe(1)
      await other.close()
    },
  )
})

/** Of a connection that was opened and closed. */
async function threadOf(): Promise<number> {
  const connection = await opened()
  await connection.run([CREATE_IF_MISSING, ask('select count(*) from t')])
  await connection.close()
  expect(isOpenHere()).toBe(false)
  const thread = borrowThread()
  returnThread(thread)
  return thread.threadId
}

/** Whether this process has one of the files open, with those that SQLite keeps beside them. */
function isOpenHere(): boolean {
  return readdirSync('/proc/self/fd').some((entry) => {
    try {
      return readlinkSync(`/proc/self/fd/${entry}`).startsWith(folder)
    } catch {
      return false
    }
  })
}

describe('a file that somebody else writes to', () => {
  it('makes a writer wait, but not the event loop', async () => {
    const [holder, waiter] = [await opened(), await opened({ busyMs: 60_000 })]
    await holder.run([CREATE, ask('begin exclusive'), ask(ADD, 'a', 1)])
    let isThrough = false
    const waiting = waiter.run([ask('begin immediate'), ask(ADD, 'b', 2), ask('commit')])
    void waiting.then(() => (isThrough = true))
    for (let turns = 0; turns < 1_000; turns++) await turn()
    expect(isThrough).toBe(false)
    await holder.run([ask('commit')])
    await waiting
    expect(await valueOf(holder, 'select count(*) from t')).toBe(2)
  })

  it('is a conflict once it was waited for', async () => {
    const [holder, waiter] = [await opened(), await opened({ busyMs: 10 })]
    await holder.run([CREATE, ask('begin exclusive')])
    expect(await reasonOf(waiter.run([ask('begin immediate')]))).toBe('conflict')
    expect(await reasonOf(waiter.run([ask(ADD, 'a', 1)]))).toBe('conflict')
    expect(await reasonOf(waiter.run([ask(`${ADD} returning n`, 'a', 1)]))).toBe('conflict')
    expect(await valueOf(waiter, 'select count(*) from t')).toBe(0)
    await holder.run([ask('commit')])
  })

  it('is released by a transaction that stalls, for a driver that waits in the same thread', async () => {
    const holder = await opened()
    await holder.run([CREATE, ask('begin immediate'), ask(ADD, 'a', 1)])
    const own = new DatabaseSync(path)
    own.exec('pragma busy_timeout = 60000')
    const begun = performance.now()
    // Nothing can be sent from here meanwhile.
    own.exec('begin immediate')
    expect(performance.now() - begun).toBeLessThan(5_000)
    own.exec(`insert into t values ('own', 1)`)
    own.exec('commit')
    own.close()
    expect(await reasonOf(holder.run([ask(ADD, 'b', 2), ask('commit')]))).toBe('conflict')
    await holder.run([ask('rollback')])
    // The one is done here, and the other one, behind it, by the thread.
    await Promise.all([
      holder.run([ask('begin immediate'), ask(ADD, 'c', 3), ask('commit')]),
      holder.run([ask('begin immediate'), ask(ADD, 'd', 4)]),
    ])
    await holder.run([ask('commit')])
    const other = await opened({ busyMs: 0 })
    await other.run([ask(ADD, 'e', 5)])
    const [rows] = await other.run([ask('select id from t order by id')])
    expect(rows?.rows).toEqual([['c'], ['d'], ['e'], ['own']])
  })

  it('is given to who waits for it, though somebody else writes all the time', async () => {
    const [busy, waiter] = [await opened(), await opened({ busyMs: 60_000 })]
    await busy.run([CREATE])
    const all = Array.from({ length: 2_000 }, (_, i) => [`${i}`, i])
    const write = [
      ask('begin immediate'),
      { sql: ADD, rows: all },
      ask('delete from t'),
      ask('commit'),
    ]
    const state = { isOver: false }
    let others = 0
    const writing = (async () => {
      // Two are on their way, so that the next one begins when one ends.
      let before = busy.run(write)
      while (!state.isOver) {
        const next = busy.run(write)
        await before
        before = next
        others += 1
      }
      await before
    })()
    const passed: number[] = []
    for (let i = 0; i < 40; i++) {
      const before = others
      await expect.poll(() => others, { interval: 1 }).toBeGreaterThan(before)
      const begun = others
      await waiter.run([ask('begin immediate'), ask('commit')])
      passed.push(others - begun)
    }
    state.isOver = true
    await writing
    // SQLite's own way to wait lets some hundreds pass now and then.
    expect(Math.max(...passed)).toBeLessThan(100)
  })

  it('of a stalled transaction that cannot be opened once more is written by the thread, which has it open', async () => {
    const inside = join(folder, 'inside')
    await mkdir(inside)
    const holder = await opened({ path: join(inside, 'jobs.db') })
    await holder.run([CREATE, ask('begin immediate')])
    const own = new DatabaseSync(join(inside, 'jobs.db'))
    own.exec('pragma busy_timeout = 60000')
    own.exec('begin immediate')
    own.exec('rollback')
    own.close()
    expect(await reasonOf(holder.run([ask(ADD, 'a', 1)]))).toBe('conflict')
    await rename(inside, join(folder, 'away'))
    await holder.run([ask('begin immediate'), ask(ADD, 'b', 2), ask('commit')])
    expect(await valueOf(holder, 'select id from t')).toBe('b')
    await rename(join(folder, 'away'), inside)
    expect(await valueOf(holder, 'select count(*) from t')).toBe(1)
  })

  it('is a conflict for who has read an older state and wants to write', async () => {
    const [one, two] = [await opened(), await opened()]
    await one.run([CREATE, ask('begin'), ask('select * from t')])
    await two.run([ask(ADD, 'a', 1)])
    expect(await reasonOf(one.run([ask(ADD, 'b', 2)]))).toBe('conflict')
    await one.run([ask('rollback')])
  })

  it('is opened and written by several processes at once, and nothing is lost', async () => {
    const told = await Promise.all(['a', 'b', 'c'].map((name) => child('count', path, name, '100')))
    expect(told).toEqual(['100\n', '100\n', '100\n'])
    const connection = await opened()
    expect(await valueOf(connection, 'select n from counter')).toBe(300)
    expect(await valueOf(connection, 'pragma integrity_check')).toBe('ok')
  })
})

describe('a file that cannot be used', () => {
  it('is full when it may not grow', async () => {
    const connection = await opened()
    await connection.run([CREATE, ask('pragma max_page_count = 4')])
    const rows = Array.from({ length: 1_000 }, (_, at) => [`some long id of ${at}`, at])
    expect(await reasonOf(connection.run([{ sql: ADD, rows }]))).toBe('full')
    expect(await reasonOf(connection.run([{ sql: `${ADD} returning n`, rows }]))).toBe('conflict')
    const others = rows.map(([id = '', n = 0]) => [`other ${id}`, n])
    const returning = connection.run([{ sql: `${ADD} returning n`, rows: others }])
    expect(await reasonOf(returning)).toBe('full')
  })

  it('is full when the disk is, and goes on once there is room', async (context) => {
    const disk = await SmallDisk.mount()
    if (typeof disk === 'string') {
      context.skip(disk)
      return
    }
    const connection = await opened({ path: join(disk.path, 'jobs.db') })
    try {
      await connection.run([CREATE, ask(ADD, 'first', 0)])
      await disk.fill()
      const rows = Array.from({ length: 1_000 }, (_, at) => [`some long id of ${at}`, at])
      const asks = [ask('begin immediate'), { sql: ADD, rows }, ask('commit')]
      expect(await reasonOf(connection.run(asks))).toBe('full')
      await reasonOf(connection.run([ask('rollback')]))
      expect(await valueOf(connection, 'select count(*) from t')).toBe(1)
      await disk.makeRoom()
      await connection.run(asks)
      expect(await valueOf(connection, 'select count(*) from t')).toBe(1_001)
    } finally {
      await connection.close()
      await disk.unmount()
    }
  })

  it('is damaged when it is not a database any more, and named', async () => {
    await writeFile(path, 'something else '.repeat(100))
    await writeFile(`${path}-mark`, '')
    const failing = openConnection({ path })
    await expect(failing).rejects.toThrow(DatabaseDamaged)
    await expect(failing).rejects.toThrow(
      `The SQLite file ${path} is damaged: file: file is not a database.`,
    )
  })

  it('is damaged when its pages make no sense, and named', async () => {
    const rows = Array.from({ length: 2_000 }, (_, at) => [`id ${at}`, at])
    const before = await opened()
    await before.run([CREATE, ask('begin'), { sql: ADD, rows }, ask('commit')])
    await before.close()
    const file = await openFile(path, 'r+')
    await file.write(Buffer.alloc(20_000, 255), 0, 20_000, 8_192)
    await file.close()
    const connection = await opened()
    const failing = connection.run([ask('select sum(n), max(id) from t')])
    await expect(failing).rejects.toThrow(DatabaseDamaged)
    await expect(failing).rejects.toThrow(path)
  })

  it('is unusable where there is no folder, and named', async () => {
    const failing = openConnection({ path: join(folder, 'nowhere', 'jobs.db') })
    expect(await reasonOf(failing)).toBe('unusable')
    await expect(failing).rejects.toThrow(join(folder, 'nowhere', 'jobs.db'))
  })
})

describe('the thread', () => {
  it('takes the connection with it when it ends', async () => {
    const thread = borrowThread()
    returnThread(thread)
    const connection = await opened()
    expect(await valueOf(connection, 'select 1')).toBe(1)
    // While it is at rest: one that is inside of SQLite would take the whole process with it.
    void thread.terminate()
    expect(await reasonOf(connection.run([ask('select 1')]))).toBe('lost')
    expect(await reasonOf(connection.run([ask('select 1')]))).toBe('lost')
    await connection.close()
    expect(await valueOf(await opened(), 'select 1')).toBe(1)
  })

  it('keeps a process alive while something is under way, and no longer', async () => {
    expect(await child('idle', path)).toBe('1000000\n')
  })
})
