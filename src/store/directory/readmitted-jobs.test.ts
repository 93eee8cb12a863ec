/**
 * Jobs that are over and that a command named: copies of them are in memory for a while.
 */
import { describe, expect, it } from 'vitest'
import { Bench, range } from '../../../test/support/directory-bench.ts'
import { child, pipeline, plain, stage } from '../../../test/support/specs.ts'
import type { Command, JobSpec } from '../../kernel/index.ts'
import { childId } from '../../kernel/index.ts'
import { loadDirectory } from './load-directory.ts'

const INPUT = JSON.stringify('x'.repeat(500))

/** A report under the first lease of a job, long after it ended. */
function late(job: string): Command {
  return { type: 'ReleaseLease', job, stage: 0, segment: 0, lease: 1, worker: 'w' }
}

function submit(job: string, changes: Partial<JobSpec> = {}): Command {
  return { type: 'SubmitJob', job, spec: plain(changes) }
}

function forget(bench: Bench, job: string): Command {
  return { type: 'ForgetJob', job, endedBefore: bench.now }
}

async function must(bench: Bench, ...commands: Command[]): Promise<void> {
  const answers = await bench.store.execute(commands)
  expect(answers.map(({ verdict }) => verdict)).toEqual(commands.map(() => 'committed'))
}

/** Commands that name so many finished jobs, each of which comes in again for it. */
async function disturb(bench: Bench, ids: readonly string[]): Promise<void> {
  for (let at = 0; at < ids.length; at += 200) {
    await must(bench, ...ids.slice(at, at + 200).map((id) => submit(id, { input: INPUT })))
  }
}

async function withMany(): Promise<Bench> {
  const bench = await new Bench().open({ segmentBytes: 4_000_000 })
  await bench.submit(...range(1_500))
  await bench.finish(1_500)
  bench.now += 1
  return bench
}

describe('a finished job that was admitted again', () => {
  it('that leaves again takes nothing with it that was noted about it', async () => {
    const bench = await withMany()
    await bench.store.execute([late('job 0')])
    await disturb(bench, range(1_500).slice(1))
    const view = await bench.store.query({ kind: 'job', job: 'job 0' })
    expect(view?.job.task?.leases[0]?.refused).toBe(true)
    const history = await bench.store.query({ kind: 'history', job: 'job 0', limit: 10 })
    expect(history.at(-1)?.entry.type).toBe('ReportRefused')
    const { jobs } = await bench.store.query({ kind: 'jobs', limit: 2_000 })
    expect(jobs).toHaveLength(1_500)
  })

  it('that was forgotten is not taken for a new job of its id', async () => {
    const bench = await withMany()
    await disturb(bench, range(1_500))
    await bench.store.execute([late('job 0'), forget(bench, 'job 0')])
    await bench.submit('job 0')
    await disturb(bench, range(1_500).slice(1))
    const view = await bench.store.query({ kind: 'job', job: 'job 0' })
    expect(view?.state).toBe('QUEUED')
    expect(await bench.finish(5)).toEqual(['job 0'])
  })

  it('is one of a bounded number', async () => {
    const bench = await withMany()
    await bench.store.close()
    const { state } = await loadDirectory(bench.disk, '/store', () => undefined)
    const { ledger } = state
    expect(ledger.world.jobs.size).toBe(0)
    for (const id of range(1_500)) {
      const { verdict } = ledger.perform(submit(id, { input: INPUT }), 5_000)
      expect(verdict).toBe('committed')
      expect(ledger.world.jobs.size).toBeLessThanOrEqual(1_000)
    }
  })

  it("does not take a key that was unique, and is another one's now", async () => {
    const bench = await new Bench().open()
    const first = submit('first', { key: 'k', unique: true })
    await must(bench, first)
    await bench.finish(1)
    await must(bench, submit('second', { key: 'k' }))
    await bench.finish(1)
    await must(bench, first)
    const [answer] = await bench.store.execute([submit('third', { key: 'k' })])
    expect(answer?.value).toBe('second')
  })

  it('stays as long as the command that named it, though another one comes in for that', async () => {
    const bench = await new Bench().open({ segmentBytes: 4_000_000 })
    const only = { queue: 'default', type: 'test', stage: 'only' }
    const claim = { request: 1, channels: [only], max: 1, started: true }
    const at = { job: 'p', stage: 0, segment: 0 }
    await must(bench, { type: 'SubmitJob', job: 'p', spec: pipeline([stage('only')]) })
    await bench.upkeep()
    await bench.store.claim({ ...claim, worker: 'w1' })
    const promised = child(plain({ type: 'kid' }))
    const commit = { type: 'CommitExecution', output: '1' } as const
    await must(bench, { ...commit, ...at, lease: 1, worker: 'w1', effects: [promised] })
    bench.now += 40_000
    await bench.upkeep()
    await bench.store.claim({ ...claim, worker: 'w2' })
    const parent = { ...at, effect: 0 }
    const kid = childId(parent)
    await must(
      bench,
      { type: 'StartEffect', ...at, lease: 2, worker: 'w2', effect: 0 },
      { type: 'SubmitJob', job: kid, spec: plain({ type: 'kid', parent }) },
      { type: 'FinishEffect', ...at, lease: 2, worker: 'w2', effect: 0 },
    )
    const channels = [{ queue: 'default', type: 'kid', stage: null }]
    await bench.store.claim({ ...claim, channels, worker: 'w3' })
    const own = { job: kid, stage: 0, segment: 0, lease: 1, worker: 'w3', effects: [] }
    await must(bench, { ...commit, ...own })
    await bench.submit(...range(999))
    await bench.finish(999)
    await disturb(bench, range(999))
    // A late report of somebody who never began the effect: it looks at the child as well.
    const [answer] = await bench.store.execute([
      { type: 'FinishEffect', ...at, lease: 1, worker: 'w1', effect: 0 },
    ])
    expect(answer?.verdict).toBe('cancelled')
    const view = await bench.store.query({ kind: 'job', job: 'p' })
    expect(view?.state).toBe('SUCCEEDED')
  })
})
