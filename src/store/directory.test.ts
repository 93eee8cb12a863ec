import { describe, expect, it } from 'vitest'
import { SimDisk } from '../../test/sim/sim-disk.ts'
import { plain } from '../../test/support/specs.ts'
import type { Command } from '../kernel/index.ts'
import type { DirectoryStore } from './directory.ts'
import type { Notice } from './notice.ts'
import type { DirectoryOptions } from './open-directory.ts'
import { openDirectory } from './open-directory.ts'

const CHANNEL = { queue: 'default', type: 'test', stage: null }

class Bench {
  disk: SimDisk
  now = 1_000
  readonly notices: Notice[] = []
  store!: DirectoryStore
  #request = 0
  #seen = 0

  constructor(disk = new SimDisk({ tracing: true })) {
    this.disk = disk
  }

  async open(options: Partial<DirectoryOptions> = {}): Promise<this> {
    this.store = await openDirectory('/store', {
      clock: { now: () => this.now },
      disk: this.disk,
      segmentBytes: 16 * 1_024,
      checkpointBytes: Infinity,
      onNotice: (notice) => this.notices.push(notice),
      own: async () => ({ release: async () => undefined }),
      ...options,
    })
    return this
  }

  async submit(...ids: string[]): Promise<void> {
    const input = JSON.stringify('x'.repeat(500))
    const commands = ids.map((job): Command => ({ type: 'SubmitJob', job, spec: plain({ input }) }))
    const answers = await this.store.execute(commands)
    expect(answers.map(({ verdict }) => verdict)).toEqual(ids.map(() => 'committed'))
  }

  /** Claims as many as there are, and commits them. */
  async finish(max: number): Promise<string[]> {
    this.#request += 1
    const claim = { worker: 'w', request: this.#request, channels: [CHANNEL], max, started: true }
    const leases = await this.store.claim(claim)
    await this.store.execute(
      leases.map(({ job, stage, segment, lease }) => ({
        type: 'CommitExecution',
        job,
        stage,
        segment,
        lease,
        worker: 'w',
        output: '"done"',
        effects: [],
      })),
    )
    return leases.map(({ job }) => job)
  }

  async upkeep(): Promise<string[]> {
    const commands = await this.store.query({ kind: 'upkeep', limit: 100 })
    await this.store.execute(commands)
    return commands.map((command) => (command.type === 'ForgetJob' ? command.job : command.type))
  }

  segments(): string[] {
    return this.disk.paths().filter((path) => path.includes('/log-'))
  }

  checkpoints(): string[] {
    return this.disk.paths().filter((path) => path.includes('/checkpoint-'))
  }

  /** Which files were read since the last call. */
  reads(): Set<string> {
    const reads = this.disk.trace.slice(this.#seen).filter((line) => line.startsWith('read'))
    this.#seen = this.disk.trace.length
    return new Set(reads.map((line) => (line.split(' ')[1] as string).replace(/-.*/, '')))
  }
}

function range(count: number, name = 'job'): string[] {
  return Array.from({ length: count }, (_, i) => `${name} ${i}`)
}

/** Several segments, all of them older than `historyMs` allows. */
async function grown(options: Partial<DirectoryOptions>): Promise<Bench> {
  const bench = await new Bench().open({ historyMs: 10, ...options })
  for (let i = 0; i < 120; i++) {
    await bench.submit(`job ${i}`)
    bench.now += 100
  }
  expect(bench.segments().length).toBeGreaterThan(3)
  return bench
}

describe('memory', () => {
  it('holds what was submitted until a checkpoint does, and then reads it when it is claimed', async () => {
    const bench = await new Bench().open()
    await bench.submit(...range(5))
    bench.reads()
    await bench.finish(1)
    expect(bench.reads()).toEqual(new Set())
    await bench.store.checkpoint()
    bench.reads()
    expect(await bench.finish(2)).toEqual(['job 1', 'job 2'])
    expect(bench.reads()).toEqual(new Set(['live']))
  })

  it('holds finished jobs until a checkpoint does, and then reads them when they are asked for', async () => {
    const bench = await new Bench().open()
    await bench.submit(...range(5))
    await bench.finish(3)
    bench.reads()
    const before = await bench.store.query({ kind: 'job', job: 'job 1' })
    expect(bench.reads()).toEqual(new Set())
    await bench.store.checkpoint()
    bench.reads()
    expect(await bench.store.query({ kind: 'job', job: 'job 1' })).toEqual(before)
    expect(bench.reads()).toEqual(new Set(['shelf']))
    const page = await bench.store.query({ kind: 'jobs', limit: 10 })
    expect(page.jobs.map(({ id, state }) => [id, state])).toEqual([
      ['job 0', 'SUCCEEDED'],
      ['job 1', 'SUCCEEDED'],
      ['job 2', 'SUCCEEDED'],
      ['job 3', 'QUEUED'],
      ['job 4', 'QUEUED'],
    ])
  })

  it('answers for a finished job on a shelf as if it were there', async () => {
    const bench = await new Bench().open()
    const spec = plain({ key: 'k' })
    await bench.store.execute([{ type: 'SubmitJob', job: 'a', spec }])
    await bench.finish(1)
    await bench.store.checkpoint()
    const [same, other, byKey, late] = await bench.store.execute([
      { type: 'SubmitJob', job: 'a', spec },
      { type: 'SubmitJob', job: 'a', spec: plain({ key: 'other' }) },
      { type: 'SubmitJob', job: 'b', spec },
      { type: 'ReleaseLease', job: 'a', stage: 0, segment: 0, lease: 1, worker: 'w' },
    ])
    expect(same?.verdict).toBe('committed')
    expect(other?.rejection?.code).toBe('IdReused')
    expect([byKey?.verdict, byKey?.value]).toEqual(['committed', 'a'])
    expect(late?.verdict).toBe('cancelled')
    // The refusal is on record, so the job changed: the next checkpoint has it, and only once.
    await bench.store.checkpoint()
    const page = await bench.store.query({ kind: 'jobs', limit: 10 })
    expect(page.jobs.map(({ id }) => id)).toEqual(['a'])
    const history = await bench.store.query({ kind: 'history', job: 'a', limit: 10 })
    expect(history.at(-1)?.entry.type).toBe('ReportRefused')
  })
})

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
})

describe('old segments', () => {
  it('go only behind two checkpoints, and the store still opens', async () => {
    const bench = await grown({})
    const before = bench.segments()
    await bench.store.checkpoint()
    expect(bench.segments()).toEqual(before)
    await bench.store.checkpoint()
    expect(bench.segments().length).toBeLessThan(before.length)
    expect(bench.segments()).toEqual(before.slice(-bench.segments().length))
    expect(bench.checkpoints()).toHaveLength(2)
    const again = await new Bench(bench.disk.crash('everything')).open()
    const page = await again.store.query({ kind: 'jobs', limit: 1_000 })
    expect(page.jobs).toHaveLength(120)
    expect(await again.finish(200)).toHaveLength(120)
  })

  it('stay as long as history must last', async () => {
    const bench = await grown({ historyMs: Infinity })
    const before = bench.segments()
    for (let i = 0; i < 3; i++) await bench.store.checkpoint()
    expect(bench.segments()).toEqual(before)
  })

  it('are in the archive before they go', async () => {
    const bench = await grown({ archive: '/archive' })
    const bytes = new Map(bench.segments().map((path) => [path, bench.disk.bytesOf(path)]))
    for (let i = 0; i < 2; i++) await bench.store.checkpoint()
    const gone = [...bytes.keys()].filter((path) => !bench.segments().includes(path))
    expect(gone.length).toBeGreaterThan(0)
    for (const path of gone) {
      const archived = bench.disk.bytesOf(path.replace('/store/', '/archive/'))
      expect(archived.equals(bytes.get(path) as Buffer)).toBe(true)
    }
  })
})

describe('a checkpoint', () => {
  it('is safe to lose while the log is whole: opening gives the same', async () => {
    const bench = await new Bench().open()
    await bench.submit(...range(30))
    await bench.finish(10)
    await bench.store.checkpoint()
    await bench.submit(...range(10, 'later'))
    await bench.store.close()
    const whole = await new Bench(bench.disk.clone()).open()
    const bare = bench.disk.clone()
    for (const path of bare.paths()) {
      if (/\/(?:checkpoint|live|shelf)-/.test(path)) await bare.remove(path)
    }
    const replayed = await new Bench(bare).open()
    expect(whole.store.opening.checkpoint).not.toBeNull()
    expect(replayed.store.opening.checkpoint).toBeNull()
    for (const id of [...range(30), ...range(10, 'later')]) {
      const ask = { kind: 'job', job: id } as const
      expect(await replayed.store.query(ask)).toEqual(await whole.store.query(ask))
    }
  })

  it('that is damaged is passed over for the one before, and reported', async () => {
    const bench = await new Bench().open()
    await bench.submit(...range(30))
    await bench.store.checkpoint()
    await bench.finish(10)
    await bench.store.checkpoint()
    await bench.store.close()
    const [older, newer] = bench.checkpoints() as [string, string]
    for (const name of ['checkpoint', 'live', 'shelf']) {
      const disk = bench.disk.clone()
      const path = newer.replace('checkpoint', name)
      // Of a shelf only the tables at its end are read when it is opened.
      const at = name === 'shelf' ? disk.bytesOf(path).length - 1 : 100
      disk.patch(path, at, Buffer.from([(disk.bytesOf(path)[at] as number) ^ 1]))
      const opened = await new Bench(disk).open()
      expect(opened.notices.map(({ kind }) => kind)).toEqual(['checkpoint-damaged'])
      const position = Number.parseInt(older.slice(-16), 16)
      expect(opened.store.opening.checkpoint).toBe(position)
      const page = await opened.store.query({ kind: 'jobs', state: 'SUCCEEDED', limit: 100 })
      expect(page.jobs).toHaveLength(10)
    }
  })

  it('that cannot be made is reported, and the store goes on', async () => {
    const bench = await new Bench().open()
    await bench.submit(...range(3))
    bench.disk.capacity = bench.disk.used
    await expect(bench.store.checkpoint()).rejects.toMatchObject({ code: 'ENOSPC' })
    expect(bench.notices.map(({ kind }) => kind)).toEqual(['checkpoint-failed'])
    expect(await bench.finish(3)).toHaveLength(3)
    bench.disk.capacity = Infinity
    await bench.store.checkpoint()
    expect(bench.checkpoints()).toHaveLength(1)
  })
})

describe('a watch', () => {
  it('sees everything though the store is closed under it, and leaves no file open', async () => {
    for (let patience = 0; patience < 40; patience++) {
      const bench = await new Bench().open()
      await bench.submit(...range(20))
      const seen: number[] = []
      const watching = (async () => {
        for await (const { position } of bench.store.watch(0)) seen.push(position)
      })()
      for (let i = 0; i < patience; i++) await Promise.resolve()
      await bench.store.close()
      await watching
      expect(seen).toHaveLength(20)
      expect(bench.disk.openFiles).toBe(0)
    }
  })
})

describe('closing', () => {
  it('a store that has ended is no failure, and leaves no file open', async () => {
    const bench = await new Bench().open()
    bench.disk.failAt(1, { code: 'EIO', forever: true })
    await expect(bench.submit('a')).rejects.toMatchObject({ code: 'UnknownOutcome' })
    await expect(bench.submit('b')).rejects.toMatchObject({ code: 'StoreEnded' })
    bench.disk.heal()
    await bench.store.close()
    expect(bench.disk.openFiles).toBe(0)
  })
})
