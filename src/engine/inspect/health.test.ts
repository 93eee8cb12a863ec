import { describe, expect, it } from 'vitest'
import { hookedEngine } from '../../../test/support/hooked-store.ts'
import { deferred, ENGINES } from '../../../test/support/engines.ts'
import type { AnswerTo, Query, Store } from '../../store/index.ts'
import { MemoryStore, systemClock } from '../../store/index.ts'
import type { Notice } from '../../index.ts'
import { InvariantBroken, job, pipeline, typed } from '../../index.ts'
import { testEngine } from '../../testing/index.ts'
import { HealthWatch } from './health.ts'

const echo = job('echo', { input: typed<string>(), run: ({ input }) => input })

/** Memory has gone bad, or Pawl has a bug. */
class BrokenStore extends MemoryStore {
  override async query<const Q extends Query>(query: Q): Promise<AnswerTo<Q>> {
    const answer = await super.query(query)
    if (query.kind !== 'examination') return answer
    const violations = [{ invariant: 2, what: 'a/0/0: LEASED with no lease' }]
    return { ...(answer as object), violations } as unknown as AnswerTo<Q>
  }
}

describe.each(ENGINES)('the health of an engine %s', (_, open) => {
  it('is good while nothing is the matter', async () => {
    const pawl = await open()
    pawl.work([echo])
    const handles = await pawl.submitMany(echo, [{ input: 'a' }, { input: 'b' }])
    await Promise.all(handles.map((handle) => handle.result()))
    expect(await pawl.health()).toMatchObject({
      isWell: true,
      broken: [],
      stalled: [],
      unserved: [],
      examined: {
        rounds: expect.toSatisfy((rounds: number) => rounds >= 1) as number,
        lastRoundAt: expect.any(Date) as Date,
      },
    })
  })

  it('tells of jobs that no worker takes, by itself, and no longer when one does', async () => {
    const told = deferred<Notice>()
    const pawl = await open({
      unservedAfter: 0,
      onNotice: (notice) => {
        if (notice.kind === 'unserved') told.resolve(notice)
      },
    })
    await pawl.submit(echo, 'a', { queue: 'night' })
    await pawl.submit(echo, 'b', { queue: 'night' })
    await pawl.submit(echo, 'c', { queue: 'night', hold: true })
    expect(await told.promise).toMatchObject({ queue: 'night', type: 'echo', stage: null })
    const worker = pawl.work([echo], { queues: ['day'] })
    expect((await pawl.health()).isWell).toBe(false)
    await worker.stop()
    await pawl.pause('night')
    const idle = pawl.work([echo], { queues: ['night'] })
    expect((await pawl.health()).unserved).toEqual([])
    await idle.stop()
  })
})

describe('an engine that finds something broken', () => {
  it('tells it once, and keeps saying so when it is asked', async () => {
    const told = deferred<Error>()
    const { pawl, errors } = hookedEngine({
      store: new BrokenStore(systemClock),
      onError: (error) => {
        errors.push(error)
        told.resolve(error)
      },
    })
    const error = await told.promise
    expect(error).toBeInstanceOf(InvariantBroken)
    expect(error).toMatchObject({ code: 'InvariantBroken', kind: 'bug', details: { invariant: 2 } })
    const broken = [{ invariant: 2, what: 'a/0/0: LEASED with no lease' }]
    expect(await pawl.health()).toMatchObject({ isWell: false, broken })
    await pawl.health()
    expect(errors).toHaveLength(1)
    await pawl.close()
  })
})

describe('health', () => {
  it('counts how many wait in vain, and since when', async () => {
    const pawl = testEngine()
    pawl.work([echo], { queues: ['day'] })
    const since = new Date(pawl.now)
    await pawl.submitMany(
      echo,
      ['a', 'b', 'c'].map((input) => ({ input, options: { queue: 'night' } })),
    )
    await pawl.advance('9m')
    expect((await pawl.health()).unserved).toEqual([])
    await pawl.advance('2m')
    expect((await pawl.health()).unserved).toEqual([
      { queue: 'night', type: 'echo', stage: null, count: 3, since },
    ])
    await pawl.close()
  })

  it('counts those as waiting in vain whose only worker a person drained, until it is resumed', async () => {
    const pawl = testEngine()
    const worker = pawl.work([echo])
    await pawl.drainWorker(worker.name)
    const handle = await pawl.submit(echo, 'a')
    await pawl.advance('11m')
    const { isWell, unserved } = await pawl.health()
    expect([isWell, unserved.map(({ count }) => count)]).toEqual([false, [1]])
    expect((await pawl.explain(handle.id)).reasons).toMatchObject([
      {
        what: 'workers-busy',
        message: `Its workers are drained, and take nothing more until they are resumed: ${worker.name}.`,
      },
    ])
    await pawl.resumeWorker(worker.name)
    expect(await handle.result()).toBe('a')
    expect((await pawl.health()).isWell).toBe(true)
    await pawl.close()
  })

  it('says no longer that something is broken when it is right again', async () => {
    const bad = { invariant: 2, what: 'a/0/0: LEASED with no lease' }
    const worse = { invariant: 3, what: 'b/0/0: DONE without an output' }
    const rounds = [
      // A round may take several looks. What was found stands until the NEXT one is over.
      { isRoundOver: false, violations: [bad], broken: [bad] },
      { isRoundOver: true, violations: [worse], broken: [bad, worse] },
      { isRoundOver: false, violations: [], broken: [bad, worse] },
      { isRoundOver: true, violations: [worse], broken: [worse] },
      { isRoundOver: true, violations: [], broken: [] },
      { isRoundOver: true, violations: [bad], broken: [bad] },
    ]
    let now = 0
    let look = 0
    const told: string[] = []
    const query = () => Promise.resolve({ looked: 1, waiting: [], ...rounds[look] })
    const watch = new HealthWatch({
      store: { query } as unknown as Store,
      now: () => now,
      isServed: () => true,
      stalled: () => [],
      refresh: () => Promise.resolve(),
      onUnserved: () => undefined,
      onError: ({ message }) => told.push(message),
    })
    let lastRoundAt: Date | null = null
    for (const { broken, isRoundOver } of rounds) {
      now += 10_000
      await watch.examineSome()
      if (isRoundOver) lastRoundAt = new Date(now)
      expect(watch.known().examined.lastRoundAt).toEqual(lastRoundAt)
      // No round is begun at this time by asking.
      expect(watch.broken).toEqual(broken)
      look += 1
    }
    // What comes back is told of again.
    expect(told.map((message) => /invariant (\d)/.exec(message)?.[1])).toEqual(['2', '3', '2'])
  })

  it('gives an engine that was closed for long the time to get its workers', async () => {
    const waiting = [{ queue: 'night', type: 'echo', stage: null, since: 0 }]
    const found = { looked: 1, isRoundOver: true, violations: [], waiting }
    const told: unknown[] = []
    let now = 1e9
    const watch = new HealthWatch(
      {
        store: { query: () => Promise.resolve(found) } as unknown as Store,
        now: () => now,
        isServed: () => false,
        stalled: () => [],
        refresh: () => Promise.resolve(),
        onUnserved: (unserved) => told.push(unserved),
        onError: () => undefined,
      },
      '10m',
    )
    expect((await watch.health()).isWell).toBe(true)
    now += 599_999
    expect((await watch.health()).isWell).toBe(true)
    expect(told).toEqual([])
    now += 1_001
    expect((await watch.health()).unserved).toEqual([
      { ...waiting[0], since: new Date(0), count: 1 },
    ])
    expect(told).toHaveLength(1)
  })

  it('looks at a few of many jobs, once for all who ask within a few seconds, and not for long', async () => {
    let now = 0
    let looks = 0
    let tookMs = 0
    const query = () => {
      looks += 1
      now += tookMs
      return Promise.resolve({ looked: 200, isRoundOver: false, violations: [], waiting: [] })
    }
    const watch = new HealthWatch({
      store: { query } as unknown as Store,
      now: () => now,
      isServed: () => true,
      stalled: () => [],
      refresh: () => Promise.resolve(),
      onUnserved: () => undefined,
      onError: () => undefined,
    })
    await Promise.all(Array.from({ length: 20 }, () => watch.health()))
    expect(looks).toBe(10)
    now += 9_999
    await watch.health()
    expect(looks).toBe(10)
    now += 1
    expect((await watch.health()).examined.jobs).toBe(4_000)
    expect(looks).toBe(20)
    now += 10_000
    tookMs = 20
    await watch.health()
    expect(looks).toBe(23)
  })

  it('tells of a stage that no worker serves', async () => {
    const pawl = testEngine()
    const film = pipeline('film', {}).stage('cut', { run: () => 1 })
    const same = film.stage('sound', { after: 'cut', queue: 'studio', run: () => 2 })
    pawl.work([same], { queues: ['default'] })
    await pawl.submit(same)
    await pawl.advance('11m')
    expect((await pawl.health()).unserved).toMatchObject([
      { queue: 'studio', type: 'film', stage: 'sound', count: 1 },
    ])
    await pawl.close()
  })

  it('does not let one who listens to notices stop the work', async () => {
    const told = deferred<Error>()
    const { pawl } = hookedEngine({
      unservedAfter: 0,
      onNotice: () => {
        throw new Error('not today')
      },
      onError: told.resolve,
    })
    await pawl.submit(echo, 'a')
    expect((await told.promise).message).toBe('not today')
    pawl.work([echo])
    expect(await (await pawl.submit(echo, 'b')).result()).toBe('b')
    await pawl.close()
  })
})
