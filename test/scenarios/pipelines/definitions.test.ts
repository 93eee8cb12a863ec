/** What a pipeline is made of: what is refused, what stages inherit, and what may change later. */
import { describe, expect, it } from 'vitest'
import { recorded } from '../../support/history.ts'
import { InvalidDefinition, job, pipeline, typed } from '../../../src/index.ts'
import { specOf } from '../../../src/definition/index.ts'
import type { AnyJob } from '../../../src/definition/index.ts'
import { deferred, ENGINES } from '../../support/engines.ts'
import { dateFromText } from '../../repo/types/equal.ts'

const TIMEOUT = { timeout: '20s' } as const

/** As somebody without a compiler writes it. */
interface Untyped {
  stage(name: unknown, options: unknown): Untyped
}

const untyped = (name = 'p', options = {}): Untyped => pipeline(name, options)
const run = (): number => 1

describe('a pipeline is refused where it is written', () => {
  const begun = untyped()
    .stage('one', { run })
    .stage('many', { after: 'one', each: 'one', run })
    .stage('undo', { onFailure: true, run })

  it.each([
    ['a name that is none', () => untyped('', {}), 'A pipeline needs a name'],
    ['a version that is none', () => untyped('p', { version: 0 }), 'must be a whole number from 1'],
    ['a gap in its upgrades', () => untyped('p', { version: 2 }), 'has no `upgrades[1]`'],
    ['a policy out of bounds', () => untyped('p', { lease: 0 }), `The policy of pipeline 'p' must`],
    ['a stage without a name', () => begun.stage('', { run }), 'A stage of pipeline'],
    ['a stage named input', () => begun.stage('input', { run }), `cannot be named 'input'`],
    ['a stage with a dot', () => begun.stage('a.b', { run }), `cannot be named 'a.b'`],
    ['two of one name', () => begun.stage('one', { run }), 'two stages of this name'],
    ['no handler', () => begun.stage('two', {}), `no handler for stage 'two' of pipeline 'p'`],
    ['no options', () => begun.stage('two', undefined), "Write .stage('two', { run"],
    [
      'an unknown stage in after',
      () => begun.stage('two', { after: 'on', run }),
      `names 'on', which is no earlier stage. Earlier ones: 'one', 'many', 'undo'`,
    ],
    [
      'a stage twice in after',
      () => begun.stage('two', { after: ['one', 'one'], run }),
      `names 'one' twice`,
    ],
    [
      'an on-failure stage in after',
      () => begun.stage('two', { after: 'undo', run }),
      'may never begin',
    ],
    [
      'after of an on-failure stage',
      () => begun.stage('two', { after: 'one', onFailure: true, run }),
      'it has no `after`',
    ],
    [
      'each of a stage that is not in after',
      () => begun.stage('two', { each: 'one', run }),
      'or a stage of `after`',
    ],
    [
      'a field of a stage with segments',
      () => begun.stage('two', { after: 'many', each: 'many.list', run }),
      `an output for each segment: use 'many'`,
    ],
    [
      'a tolerance that is none',
      () => begun.stage('two', { tolerate: -1, run }),
      '`tolerate` must be a whole number from 0',
    ],
    [
      'a version of a stage that is none',
      () => begun.stage('two', { version: 1.5, run }),
      `The version of stage 'two' of pipeline 'p'`,
    ],
    [
      'a policy of a stage out of bounds',
      () => begun.stage('two', { lease: 0, run }),
      `The policy of stage 'two' of pipeline 'p' must`,
    ],
  ])('with %s', (_, make, message) => {
    expect(make).toThrow(InvalidDefinition)
    expect(make).toThrow(message)
  })

  it('with the 257th stage', () => {
    let long = untyped()
    for (let i = 0; i < 256; i++) long = long.stage(`s${i}`, { run })
    expect(() => long.stage('one more', { run })).toThrow('more than 256 stages')
  })

  it('and without a stage when it is submitted', () => {
    expect(() => specOf(pipeline('none'), undefined, 'null', {})).toThrow(
      `Pipeline 'none' has no stages`,
    )
  })
})

const policies = (definition: AnyJob, options = {}) =>
  (specOf(definition, undefined, 'null', options).stages ?? []).map(({ policy }) => policy)

describe('a stage', () => {
  it('has the policy of its pipeline, unless it says otherwise', () => {
    const [plain, own] = policies(
      pipeline('p', {
        queue: 'slow',
        lease: '10s',
        timeout: '1m',
        retry: { max: 7 },
        quarantine: 'never',
        limits: [{ key: 'a', concurrency: 1 }],
      })
        .stage('plain', { run })
        .stage('own', {
          queue: 'gpu',
          lease: '20s',
          timeout: '2m',
          retry: { max: 8 },
          quarantine: 'always',
          limits: [{ key: 'b', concurrency: 2 }],
          run,
        }),
    )
    expect(plain).toMatchObject({
      queue: 'slow',
      leaseMs: 10_000,
      timeoutMs: 60_000,
      retry: { max: 7 },
      quarantine: 'never',
      limits: [{ key: 'a' }],
    })
    expect(own).toMatchObject({
      queue: 'gpu',
      leaseMs: 20_000,
      timeoutMs: 120_000,
      retry: { max: 8 },
      quarantine: 'always',
      limits: [{ key: 'b' }],
    })
    const [usual] = policies(pipeline('p').stage('one', { run }))
    expect(usual).toMatchObject({ queue: 'default', leaseMs: 30_000, timeoutMs: null })
  })

  it('waits in the queue of the submit, unless it has its own; limits come to all', () => {
    const two = pipeline('p').stage('plain', { run }).stage('own', { queue: 'gpu', run })
    const limits = [{ key: 'acme', concurrency: 1 }]
    const [plain, own] = policies(two, { queue: 'night', limits })
    expect([plain?.queue, own?.queue]).toEqual(['night', 'gpu'])
    expect([plain?.limits[0]?.key, own?.limits[0]?.key]).toEqual(['acme', 'acme'])
  })

  it('leaves the pipeline alone that it is added to', () => {
    const one = pipeline('p').stage('one', { run })
    const two = one.stage('two', { run })
    expect(one.stages.map(({ stage }) => stage)).toEqual(['one'])
    expect(two.stages.map(({ stage }) => stage)).toEqual(['one', 'two'])
  })
})

const versioned = (version: number) =>
  pipeline('v', { retry: { max: 0 } }).stage('only', {
    version,
    run: ({ stage }) => `${stage.name} ${stage.version} by ${version}`,
  })

describe.each(ENGINES)('a pipeline %s', (_, open) => {
  it('runs a stage on its own queue by its own workers', async () => {
    const pawl = await open()
    const who: string[] = []
    const film = pipeline('film')
      .stage('cut', { run: ({ job: { queue } }) => who.push(`cut ${queue}`) })
      .stage('render', {
        after: 'cut',
        queue: 'gpu',
        run: ({ job: { queue } }) => who.push(`render ${queue}`),
      })
    const plain = pawl.work([film], { queues: ['default'] })
    const handle = await pawl.submit(film)
    const { reasons } = await explained(handle.id)
    expect(reasons).toMatchObject([{ what: 'no-worker', stage: 'render' }])
    expect(reasons[0]?.message).toContain(`stage 'render' of pipeline 'film' from queue 'gpu'`)
    expect(plain.serves('film', 'gpu', 'render')).toBe(false)
    pawl.work([film], { queues: ['gpu'] })
    await handle.result(TIMEOUT)
    expect(who).toEqual(['cut default', 'render gpu'])

    /** Once its first stage is done. */
    async function explained(id: string) {
      for await (const { entry } of handle.events()) {
        if (entry.type === 'StageOpened' && entry.stage === 1) break
      }
      return pawl.explain(id)
    }
  })

  it('checks and turns outputs by their schemas, from stage to stage and in the result', async () => {
    const pawl = await open()
    const dates = pipeline('dates', { input: typed<string[]>() })
      .stage('day', { each: 'input', output: dateFromText, run: ({ segment }) => segment })
      .stage('year', { after: 'day', each: 'day', run: ({ segment }) => segment.getUTCFullYear() })
      .stage('last', {
        after: 'day',
        output: dateFromText,
        run: async ({ outputs }) => (await outputs.day.toArray()).at(-1)?.toISOString() ?? '',
      })
    pawl.work([dates])
    const { year, last } = await (
      await pawl.submit(dates, ['2024-05-05', '2026-01-01'])
    ).result(TIMEOUT)
    expect(await year.toArray()).toEqual([2024, 2026])
    expect(last).toEqual(new Date('2026-01-01'))
  })

  it('upgrades the input once for all segments, which get the elements of the new one', async () => {
    const pawl = await open()
    let upgrades = 0
    const old = pipeline('grown', { input: typed<string[]>() }).stage('item', {
      each: 'input',
      run,
    })
    const grown = pipeline('grown', {
      version: 2,
      input: typed<{ name: string }[]>(),
      upgrades: {
        1: (input) => {
          upgrades += 1
          return (input as string[]).map((name) => ({ name }))
        },
      },
    }).stage('item', { each: 'input', run: ({ segment }) => segment.name })
    const handle = await pawl.submit(old, ['a', 'b', 'c'])
    pawl.work([grown], { concurrency: 3 })
    const outputs = await pawl.handle(handle.id, grown).result(TIMEOUT)
    expect(await outputs.toArray()).toEqual(['a', 'b', 'c'])
    expect(upgrades).toBe(1)
  })

  it('says which segment an upgrade has lost', async () => {
    const pawl = await open()
    const old = pipeline('shrunk', { input: typed<string[]>(), retry: { max: 0 } }).stage('item', {
      each: 'input',
      run,
    })
    const shrunk = pipeline('shrunk', {
      version: 2,
      input: typed<string[]>(),
      upgrades: { 1: (input) => (input as string[]).slice(1) },
    }).stage('item', { each: 'input', run: ({ segment }) => segment })
    const handle = await pawl.submit(old, ['a', 'b'])
    pawl.work([shrunk])
    await expect(handle.result(TIMEOUT)).rejects.toThrow(
      `segment 1 of 2 of stage 'item' of pipeline 'shrunk', and 'input' is one of 1 elements`,
    )
  })

  it('does not let one segment change what another gets', async () => {
    const pawl = await open()
    const rude = pipeline('rude', {
      input: typed<{ list: { n: number }[] }>(),
      retry: { max: 0 },
    }).stage('item', {
      each: 'input.list',
      run: ({ segment, input }) => {
        expect(Object.isFrozen(input.list)).toBe(true)
        segment.n += 1
      },
    })
    pawl.work([rude])
    const handle = await pawl.submit(rude, { list: [{ n: 1 }] })
    await expect(handle.result(TIMEOUT)).rejects.toThrow('read only property')
  })

  it('keeps the shape that it was submitted with when the definition changes', async () => {
    const pawl = await open()
    const old = pipeline('film', { input: typed<string[]>() })
      .stage('cut', { each: 'input', run: ({ segment }) => segment })
      .stage('sound', { after: 'cut', run: () => 'old sound' })
      .stage('print', { after: ['cut', 'sound'], run: () => 'old print' })
    // No sound any more, another order, and a stage that is new.
    const changed = pipeline('film', { input: typed<string[]>() })
      .stage('grade', { run: () => 'graded' })
      .stage('cut', { after: 'grade', each: 'input', run: ({ segment }) => `new ${segment}` })
      .stage('print', {
        after: 'cut',
        run: async ({ outputs }) => `printed ${(await outputs.cut.toArray()).join()}`,
      })
    const before = await pawl.submit(old, ['a', 'b'])
    const worker = pawl.work([changed])
    const after = await pawl.submit(changed, ['c'])
    expect(await after.result(TIMEOUT)).toBe('printed new c')
    for await (const { entry } of before.events()) {
      if (entry.type === 'StageOpened' && entry.stage === 1) break
    }
    const { reasons } = await pawl.explain(before.id)
    expect(reasons).toMatchObject([
      { what: 'no-worker', stage: 'sound' },
      { what: 'prerequisites', stage: 'print' },
    ])
    expect(reasons[1]?.message).toBe(`Stage 'print' waits for 'sound' (READY: 0 of 1 done).`)
    await worker.stop()
    pawl.work([old])
    expect(await before.result(TIMEOUT)).toBe('old print')
    const outputs = recorded(await pawl.history(before.id, { limit: 100 })).flatMap(({ entry }) =>
      entry.type === 'ExecutionCommitted' ? [entry.output] : [],
    )
    expect(outputs.toSorted()).toEqual(['"new a"', '"new b"', '"old print"', '"old sound"'])
  })

  it('lets a job become a pipeline and back: neither is run by the other', async () => {
    const pawl = await open()
    const plain = job('both', { run: () => 'plain' })
    const staged = pipeline('both').stage('only', { run: () => 'staged' })
    const first = await pawl.submit(plain)
    const second = await pawl.submit(staged)
    const worker = pawl.work([staged])
    expect(await second.result(TIMEOUT)).toBe('staged')
    expect(await first.state()).toBe('QUEUED')
    await worker.stop()
    pawl.work([plain])
    expect(await first.result(TIMEOUT)).toBe('plain')
  })

  it('results in what the job was, whatever its definition has become', async () => {
    const pawl = await open()
    const isAsked = deferred()
    const staged = pipeline('both')
      .stage('one', {
        run: async () => {
          await isAsked.promise
          return 'one'
        },
      })
      .stage('two', { after: 'one', run: () => 'two' })
    const plain = job('both', { run: () => 'plain' })
    const { id } = await pawl.submit(staged)
    pawl.work([staged])
    const result = pawl.handle(id, plain).result(TIMEOUT)
    isAsked.resolve()
    expect(await result).toBe('two')
  })

  it('has stages of any name', async () => {
    const pawl = await open()
    const odd = pipeline('odd')
      .stage('__proto__', { run: () => 5 })
      .stage('a/b "c" ü', { after: '__proto__', run: ({ outputs }) => Object.entries(outputs) })
      .stage('constructor', { run: () => 7 })
    pawl.work([odd])
    expect(await (await pawl.submit(odd)).result(TIMEOUT)).toEqual({
      'a/b "c" ü': [['__proto__', 5]],
      constructor: 7,
    })
  })

  it('tells a stage the version that it was submitted under, and leaves a newer one to others', async () => {
    const pawl = await open()
    const first = await pawl.submit(versioned(1))
    const third = await pawl.submit(versioned(3))
    pawl.work([versioned(2)])
    expect(await first.result(TIMEOUT)).toBe('only 1 by 2')
    expect((await third.info()).stages[0]?.version).toBe(3)
    pawl.work([versioned(3)])
    expect(await third.result(TIMEOUT)).toBe('only 3 by 3')
  })
})
