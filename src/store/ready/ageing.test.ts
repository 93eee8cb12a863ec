/** Priorities that age. */
import { describe, expect, it } from 'vitest'
import { CHANNEL, limit, ReadyBench } from '../../../test/support/ready-bench.ts'
import { onRecord, plain } from '../../../test/support/specs.ts'

function ageBy(bench: ReadyBench, ageingMs: number | null, queue = 'default'): void {
  bench.must({
    type: 'ConfigureQueue',
    queue,
    concurrency: null,
    rate: null,
    ageingMs,
    ...onRecord,
  })
}

function groups(jobs: readonly string[]): string {
  return jobs.map((job) => job[0]).join('')
}

describe('a queue with ageing', () => {
  it('offers by priority and how long a job waited: so long is worth one priority', () => {
    const bench = new ReadyBench()
    ageBy(bench, 100)
    bench.submit('low', plain({ priority: 0 }))
    bench.now = 199
    bench.submit('high, soon enough', plain({ priority: 2 }))
    bench.now = 200
    bench.submit('high, at the same level', plain({ priority: 2 }))
    bench.now = 201
    bench.submit('high, too late', plain({ priority: 2 }))
    bench.submit('low, new', plain({ priority: 0 }))
    expect(bench.claim(9)).toEqual([
      'high, soon enough',
      'low',
      'high, at the same level',
      'high, too late',
      'low, new',
    ])
  })

  it('does not let a low priority starve behind a stream of high ones', () => {
    const bench = new ReadyBench()
    ageBy(bench, 10)
    bench.submit('low', plain({ priority: -5 }))
    const taken: string[] = []
    for (let i = 0; !taken.includes('low') && i < 1_000; i++) {
      bench.now += 1
      bench.submit(`high ${i}`, plain({ priority: 5 }))
      bench.submit(`more ${i}`, plain({ priority: 5 }))
      taken.push(...bench.claim())
    }
    // It is worth as much as what comes after ten levels of ten milliseconds, two in each.
    expect(taken).toHaveLength(199)
  })

  it('counts from the time that a job was due, also of one that came back', () => {
    const bench = new ReadyBench()
    ageBy(bench, 10)
    bench.submit('later', plain({ priority: 1, dueAt: 50 }))
    bench.submit('came back', plain({ priority: 0 }))
    expect(bench.claim(9)).toEqual(['came back'])
    bench.now = 50
    bench.must({ type: 'ReleaseLease', ...bench.report('came back') })
    expect(bench.claim(9)).toEqual(['came back', 'later'])
  })

  it('ranks what waits anew when ageing begins, changes or ends', () => {
    const bench = new ReadyBench()
    const limits = [limit('key', { concurrency: 1 })]
    bench.submit('old', plain({ priority: 0 }, { limits }))
    bench.now = 100
    bench.submit('urgent', plain({ priority: 3 }))
    const offered = (): string[] => {
      const jobs = bench.claim(1)
      for (const task of jobs) {
        const lease = bench.ledger.world.jobs.get(task)?.task?.attempt ?? 0
        bench.must({ type: 'ReleaseLease', ...bench.report(task, lease) })
      }
      return jobs
    }
    expect(offered()).toEqual(['urgent'])
    ageBy(bench, 10)
    expect(offered()).toEqual(['old'])
    ageBy(bench, 50)
    expect(offered()).toEqual(['urgent'])
    ageBy(bench, 20)
    expect(offered()).toEqual(['old'])
    ageBy(bench, null)
    expect(offered()).toEqual(['urgent'])
    expect(bench.claim(9)).toEqual(['urgent', 'old'])
  })

  it('keeps the turns of its groups when ageing begins and ends', () => {
    const bench = new ReadyBench()
    for (const group of ['a', 'b', 'c']) {
      for (let i = 0; i < 19; i++) bench.submit(`${group} ${i}`, plain({ group, priority: i % 2 }))
    }
    expect(groups(bench.claim(4))).toBe('abca')
    ageBy(bench, 10)
    // Of the turns that a group has at its priorities, the first counts.
    expect(groups(bench.claim(4))).toBe('abca')
    ageBy(bench, null)
    expect(groups(bench.claim(3))).toBe('bca')
  })

  it('lets groups take turns whatever their priorities, and each decides its own order', () => {
    const bench = new ReadyBench()
    ageBy(bench, 1_000)
    for (let i = 0; i < 3; i++) {
      bench.submit(`a ${i}`, plain({ group: 'a', priority: i }))
      bench.submit(`b ${i}`, plain({ group: 'b', priority: -i }))
    }
    expect(bench.claim(9)).toEqual(['a 2', 'b 0', 'a 1', 'b 1', 'a 0', 'b 2'])
  })

  it('compares with another queue by the priority to which its jobs have risen', () => {
    const bench = new ReadyBench()
    const other = { ...CHANNEL, queue: 'other' }
    ageBy(bench, 10)
    bench.submit('rises', plain({ priority: 0 }))
    bench.now = 29
    bench.submit('stays', plain({ priority: 3 }, { queue: 'other' }))
    expect(bench.claim(1, [CHANNEL, other])).toEqual(['stays'])
    bench.submit('stays too', plain({ priority: 3 }, { queue: 'other' }))
    bench.now = 30
    expect(bench.claim(9, [other, CHANNEL])).toEqual(['rises', 'stays too'])
  })

  it('is asked for once: the same again changes nothing', () => {
    const bench = new ReadyBench()
    ageBy(bench, 10)
    const version = bench.ledger.world.queues.get('default')?.version
    ageBy(bench, 10)
    expect(bench.ledger.world.queues.get('default')?.version).toBe(version)
    ageBy(bench, 11)
    expect(bench.ledger.world.queues.get('default')).toMatchObject({
      version: Number(version) + 1,
      ageingMs: 11,
    })
  })
})
