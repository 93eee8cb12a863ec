/**
 * Groups behind a limit, on every store: one that has much waiting does not starve the others, also when all of it
 * waits for the limit, and when workers die.
 */
import { describe, expect, it } from 'vitest'
import type { JobSpec } from '../../src/kernel/index.ts'
import type { Claimed } from '../../src/store/index.ts'
import { failure, plain, retry } from '../support/specs.ts'
import type { Bench } from './bench.ts'
import { claim, commit, reportOf, setUp, STORES } from './bench.ts'

const MUCH = 60
const LIMITS = [{ key: 'api', concurrency: 2, rate: null }]

function specOf(group: string, policy: Parameters<typeof plain>[1] = {}): JobSpec {
  return plain({ group }, { limits: LIMITS, ...policy })
}

async function submit({ store }: Bench, group: string, count: number, policy = {}): Promise<void> {
  const spec = specOf(group, policy)
  const jobs = Array.from({ length: count }, (_, i) => `${group}${i}`)
  const answers = await store.execute(jobs.map((job) => ({ type: 'SubmitJob', job, spec })))
  expect(answers.every(({ verdict }) => verdict === 'committed')).toBe(true)
}

/** As a worker with more places than the limit has: the rest of them finds nothing. */
function take({ store }: Bench, request: number): Promise<readonly Claimed[]> {
  return store.claim(claim({ request, max: 4 }))
}

/** Two of the large group run, and all others of it wait for the limit. */
async function allWaiting(kind: string): Promise<{ bench: Bench; running: readonly Claimed[] }> {
  const bench = await setUp(kind)
  await submit(bench, 'large', MUCH)
  bench.clock.time += 1
  const running = await take(bench, 1)
  expect(running).toHaveLength(2)
  expect(await take(bench, 2)).toEqual([])
  bench.clock.time += 1
  return { bench, running }
}

describe.each(Object.keys(STORES))('groups behind a full limit, on the %s store', (kind) => {
  it('take turns, however much the first of them has waiting', async () => {
    const { bench, running } = await allWaiting(kind)
    for (const group of ['b', 'c', 'd']) await submit(bench, group, 5)
    const order: string[] = []
    const taken = [...running]
    for (let request = 3; order.length < 24; request++) {
      bench.clock.time += 1
      expect((await bench.send(commit(taken.shift() as Claimed))).verdict).toBe('committed')
      const next = await take(bench, request)
      order.push(...next.map(({ job }) => job.replace(/\d+$/, '')))
      taken.push(...next)
    }
    for (const group of ['b', 'c', 'd']) {
      expect(order.filter((one) => one === group)).toHaveLength(5)
    }
  })

  it('take turns when a task of a small one comes back: its worker died, or it failed', async () => {
    const { bench, running } = await allWaiting(kind)
    const policy = { retry: retry({ max: 3, backoff: 'fixed', delayMs: 15, jitter: 0 }) }
    await submit(bench, 'b', 2, policy)
    for (const one of running) await bench.send(commit(one))
    const seen: string[] = []
    for (let request = 3; request < 60; request += 2) {
      bench.clock.time += 10
      const taken = await take(bench, request)
      // What becomes due meanwhile finds that all others wait for the limit.
      bench.clock.time += 10
      for (const one of [...taken, ...(await take(bench, request + 1))]) {
        seen.push(one.job)
        const times = seen.filter((job) => job === one.job).length
        if (one.job === 'b0' && times < 3) {
          await bench.send({ type: 'FailTask', ...reportOf(one), error: failure() })
        } else if (one.job === 'b1' && times < 3) {
          const revoke = { seen: 0, presence: true, by: 'presence', reason: 'Its process is gone.' }
          const { job, stage, segment, lease } = one
          await bench.send({ type: 'RevokeLease', job, stage, segment, lease, ...revoke })
        } else {
          await bench.send(commit(one))
        }
      }
    }
    for (const job of ['b0', 'b1']) expect(seen.filter((one) => one === job)).toHaveLength(3)
    expect(seen.filter((one) => one.startsWith('large')).length).toBeLessThan(MUCH)
  })
})
