/**
 * Pages of the log of a directory over many segments, also where the oldest of them were removed.
 */
import { expect, it } from 'vitest'
import { Growing } from '../../../test/faults/damage/grown-store.ts'
import { SimDisk } from '../../../test/faults/sim/sim-disk.ts'
import { Dice } from '../../../test/model/properties/dice.ts'
import { plain } from '../../../test/support/specs.ts'
import type { PositionedEntry } from '../store.ts'

const END = Number.MAX_SAFE_INTEGER
const SUBMITS = 600

it.each([Infinity, 1_000])(
  'shows what a watch shows, over many segments, with a history of %d ms',
  async (historyMs) => {
    const growing = new Growing(new SimDisk(), new Dice(7), historyMs)
    await growing.open()
    for (let n = 0; n < SUBMITS; n++) {
      growing.now += 100
      await growing.store.execute([{ type: 'SubmitJob', job: `job-${n}`, spec: plain() }])
      if (n % 150 === 149) await growing.store.checkpoint()
    }
    const watched: PositionedEntry[] = []
    for await (const one of growing.store.watch(0)) {
      watched.push(one)
      if ('job' in one.entry && one.entry.job === `job-${SUBMITS - 1}`) break
    }
    if (historyMs === Infinity) expect(watched.length).toBe(SUBMITS)
    else expect(watched.length).toBeLessThan(SUBMITS)
    const dice = new Dice(11)
    const last = watched.at(-1)?.position as number
    for (let round = 0; round < 200; round++) {
      const [after, through] = [
        dice.below(last + 10),
        round % 3 === 0 ? END : dice.below(last + 10),
      ]
      const limit = 1 + dice.below(300)
      const between = watched.filter(({ position }) => position > after && position <= through)
      const ask = { kind: 'entries', after, through, limit } as const
      expect(await growing.store.query(ask)).toEqual(between.slice(0, limit))
      expect(await growing.store.query({ ...ask, newest: true })).toEqual(between.slice(-limit))
    }
    await growing.store.close()
  },
)
