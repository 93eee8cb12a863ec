import { describe, expect, it } from 'vitest'
import type { Command } from '../../../kernel/index.ts'
import { freshFile } from '../../../../test/support/sqlite.ts'
import { plain } from '../../../../test/support/specs.ts'
import type { Claimed } from '../../store.ts'
import { openSqliteStore } from '../open-sql.ts'
import type { SqlStore } from '../sql-store.ts'

const CHANNELS = [{ queue: 'default', type: 'test', stage: null }]
const ops = { by: 'ops', reason: 'because' }

async function two(): Promise<{ now: { time: number }; one: SqlStore; other: SqlStore }> {
  const path = await freshFile()
  const now = { time: 1_000 }
  const clock = { now: () => now.time }
  return {
    now,
    one: await openSqliteStore({ path, clock }),
    other: await openSqliteStore({ path, clock }),
  }
}

async function take(store: SqlStore, worker: string): Promise<Claimed> {
  const request = { worker, request: 1, channels: CHANNELS, max: 1, started: true }
  const [leased] = await store.claim(request)
  return leased as Claimed
}

function commit({ job, lease }: Claimed, worker: string): Command {
  const at = { job, stage: 0, segment: 0, lease, worker }
  return { type: 'CommitExecution', ...at, output: '"mine"', effects: [] }
}

describe('a report about a job that was not looked up again', () => {
  it('is told that authority was lost when another process took it away', async () => {
    const { one, other } = await two()
    await one.execute([{ type: 'SubmitJob', job: 'a', spec: plain() }])
    const leased = await take(one, 'w')
    await other.execute([{ type: 'CancelJob', job: 'a', ...ops }])
    const [answer] = await one.execute([commit(leased, 'w')])
    expect(answer?.verdict).toBe('cancelled')
    const view = await one.query({ kind: 'job', job: 'a' })
    expect(view?.state).toBe('FAILED')
    await one.close()
    await other.close()
  })

  it('does not reach a later life of the id, though its version is the same', async () => {
    const { now, one, other } = await two()
    await one.execute([{ type: 'SubmitJob', job: 'a', spec: plain({}, { leaseMs: 10 }) }])
    const leased = await take(one, 'w')
    await other.execute([{ type: 'CancelJob', job: 'a', ...ops }])
    now.time += 5
    await other.execute([
      { type: 'ForgetJob', job: 'a', endedBefore: now.time },
      { type: 'SubmitJob', job: 'a', spec: plain({ input: '"another"' }) },
    ])
    await take(other, 'v')
    const [answer] = await one.execute([commit(leased, 'w')])
    expect(answer?.rejection?.code).toBe('NotLeaseHolder')
    const view = await other.query({ kind: 'job', job: 'a' })
    expect(view?.state).toBe('RUNNING')
    await one.close()
    await other.close()
  })

  it('is not answered as a repeat, when it may be of a job that is gone', async () => {
    const { now, one, other } = await two()
    await one.execute([{ type: 'SubmitJob', job: 'a', spec: plain() }])
    const { lease } = await take(one, 'w')
    const at = { job: 'a', stage: 0, segment: 0, lease, worker: 'w' }
    const extend: Command = { type: 'ExtendLease', ...at, extension: 1 }
    expect((await one.execute([extend]))[0]?.verdict).toBe('committed')
    await other.execute([{ type: 'CancelJob', job: 'a', ...ops }])
    now.time += 5
    await other.execute([{ type: 'ForgetJob', job: 'a', endedBefore: now.time }])
    expect((await one.execute([extend]))[0]?.rejection?.code).toBe('UnknownTask')
    await one.close()
    await other.close()
  })
})
