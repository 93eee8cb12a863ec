/**
 * Whatever happens to the bytes of a log: it opens with all that it ever said was durable, or it
 * does not open, says where it is damaged, and changes nothing.
 */
import { beforeAll, describe, expect, it } from 'vitest'
import type { Damage } from './damages.ts'
import { files, flips, flipsInZeros, moved, swaps, truncations, zeroedBlocks } from './damages.ts'
import type { Result } from './examining.ts'
import { tryDamages } from './examining.ts'
import type { Sample } from './sample-log.ts'
import { lagging, sampleLog } from './sample-log.ts'
import { openStore } from './setting.ts'
import { IS_LONG } from '../../support/campaign.ts'

/** With a mark that is right, one that lags in the last segment, and one in the segment before. */
let samples: readonly Sample[]

beforeAll(async () => {
  const whole = await sampleLog()
  samples = [whole, lagging(whole, 3), lagging(whole, 6)]
  expect(whole.segments).toHaveLength(3)
  expect(whole.groups.filter(({ file }) => file === whole.segments.at(-1))).toHaveLength(4)
})

async function campaign(
  name: string,
  damages: (sample: Sample) => Iterable<Damage>,
): Promise<Record<Result, number>> {
  const results = { corrupt: 0, full: 0, shorter: 0 }
  for (const sample of samples) {
    const { problems, ...counts } = await tryDamages(sample, damages(sample), openStore)
    expect(problems).toEqual([])
    for (const result of ['corrupt', 'full', 'shorter'] as const) results[result] += counts[result]
  }
  const { corrupt, full, shorter } = results
  const [all, ...parts] = [corrupt + full + shorter, corrupt, full, shorter].map((count) =>
    count.toLocaleString('en'),
  )
  const [said, kept, cut] = parts
  console.log(`damage: ${all} ${name}: ${said} corrupt, ${kept} full, ${cut} unmarked cut, 0 lost`)
  return results
}

describe('a damaged log', () => {
  it('opens whole, as long as it is not', async () => {
    const nothing: Damage = { name: 'nothing', removes: false, apply: () => undefined }
    const results = await campaign('times nothing', () => [nothing])
    expect(results).toEqual({ corrupt: 0, full: 3, shorter: 0 })
  })

  it('never loses an entry by a bit that flipped', async () => {
    const step = IS_LONG ? 1 : 523
    const results = await campaign('bit flips', (one) => flips(one, step))
    expect(results.shorter).toBe(0)
    expect(results.corrupt).toBeGreaterThan(results.full)
  })

  it('never loses an entry by a bit that flipped where nothing was written', async () => {
    const step = IS_LONG ? 101 : 32_009
    await campaign('bit flips in zeros', (one) => flipsInZeros(one, step))
  })

  it('never ends before its mark, whatever length a file is cut to', async () => {
    const step = IS_LONG ? 1 : 227
    await campaign('truncations', (one) => truncations(one, step))
  })

  it('never ends before its mark, whatever block is zeroed', async () => {
    await campaign('zeroed sectors', (one) => zeroedBlocks(one, 512))
    await campaign('zeroed pages', (one) => zeroedBlocks(one, 4_096))
  })

  it('takes nothing for its own that was moved', async () => {
    const swapped = await campaign('swaps', swaps)
    expect(swapped.full).toBe(0)
    await campaign('moved groups', moved)
  })

  it('never ends before its mark, whatever file is gone, doubled or old', async () => {
    await campaign('changed files', files)
  })
})
