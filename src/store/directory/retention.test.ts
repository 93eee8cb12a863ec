import { describe, expect, it } from 'vitest'
import { Bench, range } from '../../../test/support/directory-bench.ts'
import { onRecord, plain } from '../../../test/support/specs.ts'
import type { Command, JobSpec } from '../../kernel/index.ts'
import { createJob, tickId } from '../../kernel/index.ts'
import { listCheckpoints, FinishedBuffer } from '../../log/index.ts'
import type { Retention } from '../store.ts'
import { RetentionPlanner } from './retention.ts'

async function submit(
  bench: Bench,
  jobs: { readonly [id: string]: Partial<JobSpec> },
): Promise<void> {
  const commands = Object.entries(jobs).map(([job, changes]) => {
    return { type: 'SubmitJob', job, spec: plain(changes) } as const
  })
  const answers = await bench.store.execute(commands)
  expect(answers.every(({ verdict }) => verdict === 'committed')).toBe(true)
}

/** Claims jobs of some types and commits them, one each millisecond, in the order of submission. */
async function finish(bench: Bench, types: readonly string[]): Promise<void> {
  const channels = types.map((type) => ({ queue: 'default', type, stage: null }))
  for (let request = 1_000 + bench.now; ; request++) {
    bench.now += 1
    const claim = { worker: 'w', request, channels, max: 1, started: true }
    const [taken] = await bench.store.claim(claim)
    if (taken === undefined) return
    const { job, stage, segment, lease } = taken
    const report = { type: 'CommitExecution', worker: 'w', output: '1', effects: [] } as const
    await bench.store.execute([{ ...report, job, stage, segment, lease }])
  }
}

describe('retention', () => {
  it('forgets finished jobs that are too old, oldest first, wherever they are', async () => {
    const bench = await new Bench().open({ retention: { ageMs: 100 } })
    await bench.submit('old', 'newer', 'waiting')
    await bench.finish(1)
    await bench.store.checkpoint()
    bench.now += 50
    await bench.finish(1)
    expect(await bench.upkeep()).toEqual([])
    bench.now += 51
    expect(await bench.upkeep()).toEqual(['old'])
    bench.now += 50
    expect(await bench.upkeep()).toEqual(['newer'])
    bench.now += 1_000
    expect(await bench.upkeep()).toEqual([])
    expect(await bench.store.query({ kind: 'job', job: 'old' })).toBeNull()
    await bench.submit('old')
    const again = await new Bench(bench.disk.crash('everything')).open()
    const page = await again.store.query({ kind: 'jobs', limit: 10 })
    expect(page.jobs.map(({ id }) => id)).toEqual(['waiting', 'old'])
  })

  it('forgets the oldest finished jobs when there are too many', async () => {
    const bench = await new Bench().open({ retention: { count: 3 } })
    await bench.submit(...range(8))
    await bench.finish(4)
    await bench.store.checkpoint()
    bench.now += 1
    await bench.finish(2)
    bench.now += 1
    expect(await bench.upkeep()).toEqual(['job 0', 'job 1', 'job 2'])
    expect(await bench.upkeep()).toEqual([])
    await bench.store.checkpoint()
    expect(await bench.upkeep()).toEqual([])
    const page = await bench.store.query({ kind: 'jobs', state: 'SUCCEEDED', limit: 10 })
    expect(page.jobs.map(({ id }) => id)).toEqual(['job 3', 'job 4', 'job 5'])
  })

  it('keeps a job as long as it said itself, in a buffer, in a file and after opening', async () => {
    for (const way of ['buffer', 'file', 'opened', 'opened file']) {
      let bench = await new Bench().open({ retention: { ageMs: 100 } })
      const long = { retainMs: 1_000 }
      await submit(bench, { long, usual: {}, short: { retainMs: 0 }, 'long too': long })
      await finish(bench, ['test'])
      if (way.endsWith('file')) await bench.store.checkpoint()
      if (way.startsWith('opened')) {
        const { now } = bench
        bench = new Bench(bench.disk.crash('everything'))
        bench.now = now
        await bench.open({ retention: { ageMs: 100 } })
      }
      bench.now += 2
      expect(await bench.upkeep(), way).toEqual(['short'])
      bench.now += 100
      expect(await bench.upkeep(), way).toEqual(['usual'])
      bench.now += 800
      expect(await bench.upkeep(), way).toEqual([])
      bench.now += 200
      expect(await bench.upkeep(), way).toEqual(['long', 'long too'])
    }
  })

  it('has an age and a count for a type, and the others as they are', async () => {
    const types = { few: { count: 2 }, brief: { ageMs: 10 }, lasting: { ageMs: Infinity } }
    const bench = await new Bench().open({ retention: { ageMs: 500, count: 7, types } })
    const jobs: Record<string, Partial<JobSpec>> = {}
    for (const type of ['few', 'brief', 'lasting', 'test']) {
      for (let i = 0; i < 3; i++) jobs[`${type} ${i}`] = { type }
    }
    // Its own word comes first, but it counts as one of its type.
    jobs['few 3'] = { type: 'few', retainMs: 1_000 }
    await submit(bench, jobs)
    const names = ['few', 'brief', 'lasting', 'test']
    await finish(bench, names)
    bench.now += 20
    // Two of few are too many, three of brief too old; eight would be left, which is one too many.
    const gone = ['few 0', 'few 1', 'few 2', 'brief 0', 'brief 1', 'brief 2']
    expect(await bench.upkeep()).toEqual(gone)
    await bench.store.checkpoint()
    expect(await bench.upkeep()).toEqual([])
    await submit(bench, { 'few 4': { type: 'few' }, another: {} })
    await finish(bench, names)
    expect(await bench.upkeep()).toEqual(['lasting 0', 'lasting 1'])
    bench.now += 600
    expect(await bench.upkeep()).toEqual(['test 0', 'test 1', 'test 2', 'few 4', 'another'])
    bench.now += 1_000
    expect(await bench.upkeep()).toEqual(['few 3'])
    const { jobs: left } = await bench.store.query({ kind: 'jobs', limit: 10 })
    expect(left.map(({ id }) => id)).toEqual(['lasting 2'])
  })

  it('forgets what ended first, whatever was noted about it since', async () => {
    const bench = await new Bench().open({ retention: { count: 1 } })
    await bench.submit('a', 'b', 'c')
    for (let i = 0; i < 3; i++) {
      await bench.finish(1)
      bench.now += 10
    }
    const late = { type: 'ReleaseLease', stage: 0, segment: 0, lease: 1, worker: 'w' } as const
    await bench.store.execute([{ ...late, job: 'a' }])
    bench.now += 10
    expect(await bench.upkeep()).toEqual(['a', 'b'])
    // From its file to a buffer in which all others were forgotten, and looked through.
    await bench.store.checkpoint()
    await bench.submit('d')
    await bench.finish(1)
    bench.now += 10
    await bench.store.execute([{ type: 'ForgetJob', job: 'd', endedBefore: bench.now }])
    expect(await bench.upkeep()).toEqual([])
    await bench.store.execute([{ ...late, job: 'c' }])
    await bench.submit('e')
    await bench.finish(1)
    bench.now += 10
    expect(await bench.upkeep()).toEqual(['c'])
  })

  it('passes over what may not be forgotten, and asks for it again after a minute', async () => {
    const bench = await new Bench().open({ retention: { count: 0 } })
    const schedule = { id: 's', tick: 5 }
    await bench.store.execute([
      { type: 'SetSchedule', schedule: 's', definition: '{}', seen: null, ...onRecord },
      { type: 'SubmitJob', job: tickId('s', 5), spec: plain({ schedule }) },
    ])
    await bench.submit('other')
    await bench.finish(2)
    bench.now += 1
    const ask = { kind: 'upkeep', limit: 1 } as const
    const [first] = await bench.store.query(ask)
    const [answer] = await bench.store.execute([first as Command])
    expect(answer?.rejection?.code).toBe('OriginNotRecorded')
    expect(await bench.upkeep()).toEqual(['other'])
    bench.now += 59_000
    expect(await bench.store.query(ask)).toEqual([])
    bench.now += 2_000
    expect(await bench.store.query(ask)).toEqual([first])
  })

  it('tells of a job that cannot be read, and goes on with the others', async () => {
    const bench = await new Bench().open({ retention: { ageMs: 10 } })
    await bench.submit(...range(3))
    await bench.finish(3)
    await bench.store.checkpoint()
    await bench.store.close()
    const { manifests } = await listCheckpoints(bench.disk, '/store')
    const path = `/store/${manifests[0]?.finishedFiles[0]?.name}`
    const bytes = bench.disk.bytesOf(path)
    const at = bytes.indexOf('job 1') + 20
    bench.disk.patch(path, at, Buffer.from([(bytes[at] as number) ^ 1]))
    await bench.open({ retention: { ageMs: 10 } })
    bench.now += 60_000
    expect(await bench.upkeep()).toEqual(['job 0', 'job 2'])
    expect(await bench.upkeep()).toEqual([])
    const told = bench.notices.filter(({ kind }) => kind === 'job-unreadable')
    expect(told).toHaveLength(1)
  })

  it('costs no look at anything until something may be due', () => {
    const planner = new RetentionPlanner()
    const rules: Retention = { ageMs: 100, count: 2, types: { few: { count: 1 } } }
    let looks = 0
    const buffer = new FinishedBuffer()
    const tables = new Proxy([buffer], {
      get(target, name, receiver) {
        if (name === 'flatMap') looks += 1
        return Reflect.get(target, name, receiver) as unknown
      },
    })
    const due = (now: number): number => planner.dueCommands(tables, rules, now, 10).length
    const end = (id: string, type: string, now: number): void => {
      const spec = plain({ type })
      const entry = { type: 'JobSubmitted', job: id, version: 1, at: 0, spec, dueAt: 0 } as const
      buffer.add(createJob(entry), null, now, 'SUCCEEDED')
      planner.jobEnded(spec, now)
    }
    expect([due(1), looks]).toEqual([0, 1])
    end('first', 'test', 5)
    expect([due(105), looks]).toEqual([0, 1])
    expect([due(106), looks]).toEqual([1, 2])
    buffer.leave(0)
    expect(due(106)).toBe(0)
    looks = 1
    end('a', 'test', 10)
    end('b', 'test', 20)
    // It is known when the first one is due, but the type that has a count of its own has no room.
    expect([due(50), due(50), due(110), looks]).toEqual([0, 0, 0, 2])
    expect([due(111), looks]).toEqual([1, 3])
    buffer.leave(1)
    expect([due(112), due(120), due(121)]).toEqual([0, 0, 1])
    buffer.leave(2)
    expect(due(121)).toBe(0)
    looks = 0
    end('c', 'few', 130)
    expect([due(131), looks]).toEqual([0, 0])
    end('d', 'few', 140)
    expect([due(141), looks]).toEqual([1, 1])
  })

  it('knows of every file how many jobs of each kind stand in it', async () => {
    const bench = await new Bench().open()
    await submit(bench, { a: { retainMs: 5 }, b: {}, c: { retainMs: 5 }, d: { type: 'other' } })
    await finish(bench, ['test', 'other'])
    await bench.store.checkpoint()
    const { manifests } = await listCheckpoints(bench.disk, '/store')
    expect(manifests[0]?.finishedFiles[0]?.kinds).toEqual([
      { type: 'test', retainMs: 5, rows: 2 },
      { type: 'test', retainMs: null, rows: 1 },
      { type: 'other', retainMs: null, rows: 1 },
    ])
  })
})
