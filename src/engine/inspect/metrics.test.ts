import { describe, expect, it } from 'vitest'
import { ENGINES, temporaryFolder } from '../../../test/support/engines.ts'
import { ReadyBench } from '../../../test/support/ready-bench.ts'
import { promise } from '../../../test/support/specs.ts'
import type { EngineMetrics, Traffic } from '../../index.ts'
import { job, open as openPawl, pipeline, typed } from '../../index.ts'
import { testEngine } from '../../testing/index.ts'

const echo = job('echo', { input: typed<string>(), run: ({ input }) => input })
const broken = job('broken', {
  queue: 'mail',
  retry: { max: 1, delay: 0 },
  run: () => {
    throw new Error('no')
  },
})

function movesOf({ moves }: EngineMetrics): string[] {
  return moves.map(({ of, from, to, count }) => `${of} ${from} → ${to} ${count}`).toSorted()
}

function trafficOf({ traffic }: Pick<EngineMetrics, 'traffic'>, type: string): Traffic {
  return traffic.find((one) => one.type === type) as Traffic
}

describe.each(ENGINES)('the metrics of an engine %s', (_, open) => {
  it('count every entry, and the ways of each type in its queue', async () => {
    const pawl = await open()
    const handles = await pawl.submitMany(echo, [{ input: 'a' }, { input: 'b' }])
    const bad = await pawl.submit(broken)
    pawl.work([echo, broken])
    await Promise.all(handles.map((handle) => handle.result()))
    await bad.result().catch(() => undefined)
    await pawl.pause('mail')
    const metrics = await pawl.metrics()
    expect(metrics.entries).toEqual({
      JobSubmitted: 3,
      LeaseGranted: 4,
      ExecutionCommitted: 2,
      TaskFailed: 2,
      QueuePaused: 1,
    })
    expect(metrics.quarantined).toBe(1)
    expect(metrics.leases).toBe(0)
    expect(metrics.now.getTime()).toBeGreaterThanOrEqual(metrics.since.getTime())
    expect(trafficOf(metrics, 'echo')).toMatchObject({
      queue: 'default',
      submitted: 2,
      granted: 2,
      committed: 2,
      failed: 0,
      quarantined: 0,
      runMs: { count: 2 },
    })
    expect(trafficOf(metrics, 'broken')).toMatchObject({
      queue: 'mail',
      submitted: 1,
      granted: 2,
      committed: 0,
      failed: 2,
      quarantined: 1,
      waitMs: { count: 2 },
    })
  })

  it('count how many jobs, and segments, went from which state to which', async () => {
    const pawl = await open()
    const film = pipeline('film', {}).stage('cut', { run: () => 'cut' })
    const { id } = await pawl.submit(echo, 'later', { hold: true })
    const handles = [await pawl.submit(echo, 'a'), await pawl.submit(film)]
    const bad = await pawl.submit(broken)
    pawl.work([echo, broken, film])
    await Promise.all(handles.map((handle) => handle.result()))
    await bad.result().catch(() => undefined)
    await pawl.cancel(id)
    expect(movesOf(await pawl.metrics())).toEqual([
      'job CREATED → FAILED 1',
      'job QUEUED → RUNNING 3',
      'job RUNNING → QUARANTINED 1',
      'job RUNNING → QUEUED 1',
      'job RUNNING → SUCCEEDED 1',
      'job null → CREATED 1',
      'job null → QUEUED 2',
      'segment QUEUED → RUNNING 1',
      'segment RUNNING → SUCCEEDED 1',
    ])
  })

  it('are a snapshot', async () => {
    const pawl = await open()
    const before = await pawl.metrics()
    await pawl.submit(echo, 'a')
    expect(before.entries).toEqual({})
    expect(before.traffic).toEqual([])
    expect((await pawl.metrics()).entries).toEqual({ JobSubmitted: 1 })
  })
})

describe('metrics', () => {
  it('tell how long jobs waited from when they were due, and how long they ran', async () => {
    const pawl = testEngine()
    let finish!: () => void
    const slow = job('slow', { run: () => new Promise<void>((resolve) => (finish = resolve)) })
    const worker = pawl.work([slow], { concurrency: 1 })
    await pawl.submit(slow)
    await pawl.advance(0)
    await pawl.submit(slow, undefined, { delay: '1m' })
    await pawl.advance('3m')
    finish()
    await pawl.advance(0)
    finish()
    await pawl.advance(0)
    const { waitMs, runMs } = trafficOf(await pawl.metrics(), 'slow')
    // The second one was due after a minute, and waited for the first, which took three.
    expect([waitMs.count, waitMs.sum]).toEqual([2, 120_000])
    expect([runMs.count, runMs.sum]).toEqual([2, 180_000])
    expect(worker.running).toBe(0)
    await pawl.close()
  })

  it('do not count as waiting how long a job was held, or in hand', async () => {
    const pawl = testEngine()
    const hangs = job('hangs', { run: () => new Promise<void>(() => undefined) })
    const worker = pawl.work([hangs], { shutdown: 0 })
    const { id } = await pawl.submit(hangs, undefined, { hold: true })
    await pawl.advance('1h')
    await pawl.release(id)
    await pawl.advance('1h')
    const stopped = worker.stop()
    await pawl.advance(0)
    await stopped
    await pawl.advance('1s')
    pawl.work([hangs])
    await pawl.advance(0)
    const { granted, waitMs } = trafficOf(await pawl.metrics(), 'hangs')
    expect([granted, waitMs.count]).toEqual([2, 2])
    // A moment until it is taken, each time, and the second without a worker.
    expect(waitMs.sum).toBeGreaterThanOrEqual(1_000)
    expect(waitMs.sum).toBeLessThan(2_000)
    await pawl.close()
  })

  it('count a move that time made with the next entry', async () => {
    const pawl = testEngine()
    const weak = job('weak', {
      retry: { max: 1, delay: '1m' },
      run: ({ job: { attempt }, sleep }) => {
        if (attempt === 1) throw new Error('no')
        return sleep('pause', '1m')
      },
    })
    await pawl.submit(weak, undefined, { delay: '1m' })
    const { id } = await pawl.submit(weak, undefined, { hold: true })
    await pawl.pause('default')
    await pawl.advance('2m')
    expect(movesOf(await pawl.metrics())).toEqual(['job null → CREATED 2'])
    await pawl.release(id)
    await pawl.resume('default')
    await pawl.runUntilIdle({ skipWaiting: true })
    expect(movesOf(await pawl.metrics())).toEqual([
      'job CREATED → QUEUED 2',
      'job QUEUED → RUNNING 6',
      'job RETRYING → QUEUED 2',
      'job RUNNING → RETRYING 2',
      'job RUNNING → SUCCEEDED 2',
      'job RUNNING → SUSPENDED 2',
      'job SUSPENDED → QUEUED 2',
      'job null → CREATED 2',
    ])
    await pawl.close()
  })

  it('count leases that were lost', async () => {
    const pawl = testEngine()
    pawl.crash.beforeCommit(echo)
    await pawl.submit(echo, 'a')
    await pawl.runUntilIdle({ skipWaiting: true })
    const metrics = await pawl.metrics()
    expect(trafficOf(metrics, 'echo').lost).toBe(metrics.entries.LeaseExpired)
    expect(metrics.entries.LeaseExpired).toBeGreaterThan(0)
    await pawl.close()
  })

  it('count what waits for a person, whichever entry brought it there', () => {
    const bench = new ReadyBench()
    bench.submit('a')
    bench.claim()
    const report = bench.report('a')
    bench.must({ type: 'CommitExecution', ...report, output: '1', effects: [promise()] })
    bench.must({ type: 'StartEffect', ...report, effect: 0 })
    bench.must({ type: 'ReleaseLease', ...report })
    const metrics = bench.ledger.metrics()
    expect(metrics.quarantined).toBe(1)
    expect(trafficOf(metrics, 'test').quarantined).toBe(1)
  })

  it('begin anew with each process, and know what was replayed only as it is now', async () => {
    const folder = await temporaryFolder()
    const first = await openPawl(folder)
    await first.submit(echo, 'a')
    expect((await first.metrics()).durableUs.count).toBeGreaterThan(0)
    await first.close()
    const second = await openPawl(folder)
    expect((await second.metrics()).entries).toEqual({})
    await second.handle((await second.list()).jobs[0]?.id ?? '').cancel()
    expect((await second.metrics()).entries).toEqual({ JobCancelled: 1 })
    await second.close()
  })

  it('count together what comes under too many names', async () => {
    const pawl = testEngine()
    const many = Array.from({ length: 1_100 }, (_, i) => ({
      input: 'a',
      options: { queue: `q${i}`, hold: true },
    }))
    await pawl.submitMany(echo, many)
    const { traffic } = await pawl.metrics()
    expect(traffic).toHaveLength(1_001)
    expect(traffic.at(-1)).toMatchObject({ queue: '(others)', type: '(others)', submitted: 100 })
    await pawl.close()
  })
})
