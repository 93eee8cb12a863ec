/**
 * What a person does to one attempt: they name the attempt that they saw, take a lease away, give a job
 * that waits another time, and are advised only what will be accepted.
 */
import { describe, expect, it } from 'vitest'
import type { AbortReason, Pawl } from '../../src/index.ts'
import { Aborted, effect, job, pipeline, typed } from '../../src/index.ts'
import type { OpenEngine } from '../support/engines.ts'
import { deferred, EVERY_ENGINE } from '../support/engines.ts'

const ANN = { by: 'ann', reason: 'the host is going down' }

const broken = job('broken', {
  retry: { max: 0 },
  run: () => {
    throw new Error('no')
  },
})
const later = job('later', { run: () => 'done' })
const parts = pipeline('parts', { input: typed<number[]>(), retry: { max: 0 } }).stage('each', {
  each: 'input',
  run: ({ segment }) => {
    if (segment > 1) throw new Error(`no ${segment}`)
    return segment
  },
})

/** Its second segment fails once: tried again, it is not where it was, however soon it is looked at. */
const failingOnce = pipeline('failing-once', {
  input: typed<number[]>(),
  retry: { max: 0 },
}).stage('each', {
  each: 'input',
  run: ({ segment, job: { attempt } }) => {
    if (segment > 1 && attempt === 1) throw new Error(`no ${segment}`)
    return segment
  },
})

/** Waits for its first attempt to be stopped; a later one ends at once. */
function hanging(name = 'hanging') {
  const began = deferred()
  const stopped = deferred<Aborted>()
  const definition = job(name, {
    retry: { max: 1 },
    run: ({ signal, job: { attempt } }) => {
      if (attempt > 1) return attempt
      began.resolve()
      return new Promise<number>((_, reject) => {
        signal.addEventListener('abort', () => {
          stopped.resolve(signal.reason as Aborted)
          reject(signal.reason as Error)
        })
      })
    },
  })
  return { definition, began: began.promise, stopped: stopped.promise }
}

/** In quarantine at its second attempt. */
async function givenUpTwice(pawl: Pawl): Promise<string> {
  const worker = pawl.work([broken])
  const handle = await pawl.submit(broken)
  await handle.result().catch(() => undefined)
  await pawl.retry(handle.id)
  await expect.poll(async () => (await handle.info()).attempt).toBe(2)
  await expect.poll(() => handle.state()).toBe('QUARANTINED')
  await worker.stop()
  return handle.id
}

describe.each(EVERY_ENGINE)('an operator who names an attempt %s', (_name, open) => {
  it('is refused at another one, and nothing changes', async () => {
    const pawl = await open()
    const id = await givenUpTwice(pawl)
    const before = await pawl.history(id)
    const changed = { code: 'TaskChanged', name: 'Refused', details: { attempt: 2 } }
    await expect(pawl.retry(id, { attempt: 3 })).rejects.toMatchObject(changed)
    // At the first it was retried before: asked again, that is answered, and changes nothing.
    await pawl.retry(id, { attempt: 1 })
    for (const attempt of [1, 3]) {
      await expect(pawl.force(id, { to: 'FAILED', attempt })).rejects.toMatchObject(changed)
      await expect(pawl.discard(id, { attempt })).rejects.toMatchObject(changed)
      await expect(pawl.revoke(id, { attempt })).rejects.toMatchObject(changed)
      await expect(pawl.reschedule(id, { delay: 0, attempt })).rejects.toMatchObject(changed)
    }
    expect(await pawl.history(id)).toEqual(before)
  })

  it('is heard at that one', async () => {
    const pawl = await open()
    const id = await givenUpTwice(pawl)
    await pawl.retry(id, { attempt: 2, by: 'ann' })
    await pawl.reschedule(id, { delay: '1h', attempt: 2 })
    expect(await pawl.handle(id).state()).toBe('RETRYING')
    // Another operator has retried it since: it is not in quarantine any more.
    await expect(pawl.discard(id, { attempt: 2 })).rejects.toMatchObject({ code: 'TaskNotDead' })
    await pawl.force(id, { to: 'SUCCEEDED', output: 'by hand', attempt: 2 })
    expect(await pawl.handle(id).result()).toBe('by hand')
    const other = await givenUpTwice(pawl)
    await pawl.discard(other, { attempt: 2, ...ANN })
    expect(await pawl.get(other)).toMatchObject({ state: 'FAILED', cancelled: ANN })
  })

  it('names it for one task of a pipeline', async () => {
    const pawl = await open()
    pawl.work([parts])
    const { id } = await pawl.submit(parts, [1, 2, 3])
    await expect.poll(() => pawl.handle(id).state()).toBe('QUARANTINED')
    const task = { stage: 'each', segment: 1 }
    const wrong = { code: 'TaskChanged', details: { attempt: 1 } }
    await expect(pawl.retry(id, { ...task, attempt: 2 })).rejects.toMatchObject(wrong)
    await expect(pawl.discard(id, { ...task, attempt: 2 })).rejects.toMatchObject(wrong)
    await expect(pawl.retry(id, { attempt: 1 })).rejects.toThrow(/2 tasks|3 tasks/)
    await expect(pawl.discard(id, { attempt: 1 })).rejects.toThrow(/Attempt 1 of which task/)
    await pawl.discard(id, { ...task, attempt: 1 })
    expect(await pawl.get(id)).toMatchObject({ stages: [{ failed: 1, dead: 1 }] })
  })

  it('is told what an attempt is', async () => {
    const pawl = await open()
    const { id } = await pawl.submit(later, undefined, { delay: '1h' })
    for (const attempt of [-1, 1.5, '1' as unknown as number]) {
      for (const call of [
        pawl.retry(id, { attempt }),
        pawl.force(id, { to: 'FAILED', attempt }),
        pawl.discard(id, { attempt }),
        pawl.revoke(id, { attempt }),
        pawl.reschedule(id, { delay: 0, attempt }),
      ]) {
        await expect(call).rejects.toThrow(/`attempt` is the number of the attempt that you saw/)
      }
    }
  })
})

describe.each(EVERY_ENGINE)('a lease that an operator takes away %s', (_name, open) => {
  it('ends the attempt, whose handler is told who and why, and the job is tried again', async () => {
    const pawl = await open()
    const { definition, began, stopped } = hanging()
    pawl.work([definition])
    const handle = await pawl.submit(definition)
    await began
    await pawl.revoke(handle.id, { ...ANN, attempt: 1 })
    const reason = await stopped
    expect(reason).toBeInstanceOf(Aborted)
    expect(reason).toMatchObject({ reason: 'revoked', by: 'ann', why: ANN.reason })
    expect(reason.message).toMatch(/taken away.*\(by ann: the host is going down\)/)
    expect(await handle.result()).toBe(2)
    expect(await handle.info()).toMatchObject({
      retryCount: 1,
      executions: [{ endedBy: 'LeaseRevoked', reason: `by ann: ${ANN.reason}` }, { attempt: 2 }],
    })
    // Asked again about that attempt, it is as it was.
    await pawl.revoke(handle.id, { by: 'bob', attempt: 1 })
    expect(await handle.info()).toMatchObject({ state: 'SUCCEEDED', attempt: 2 })
  })

  it.each<[AbortReason, (pawl: Pawl, id: string) => Promise<void>]>([
    ['cancelled', (pawl, id) => pawl.cancel(id, ANN)],
    ['cancelled', (pawl, id) => pawl.force(id, { to: 'FAILED', ...ANN })],
  ])('says who also when it is %s', async (kind, act) => {
    const pawl = await open()
    const { definition, began, stopped } = hanging()
    pawl.work([definition])
    const { id } = await pawl.submit(definition)
    await began
    await act(pawl, id)
    expect(await stopped).toMatchObject({ reason: kind, by: 'ann', why: ANN.reason })
  })

  it('says who stopped a segment of a pipeline', async () => {
    const pawl = await open()
    const began = deferred()
    const stopped = deferred<Aborted>()
    const film = pipeline('film', { input: typed<number[]>() }).stage('cut', {
      each: 'input',
      run: ({ signal, index }) =>
        new Promise<void>((_, reject) => {
          signal.addEventListener('abort', () => {
            if (index === 1) stopped.resolve(signal.reason as Aborted)
            reject(signal.reason as Error)
          })
          if (index === 1) began.resolve()
        }),
    })
    pawl.work([film])
    const { id } = await pawl.submit(film, [1, 2])
    await began.promise
    await expect(pawl.revoke(id, ANN)).rejects.toThrow(/2 tasks that could be meant/)
    await pawl.cancel(id, ANN)
    expect(await stopped.promise).toMatchObject({ reason: 'cancelled', by: 'ann' })
  })

  it('is refused where no worker has it', async () => {
    const pawl = await open()
    const { id } = await pawl.submit(later, undefined, { delay: '1h' })
    await expect(pawl.revoke(id)).rejects.toMatchObject({
      code: 'LeaseNotHeld',
      message: expect.stringMatching(/no worker has had the task/) as string,
    })
    await expect(pawl.revoke('nobody')).rejects.toMatchObject({ code: 'UnknownJob' })
    await pawl.reschedule(id, { delay: 0 })
    pawl.work([later])
    await pawl.handle(id).result()
    await expect(pawl.revoke(id)).rejects.toMatchObject({
      code: 'LeaseNotHeld',
      message: expect.stringMatching(/ended by ExecutionCommitted/) as string,
    })
  })

  it('ends an effect that hangs: one that may be run again is, any other waits for a person', async () => {
    const pawl = await open()
    const runs = { safe: 0, once: 0 }
    const began = { safe: deferred(), once: deferred() }
    const hang = (name: 'safe' | 'once') => (): unknown => {
      runs[name] += 1
      if (runs[name] > 1) return null
      began[name].resolve()
      return new Promise(() => undefined)
    }
    const safe = effect('safe', { idempotent: true, run: hang('safe') })
    const once = effect('once', { run: hang('once') })
    const both = job('both', {
      input: typed<'safe' | 'once'>(),
      effects: [safe, once],
      run: ({ input, commit }) => commit(input, [input === 'safe' ? safe() : once()]),
    })
    pawl.work([both])
    const first = await pawl.submit(both, 'safe')
    const second = await pawl.submit(both, 'once')
    await Promise.all([began.safe.promise, began.once.promise])
    await pawl.revoke(first.id, ANN)
    expect(await first.result()).toBe('safe')
    await pawl.revoke(second.id, ANN)
    await expect(second.result()).rejects.toMatchObject({
      code: 'JobQuarantined',
      details: { held: ['once'] },
    })
    await pawl.resolveEffect(second.id, 0, { outcome: 'again' })
    expect(await second.result()).toBe('once')
    expect(runs).toEqual({ safe: 2, once: 2 })
  })

  it('what is said of one start of an effect is refused once a newer one is lost, and repeated it changes nothing', async () => {
    const pawl = await open()
    const began = [deferred(), deferred(), deferred()]
    let runs = 0
    const charge = effect('charge', {
      run: () => {
        began[runs]?.resolve()
        runs += 1
        return new Promise(() => undefined)
      },
    })
    const order = job('order', {
      effects: [charge],
      run: ({ commit }) => commit('paid', [charge()]),
    })
    pawl.work([order])
    const { id } = await pawl.submit(order)
    const heldAt = async (start: number): Promise<void> => {
      await began[start - 1]?.promise
      await pawl.revoke(id, ANN)
      await expect
        .poll(async () => (await pawl.quarantine.list()).jobs.map(({ held }) => held))
        .toMatchObject([[{ name: 'charge', nth: null, effect: 0, start }]])
      expect((await pawl.actions(id)).actions).toContainEqual({
        action: 'resolve',
        effects: [{ effect: 0, start }],
      })
    }
    await heldAt(1)
    await pawl.resolveEffect(id, 0, { outcome: 'again', start: 1 })
    await heldAt(2)
    await expect(
      pawl.resolveEffect(id, 0, { outcome: 'happened', start: 1 }),
    ).rejects.toMatchObject({
      code: 'EffectNotUnresolved',
      message: expect.stringMatching(/since its start under lease 2/) as string,
    })
    // This was said of it before: it is answered as the first time, and nothing runs again.
    await pawl.resolveEffect(id, 0, { outcome: 'again', start: 1 })
    expect((await pawl.get(id))?.state).toBe('QUARANTINED')
    await pawl.resolveEffect(id, 0, { outcome: 'happened', start: 2 })
    expect(await pawl.handle(id).result()).toBe('paid')
    expect(runs).toBe(2)
  })
})

describe.each(EVERY_ENGINE)('a job that is rescheduled %s', (_name, open) => {
  it('is due at once, later, or at a time, and says who asked for it', async () => {
    const pawl = await open()
    const handle = await pawl.submit(later, undefined, { delay: '1h' })
    const before = await handle.info()
    await pawl.reschedule(handle.id, { delay: '2h', ...ANN })
    const after = await handle.info()
    const added = after.dueAt.getTime() - before.submittedAt.getTime()
    expect(added).toBeGreaterThan(7_190_000)
    expect(added).toBeLessThan(7_300_000)
    const at = new Date(before.submittedAt.getTime() + 86_400_000)
    await pawl.reschedule(handle.id, { at })
    expect((await handle.info()).dueAt).toEqual(at)
    expect(await pawl.history(handle.id)).toMatchObject([
      { type: 'JobSubmitted' },
      { type: 'TaskRescheduled', ...ANN },
      { type: 'TaskRescheduled', by: 'client', reason: 'Rescheduled' },
    ])
    pawl.work([later])
    await pawl.reschedule(handle.id, { delay: 0 })
    expect(await handle.result()).toBe('done')
  })

  it('has another priority and another queue, and keeps its time', async () => {
    const pawl = await open()
    const { id } = await pawl.submit(later, undefined, { delay: '1h' })
    const { dueAt } = await pawl.handle(id).info()
    await pawl.reschedule(id, { priority: 7, queue: 'urgent' })
    expect(await pawl.get(id)).toMatchObject({ priority: 7, queue: 'urgent', dueAt })
  })

  it('may wait for its retry, and is one task of a pipeline', async () => {
    const pawl = await open()
    let fails = true
    const flaky = pipeline('flaky', { input: typed<number[]>(), retry: { delay: '1h' } }).stage(
      'each',
      {
        each: 'input',
        run: ({ segment }) => {
          if (fails && segment === 1) throw new Error('not yet')
          return segment
        },
      },
    )
    pawl.work([flaky])
    const handle = await pawl.submit(flaky, [1, 2])
    await expect.poll(() => handle.state()).toBe('RETRYING')
    fails = false
    await expect(pawl.reschedule(handle.id, { delay: 0 })).rejects.toThrow(/2 tasks/)
    const done = { stage: 'each', segment: 1, delay: 0 }
    await expect(pawl.reschedule(handle.id, done)).rejects.toMatchObject({ code: 'TaskNotWaiting' })
    await pawl.reschedule(handle.id, { stage: 'each', segment: 0, delay: 0 })
    expect(await (await handle.result()).toArray()).toEqual([1, 2])
  })

  it('is not if it runs, or if what it is to be makes no sense', async () => {
    const pawl = await open()
    const { definition, began } = hanging()
    pawl.work([definition], { shutdown: 0 })
    const { id } = await pawl.submit(definition)
    await began
    const running = pawl.reschedule(id, { delay: 0 })
    await expect(running).rejects.toMatchObject({ code: 'TaskNotWaiting', name: 'Refused' })
    const wrong: [Parameters<Pawl['reschedule']>[1], RegExp][] = [
      [{}, /Say what is to change by the reschedule of job/],
      [{ delay: 0, at: 5 }, /either `delay` or `at`, not both/],
      [{ at: new Date(Number.NaN) }, /`at` of the reschedule of job .* must be a date/],
      [{ delay: 'soon' as '1s' }, /`delay` of the reschedule of job .* must be a duration/],
      [{ delay: '5000d' }, /at most ten years/],
      [{ priority: 2_000 }, /`priority` of .* must be a whole number from -1,000 to 1,000/],
      [{ queue: '' }, /`queue` of the reschedule of job .* needs a name/],
    ]
    for (const [options, message] of wrong) {
      await expect(pawl.reschedule(id, options)).rejects.toMatchObject({
        code: 'InvalidDefinition',
        message: expect.stringMatching(message) as string,
      })
    }
  })
})

/** What an explanation says may be done, and how it is done. */
const ADVICE: Readonly<
  Record<
    string,
    (pawl: Pawl, id: string, at: { stage?: string; segment?: number }) => Promise<unknown>
  >
> = {
  'release it': (pawl, id) => pawl.release(id),
  'revoke its lease': (pawl, id, at) => pawl.revoke(id, at),
  retry: (pawl, id, at) => pawl.retry(id, at),
  'force ': (pawl, id, at) => pawl.force(id, { ...at, to: 'FAILED' }),
  'discard it': (pawl, id, at) => pawl.discard(id, at),
  'resolve the effect': (pawl, id, at) => pawl.resolveEffect(id, 0, { ...at, outcome: 'happened' }),
  'resume it': (pawl) => pawl.resume('default'),
  'configure() it': (pawl) => pawl.configure('default', { concurrency: 1 }),
  'start one with work(': async (pawl) => pawl.work([later]),
}

function advisedIn(message: string): string[] {
  return Object.keys(ADVICE).filter((words) => message.includes(words))
}

const held = effect('held', {
  retry: { max: 0 },
  run: () => {
    throw new Error('refused')
  },
})
const promising = job('promising', {
  effects: [held],
  run: ({ commit }) => commit(null, [held()]),
})
const silentEffect = effect('silent', { run: () => new Promise(() => undefined) })
const silent = job('silent', {
  lease: '1s',
  stalled: { after: 100 },
  effects: [silentEffect],
  input: typed<'handler' | 'effect'>(),
  run: ({ input, commit }) =>
    input === 'effect'
      ? commit(null, [silentEffect()])
      : new Promise<ReturnType<typeof commit>>(() => undefined),
})

async function isStalled(pawl: Pawl, id: string): Promise<void> {
  const since = async (): Promise<unknown> => (await pawl.get(id))?.stalledSince
  await expect.poll(since, { timeout: 5_000 }).toBeInstanceOf(Date)
}

/** Jobs that do not run, each with what its explanation is to advise. */
const STUCK: Readonly<
  Record<string, readonly [(pawl: Pawl) => Promise<string>, readonly string[]]>
> = {
  'that is held': [
    async (pawl) => {
      pawl.work([later])
      return (await pawl.submit(later, undefined, { hold: true })).id
    },
    ['release it'],
  ],
  'in quarantine': [
    async (pawl) => {
      pawl.work([broken])
      const handle = await pawl.submit(broken)
      await handle.result().catch(() => undefined)
      return handle.id
    },
    ['retry', 'force ', 'discard it'],
  ],
  'with a segment in quarantine': [
    async (pawl) => {
      pawl.work([failingOnce])
      const handle = await pawl.submit(failingOnce, [2, 1])
      await handle.result().catch(() => undefined)
      return handle.id
    },
    ['retry', 'force ', 'discard it'],
  ],
  'with an effect that is held': [
    async (pawl) => {
      pawl.work([promising])
      const handle = await pawl.submit(promising)
      await handle.result().catch(() => undefined)
      return handle.id
    },
    ['resolve the effect'],
  ],
  'whose handler is silent': [
    async (pawl) => {
      pawl.work([silent], { shutdown: 0 })
      const { id } = await pawl.submit(silent, 'handler')
      await isStalled(pawl, id)
      return id
    },
    ['revoke its lease'],
  ],
  'whose effect is silent': [
    async (pawl) => {
      pawl.work([silent], { shutdown: 0 })
      const { id } = await pawl.submit(silent, 'effect')
      await isStalled(pawl, id)
      return id
    },
    ['revoke its lease'],
  ],
  'in a queue that is paused': [
    async (pawl) => {
      pawl.work([later])
      await pawl.pause('default')
      return (await pawl.submit(later)).id
    },
    ['resume it'],
  ],
  'in a queue without places': [
    async (pawl) => {
      pawl.work([later])
      await pawl.configure('default', { concurrency: 0 })
      return (await pawl.submit(later)).id
    },
    ['configure() it'],
  ],
  'without a worker': [async (pawl) => (await pawl.submit(later)).id, ['start one with work(']],
}

async function adviceFor(open: OpenEngine, kind: string) {
  const pawl = await open()
  const [prepare] = STUCK[kind] as (typeof STUCK)[string]
  const id = await prepare(pawl)
  const { reasons } = await pawl.explain(id)
  const before = await standingOf(pawl, id)
  return { pawl, id, advised: reasons.flatMap(({ message }) => advisedIn(message)), before }
}

/** A worker may have tried the job again, and failed of the same, by the time it is looked at. */
async function standingOf(pawl: Pawl, id: string) {
  const [{ reasons }, info] = [await pawl.explain(id), await pawl.get(id)]
  return { reasons, attempt: info?.attempt, retries: info?.retryCount }
}

describe.each(EVERY_ENGINE)('the advice of explain %s', (_name, open) => {
  it.each(Object.entries(STUCK))('for a job %s is accepted', async (kind, [, expected]) => {
    const { advised } = await adviceFor(open, kind)
    expect(advised).toEqual(expected)
    for (const words of advised) {
      const { pawl, id, before } = await adviceFor(open, kind)
      const [stage] = before.reasons.flatMap((one) => one.stage ?? [])
      await ADVICE[words]?.(pawl, id, stage === undefined ? {} : { stage, segment: 0 })
      expect(await standingOf(pawl, id)).not.toEqual(before)
    }
  })

  it('leaves out what an ending pipeline does not need any more', async () => {
    const pawl = await open()
    const gate = deferred()
    const mixed = pipeline('mixed', { input: typed<number[]>(), retry: { max: 0 } }).stage('each', {
      each: 'input',
      effects: [held],
      run: async ({ segment, commit }) => {
        if (segment === 0) return commit(0, [held()])
        if (segment === 1) await gate.promise
        throw new Error('no')
      },
    })
    pawl.work([mixed])
    const { id } = await pawl.submit(mixed, [2, 0, 1])
    const dead = async () => (await pawl.get(id))?.stages[0]?.dead
    await expect.poll(dead).toBe(2)
    await pawl.cancel(id)
    gate.resolve()
    await expect.poll(async () => (await pawl.get(id))?.state).toBe('QUARANTINED')
    const { reasons } = await pawl.explain(id)
    // The segment that failed cannot be retried any more; the effect is still for a person to resolve.
    expect(reasons.flatMap(({ message }) => advisedIn(message))).toEqual(['resolve the effect'])
    expect(reasons[0]?.message).toMatch(/^1 of its tasks .* segment 1\./)
    await pawl.resolveEffect(id, 0, { stage: 'each', segment: 1, outcome: 'happened' })
    await expect.poll(() => pawl.handle(id).state()).toBe('FAILED')
  })
})
