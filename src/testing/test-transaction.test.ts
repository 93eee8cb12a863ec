import { describe, expect, it, onTestFinished } from 'vitest'
import { freshFile } from '../../test/support/sqlite.ts'
import { plain } from '../../test/support/specs.ts'
import { job, openSqlite, typed } from '../index.ts'
import { MemoryStore } from '../store/index.ts'
import type { TestEngine, TestTransaction } from './index.ts'
import { sqliteTransaction, testEngine } from './index.ts'
import { executeInTransaction } from './test-transaction.ts'

interface Client {
  write(text: string): void
}

/** Writes that are kept when the transaction ends well. */
class Fake {
  readonly kept: string[] = []

  readonly transaction: TestTransaction = async (run) => {
    const written: string[] = []
    await run({ write: (text: string) => written.push(text) })
    this.kept.push(...written)
  }
}

let calls = 0
const pay = job('pay', {
  input: typed<string>(),
  retry: { max: 3, delay: '1m' },
  run: ({ input, commit }) =>
    commit(input).with((client: Client) => {
      calls += 1
      client.write(input)
      if (input === 'broke' && calls < 3) throw new Error('no money')
    }),
})

function engine(transaction?: TestTransaction): TestEngine {
  calls = 0
  const pawl = testEngine(transaction === undefined ? {} : { transaction })
  onTestFinished(() => pawl.close())
  return pawl
}

describe('a commit with writes, in a test', () => {
  it('writes in the transaction of the test, once', async () => {
    const fake = new Fake()
    const { output } = await engine(fake.transaction).runOne(pay, 'coffee')
    expect(output).toBe('coffee')
    expect(fake.kept).toEqual(['coffee'])
  })

  it('that throw commit nothing, and the attempt fails', async () => {
    const fake = new Fake()
    const { info, history } = await engine(fake.transaction).runOne(pay, 'broke')
    expect(info.attempt).toBe(3)
    expect(fake.kept).toEqual(['broke'])
    const failed = history.filter(({ type }) => type === 'TaskFailed')
    expect(failed).toHaveLength(2)
    expect(JSON.stringify(failed[0])).toContain('no money')
  })

  it('of a worker that dies before it are not there, and after it they are, once', async () => {
    const fake = new Fake()
    const pawl = engine(fake.transaction)
    pawl.crash.beforeCommit(pay)
    const first = await pawl.submit(pay, 'tea')
    await pawl.runUntilIdle()
    expect(fake.kept).toEqual([])
    pawl.crash.afterCommit(pay)
    await pawl.runUntilIdle({ skipWaiting: true })
    expect(fake.kept).toEqual(['tea'])
    expect(await first.result()).toBe('tea')
    expect(pawl.crash.unreached).toEqual([])
  })

  it('are not called once the lease is lost', async () => {
    const store = new MemoryStore({ now: () => 1 })
    await store.execute([{ type: 'SubmitJob', job: 'a', spec: plain() }])
    const address = { job: 'a', stage: 0, segment: 0, lease: 1, worker: 'w' }
    const command = { type: 'CommitExecution', ...address, output: 'null', effects: [] } as const
    const fake = new Fake()
    const writes = { run: (client: Client) => client.write('late'), withinMs: 1 }
    let begun = 0
    const transaction: TestTransaction = (run) => {
      begun += 1
      return fake.transaction(run)
    }
    const answer = await executeInTransaction(store, transaction, command, writes)
    expect(answer.verdict).toBe('rejected')
    expect([begun, fake.kept]).toEqual([0, []])
  })

  it('go to a real SQLite database, and are rolled back there', async () => {
    const database = openSqlite(await freshFile())
    onTestFinished(() => database.close())
    database.exec('create table paid (what text)')
    const paid = (): unknown => database.prepare('select what from paid').all()
    let tries = 0
    const book = job('book', {
      retry: { max: 3, delay: '1m' },
      run: ({ commit }) =>
        commit('done').with((client: typeof database) => {
          client.exec(`insert into paid values ('book')`)
          tries += 1
          if (tries < 2) throw new Error('on the way')
        }),
    })
    const pawl = engine(sqliteTransaction(database))
    expect((await pawl.runOne(book)).output).toBe('done')
    expect(tries).toBe(2)
    expect(paid()).toMatchObject([{ what: 'book' }])
  })

  it('fail without a transaction, and say what to write', async () => {
    await expect(engine().runOne(pay, 'coffee')).rejects.toThrow(/needs a database/)
  })

  it('whose transaction never runs them fail, and say so', async () => {
    const pawl = engine(() => undefined)
    await expect(pawl.runOne(pay, 'coffee')).rejects.toThrow(/did not call what it was given/)
  })
})
