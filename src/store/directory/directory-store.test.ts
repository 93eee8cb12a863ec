import { describe, expect, it } from 'vitest'
import { Bench, grown, range } from '../../../test/support/directory-bench.ts'
import { plain } from '../../../test/support/specs.ts'

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

  it('answers for a finished job in a finished file as if it were there', async () => {
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
      const places = [100]
      // Of a finished file only the tables at its end are read, as long as these check.
      if (name === 'shelf') places.push(disk.bytesOf(path).length - 1)
      for (const at of places) {
        disk.patch(path, at, Buffer.from([(disk.bytesOf(path)[at] as number) ^ 1]))
      }
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
