/**
 * What every store does with a task that may be what kills its workers: its last two leases were lost. It is
 * granted alone, so that tasks that were lost with the one that is to blame are not lost with it for ever.
 */
import { describe, expect, it } from 'vitest'
import type { Claimed } from '../../src/store/index.ts'
import { plain } from '../support/specs.ts'
import type { Bench } from './bench.ts'
import { claim, commit, setUp, STORES } from './bench.ts'

const MANY = 9

/** Grants all of them and loses them, as when their worker dies. */
async function lose({ store, clock }: Bench, request: number): Promise<void> {
  const leases = await store.claim(claim({ request, max: MANY }))
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

    it('grants none to a worker that has one already, and nothing behind it', async () => {
      const { store, send, clock } = await lostTwice()
      clock.time += 1
      await send({ type: 'SubmitJob', job: 'd', spec: plain() })
      expect(await store.claim(claim({ request: 3, max: MANY, suspects: false }))).toEqual([])
      // Those before it are granted, in one claim.
      for (const job of ['e', 'f']) {
        await send({ type: 'SubmitJob', job, spec: plain({ priority: 5 }) })
        clock.time += 1
      }
      const claimed = await store.claim(claim({ request: 4, max: MANY }))
      expect(shown(claimed)).toEqual(['e', 'f'])
    })

    it('grants those together that were lost once', async () => {
      const bench = await setUp(kind)
      for (const job of ['a', 'b']) await bench.send({ type: 'SubmitJob', job, spec: plain() })
      await lose(bench, 1)
      expect(shown(await bench.store.claim(claim({ request: 2, max: MANY })))).toHaveLength(2)
    })
  },
)
