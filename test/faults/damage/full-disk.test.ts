/**
 * A disk that is full refuses work, and nothing else: the store lives on, nothing of what was
 * refused happened, and when there is room again the same call goes through.
 */
import { describe, expect, it } from 'vitest'
import type { Command } from '../../../src/kernel/index.ts'
import type { Store } from '../../../src/store/store.ts'
import { SimDisk } from '../sim/sim-disk.ts'
import { plain } from '../../support/specs.ts'
import { nameOf, openStore } from './setting.ts'

/** Some are three times as long as others. */
const submit = (job: string): Command => ({
  type: 'SubmitJob',
  job,
  spec: plain({ input: JSON.stringify('x'.repeat(700 * (1 + (job.charCodeAt(2) % 3)))) }),
})

/** The verdict, or the name of the error. */
async function said(store: Store, job: string): Promise<string> {
  try {
    const [answer] = await store.execute([submit(job)])
    return answer?.verdict ?? 'nothing'
  } catch (error) {
    return nameOf(error)
  }
}

async function jobsIn(store: Store): Promise<string[]> {
  const { jobs } = await store.query({ kind: 'jobs', limit: 1_000 })
  return jobs.map(({ id }) => id)
}

const CAPACITIES = [30_000, 40_000, 50_000, 60_000, 80_000]

describe('a full disk', () => {
  it('refuses new work, keeps the rest, and takes the same work when there is room', async () => {
    for (const capacity of CAPACITIES) {
      const disk = new SimDisk({ capacity })
      const store = await openStore(disk)
      const committed: string[] = []
      let refused: string | null = null
      for (let i = 0; refused === null; i++) {
        const verdict = await said(store, `j${i}`)
        if (verdict === 'committed') committed.push(`j${i}`)
        else [refused] = [`j${i}`, expect(verdict).toBe('DiskFull')]
      }
      expect(await jobsIn(store)).toEqual(committed)
      disk.capacity = Infinity
      expect(await said(store, refused)).toBe('committed')
      await store.close()
      const again = await openStore(disk)
      expect(await jobsIn(again)).toEqual([...committed, refused])
      await again.close()
    }
  })

  it('refuses new work that comes all at once, and the store lives on', async () => {
    for (let capacity = 26_000; capacity < 90_000; capacity += 1_500) {
      const store = await openStore(new SimDisk({ capacity }))
      for (let round = 0; round < 5; round++) {
        const sent = Array.from({ length: 20 }, (_, i) => said(store, `j${round}-${i}`))
        const heard = new Set(await Promise.all(sent))
        expect(['committed', 'DiskFull']).toEqual(expect.arrayContaining([...heard]))
      }
      await store.close()
    }
  })
})
