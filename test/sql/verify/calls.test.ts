/** Calls that upkeep would not look at are found, and repaired; a copy has them. */
import { DatabaseSync } from '@photostructure/sqlite'
import { beforeEach, describe, expect, it } from 'vitest'
import { calleeId } from '../../../src/kernel/index.ts'
import type { Command } from '../../../src/kernel/index.ts'
import { copyStore, repairDatabase, verifyDatabase } from '../../../src/store/index.ts'
import { openSqliteStore } from '../../../src/store/sql/open-sql.ts'
import { call, caller, plain } from '../../support/specs.ts'
import { freshFile } from '../../support/sqlite.ts'

const CALLEE = calleeId(caller())
const RUNNING = calleeId(caller({ name: 'other' }))
let path = ''

async function due(): Promise<string[]> {
  const store = await openSqliteStore({ path })
  const commands = await store.query({ kind: 'upkeep', limit: 9, forgets: false })
  await store.close()
  return commands.map((command) => `${command.type} ${(command as { job: string }).job}`)
}

function damage(sql: string): void {
  const database = new DatabaseSync(path)
  database.exec(sql)
  database.close()
}

/** A caller that waits for two jobs: one is to be submitted, one is there. */
beforeEach(async () => {
  path = await freshFile()
  const store = await openSqliteStore({ path })
  const at = { job: 'a', stage: 0, segment: 0, worker: 'w' }
  const other = call({ name: 'other', withCaller: true })
  const commands: Command[] = [
    { type: 'SubmitJob', job: 'a', spec: plain() },
    { type: 'GrantLease', ...at, request: 1, started: true },
    {
      type: 'SuspendExecution',
      ...at,
      lease: 1,
      needs: 'all',
      waits: [call(), other],
      unfit: [],
      definitionVersion: 1,
    },
    { type: 'SubmitJob', job: RUNNING, spec: other.callee! },
  ]
  for (const command of commands) {
    expect((await store.execute([command]))[0]?.verdict).toBe('committed')
  }
  await store.close()
})

describe('a call about which something is to be done', () => {
  it('is no problem as long as upkeep will look', async () => {
    expect((await verifyDatabase(`sqlite:${path}`)).problems).toEqual([])
    expect(await due()).toEqual([`SubmitJob ${CALLEE}`])
  })

  it('is no problem if another job has the id of the callee: nothing is to be done', async () => {
    const store = await openSqliteStore({ path })
    await store.execute([
      { type: 'SubmitJob', job: CALLEE, spec: plain() },
      { type: 'CancelJob', job: CALLEE, by: 'ops', reason: '' },
    ])
    await store.close()
    expect(await due()).toEqual([])
    damage('delete from calls')
    expect((await verifyDatabase(`sqlite:${path}`)).problems).toEqual([])
  })

  it('is found if upkeep would not, and repaired', async () => {
    damage('delete from calls')
    expect(await due()).toEqual([])
    const { problems } = await verifyDatabase(`sqlite:${path}`)
    expect(problems).toMatchObject([{ table: 'calls', row: 'a/0/0' }])
    await repairDatabase(`sqlite:${path}`, { apply: true })
    expect((await verifyDatabase(`sqlite:${path}`)).problems).toEqual([])
    expect(await due()).toEqual([`SubmitJob ${CALLEE}`])
  })

  it('is found of a callee that ends with its caller', async () => {
    const store = await openSqliteStore({ path })
    await store.execute([{ type: 'CancelJob', job: 'a', by: 'ops', reason: '' }])
    await store.close()
    damage('delete from calls')
    const { problems } = await verifyDatabase(`sqlite:${path}`)
    expect(problems).toMatchObject([{ table: 'calls', row: RUNNING }])
    await repairDatabase(`sqlite:${path}`, { apply: true })
    expect(await due()).toEqual([`CancelJob ${RUNNING}`])
  })

  it('is in a copy, too', async () => {
    const from = `sqlite:${path}`
    path = await freshFile()
    await copyStore(from, `sqlite:${path}`)
    expect(await due()).toEqual([`SubmitJob ${CALLEE}`])
  })
})
