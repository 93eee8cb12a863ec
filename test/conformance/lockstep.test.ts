/**
 * The directory store beside a bare ledger, command by command: it gives the same answers and
 * holds the same state, however often it makes a checkpoint, is closed, or just stops and is
 * opened again.
 */
import { describe, expect, it } from 'vitest'
import type { DirectoryOptions, DirectoryStore } from '../../src/store/index.ts'
import { openDirectory, verifyDirectory } from '../../src/store/index.ts'
import { Dice } from '../model/properties/dice.ts'
import { SimDisk } from '../faults/sim/sim-disk.ts'
import { InStep } from './in-step.ts'
import { IS_LONG } from '../support/campaign.ts'

const STEPS = 1_500

async function own(): Promise<{ release: () => Promise<void> }> {
  return { release: async () => undefined }
}

class Pair extends InStep {
  disk: SimDisk
  override store!: DirectoryStore
  readonly problems: string[] = []

  constructor(seed: number) {
    super()
    this.disk = new SimDisk({ seed })
  }

  async open(): Promise<void> {
    const options: DirectoryOptions = {
      clock: { now: () => this.now },
      disk: this.disk,
      segmentBytes: 32 * 1_024,
      checkpointBytes: 16 * 1_024,
      historyMs: 100,
      onNotice: (notice) => {
        if (notice.kind === 'checkpoint-failed') this.problems.push(String(notice.error.stack))
      },
      own,
    }
    this.store = await openDirectory('/store', options)
  }
}

describe('the directory store', () => {
  const seeds = Array.from({ length: IS_LONG ? 8 : 3 }, (_, i) => i + 1)

  it.each(seeds)('goes in step with a ledger that never stops (seed %i)', async (seed) => {
    const dice = new Dice(seed)
    const pair = new Pair(seed)
    await pair.open()
    for (let count = 1; count <= STEPS; count++) {
      await pair.step(dice, count)
      if (dice.chance(1)) await pair.store.checkpoint()
      if (dice.chance(2)) {
        if (dice.chance(50)) await pair.store.close()
        // Else it is killed: it knows nothing of what happens to the disk from now on.
        pair.disk = pair.disk.crash('everything')
        await pair.open()
      }
      if (count % 50 === 0) await pair.compare()
    }
    expect(pair.problems).toEqual([])
    expect(pair.quarantined).toBeGreaterThan(0)
    expect(pair.held).toBeGreaterThan(0)
    expect(pair.counted).toBeGreaterThan(300)
    await pair.store.close()
    const { problems } = await verifyDirectory('/store', { disk: pair.disk, own })
    expect(problems).toEqual([])
  })
})
