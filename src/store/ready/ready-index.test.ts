import { describe, expect, it } from 'vitest'
import { CHANNEL, limit, ReadyBench } from '../../../test/support/ready-bench.ts'
import { Dice } from '../../../test/model/properties/dice.ts'
import { failure, onRecord, plain, retry } from '../../../test/support/specs.ts'
import { Ledger } from '../state/ledger.ts'

const BOTH = { suspects: true, lastChances: true }

describe('the order of offers', () => {
  it('is priority, then due time, then submission', () => {
    const bench = new ReadyBench()
    bench.now = 100
    bench.submit('first of its time')
    bench.submit('second of its time')
    bench.submit('urgent', plain({ priority: 5 }))
    bench.submit('can wait', plain({ priority: -5 }))
    bench.submit('due later', plain({ dueAt: 130 }))
    bench.now = 140
    bench.submit('newest')
    expect(bench.claim(10)).toEqual([
      'urgent',
      'first of its time',
      'second of its time',
      'due later',
      'newest',
      'can wait',
    ])
  })

  it('is kept across channels that are asked for together', () => {
    const bench = new ReadyBench()
    bench.submit('a', plain({ priority: 1 }, { queue: 'left' }))
    bench.submit('b', plain({ priority: 2 }, { queue: 'right' }))
    bench.submit('c', plain({ priority: 3, type: 'other' }, { queue: 'left' }))
    const left = { ...CHANNEL, queue: 'left' }
    const right = { ...CHANNEL, queue: 'right' }
    expect(bench.claim(5, [left, right, left])).toEqual(['b', 'a'])
    expect(bench.claim(5, [{ ...left, type: 'other' }])).toEqual(['c'])
    expect(bench.claim(5, [{ ...left, type: 'unheard of' }])).toEqual([])
  })

  it('does not look into channels of queues that have nothing', () => {
    const bench = new ReadyBench()
    const channels = Array.from({ length: 1_000 }, (_, i) => ({ ...CHANNEL, queue: `q${i}` }))
    channels.forEach(({ queue }, i) => bench.submit(`job ${i}`, plain({}, { queue })))
    expect(bench.claim(2_000, channels)).toHaveLength(1_000)
    bench.submit('a', plain({}, { queue: 'q7' }))
    expect(bench.ledger.ready.find(channels, BOTH)).toHaveLength(1)
    expect(bench.claim(5, channels)).toEqual(['a'])
    expect(bench.ledger.ready.find(channels, BOTH)).toHaveLength(0)
  })

  it('puts a retry behind what was due before it', () => {
    const bench = new ReadyBench()
    bench.submit('a', plain({}, { retry: retry({ delayMs: 10 }) }))
    bench.claim()
    bench.must({ type: 'FailTask', ...bench.report('a'), error: failure() })
    bench.now = 5
    bench.submit('b')
    bench.now = 9
    expect(bench.claim(5)).toEqual(['b'])
    bench.now = 10
    expect(bench.claim(5)).toEqual(['a'])
  })
})

describe('what was taken before', () => {
  it('keeps its place when its lease runs out, is revoked or given back', () => {
    for (const how of ['ExpireLease', 'RevokeLease', 'ReleaseLease'] as const) {
      const bench = new ReadyBench()
      for (const job of ['a', 'b', 'c']) bench.submit(job)
      bench.now = 1
      for (let i = 0; i < 100; i++) bench.submit(`later ${i}`)
      expect(bench.claim(2)).toEqual(['a', 'b'])
      bench.now = 1_000_000
      const { worker: _worker, ...address } = bench.report('b')
      const revoke = { type: 'RevokeLease', ...address, ...onRecord } as const
      if (how === 'RevokeLease') bench.must(revoke)
      else if (how === 'ExpireLease') bench.must({ type: how, ...address })
      else {
        bench.now = 2
        bench.must({ type: how, ...bench.report('b') })
      }
      expect(bench.claim(2), how).toEqual(['b', 'c'])
    }
  })

  it('comes before others that are due since the same time, in the order of coming back', () => {
    const bench = new ReadyBench()
    for (const job of ['a', 'b', 'c', 'd']) bench.submit(job)
    expect(bench.claim(3)).toEqual(['a', 'b', 'c'])
    bench.must({ type: 'ReleaseLease', ...bench.report('c') })
    bench.must({ type: 'ReleaseLease', ...bench.report('b') })
    expect(bench.claim(9)).toEqual(['c', 'b', 'd'])
  })

  it('has one place, however often it comes back to it', () => {
    const bench = new ReadyBench()
    bench.submit('first')
    bench.now = 1
    for (const job of ['a', 'b', 'c']) bench.submit(job)
    // Granted from the middle of the list, so that its slot there stays, as garbage.
    for (let lease = 1; lease <= 5; lease++) {
      const grant = { type: 'GrantLease', job: 'b', stage: 0, segment: 0 } as const
      bench.must({ ...grant, worker: 'other', request: lease, started: true })
      bench.must({ type: 'ReleaseLease', ...bench.report('b', lease), worker: 'other' })
    }
    const effort = bench.effort(() => {
      expect(bench.claim(9)).toEqual(['first', 'b', 'a', 'c'])
    })
    expect(effort.offers).toBe(4)
  })

  it('is not offered for a place that it had before, once it is committed', () => {
    const bench = new ReadyBench()
    for (const job of ['a', 'b', 'c']) bench.submit(job)
    bench.claim(3)
    for (const job of ['a', 'b', 'c']) bench.commitAndRelease(job)
    const grant = { type: 'GrantLease', job: 'b', stage: 0, segment: 0 } as const
    bench.must({ ...grant, worker: 'other', request: 1, started: true })
    const effort = bench.effort(() => {
      expect(bench.claim(9)).toEqual(['a', 'c'])
    })
    expect(effort.offers).toBe(2)
  })

  it('comes before everything once it is committed, whatever its priority', () => {
    const bench = new ReadyBench()
    bench.submit('a', plain({ priority: -1 }))
    expect(bench.claim()).toEqual(['a'])
    for (const job of ['b', 'c']) bench.submit(job, plain({ priority: 9 }))
    bench.submit('d', plain({ priority: 9, type: 'other' }))
    bench.now = 5
    bench.commitAndRelease('a')
    const channels = [{ ...CHANNEL, type: 'other' }, CHANNEL]
    expect(bench.claim(9, channels)).toEqual(['a', 'b', 'c', 'd'])
  })
})

describe('what is not to run', () => {
  it('is not offered while it is held, and is offered once released', () => {
    const bench = new ReadyBench()
    bench.submit('a', plain({ held: true }))
    expect(bench.claim()).toEqual([])
    bench.must({ type: 'ReleaseJob', job: 'a', ...onRecord })
    expect(bench.claim()).toEqual(['a'])
  })

  it('is not offered before it is due, nor after its start-by time', () => {
    const bench = new ReadyBench()
    bench.submit('later', plain({ delayMs: 10 }))
    bench.submit('quickly', plain({ startWithinMs: 10 }))
    bench.now = 9
    bench.submit('other', plain({ priority: -1 }))
    bench.now = 10
    expect(bench.claim(5)).toEqual(['later', 'other'])
  })

  it('is taken out lazily when it is cancelled, forced or stopped', () => {
    const bench = new ReadyBench()
    for (let i = 0; i < 1_000; i++) bench.submit(`job ${i}`)
    for (let i = 0; i < 999; i++) {
      bench.must({ type: 'CancelJob', job: `job ${i}`, ...onRecord })
    }
    const effort = bench.effort(() => {
      expect(bench.claim(5)).toEqual(['job 999'])
    })
    expect(effort.offers).toBe(1)
  })

  it('is offered by its new time once it is forced to wait again', () => {
    const bench = new ReadyBench()
    bench.submit('a', plain({ delayMs: 1_000 }))
    const force = { to: 'WAITING', output: null, attempt: 0, stage: 0, segment: 0 } as const
    bench.now = 5
    bench.must({ type: 'ForceTask', job: 'a', ...force, ...onRecord })
    expect(bench.claim(5)).toEqual(['a'])
    bench.commit('a')
    bench.now = 1_000
    expect(bench.claim(5)).toEqual([])
  })
})

describe('a paused queue', () => {
  it('offers nothing and is not scanned, however much waits in it', () => {
    const bench = new ReadyBench()
    for (let i = 0; i < 10_000; i++) bench.submit(`job ${i}`)
    bench.must({ type: 'PauseQueue', queue: 'default', ...onRecord })
    const effort = bench.effort(() => {
      for (let i = 0; i < 100; i++) expect(bench.claim()).toEqual([])
    })
    expect(effort).toEqual({ comparisons: 0, offers: 0 })
    bench.must({ type: 'ResumeQueue', queue: 'default', ...onRecord })
    expect(bench.claim(2)).toEqual(['job 0', 'job 1'])
  })

  it('lets through what is committed and only needs finishing', () => {
    const bench = new ReadyBench()
    const limits = [limit('one', { concurrency: 1 })]
    for (const job of ['a', 'b', 'c']) bench.submit(job, plain({}, { limits }))
    bench.claim()
    bench.commitAndRelease('a')
    const other = { ...CHANNEL, type: 'other' }
    bench.submit('d', plain({ type: 'other' }, { limits }))
    expect(bench.claim(5, [other])).toEqual(['d'])
    expect(bench.claim(5)).toEqual(['a'])
    bench.must({ type: 'ReleaseLease', ...bench.report('a', 2) })
    bench.must({
      type: 'ConfigureQueue',
      queue: 'default',
      concurrency: 0,
      rate: null,
      ageingMs: null,
      ...onRecord,
    })
    bench.must({ type: 'PauseQueue', queue: 'default', ...onRecord })
    expect(bench.claim(5)).toEqual(['a'])
  })
})

describe('a limit that is used up', () => {
  it('stops ten thousand lists at once: claiming does not look at them', () => {
    const bench = new ReadyBench()
    const shared = limit('shared', { concurrency: 1 })
    const lists = 10_000
    for (let i = 0; i < lists; i++) {
      bench.submit(
        `job ${i}`,
        plain({}, { limits: [shared, limit(`own ${i}`, { concurrency: 1 })] }),
      )
    }
    expect(bench.claim(5)).toEqual(['job 0'])
    const blocked = bench.effort(() => {
      for (let i = 0; i < 100; i++) expect(bench.claim(5)).toEqual([])
    })
    expect(blocked).toEqual({ comparisons: 0, offers: 0 })
    bench.submit('free', plain())
    expect(bench.claim(5)).toEqual(['free'])
    const opened = bench.effort(() => {
      bench.commit('job 0')
      expect(bench.claim(5)).toEqual(['job 1'])
    })
    expect(opened.offers).toBe(1)
    expect(opened.comparisons).toBeLessThan(4 * Math.log2(lists))
  })

  it('is passed by as soon as a lease that holds it ends, best first', () => {
    const bench = new ReadyBench()
    const limits = [limit('two', { concurrency: 2 })]
    for (const [job, priority] of [
      ['a', 1],
      ['b', 2],
      ['c', 3],
      ['d', 4],
    ] as const) {
      bench.submit(job, plain({ priority }, { limits }))
    }
    expect(bench.claim(5)).toEqual(['d', 'c'])
    bench.must({ type: 'ReleaseLease', ...bench.report('c') })
    expect(bench.claim(5)).toEqual(['c'])
    bench.commit('d')
    expect(bench.claim(5)).toEqual(['b'])
  })

  it('of many keys stops each its own: ten thousand keys that are full cost nothing', () => {
    const bench = new ReadyBench()
    const keys = 10_000
    for (let i = 0; i < keys; i++) {
      const limits = [limit(`key ${i}`, { concurrency: 1 })]
      bench.submit(`first ${i}`, plain({ priority: 1 }, { limits }))
      bench.submit(`second ${i}`, plain({}, { limits }))
    }
    expect(bench.claim(keys)).toHaveLength(keys)
    const effort = bench.effort(() => {
      expect(bench.claim(5)).toEqual([])
    })
    expect(effort).toEqual({ comparisons: 0, offers: 0 })
    bench.commit('first 77')
    expect(bench.claim(5)).toEqual(['second 77'])
  })

  it('costs nothing when another of the same lists is used up in turn with it', () => {
    const bench = new ReadyBench()
    const byRate = limit('api', { rate: { count: 1, perMs: 10 } })
    const limits = [byRate, limit('gpu', { concurrency: 1 })]
    for (let i = 0; i < 2_000; i++) {
      bench.submit(`job ${i}`, plain({ group: `group ${i}` }, { limits }))
    }
    const effort = bench.effort(() => {
      for (let i = 0; i < 20; i++) {
        expect(bench.claim(9)).toEqual([`job ${i}`])
        // By turns: the one has room and the other has not.
        if (i % 2 === 0) bench.now += 10
        else bench.commit(`job ${i}`)
        expect(bench.claim(9)).toEqual([])
        if (i % 2 === 0) bench.commit(`job ${i}`)
        else bench.now += 10
      }
    })
    expect(effort.comparisons).toBeLessThan(20 * 60)
  })

  it('makes a task wait there, whichever of its limits it is', () => {
    const bench = new ReadyBench()
    const [open, full] = [limit('open', { concurrency: 9 }), limit('full', { concurrency: 1 })]
    bench.submit('first', plain({}, { limits: [full] }))
    expect(bench.claim()).toEqual(['first'])
    for (const limits of [
      [open, full],
      [full, open],
      [open, full, limit('own', { concurrency: 1 })],
    ]) {
      bench.submit(`job ${limits.map(({ key }) => key).join()}`, plain({}, { limits }))
    }
    const effort = bench.effort(() => {
      expect(bench.claim(9)).toEqual([])
      expect(bench.claim(9)).toEqual([])
    })
    expect(effort.offers).toBe(0)
    bench.submit('last', plain({}, { limits: [open] }))
    expect(bench.claim(9)).toEqual(['last'])
    bench.commit('first')
    expect(bench.claim(9)).toEqual(['job open,full'])
  })

  it('by rate lets a burst through, then one for each token', () => {
    const bench = new ReadyBench()
    const limits = [limit('slow', { rate: { count: 2, perMs: 100 } })]
    for (let i = 0; i < 6; i++) bench.submit(`job ${i}`, plain({}, { limits }))
    expect(bench.claim(9)).toEqual(['job 0', 'job 1'])
    bench.now = 49
    const effort = bench.effort(() => {
      expect(bench.claim(9)).toEqual([])
    })
    expect(effort).toEqual({ comparisons: 0, offers: 0 })
    bench.now = 50
    expect(bench.claim(9)).toEqual(['job 2'])
    bench.now = 1_000
    expect(bench.claim(9)).toEqual(['job 3', 'job 4'])
  })

  it('of the queue itself stops all its channels, by number and by rate', () => {
    const bench = new ReadyBench()
    bench.must({
      type: 'ConfigureQueue',
      queue: 'default',
      concurrency: 1,
      rate: null,
      ageingMs: null,
      ...onRecord,
    })
    for (let i = 0; i < 3; i++) bench.submit(`job ${i}`)
    expect(bench.claim(9)).toEqual(['job 0'])
    bench.commit('job 0')
    const rate = { count: 1, perMs: 10 }
    bench.must({
      type: 'ConfigureQueue',
      queue: 'default',
      concurrency: null,
      rate,
      ageingMs: null,
      ...onRecord,
    })
    expect(bench.claim(9)).toEqual(['job 1'])
    bench.now = 9
    expect(bench.claim(9)).toEqual([])
    bench.now = 10
    expect(bench.claim(9)).toEqual(['job 2'])
  })

  it('of the queue itself goes by its new rate at once when that is quicker', () => {
    const bench = new ReadyBench()
    const configure = (perMs: number): void => {
      const rate = { count: 1, perMs }
      const bounds = { concurrency: null, rate, ageingMs: null }
      bench.must({ type: 'ConfigureQueue', queue: 'default', ...bounds, ...onRecord })
    }
    for (let i = 0; i < 3; i++) bench.submit(`job ${i}`)
    configure(3_600_000)
    expect(bench.claim(9)).toEqual(['job 0'])
    bench.now = 50
    configure(10)
    bench.now = 59
    expect(bench.claim(9)).toEqual([])
    bench.now = 60
    expect(bench.claim(9)).toEqual(['job 1'])
    bench.now = 70
    expect(bench.claim(9)).toEqual(['job 2'])
  })

  it('by rate has room after a restart as soon as it had it before', () => {
    const bench = new ReadyBench()
    const limits = [limit('api', { rate: { count: 2, perMs: 100 } })]
    for (const job of ['a', 'b', 'c']) bench.submit(job, plain({}, { limits }))
    expect(bench.claim(9)).toEqual(['a', 'b'])
    const { world, ready } = bench.ledger
    const again = new Ledger()
    again.tick(50)
    again.ready.restoreBuckets([], ready.buckets(50).limits)
    // What waits is in its list BEFORE what is leased is restored, which says when its lease began.
    for (const job of [...world.jobs.values()].toReversed()) again.restore({ job, stages: null })
    const request = { worker: 'w', request: 9, channels: [CHANNEL], max: 9, started: true }
    expect(again.claim(request, 50).map(({ job }) => job)).toEqual(['c'])
  })

  it('forgets keys that nothing uses any more', () => {
    const bench = new ReadyBench()
    for (let i = 0; i < 5_000; i++) {
      bench.submit(`job ${i}`, plain({}, { limits: [limit(`user ${i}`, { concurrency: 1 })] }))
      expect(bench.claim()).toEqual([`job ${i}`])
      bench.commit(`job ${i}`)
    }
    expect(bench.ledger.usage.size).toBeLessThan(3_000)
  })

  it('forgets keys whose last job left from behind another, in a queue that no worker asks any more', () => {
    const bench = new ReadyBench()
    const other = { ...CHANNEL, queue: 'other' }
    for (let i = 0; i < 2_000; i++) {
      const limits = [limit(`user ${i}`, { concurrency: 1 })]
      for (const job of [`first ${i}`, `second ${i}`]) bench.submit(job, plain({}, { limits }))
      bench.must({ type: 'CancelJob', job: `second ${i}`, ...onRecord })
    }
    expect(bench.claim(2_000)).toHaveLength(2_000)
    for (let i = 0; i < 2_000; i++) bench.commit(`first ${i}`)
    for (let i = 0; i < 4_000; i++) {
      const limits = [limit(`guest ${i}`, { concurrency: 1 })]
      bench.submit(`guest ${i}`, plain({}, { queue: 'other', limits }))
      bench.claim(1, [other])
      bench.commit(`guest ${i}`)
    }
    expect(bench.ledger.usage.has('user 1999')).toBe(false)
  })
})

describe('a limit that closes with a grant', () => {
  it('leaves all other lists in order, whatever its own list has next', () => {
    for (let seed = 1; seed <= 300; seed++) {
      const dice = new Dice(seed)
      const bench = new ReadyBench()
      const most = 1 + dice.below(4)
      const lists = Array.from({ length: 12 }, (_, i) => [
        `own ${i}`,
        ...['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].filter(() => dice.chance(20)),
      ])
      const waiting = Array.from({ length: 72 }, (_, i) => {
        const limits = dice.pick(lists)
        const specs = limits.map((key) => {
          return limit(key, { concurrency: key.startsWith('own') ? 99 : most })
        })
        const dueAt = 1 + i + dice.below(60)
        bench.submit(`job ${i}`, plain({ dueAt }, { limits: specs }))
        return { id: `job ${i}`, dueAt, limits }
      }).toSorted((a, b) => a.dueAt - b.dueAt)
      bench.now = 10_000
      const used = new Map<string, number>()
      const isFree = (key: string): boolean => key.startsWith('own') || (used.get(key) ?? 0) < most
      for (;;) {
        const next = waiting.find(({ limits }) => limits.every(isFree))
        expect(bench.claim(1), `seed ${seed}`).toEqual(next === undefined ? [] : [next.id])
        if (next === undefined) break
        waiting.splice(waiting.indexOf(next), 1)
        for (const key of next.limits) used.set(key, (used.get(key) ?? 0) + 1)
      }
    }
  })
})
