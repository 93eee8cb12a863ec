/** Where a pipeline stands, and why it does not get on. */
import { describe, expect, it, onTestFinished } from 'vitest'
import { open, pipeline, typed, UnknownJob } from '../../../src/index.ts'
import { deferred, ENGINES, temporaryFolder } from '../../support/engines.ts'

const TIMEOUT = { timeout: '20s' } as const

describe.each(ENGINES)('a pipeline %s', (_, openEngine) => {
  it('says of each stage where it stands, and of the job what it was given', async () => {
    const pawl = await openEngine()
    const gate = deferred()
    const inside = deferred()
    const film = pipeline('film', { input: typed<{ parts: string[] }>() })
      .stage('render', {
        each: 'input.parts',
        tolerate: 1,
        queue: 'gpu',
        version: 4,
        run: async ({ index }) => {
          if (index > 0) return index
          inside.resolve()
          await gate.promise
          return index
        },
      })
      .stage('join', { after: 'render', run: () => 'joined' })
      .stage('undo', { onFailure: true, run: () => undefined })
    const handle = await pawl.submit(film, { parts: ['a', 'b', 'c'] }, { tags: ['red'] })
    const isNew = { segments: null, waiting: 0, running: 0, completed: 0, failed: 0, dead: 0 }
    const about = { tolerate: 0, version: 1, each: null, after: [], onFailure: false, troubled: [] }
    const info = await handle.info()
    expect(info).toMatchObject({
      type: 'film',
      input: { parts: ['a', 'b', 'c'] },
      queue: null,
      tags: ['red'],
      output: undefined,
      completedAt: null,
    })
    const [, join, undo] = info.stages
    expect(join).toEqual({
      ...about,
      ...isNew,
      name: 'join',
      state: 'NEW',
      queue: 'default',
      after: ['render'],
    })
    expect(undo).toEqual({
      ...about,
      ...isNew,
      name: 'undo',
      state: 'NEW',
      queue: 'default',
      onFailure: true,
    })
    pawl.work([film], { concurrency: 1 })
    await inside.promise
    expect((await handle.info()).stages[0]).toEqual({
      ...about,
      name: 'render',
      state: 'RUNNING',
      queue: 'gpu',
      version: 4,
      each: 'input.parts',
      tolerate: 1,
      segments: 3,
      waiting: 2,
      running: 1,
      completed: 0,
      failed: 0,
      dead: 0,
    })
    gate.resolve()
    await handle.result(TIMEOUT)
    const over = await handle.info()
    expect(over.stages[0]).toMatchObject({ state: 'DONE', completed: 3 })
    expect(over.completedAt).toBeInstanceOf(Date)
  })

  it('explains which stage waits for which, and what keeps the others', async () => {
    const pawl = await openEngine()
    const gate = deferred()
    const inside = deferred()
    const film = pipeline('film', { input: typed<string[]>() })
      .stage('cut', {
        run: async () => {
          inside.resolve()
          await gate.promise
        },
      })
      .stage('sound', { queue: 'audio', run: () => 1 })
      .stage('render', { after: ['cut', 'sound'], each: 'input', run: () => 1 })
      .stage('join', { after: 'render', run: () => 1 })
      .stage('undo', { onFailure: true, run: () => 1 })
    const handle = await pawl.submit(film, ['a'], { hold: true })
    const said = async () =>
      (await pawl.explain(handle.id)).reasons.map(({ what, stage }) => `${what} ${stage ?? ''}`)
    expect(await said()).toEqual(['held '])
    await pawl.pause('audio')
    const worker = pawl.work([film])
    await pawl.release(handle.id)
    await inside.promise
    const { reasons, isRunnable } = await pawl.explain(handle.id)
    expect(isRunnable).toBe(false)
    expect(reasons).toMatchObject([
      {
        what: 'running',
        stage: 'cut',
        message: `1 of its tasks run, with ${worker.name}.`,
        holders: [{ stage: 0, segment: 0, worker: worker.name }],
      },
      { what: 'queue-paused', stage: 'sound' },
      {
        what: 'prerequisites',
        stage: 'render',
        message: `Stage 'render' waits for 'cut' (RUNNING: 0 of 1 done) and 'sound' (READY: 0 of 1 done).`,
      },
      {
        what: 'prerequisites',
        stage: 'join',
        message: `Stage 'join' waits for 'render', which is not open yet.`,
      },
    ])
    gate.resolve()
    await pawl.resume('audio')
    await handle.result(TIMEOUT).catch(() => undefined)
    expect(await said()).toEqual(['over '])
  })

  it('explains a segment that waits for a person, beside others that can run', async () => {
    const pawl = await openEngine()
    const picky = pipeline('picky', { input: typed<string[]>(), retry: { max: 0 } })
      .stage('item', {
        each: 'input',
        run: ({ segment }) => {
          if (segment === 'bad') throw new Error('no good')
        },
      })
      .stage('join', { after: 'item', run: () => 1 })
    const worker = pawl.work([picky])
    const handle = await pawl.submit(picky, ['a', 'bad', 'b'])
    await handle.result(TIMEOUT).catch(() => undefined)
    const { reasons } = await pawl.explain(handle.id)
    expect(reasons.map(({ what, stage }) => `${what} ${stage}`)).toEqual([
      'quarantined item',
      'prerequisites join',
    ])
    expect(reasons[0]?.message).toMatch(/1 of its tasks wait .* segment 1\. .*no good/)
    expect(reasons[1]?.message).toContain(`'item' (ERROR: 2 of 3 done, 0 failed, 1 dead)`)
    await worker.stop()
    await pawl.retry(handle.id)
    const again = await pawl.explain(handle.id)
    expect(again.reasons.map(({ what }) => what)).toEqual(['no-worker', 'prerequisites'])
  })

  it('tells everything that happens, segment by segment, until it is over', async () => {
    const pawl = await openEngine()
    const two = pipeline('two', { input: typed<number[]>() })
      .stage('a', { each: 'input', run: () => 1 })
      .stage('b', { after: 'a', run: () => 2 })
    const handle = await pawl.submit(two, [1, 2])
    pawl.work([two], { concurrency: 1 })
    const seen: string[] = []
    for await (const { entry } of handle.events()) {
      const place = 'stage' in entry ? ` ${entry.stage}` : ''
      seen.push(`${entry.type}${place}${'segment' in entry ? `/${entry.segment}` : ''}`)
    }
    // A worker has room when a handler has ended. On a database the next grant may be durable first.
    const at = (one: string): number => seen.indexOf(one)
    if (at('LeaseGranted 0/1') < at('ExecutionCommitted 0/0')) {
      seen.splice(at('LeaseGranted 0/1'), 1)
      seen.splice(at('ExecutionCommitted 0/0') + 1, 0, 'LeaseGranted 0/1')
    }
    expect(seen).toEqual([
      'JobSubmitted',
      'StageOpened 0',
      'LeaseGranted 0/0',
      'ExecutionCommitted 0/0',
      'LeaseGranted 0/1',
      'ExecutionCommitted 0/1',
      'StageOpened 1',
      'LeaseGranted 1/0',
      'ExecutionCommitted 1/0',
    ])
  })
})

describe('a pipeline on a directory', () => {
  const wide = pipeline('wide', { input: typed<number[]>() }).stage('item', {
    each: 'input',
    run: ({ segment }) => segment * 2,
  })
  const input = Array.from({ length: 600 }, (_, i) => i)

  it('that is forgotten says so, and leaves nothing to another with its id', async () => {
    const pawl = await open(await temporaryFolder(), { retention: { age: '1s' } })
    onTestFinished(() => pawl.close())
    pawl.work([wide])
    let from = 0
    for (const list of [
      [1, 2],
      [3, 4],
    ]) {
      const outputs = await (await pawl.submit(wide, list, { id: 'same' })).result(TIMEOUT)
      expect(await outputs.toArray()).toEqual(list.map((n) => n * 2))
      for await (const { entry, position } of pawl.watch({ from })) {
        from = position
        if (entry.type === 'JobForgotten') break
      }
      await expect(outputs.toArray()).rejects.toThrow(UnknownJob)
    }
  })

  it('that is forgotten while a handler reads does not give it less to read', async () => {
    const pawl = await open(await temporaryFolder())
    onTestFinished(() => pawl.close())
    const [begun, gone, read] = [deferred(), deferred(), deferred<unknown>()]
    const counting = pipeline('counting', { input: typed<number[]>() })
      .stage('item', { each: 'input', run: ({ segment }) => segment })
      .stage('count', {
        after: 'item',
        run: async ({ outputs }) => {
          begun.resolve()
          await gone.promise
          await outputs.item.toArray().then(read.resolve, read.resolve)
        },
      })
    pawl.work([counting], { shutdown: 0 })
    const handle = await pawl.submit(counting, [1, 2], { retention: 0 })
    await begun.promise
    await handle.cancel()
    for await (const { entry } of pawl.watch()) if (entry.type === 'JobForgotten') break
    gone.resolve()
    expect(await read.promise).toMatchObject({ code: 'Aborted' })
  })

  it('is forgotten before its result is read, or after it: never in between', async () => {
    const pawl = await open(await temporaryFolder())
    onTestFinished(() => pawl.close())
    const short = pipeline('short').stage('only', { run: () => 'out' })
    pawl.work([short])
    for (let i = 0; i < 30; i++) {
      const handle = await pawl.submit(short, undefined, { retention: 0 })
      const result = await handle.result(TIMEOUT).catch((error: Error) => error)
      if (!(result instanceof UnknownJob)) expect(result).toBe('out')
    }
  })

  it('goes on after a restart where it was, and gives its outputs after another', async () => {
    const folder = await temporaryFolder()
    const first = await open(folder)
    const { id } = await first.submit(wide, input)
    const worker = first.work([wide], { concurrency: 20 })
    for await (const { entry } of first.watch()) {
      if (entry.type === 'ExecutionCommitted' && entry.segment >= 100) break
    }
    await worker.stop()
    await first.close()
    const second = await open(folder)
    second.work([wide])
    await second.handle(id).result(TIMEOUT)
    await second.close()
    const third = await open(folder)
    const outputs = await third.handle(id, wide).result(TIMEOUT)
    expect(await outputs.toArray()).toEqual(input.map((n) => n * 2))
    await third.close()
  })
})
