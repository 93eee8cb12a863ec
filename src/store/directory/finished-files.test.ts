import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { Bench, range } from '../../../test/support/directory-bench.ts'
import { pipeline, plain, stage } from '../../../test/support/specs.ts'
import type { Command } from '../../kernel/index.ts'
import { eventLoopTurn } from '../../log/index.ts'
import { FinishedJobs } from './finished-jobs.ts'

/** A report under the first lease of a job, long after it ended. */
function late(job: string): Command {
  return { type: 'ReleaseLease', job, stage: 0, segment: 0, lease: 1, worker: 'w' }
}

function submit(job: string): Command {
  return { type: 'SubmitJob', job, spec: plain({ key: 'k', unique: true }) }
}

function forget(bench: Bench, job: string): Command {
  return { type: 'ForgetJob', job, endedBefore: bench.now }
}

async function listed(bench: Bench): Promise<string[]> {
  const { jobs } = await bench.store.query({ kind: 'jobs', limit: 1_000 })
  return jobs.map(({ id }) => id)
}

describe('a finished job in a file', () => {
  it('that comes back does not take its key from a job that has it now', async () => {
    const bench = await new Bench().open()
    await bench.store.execute([submit('a')])
    await bench.finish(1)
    await bench.store.checkpoint()
    const answers = await bench.store.execute([submit('b'), late('a'), submit('c')])
    expect(answers.map(({ value }) => value)).toEqual(['b', null, 'b'])
    expect(await listed(bench)).toEqual(['a', 'b'])
  })

  it('that changes while a checkpoint is made is listed, read and kept', async () => {
    const bench = await new Bench().open()
    await bench.submit(...range(20))
    await bench.store.checkpoint()
    await bench.finish(10)
    const made = bench.store.checkpoint()
    await bench.store.execute([late('job 3')])
    await made
    for (let i = 0; i < 2; i++) {
      expect(await listed(bench)).toEqual(range(20))
      const view = await bench.store.query({ kind: 'job', job: 'job 3' })
      expect(view?.job.task?.leases[0]?.refused).toBe(true)
      await bench.store.checkpoint()
    }
  })

  it('that comes to its end while very many are taken over is found', async () => {
    const bench = await new Bench().open({ segmentBytes: 64 * 1_024 * 1_024 })
    for (let i = 0; i < 10; i++) {
      await bench.submit(...range(1_000, `before ${i}`))
      await bench.finish(1_000)
    }
    const checkpoint = { isMade: false }
    const made = bench.store.checkpoint().finally(() => (checkpoint.isMade = true))
    const ids: string[] = []
    while (!checkpoint.isMade) {
      const id = `meanwhile ${ids.length}`
      ids.push(id)
      await bench.submit(id)
      await bench.finish(1)
    }
    await made
    for (const job of ids) {
      const outcome = await bench.store.query({ kind: 'outcome', job })
      expect([job, outcome?.state]).toEqual([job, 'SUCCEEDED'])
    }
    await bench.store.close()
  })

  it('that comes back and changes while a checkpoint is made does not fall back', async () => {
    const bench = await new Bench().open()
    await bench.submit(...range(4))
    await bench.finish(4)
    await bench.store.checkpoint()
    const made = bench.store.checkpoint()
    await bench.store.execute([late('job 3')])
    await made
    const view = await bench.store.query({ kind: 'job', job: 'job 3' })
    expect(view?.job.task?.leases[0]?.refused).toBe(true)
  })

  it('that was forgotten while a checkpoint was made stays so, though its file is merged', async () => {
    const bench = await new Bench().open()
    await bench.submit(...range(6))
    await bench.finish(3)
    await bench.store.checkpoint()
    await bench.finish(3)
    bench.now += 1
    const made = bench.store.checkpoint()
    await bench.store.execute([forget(bench, 'job 1')])
    await made
    expect(await bench.store.query({ kind: 'job', job: 'job 1' })).toBeNull()
    expect(await listed(bench)).toEqual(range(6).filter((id) => id !== 'job 1'))
  })

  it('that was forgotten while a checkpoint was made stays forgotten, though a read fails', async () => {
    for (let call = 1; call <= 60; call++) {
      const bench = await new Bench().open()
      await bench.submit(...range(3))
      await bench.finish(2)
      bench.now += 1
      await bench.store.execute([late('job 0')])
      const made = bench.store.checkpoint()
      bench.now += 1
      await bench.store.execute([forget(bench, 'job 1')])
      bench.disk.failAt(call, { code: 'EIO', forever: false })
      await made.catch(() => undefined)
      bench.disk.heal()
      const ended = await bench.store.query({ kind: 'job', job: 'job 1' }).catch(() => 'ended')
      expect(ended === null || ended === 'ended').toBe(true)
      const again = await new Bench(bench.disk.crash('everything')).open()
      expect(await again.store.query({ kind: 'job', job: 'job 1' })).toBeNull()
    }
  })
})

describe('a checkpoint that was made and cannot be read', () => {
  it('hides no job, and leaves no file open', async () => {
    let failed = 0
    const left = range(20).filter((id) => id !== 'job 18')
    for (let call = 1; call <= 80; call++) {
      const bench = await new Bench().open()
      await bench.submit(...range(20))
      await bench.finish(18)
      await bench.store.checkpoint()
      // One more for the new file, and one that has changed: what the old file has of it counts
      // no more once the new one is in use.
      await bench.finish(1)
      await bench.store.execute([late('job 0')])
      const made = bench.store.checkpoint()
      bench.now += 1
      await bench.store.execute([forget(bench, 'job 18')])
      bench.disk.failAt(call, { code: 'EIO', forever: false })
      const isMade = await made.then(
        () => true,
        () => false,
      )
      bench.disk.heal()
      if (!isMade) {
        failed += 1
        expect(await listed(bench), `call ${call}`).toEqual(left)
      }
      await bench.store.close()
      expect(bench.disk.openFiles, `call ${call}`).toBe(0)
    }
    expect(failed).toBeGreaterThan(20)
  })
})

describe('a list', () => {
  it('misses no job that comes to its end while the list is made, and has none twice', async () => {
    const bench = await new Bench().open({ segmentBytes: 4_000_000 })
    await bench.submit(...range(4_000))
    const asked = bench.store.query({ kind: 'jobs', limit: 5_000 })
    const checkpoint = bench.store.checkpoint()
    await bench.finish(4_000)
    await checkpoint
    const { jobs } = await asked
    expect(jobs.map(({ id }) => id)).toEqual(range(4_000))
    expect(new Set(jobs.map(({ state }) => state)).size).toBeGreaterThan(1)
  })
})

describe('the outputs of a pipeline', () => {
  it('are those of its newest life, and none once it is forgotten', async () => {
    const bench = await new Bench().open()
    const only = { queue: 'default', type: 'test', stage: 'only' }
    const spec = pipeline([stage('only', { each: 'input' })], { input: '[1,2,3]' })
    const outputs = async (limit: number): Promise<string[]> => {
      const ask = { kind: 'outputs', job: 'p', stage: 0, after: -1, limit } as const
      const page = await bench.store.query(ask)
      return (page?.outputs ?? []).map(({ output }) => output)
    }
    for (const [request, output] of ['"old"', '"new"'].entries()) {
      await bench.store.execute([{ type: 'SubmitJob', job: 'p', spec }])
      await bench.upkeep()
      const claim = { worker: 'w', request, channels: [only], max: 5, started: true }
      const leases = await bench.store.claim(claim)
      for (const { job, stage: at, segment, lease } of leases) {
        const address = { job, stage: at, segment, lease, worker: 'w' }
        await bench.store.execute([{ type: 'CommitExecution', ...address, output, effects: [] }])
      }
      expect(await outputs(1)).toEqual([output])
      expect(await outputs(9)).toEqual([output, output, output])
      expect(await outputs(1)).toEqual([output])
      bench.now += 1
      await bench.store.execute([forget(bench, 'p')])
      expect(await outputs(9)).toEqual([])
    }
  })
})

describe('the outputs of two pipelines', () => {
  it('that are read in turns are read from the file once each, not once for each page', async () => {
    const bench = await new Bench().open()
    const only = { queue: 'default', type: 'test', stage: 'only' }
    const spec = pipeline([stage('only', { each: 'input' })], { input: '[1,2,3,4,5]' })
    for (const job of ['p', 'q']) await bench.store.execute([{ type: 'SubmitJob', job, spec }])
    await bench.upkeep()
    const claim = { worker: 'w', request: 1, channels: [only], max: 10, started: true }
    for (const { job, stage: at, segment, lease } of await bench.store.claim(claim)) {
      const address = { job, stage: at, segment, lease, worker: 'w' }
      const [output, effects] = [`"${job}"`, []]
      await bench.store.execute([{ type: 'CommitExecution', ...address, output, effects }])
    }
    const find = vi.spyOn(FinishedJobs.prototype, 'find')
    onTestFinished(() => find.mockRestore())
    for (let after = -1; after < 4; after++) {
      for (const job of ['p', 'q']) {
        const ask = { kind: 'outputs', job, stage: 0, after, limit: 1 } as const
        const page = await bench.store.query(ask)
        expect(page?.outputs).toEqual([{ segment: after + 1, output: `"${job}"` }])
      }
    }
    expect(find.mock.calls.map(([job]) => job)).toEqual(['p', 'q'])
  })
})

describe('upkeep', () => {
  it('asked again says the same again until the jobs are forgotten', async () => {
    const bench = await new Bench().open({ retention: { count: 3 } })
    await bench.submit(...range(8))
    await bench.finish(5)
    await bench.store.checkpoint()
    bench.now += 1
    await bench.finish(3)
    bench.now += 1
    const ask = { kind: 'upkeep', limit: 100 } as const
    const first = await bench.store.query(ask)
    expect(first).toHaveLength(5)
    expect(await bench.store.query(ask)).toEqual(first)
    await bench.store.checkpoint()
    expect(await bench.store.query(ask)).toEqual(first)
  })

  it('asked while jobs leave memory counts none of them twice', async () => {
    const bench = await new Bench().open({ retention: { count: 5_000 }, segmentBytes: 4_000_000 })
    for (let i = 0; i < 4; i++) await bench.submit(...range(1_000, `round ${i}`))
    for (let i = 0; i < 4; i++) await bench.finish(1_000)
    bench.now += 1
    const made = bench.store.checkpoint()
    for (let i = 0; i < 200; i++) {
      expect(await bench.store.query({ kind: 'upkeep', limit: 100 })).toEqual([])
      await eventLoopTurn()
    }
    await made
  })
})

describe('a hostile command', () => {
  it('is refused by a value, and the store goes on', async () => {
    const bench = await new Bench().open()
    const throwing = {
      type: 'SubmitJob',
      job: 'a',
      get spec(): never {
        throw new Error('no')
      },
    } as unknown as Command
    const [answer] = await bench.store.execute([throwing])
    expect(answer?.rejection?.code).toBe('MalformedCommand')
    await bench.submit('b')
    for (const kind of ['toString', 'constructor']) {
      const asked = bench.store.query({ kind } as never)
      await expect(asked).rejects.toMatchObject({ code: 'BadRequest' })
    }
  })
})
