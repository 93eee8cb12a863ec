/** What is remembered of queues, and for how long. */
import { describe, expect, it } from 'vitest'
import { CHANNEL, ReadyBench } from '../../../test/support/ready-bench.ts'
import { onRecord, plain } from '../../../test/support/specs.ts'

describe('queues, job types and stages', () => {
  it('are forgotten once nothing waits in them and no worker holds a lease of theirs', () => {
    const bench = new ReadyBench()
    const queues = 5_000
    bench.submit('held', plain({}, { queue: 'in use' }))
    bench.claim(1, [{ ...CHANNEL, queue: 'in use' }])
    bench.submit('unfinished', plain({}, { queue: 'finishing' }))
    bench.claim(1, [{ ...CHANNEL, queue: 'finishing' }])
    bench.commitAndRelease('unfinished')
    const slow = { concurrency: 1, rate: null, ageingMs: null }
    bench.must({ type: 'ConfigureQueue', queue: 'configured', ...slow, ...onRecord })
    for (let i = 0; i < queues; i++) {
      const queue = `queue ${i}`
      const type = `type ${i}`
      bench.submit(`job ${i}`, plain({}, { queue }))
      bench.submit(`of type ${i}`, plain({ type }))
      expect(bench.claim(2, [{ ...CHANNEL, queue }])).toEqual([`job ${i}`])
      expect(bench.claim(2, [{ ...CHANNEL, type }])).toEqual([`of type ${i}`])
      bench.commit(`job ${i}`)
      bench.commit(`of type ${i}`)
    }
    const { ready } = bench.ledger
    expect(ready.size.queues).toBeLessThan(2_000)
    expect(ready.size.channels).toBeLessThan(3_000)
    expect(bench.ledger.queueUsage('in use')?.held).toBe(1)
    bench.commit('held')
    expect(bench.ledger.queueUsage('in use')?.held).toBe(0)
    expect(bench.claim(2, [{ ...CHANNEL, queue: 'finishing' }])).toEqual(['unfinished'])
    for (const job of ['a', 'b']) bench.submit(job, plain({}, { queue: 'configured' }))
    const effort = bench.effort(() => {
      expect(bench.claim(2, [{ ...CHANNEL, queue: 'configured' }])).toEqual(['a'])
    })
    expect(effort.offers).toBe(1)
  })

  it('that are forgotten just when a task comes are there for it', () => {
    const bench = new ReadyBench()
    // Each comes to a queue and channel that are empty, and some of them cause a sweep.
    for (let i = 0; i < 3_000; i++) {
      const channel = { ...CHANNEL, queue: `queue ${i % 1_500}`, type: `type ${i % 7}` }
      bench.submit(`job ${i}`, plain({ type: channel.type }, { queue: channel.queue }))
      expect(bench.claim(2, [channel])).toEqual([`job ${i}`])
      bench.commit(`job ${i}`)
    }
  })
})
