/** Groups take turns. */
import { describe, expect, it } from 'vitest'
import { CHANNEL, limit, ReadyBench } from '../../../test/support/ready-bench.ts'
import { onRecord, plain } from '../../../test/support/specs.ts'

/** The groups of jobs, which are named after them. */
function groupsOf(jobs: readonly string[]): string {
  return jobs.map((job) => job.split(' ')[0]).join('')
}

function submitMany(bench: ReadyBench, group: string | null, count: number, priority = 0): void {
  for (let i = 0; i < count; i++) {
    bench.submit(`${group ?? '-'} ${bench.now} ${priority} ${i}`, plain({ group, priority }))
  }
}

describe('groups', () => {
  it('take turns: one with a hundred thousand jobs does not starve one with three', () => {
    const bench = new ReadyBench()
    submitMany(bench, 'a', 100_000)
    bench.now = 1
    submitMany(bench, 'b', 3)
    expect(groupsOf(bench.claim(8))).toBe('abababaa')
  })

  it('are served in order of due time within, and jobs without one are one group', () => {
    const bench = new ReadyBench()
    bench.submit('a late', plain({ group: 'a', dueAt: 2 }))
    bench.submit('a early', plain({ group: 'a', dueAt: 1 }))
    bench.submit('- first')
    bench.submit('- second')
    bench.now = 2
    expect(bench.claim(9)).toEqual(['- first', 'a early', '- second', 'a late'])
  })

  it('take turns within a priority: a higher one comes first', () => {
    const bench = new ReadyBench()
    submitMany(bench, 'a', 3, 5)
    submitMany(bench, 'a', 3)
    submitMany(bench, 'b', 3)
    submitMany(bench, 'b', 1, 5)
    expect(groupsOf(bench.claim(20))).toBe('abaaababab')
  })

  it('that were idle have saved up nothing', () => {
    const bench = new ReadyBench()
    submitMany(bench, 'a', 50)
    submitMany(bench, 'b', 1)
    expect(groupsOf(bench.claim(30))).toBe(`ab${'a'.repeat(28)}`)
    submitMany(bench, 'b', 50)
    bench.now = 1
    expect(groupsOf(bench.claim(6))).toBe('ababab')
  })

  it('that a limit stopped have one turn at once, and then theirs', () => {
    const bench = new ReadyBench()
    const limits = [limit('b', { concurrency: 1 })]
    submitMany(bench, 'a', 50)
    for (let i = 0; i < 9; i++) bench.submit(`b ${i}`, plain({ group: 'b' }, { limits }))
    expect(groupsOf(bench.claim(20))).toBe(`ab${'a'.repeat(18)}`)
    for (let i = 0; i < 4; i++) {
      bench.commit(`b ${i}`)
      expect(groupsOf(bench.claim(2))).toBe('ba')
    }
  })

  it('that come and go pass no other: a group of its own for each job is first come, first served', () => {
    const bench = new ReadyBench()
    submitMany(bench, 'old', 3)
    for (let i = 0; i < 6; i++) {
      bench.now += 1
      submitMany(bench, `new${i}`, 1)
    }
    expect(bench.claim(9).map((job) => job.split(' ')[0])).toEqual([
      'old',
      'new0',
      'new1',
      'new2',
      'new3',
      'new4',
      'new5',
      'old',
      'old',
    ])
  })

  it('take turns across the channels that are asked for together', () => {
    const bench = new ReadyBench()
    const [left, right] = [CHANNEL, { ...CHANNEL, queue: 'right' }]
    const other = { ...CHANNEL, type: 'other' }
    for (let i = 0; i < 9; i++) bench.submit(`a ${i}`, plain({ group: 'a' }))
    for (let i = 0; i < 2; i++) bench.submit(`b ${i}`, plain({ group: 'b', type: 'other' }))
    for (let i = 0; i < 2; i++) bench.submit(`c ${i}`, plain({ group: 'c' }, { queue: 'right' }))
    expect(groupsOf(bench.claim(9, [other, right, left]))).toBe('abcabcaaa')
  })

  it('are served in order of due time across channels, if they are one group', () => {
    const bench = new ReadyBench()
    const other = { ...CHANNEL, type: 'other' }
    for (let i = 0; i < 6; i++) {
      bench.now = i
      bench.submit(`job ${i}`, plain({ group: 'a', type: i % 3 === 0 ? 'other' : 'test' }))
    }
    expect(bench.claim(9, [other, CHANNEL])).toEqual([0, 1, 2, 3, 4, 5].map((i) => `job ${i}`))
  })

  it('that are busy in another channel still get their turn in this one', () => {
    const bench = new ReadyBench()
    const [red, blue] = [
      { ...CHANNEL, type: 'red' },
      { ...CHANNEL, type: 'blue' },
    ]
    for (let i = 0; i < 100; i++) bench.submit(`a blue ${i}`, plain({ group: 'a', type: 'blue' }))
    bench.submit('a red', plain({ group: 'a', type: 'red' }))
    for (let i = 0; i < 100; i++) bench.submit(`b red ${i}`, plain({ group: 'b', type: 'red' }))
    for (let i = 0; i < 5; i++) bench.claim(9, [blue])
    expect(bench.claim(2, [red])).toContain('a red')
  })

  it('lose the place of a job that is cancelled, and keep their turn', () => {
    const bench = new ReadyBench()
    submitMany(bench, 'a', 3)
    submitMany(bench, 'b', 3)
    for (const i of [0, 1]) bench.must({ type: 'CancelJob', job: `a 0 0 ${i}`, ...onRecord })
    expect(groupsOf(bench.claim(9))).toBe('abbb')
  })

  it('of ten thousand cost one of them as little to serve', () => {
    const bench = new ReadyBench()
    const groups = 10_000
    for (let i = 0; i < 2 * groups; i++) {
      bench.submit(`job ${i}`, plain({ group: `group ${i % groups}` }))
    }
    const effort = bench.effort(() => {
      expect(bench.claim(groups).at(-1)).toBe(`job ${groups - 1}`)
    })
    expect(effort.offers).toBe(groups)
    expect(effort.comparisons / groups).toBeLessThan(3 * Math.log2(groups))
  })

  it('of ten thousand that one full key stops are not looked at', () => {
    const bench = new ReadyBench()
    const limits = [limit('shared', { concurrency: 1 })]
    const groups = 10_000
    for (let i = 0; i < groups; i++) {
      bench.submit(`job ${i}`, plain({ group: `group ${i}` }, { limits }))
    }
    expect(bench.claim(5)).toEqual(['job 0'])
    const blocked = bench.effort(() => {
      for (let i = 0; i < 100; i++) expect(bench.claim(5)).toEqual([])
    })
    expect(blocked).toEqual({ comparisons: 0, offers: 0 })
    const opened = bench.effort(() => {
      bench.commit('job 0')
      expect(bench.claim(5)).toEqual(['job 1'])
    })
    expect(opened.comparisons).toBeLessThan(4 * Math.log2(groups))
  })

  it('with ten thousand keys of their own move as one', () => {
    const bench = new ReadyBench()
    const keys = 10_000
    for (let i = 0; i < 3 * keys; i++) {
      const limits = [limit(`key ${i % keys}`, { concurrency: 1 })]
      bench.submit(`job ${i}`, plain({ group: i % 2 === 0 ? 'a' : 'b' }, { limits }))
    }
    const effort = bench.effort(() => {
      for (const job of bench.claim(1_000)) bench.commit(job)
    })
    expect(effort.comparisons / 1_000).toBeLessThan(8 * Math.log2(keys))
  })
})
