/**
 * What every store does with a task that may be what kills its workers: its last two leases were lost. It is
 * granted alone, so that tasks that were lost with the one that is to blame are not lost with it for ever; and
 * what stands behind it does not wait for it.
 */
import { describe, expect, it } from 'vitest'
import type { JobSpec } from '../../src/kernel/index.ts'
import type { Claimed } from '../../src/store/index.ts'
import { plain, retry } from '../support/specs.ts'
import type { Bench } from './bench.ts'
import { claim, commit, setUp, STORES } from './bench.ts'

const MANY = 9

/** Grants all of them and loses them, as when their worker dies. */
async function lose({ store, clock }: Bench, request: number, max = MANY): Promise<void> {
  const leases = await store.claim(claim({ request, max }))
  await store.execute(
    leases.map(({ job, stage, segment, lease }) => ({
      type: 'RevokeLease' as const,
      job,
      stage,
      segment,
      lease,
      seen: 0,
      presence: true,
      by: 'presence',
      reason: 'Its process is gone.',
    })),
  )
  clock.time += 10_000
}

function names(first: string, count: number): string[] {
  return Array.from({ length: count }, (_, i) => `${first}${String(i).padStart(3, '0')}`)
}

function shown(claimed: readonly Claimed[]): string[] {
  return claimed.map(({ job, isSuspect }) => (isSuspect ? `${job} alone` : job))
}

describe.each(Object.keys(STORES))(
  'of tasks that were lost twice in a row, the %s store',
  (kind) => {
    async function lostTwice(): Promise<Bench> {
      const bench = await setUp(kind)
      for (const job of ['a', 'b', 'c']) {
        await bench.send({ type: 'SubmitJob', job, spec: plain() })
        bench.clock.time += 1
      }
      await lose(bench, 1)
      await lose(bench, 2)
      return bench
    }

    it('grants one in a claim, and all of them in turn', async () => {
      const { store, send } = await lostTwice()
      const seen: string[] = []
      for (let request = 3; request < 6; request++) {
        const claimed = await store.claim(claim({ request, max: MANY, ahead: 2 }))
        seen.push(...shown(claimed))
        expect(claimed).toHaveLength(1)
        for (const one of claimed) expect((await send(commit(one))).verdict).toBe('committed')
      }
      expect(seen.toSorted()).toEqual(['a alone', 'b alone', 'c alone'])
    })

    it('grants none to a worker that has one already, and what stands behind them', async () => {
      const { store, send, clock } = await lostTwice()
      clock.time += 1
      await send({ type: 'SubmitJob', job: 'd', spec: plain() })
      const passed = await store.claim(claim({ request: 3, max: MANY, suspects: false }))
      expect(shown(passed)).toEqual(['d'])
      expect(await store.claim(claim({ request: 4, max: MANY, suspects: false }))).toEqual([])
      // Those before them and behind them are granted in one claim, in which they have no part.
      for (const [job, priority] of [
        ['e', 5],
        ['f', 5],
        ['g', 0],
      ] as const) {
        await send({ type: 'SubmitJob', job, spec: plain({ priority }) })
        clock.time += 1
      }
      expect(shown(await store.claim(claim({ request: 5, max: MANY })))).toEqual(['e', 'f', 'g'])
      expect(shown(await store.claim(claim({ request: 6, max: MANY })))).toEqual(['a alone'])
    })

    it('grants work behind 500 of them at once, and each of them in its turn', async () => {
      const bench = await setUp(kind)
      const { store, send, clock } = bench
      const submitAll = (jobs: readonly string[]) =>
        store.execute(jobs.map((job) => ({ type: 'SubmitJob', job, spec: plain() })))
      await submitAll(names('lost', 500))
      await lose(bench, 1, 500)
      await lose(bench, 2, 500)
      clock.time += 1
      await submitAll(names('work', 20))
      const first = await store.claim(claim({ request: 3, max: MANY, ahead: 4 }))
      expect(shown(first)).toEqual(['lost000 alone'])
      // As a worker does while it runs that one.
      const second = await store.claim(claim({ request: 4, max: MANY, ahead: 4, suspects: false }))
      expect(shown(second)).toEqual(names('work', 13))
      const third = await store.claim(claim({ request: 5, max: MANY, suspects: false }))
      expect(shown(third)).toEqual(names('work', 20).slice(13))
      for (const one of [...first, ...second, ...third]) {
        expect((await send(commit(one))).verdict).toBe('committed')
      }
      const fourth = await store.claim(claim({ request: 6, max: MANY, ahead: 4 }))
      expect(shown(fourth)).toEqual(['lost001 alone'])
    })

    it('grants none whose next loss would be its last to a worker that runs another', async () => {
      const bench = await setUp(kind)
      const { store, send, clock } = bench
      const policy = {
        ...(plain().policy as NonNullable<JobSpec['policy']>),
        retry: retry({ max: 2 }),
      }
      await send({ type: 'SubmitJob', job: 'last', spec: plain({ policy }) })
      clock.time += 1
      await send({ type: 'SubmitJob', job: 'more', spec: plain() })
      await lose(bench, 1)
      await lose(bench, 2)
      const beside = claim({ request: 3, max: MANY, lastChances: false })
      expect(shown(await store.claim(beside))).toEqual(['more alone'])
      expect(await store.claim({ ...beside, request: 4 })).toEqual([])
      const [last, ...others] = await store.claim(claim({ request: 5, max: MANY }))
      expect(last).toMatchObject({ job: 'last', isSuspect: true, isLastChance: true })
      expect(others).toEqual([])
    })

    it('grants others if the first of them is stopped by its limit', async () => {
      const { store, send, clock } = await setUp(kind)
      const limits = [{ key: 'k', concurrency: 1, rate: null }]
      const policy = { ...(plain().policy as NonNullable<JobSpec['policy']>), limits }
      await send({ type: 'SubmitJob', job: 'a', spec: plain({ policy }) })
      await lose({ store, send, clock }, 1)
      await lose({ store, send, clock }, 2)
      await send({ type: 'SubmitJob', job: 'holder', spec: plain({ policy, priority: 5 }) })
      expect(shown(await store.claim(claim({ request: 3 })))).toEqual(['holder'])
      clock.time += 1
      await send({ type: 'SubmitJob', job: 'b', spec: plain() })
      expect(shown(await store.claim(claim({ request: 4, max: MANY })))).toEqual(['b'])
    })

    it('grants those together that were lost once', async () => {
      const bench = await setUp(kind)
      for (const job of ['a', 'b']) await bench.send({ type: 'SubmitJob', job, spec: plain() })
      await lose(bench, 1)
      expect(shown(await bench.store.claim(claim({ request: 2, max: MANY })))).toHaveLength(2)
    })
  },
)
