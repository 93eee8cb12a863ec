import { describe, expect, it } from 'vitest'
import { failure, plain, promise, retry } from '../../test/support/specs.ts'
import type { Command, JobSpec, LimitSpec, Task } from '../kernel/index.ts'
import { Ledger } from './ledger.ts'

const CHANNEL = { queue: 'default', type: 'test', stage: null }
const onRecord = { by: 'ops', reason: 'because' }

function limit(key: string, bounds: Partial<LimitSpec>): LimitSpec {
  return { key, concurrency: null, rate: null, ...bounds }
}

class Bench {
  readonly ledger = new Ledger()
  now = 0
  #request = 0

  submit(job: string, spec: JobSpec = plain()): void {
    this.must({ type: 'SubmitJob', job, spec })
  }

  must(command: Command): void {
    const { verdict, rejection } = this.ledger.perform(command, this.now)
    if (verdict !== 'committed')
      throw new Error(`${command.type}: ${rejection?.message ?? verdict}`)
  }

  /** The ids of the jobs that were granted, in order. */
  claim(max = 1, channels = [CHANNEL]): string[] {
    return this.claimTasks(max, channels).map((task) => task.job)
  }

  claimTasks(max = 1, channels = [CHANNEL]): readonly Task[] {
    this.#request += 1
    const request = { worker: 'w', request: this.#request, channels, max, started: true }
    return this.ledger.claim(request, this.now)
  }

  report(
    job: string,
    lease = 1,
  ): { job: string; stage: 0; segment: 0; lease: number; worker: 'w' } {
    return { job, stage: 0, segment: 0, lease, worker: 'w' }
  }

  commit(job: string, lease = 1): void {
    this.must({ type: 'CommitExecution', ...this.report(job, lease), output: '1', effects: [] })
  }

  /** How many heap members were compared, and how many tasks were taken out, in the meantime. */
  effort(work: () => void): { comparisons: number; offers: number } {
    const { comparisons, offers } = this.ledger.ready.effort
    work()
    const after = this.ledger.ready.effort
    return { comparisons: after.comparisons - comparisons, offers: after.offers - offers }
  }
}

describe('the order of offers', () => {
  it('is priority, then due time, then submission', () => {
    const bench = new Bench()
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
    const bench = new Bench()
    bench.submit('a', plain({ priority: 1 }, { queue: 'left' }))
    bench.submit('b', plain({ priority: 2 }, { queue: 'right' }))
    bench.submit('c', plain({ priority: 3, type: 'other' }, { queue: 'left' }))
    const left = { ...CHANNEL, queue: 'left' }
    const right = { ...CHANNEL, queue: 'right' }
    expect(bench.claim(5, [left, right, left])).toEqual(['b', 'a'])
    expect(bench.claim(5, [{ ...left, type: 'other' }])).toEqual(['c'])
    expect(bench.claim(5, [{ ...left, type: 'unheard of' }])).toEqual([])
  })

  it('puts a retry behind what was due before it', () => {
    const bench = new Bench()
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

describe('what is not to run', () => {
  it('is not offered while it is held, and is offered once released', () => {
    const bench = new Bench()
    bench.submit('a', plain({ held: true }))
    expect(bench.claim()).toEqual([])
    bench.must({ type: 'ReleaseJob', job: 'a' })
    expect(bench.claim()).toEqual(['a'])
  })

  it('is not offered before it is due, nor after its start-by time', () => {
    const bench = new Bench()
    bench.submit('later', plain({ delayMs: 10 }))
    bench.submit('quickly', plain({ startWithinMs: 10 }))
    bench.now = 9
    bench.submit('other', plain({ priority: -1 }))
    bench.now = 10
    expect(bench.claim(5)).toEqual(['later', 'other'])
  })

  it('is taken out lazily when it is cancelled, forced or stopped', () => {
    const bench = new Bench()
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
    const bench = new Bench()
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
    const bench = new Bench()
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
    const bench = new Bench()
    const limits = [limit('one', { concurrency: 1 })]
    for (const job of ['a', 'b', 'c']) bench.submit(job, plain({}, { limits }))
    bench.claim()
    const report = bench.report('a')
    bench.must({ type: 'CommitExecution', ...report, output: '1', effects: [promise()] })
    bench.must({ type: 'ReleaseLease', ...report })
    expect(bench.claim()).toEqual(['b'])
    expect(bench.claim(5)).toEqual(['a'])
    bench.must({ type: 'ReleaseLease', ...bench.report('a', 2) })
    bench.must({ type: 'ConfigureQueue', queue: 'default', concurrency: 0, rate: null })
    bench.must({ type: 'PauseQueue', queue: 'default', ...onRecord })
    expect(bench.claim(5)).toEqual(['a'])
  })
})

describe('a limit that is used up', () => {
  it('stops ten thousand lanes at once: claiming does not look at them', () => {
    const bench = new Bench()
    const shared = limit('shared', { concurrency: 1 })
    const lanes = 10_000
    for (let i = 0; i < lanes; i++) {
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
    expect(opened.comparisons).toBeLessThan(4 * Math.log2(lanes))
  })

  it('is passed by as soon as a lease that holds it ends, best first', () => {
    const bench = new Bench()
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
    const bench = new Bench()
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

  it('makes a task wait there, whichever of its limits it is', () => {
    const bench = new Bench()
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
    const bench = new Bench()
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
    const bench = new Bench()
    bench.must({ type: 'ConfigureQueue', queue: 'default', concurrency: 1, rate: null })
    for (let i = 0; i < 3; i++) bench.submit(`job ${i}`)
    expect(bench.claim(9)).toEqual(['job 0'])
    bench.commit('job 0')
    const rate = { count: 1, perMs: 10 }
    bench.must({ type: 'ConfigureQueue', queue: 'default', concurrency: null, rate })
    expect(bench.claim(9)).toEqual(['job 1'])
    bench.now = 9
    expect(bench.claim(9)).toEqual([])
    bench.now = 10
    expect(bench.claim(9)).toEqual(['job 2'])
  })

  it('forgets keys that nothing uses any more', () => {
    const bench = new Bench()
    for (let i = 0; i < 5_000; i++) {
      bench.submit(`job ${i}`, plain({}, { limits: [limit(`user ${i}`, { concurrency: 1 })] }))
      expect(bench.claim()).toEqual([`job ${i}`])
      bench.commit(`job ${i}`)
    }
    expect(bench.ledger.usage.size).toBeLessThan(3_000)
  })
})
