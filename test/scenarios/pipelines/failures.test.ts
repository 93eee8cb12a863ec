/** What happens to a pipeline when parts of it fail, and what a person can do. */
import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { recorded } from '../../support/history.ts'
import type { Handle } from '../../../src/index.ts'
import { effect, JobFailed, pipeline, TerminalError, typed } from '../../../src/index.ts'
import { deferred, ENGINES } from '../../support/engines.ts'

const TIMEOUT = { timeout: '20s' } as const
const NEVER = { max: 0 } as const

/** The error that it ends with. */
function failureOf(handle: Handle): Promise<Error> {
  return handle.result(TIMEOUT).then(
    () => {
      throw new Error('It did not fail.')
    },
    (error: Error) => error,
  )
}

/** Fails for these segments. */
function picky(bad: readonly string[], tolerate: number) {
  return pipeline('picky', { input: typed<string[]>(), retry: NEVER, quarantine: 'never' })
    .stage('check', {
      each: 'input',
      tolerate,
      run: ({ segment }) => {
        if (bad.includes(segment)) throw new TerminalError(`no ${segment}`, { code: 'NO' })
        return segment.toUpperCase()
      },
    })
    .stage('relay', {
      after: 'check',
      each: 'check',
      run: ({ segment, index }) => `${index} ${segment ?? 'nothing'}`,
    })
    .stage('list', {
      after: ['check', 'relay'],
      run: async ({ outputs }) => {
        const indexes: number[] = []
        for await (const { index } of outputs.check) indexes.push(index)
        return { indexes, all: await outputs.relay.toArray(), count: outputs.check.count }
      },
    })
}

const failing = (tolerate: number) =>
  pipeline(`checked ${tolerate}`, { input: typed<string[]>(), retry: NEVER }).stage('item', {
    each: 'input',
    tolerate,
    run: ({ segment }) => {
      if (segment !== 'a') throw new Error(`no ${segment}`)
      return segment
    },
  })

describe.each(ENGINES)('a pipeline %s in which something fails', (_, open) => {
  it('goes on without the segments that it tolerates, and says which are missing', async () => {
    const pawl = await open()
    const tolerant = picky(['b'], 1)
    pawl.work([tolerant])
    const handle = await pawl.submit(tolerant, ['a', 'b', 'c'])
    expect(await handle.result(TIMEOUT)).toEqual({
      indexes: [0, 2],
      all: ['0 A', '1 nothing', '2 C'],
      count: 3,
    })
    const { stages, error } = await handle.info()
    expect(stages[0]).toMatchObject({ state: 'DONE', completed: 2, failed: 1 })
    const failed = { segment: 1, state: 'FAILED', error: { code: 'NO' } }
    expect(stages[0]?.troubled).toMatchObject([failed])
    // The job itself succeeded.
    expect(error).toBeNull()
  })

  it('fails when more fail than it tolerates, and says where', async () => {
    const pawl = await open()
    const tolerant = picky(['b', 'c'], 1)
    pawl.work([tolerant])
    const handle = await pawl.submit(tolerant, ['a', 'b', 'c'])
    const error = await failureOf(handle)
    expect(error).toBeInstanceOf(JobFailed)
    expect(error.message).toMatch(/failed in stage 'check', segment 1\. NO: no b/)
    expect(await handle.state()).toBe('FAILED')
  })

  it('goes on after a stage that failed alone and tolerates it, with nothing from it', async () => {
    const pawl = await open()
    const lenient = pipeline('lenient', { retry: NEVER, quarantine: 'never' })
      .stage('try', {
        tolerate: 1,
        run: (): string => {
          throw new Error('in vain')
        },
      })
      .stage('go on', {
        after: 'try',
        run: ({ outputs }) => ({ has: 'try' in outputs, value: outputs.try ?? 'nothing' }),
      })
    pawl.work([lenient])
    const handle = await pawl.submit(lenient)
    expect(await handle.result(TIMEOUT)).toEqual({ has: true, value: 'nothing' })
  })

  it('retries a segment alone', async () => {
    const pawl = await open()
    const ran: string[] = []
    const flaky = pipeline('flaky', {
      input: typed<string[]>(),
      retry: { max: 2, delay: 0 },
    }).stage('item', {
      each: 'input',
      run: async ({ segment, job: { attempt }, step }) => {
        ran.push(`${segment}${attempt}`)
        const first = await step('first', () => attempt)
        if (segment === 'b' && attempt < 3) throw new Error('again')
        return `${segment} ${first}`
      },
    })
    pawl.work([flaky])
    const handle = await pawl.submit(flaky, ['a', 'b', 'c'])
    // The step of the first attempt is there for the third.
    expect(await (await handle.result(TIMEOUT)).toArray()).toEqual(['a 1', 'b 1', 'c 1'])
    expect(ran.toSorted()).toEqual(['a1', 'b1', 'b2', 'b3', 'c1'])
  })

  it('runs its on-failure stage when a stage failed, and tells it why and how far it got', async () => {
    const pawl = await open()
    const told = deferred<unknown>()
    const risky = pipeline('risky', { input: typed<string[]>(), retry: NEVER, quarantine: 'never' })
      .stage('make', { each: 'input', run: ({ segment }) => segment })
      .stage('break', {
        after: 'make',
        run: (): string => {
          throw new TerminalError('broken', { code: 'BROKEN' })
        },
      })
      .stage('never', { after: 'break', run: () => 'never' })
      .stage('undo', {
        onFailure: true,
        run: async ({ outputs, failure, input }) => {
          const { make, break: broken, never } = outputs
          told.resolve({ made: await make.toArray(), broken, never, failure, input })
        },
      })
    pawl.work([risky])
    const handle = await pawl.submit(risky, ['x', 'y'])
    expect((await failureOf(handle)).message).toContain(`in stage 'break'. BROKEN: broken`)
    expect(await told.promise).toEqual({
      made: ['x', 'y'],
      broken: undefined,
      never: undefined,
      failure: {
        cancelled: null,
        stage: 'break',
        segment: null,
        error: expect.objectContaining({ code: 'BROKEN', type: 'TERMINAL' }),
      },
      input: ['x', 'y'],
    })
    const { stages } = await handle.info()
    expect(stages.map(({ name, state }) => `${name} ${state}`)).toEqual([
      'make DONE',
      'break ERROR',
      'never NEW',
      'undo DONE',
    ])
  })

  it('does not run its on-failure stage when all went well', async () => {
    const pawl = await open()
    let isUndone = false
    const fine = pipeline('fine')
      .stage('work', { run: () => 'done' })
      .stage('undo', {
        onFailure: true,
        run: () => {
          isUndone = true
        },
      })
    pawl.work([fine])
    const handle = await pawl.submit(fine)
    expect(await handle.result(TIMEOUT)).toBe('done')
    await pawl.upkeep()
    expect(isUndone).toBe(false)
    expect((await handle.info()).stages[1]?.state).toBe('NEW')
  })

  it('is cancelled in the middle of a fan-out: what runs is told, what waits is stopped', async () => {
    const pawl = await open()
    const begun = deferred()
    const undone = deferred<unknown>()
    let running = 0
    const ran: number[] = []
    const wide = pipeline('wide', { input: typed<number[]>() })
      .stage('each', {
        each: 'input',
        // What has a limit is not claimed ahead: else one that was granted before the cancel may begin after it.
        limits: [{ key: 'wide', concurrency: 3 }],
        run: async ({ segment, signal }) => {
          if (segment === 0) return segment
          ran.push(segment)
          running += 1
          if (running === 3) begun.resolve()
          await once(signal, 'abort')
          return 'too late'
        },
      })
      .stage('next', { after: 'each', run: () => ran.push(-1) })
      .stage('undo', {
        onFailure: true,
        run: async ({ failure, outputs }) => {
          undone.resolve([failure.cancelled, await outputs.each.toArray()])
        },
      })
    pawl.work([wide], { concurrency: 3 })
    const handle = await pawl.submit(wide, [0, 1, 2, 3, 4, 5])
    await begun.promise
    await handle.cancel({ by: 'ann', reason: 'wrong film' })
    expect((await failureOf(handle)).message).toContain('cancelled by ann: wrong film')
    // What was committed counts, and the on-failure stage sees it.
    const nothing = Array.from({ length: 5 }, () => undefined)
    expect(await undone.promise).toEqual([{ by: 'ann', reason: 'wrong film' }, [0, ...nothing]])
    expect(new Set(ran)).toEqual(new Set([1, 2, 3]))
    const { stages } = await handle.info()
    expect(stages[0]).toMatchObject({ completed: 1, failed: 5, waiting: 0, running: 0 })
    expect(stages[1]?.state).toBe('NEW')
  })

  it('is in quarantine by one segment, and goes on when just that one is retried', async () => {
    const pawl = await open()
    const ran: string[] = []
    let isRepaired = false
    const checked = pipeline('checked', { input: typed<string[]>(), retry: NEVER })
      .stage('item', {
        each: 'input',
        run: ({ segment, index }) => {
          ran.push(`${index}`)
          if (segment === 'b' && !isRepaired) throw new Error('no b')
          return segment
        },
      })
      .stage('join', {
        after: 'item',
        run: async ({ outputs }) => (await outputs.item.toArray()).join(''),
      })
    pawl.work([checked])
    const handle = await pawl.submit(checked, ['a', 'b', 'c'])
    const error = await failureOf(handle)
    expect(error.message).toMatch(/is in quarantine in stage 'item', segment 1 .* no b/)
    expect(await handle.state()).toBe('QUARANTINED')
    isRepaired = true
    await pawl.retry(handle.id, { stage: 'item', segment: 1, by: 'ann', reason: 'repaired' })
    expect(await handle.result(TIMEOUT)).toBe('abc')
    expect(ran.toSorted()).toEqual(['0', '1', '1', '2'])
    const history = recorded(await pawl.history(handle.id, { limit: 1_000 }))
    const retried = history.flatMap(({ entry }) => (entry.type === 'TaskRetried' ? [entry] : []))
    expect(retried).toMatchObject([{ stage: 0, segment: 1, by: 'ann', reason: 'repaired' }])
  })

  it('gives a segment another element to work on, and all that are dead a fresh budget', async () => {
    const pawl = await open()
    let isRepaired = false
    const checked = pipeline('checked', { input: typed<string[]>(), retry: NEVER }).stage('item', {
      each: 'input',
      run: ({ segment }) => {
        if (segment !== 'new' && !isRepaired) throw new Error(`no ${segment}`)
        return segment
      },
    })
    pawl.work([checked])
    const handle = await pawl.submit(checked, ['a', 'b', 'c', 'd'])
    await failureOf(handle)
    const { id } = handle
    await expect(pawl.retry(id, { input: 'new' })).rejects.toThrow('4 tasks that could be meant')
    await expect(pawl.retry(id, { segment: 1 })).rejects.toThrow('of which stage')
    await expect(pawl.retry(id, { stage: 'items' })).rejects.toThrow(`its stages are 'item' (ERROR`)
    await pawl.retry(id, { stage: 'item', segment: 2, input: 'new' })
    await failureOf(handle)
    await expect(pawl.retry(id, { stage: 'item', segment: 2 })).rejects.toThrow('TaskNotDead')
    await pawl.force(id, { stage: 'item', segment: 0, to: 'SUCCEEDED', output: 'forced' })
    isRepaired = true
    await pawl.retry(id)
    expect(await (await handle.result(TIMEOUT)).toArray()).toEqual(['forced', 'b', 'new', 'd'])
  })

  it('retries all that can be: not what nobody waits for, nor what is for a person to say', async () => {
    const pawl = await open()
    let isDown = true
    const down = (): string => {
      if (isDown) throw new Error('down')
      return 'up'
    }
    const mail = effect('mail', { retry: NEVER, run: down })
    const mixed = pipeline('mixed', { retry: NEVER })
      .stage('tolerant', { tolerate: 1, run: down })
      .stage('sends', { effects: [mail], run: ({ commit }) => commit(1, [mail()]) })
      .stage('strict', { after: 'tolerant', run: down })
    pawl.work([mixed])
    const handle = await pawl.submit(mixed)
    for await (const { entry } of handle.events()) {
      if (entry.type === 'TaskFailed' && entry.stage === 2) break
    }
    await failureOf(handle)
    isDown = false
    await pawl.retry(handle.id)
    expect((await failureOf(handle)).message).toContain(`what became of 'mail'`)
    await pawl.resolveEffect(handle.id, 0, { stage: 'sends', outcome: 'again' })
    expect(await handle.result(TIMEOUT)).toEqual({ sends: 1, strict: 'up' })
    const { stages } = await handle.info()
    expect(stages.map(({ dead }) => dead)).toEqual([1, 0, 0])
  })

  it('gives up one segment, which is as if it had failed', async () => {
    const pawl = await open()
    const [strict, lenient] = [failing(0), failing(1)]
    pawl.work([strict, lenient])
    const first = await pawl.submit(strict, ['a', 'b'])
    const second = await pawl.submit(lenient, ['a', 'b', 'c'])
    for (const [handle, segment] of [
      [first, 1],
      [second, 2],
    ] as const) {
      await failureOf(handle)
      await pawl.discard(handle.id, { stage: 'item', segment, by: 'ann' })
    }
    expect((await failureOf(first)).message).toContain('failed in stage')
    // One is dead and one is given up: that is one too many.
    expect(await second.state()).toBe('QUARANTINED')
    await pawl.force(second.id, { stage: 'item', segment: 1, to: 'SUCCEEDED', output: 'b' })
    expect(await (await second.result(TIMEOUT)).toArray()).toEqual(['a', 'b', undefined])
  })

  it('holds an effect of one segment, which is resolved by its place', async () => {
    const pawl = await open()
    let isDown = true
    const mail = effect('mail', {
      retry: NEVER,
      run: () => {
        if (isDown) throw new Error('no post today')
      },
    })
    const sending = pipeline('sending', { input: typed<string[]>() })
      .stage('send', {
        each: 'input',
        effects: [mail],
        run: ({ segment, commit }) => commit(segment, segment === 'b' ? [mail()] : []),
      })
      .stage('done', { after: 'send', run: () => 'done' })
    pawl.work([sending])
    const handle = await pawl.submit(sending, ['a', 'b'])
    expect((await failureOf(handle)).message).toContain(`what became of 'mail'`)
    const [stage] = (await handle.info()).stages
    expect(stage?.troubled).toMatchObject([
      { segment: 1, state: 'DEAD', effects: [{ name: 'mail', state: 'HELD' }] },
    ])
    isDown = false
    await pawl.resolveEffect(handle.id, 0, { stage: 'send', segment: 1, outcome: 'happened' })
    expect(await handle.result(TIMEOUT)).toBe('done')
  })

  it('takes the word of its own `classify`, and of its own timeout', async () => {
    const pawl = await open()
    let calls = 0
    const judged = pipeline('judged', { retry: { max: 5, delay: 0 }, quarantine: 'never' }).stage(
      'only',
      {
        classify: (error) => ((error as Error).message === 'hopeless' ? 'terminal' : undefined),
        run: () => {
          calls += 1
          throw new Error(calls === 1 ? 'once more' : 'hopeless')
        },
      },
    )
    const slow = pipeline('slow', { retry: NEVER, quarantine: 'never' }).stage('only', {
      timeout: '20ms',
      run: ({ signal }) => once(signal, 'abort'),
    })
    pawl.work([judged, slow])
    expect((await failureOf(await pawl.submit(judged))).message).toContain('hopeless')
    expect(calls).toBe(2)
    expect((await failureOf(await pawl.submit(slow))).message).toContain('TimedOut')
  })

  it('promises only the effects of its own stage', async () => {
    const pawl = await open()
    const mail = effect('mail', { run: () => undefined })
    const greedy = pipeline('greedy', { retry: NEVER, quarantine: 'never' })
      .stage('has', { effects: [mail], run: ({ commit }) => commit(1, [mail()]) })
      .stage('has not', {
        after: 'has',
        run: ({ commit }) => commit(1, [mail()] as unknown as never[]),
      })
    pawl.work([greedy])
    expect((await failureOf(await pawl.submit(greedy))).message).toContain(
      `in stage 'has not'. InvalidDefinition: Job 'greedy' promised the effect 'mail'`,
    )
    const twice = () => pipeline('p').stage('s', { effects: [mail, mail], run: () => 1 })
    expect(twice).toThrow(`Stage 's' of pipeline 'p' has two effects named 'mail'`)
  })

  it('is run again as a new job of the same shape', async () => {
    const pawl = await open()
    let isRepaired = false
    const two = pipeline('two', { input: typed<number>(), retry: NEVER, quarantine: 'never' })
      .stage('a', { run: ({ input }) => input })
      .stage('b', {
        after: 'a',
        run: ({ outputs }) => {
          if (!isRepaired) throw new Error('not yet')
          return outputs.a + 1
        },
      })
    pawl.work([two])
    const handle = await pawl.submit(two, 1)
    await failureOf(handle)
    isRepaired = true
    const again = await pawl.rerun(handle.id)
    expect(await again.result(TIMEOUT)).toBe(2)
    expect((await again.info()).rerunOf).toBe(handle.id)
  })

  it('fails if what each names is no array, and says so', async () => {
    const pawl = await open()
    const odd = pipeline('odd')
      .stage('list', { run: () => null as unknown as number[] })
      .stage('item', { after: 'list', each: 'list', run: ({ segment }) => segment })
    pawl.work([odd])
    const handle = await pawl.submit(odd)
    expect((await failureOf(handle)).message).toContain(
      `in stage 'item', segment 0. InvalidEach: each: 'list' is not an array`,
    )
    const wrong = pipeline('wrong', { input: typed<{ list: number[] }>() }).stage('item', {
      each: 'input.list',
      run: () => 1,
    })
    const refused = pawl.submit(wrong, {} as { list: number[] })
    await expect(refused).rejects.toThrow('give the job an input with such an array there')
  })
})
