/**
 * Time travel gives what the kernel makes of every prefix of the log, whatever checkpoints there
 * are; and a backup is the store at one moment.
 */
import { describe, expect, it } from 'vitest'
import type { World } from '../../../src/kernel/index.ts'
import { replay } from '../../../src/kernel/index.ts'
import type { Moment, PositionedEntry, StateAt } from '../../../src/store/index.ts'
import { openDirectory, stateAt, verifyDirectory } from '../../../src/store/index.ts'
import { Dice } from '../../model/properties/dice.ts'
import { everyCrash } from '../sim/every-crash.ts'
import { SimDisk } from '../sim/sim-disk.ts'
import {
  entriesOn,
  filesOn,
  flip,
  FOLDER,
  grown,
  Growing,
  offline,
  openOn,
  plainWorld,
  withoutErased,
} from './grown-store.ts'

async function at(disk: SimDisk, moment: Moment): Promise<StateAt> {
  const state = await stateAt(FOLDER, moment, offline(disk))
  expect(disk.openFiles).toBe(0)
  return state
}

/** The fold of the first entries, without what later ones erase. */
function prefix(entries: readonly PositionedEntry[], count: number): World {
  const folded = replay(entries.slice(0, count).map(({ entry }) => entry))
  return withoutErased(folded, entries.slice(count))
}

describe('time travel', () => {
  it.each([0, 3])(
    'equals the fold of every prefix, by position (%i%% checkpoints)',
    async (checkpoints) => {
      const disk = await grown(new Dice(11), { steps: 300, checkpoints, openings: 2 })
      const entries = await entriesOn(disk)
      expect(entries.length).toBeGreaterThan(150)
      for (const [i, { position, entry }] of entries.entries()) {
        const state = await at(disk, { position })
        expect([state.position, state.time]).toEqual([position, entry.at])
        const expected = prefix(entries, i + 1)
        expect(plainWorld(state.world)).toEqual(plainWorld(expected))
      }
    },
  )

  it.each([0, 3])(
    'equals the fold of every prefix, by time (%i%% checkpoints)',
    async (checkpoints) => {
      const disk = await grown(new Dice(12), { steps: 300, checkpoints, openings: 2 })
      const entries = await entriesOn(disk)
      const times = [...new Set(entries.flatMap(({ entry }) => [entry.at - 1, entry.at]))]
      for (const time of times) {
        const behind = entries.findIndex(({ entry }) => entry.at > time)
        const expected = prefix(entries, behind === -1 ? entries.length : behind)
        const state = await at(disk, { time })
        expect(plainWorld(state.world)).toEqual(plainWorld(expected))
        expect(state.time).toBeLessThanOrEqual(time)
      }
    },
  )

  it('knows nothing before the first entry, and everything behind the last', async () => {
    const disk = await grown(new Dice(13), { steps: 200, checkpoints: 3, openings: 0 })
    const all = (await entriesOn(disk)).map(({ entry }) => entry)
    const nothing = await at(disk, { time: 0 })
    expect([nothing.position, nothing.time, nothing.world.jobs.size]).toEqual([0, 0, 0])
    for (const moment of [{ time: 1e12 }, { position: 1e12 }]) {
      const { world } = await at(disk, moment)
      expect(plainWorld(world)).toEqual(plainWorld(replay(all)))
    }
  })

  it('goes back to the oldest checkpoint where history was removed, and says so', async () => {
    const growth = { steps: 500, checkpoints: 2, openings: 2 }
    const whole = await grown(new Dice(4), growth)
    const short = await grown(new Dice(4), { ...growth, historyMs: 100 })
    const { from } = await verifyDirectory(FOLDER, offline(short))
    expect(from).toBeGreaterThan(0)
    const entries = await entriesOn(whole)
    for (const [i, { position }] of entries.entries()) {
      if (position > from) {
        const { world } = await at(short, { position })
        const expected = prefix(entries, i + 1)
        expect(plainWorld(world)).toEqual(plainWorld(expected))
      } else {
        await expect(at(short, { position })).rejects.toMatchObject({
          code: 'BeforeHistory',
          kind: 'rejected',
          details: { oldestPosition: from },
        })
      }
    }
    const { time } = await at(short, { position: from })
    await expect(at(short, { time: time - 1 })).rejects.toMatchObject({
      code: 'BeforeHistory',
      details: { oldestTime: time },
    })
    expect((await at(short, { time })).time).toBeLessThanOrEqual(time)
  })

  it('does not mind damage behind the moment, or in a checkpoint that it can do without', async () => {
    const disk = await grown(new Dice(14), { steps: 400, checkpoints: 3, openings: 0 })
    const entries = await entriesOn(disk)
    const expected = prefix(entries, 100)
    const { position } = entries[99] as { position: number }
    flip(disk, filesOn(disk, 'log').at(-1) as string, 4_100)
    const { world } = await at(disk, { position })
    expect(plainWorld(world)).toEqual(plainWorld(expected))
    await expect(at(disk, { position: 1e12 })).rejects.toMatchObject({ code: 'CorruptLog' })
  })

  it('takes an older checkpoint, or the log, where one is damaged', async () => {
    const disk = await grown(new Dice(14), { steps: 400, checkpoints: 3, openings: 0 })
    const expected = replay((await entriesOn(disk)).map(({ entry }) => entry))
    for (const path of filesOn(disk, 'live')) {
      flip(disk, path, 70)
      const { world } = await at(disk, { position: 1e12 })
      expect(plainWorld(world)).toEqual(plainWorld(expected))
    }
  })
})

describe('a backup', () => {
  const COPY = '/copy'

  async function backUp(disk: SimDisk): Promise<void> {
    const store = await openOn(disk)
    await store.backup(COPY)
  }

  it.each([21, 22, 23, 24])(
    'is the store at one moment, while it goes on (seed %i)',
    async (seed) => {
      const dice = new Dice(seed)
      const historyMs = seed % 2 === 0 ? 100 : Infinity
      const growing = new Growing(new SimDisk(), dice, historyMs)
      await growing.open()
      for (let step = 0; step < 300; step++) {
        await growing.step()
        if (dice.chance(3)) await growing.store.checkpoint()
      }
      const made = growing.store.backup(COPY)
      for (let step = 0; step < 100; step++) {
        await growing.step()
        if (dice.chance(10)) await growing.store.checkpoint()
      }
      const { position } = await made
      await growing.store.close()
      const options = offline(growing.disk)
      expect((await verifyDirectory(FOLDER, options)).problems).toEqual([])
      const report = await verifyDirectory(COPY, options)
      expect(report).toMatchObject({ problems: [], torn: null, end: position })
      const copied = await stateAt(COPY, { position: 1e12 }, options)
      const there = await stateAt(FOLDER, { position: position - 1 }, options).catch(() => null)
      // The store itself may have removed that moment from its history by now.
      if (historyMs === Infinity) expect(there).not.toBeNull()
      if (there !== null) {
        const later = (await entriesOn(growing.disk)).filter((one) => one.position >= position)
        const world = withoutErased(copied.world, later)
        expect(plainWorld(world)).toEqual(plainWorld(there.world))
      }
      const store = await openDirectory(COPY, options)
      expect(store.opening.torn).toBeNull()
      await store.close()
    },
  )

  it('opens only when it is whole, wherever the power goes', async () => {
    const start = await grown(new Dice(25), { steps: 200, checkpoints: 3, openings: 0 })
    const expected = await stateAt(FOLDER, { position: 1e12 }, offline(start))
    let [whole, refused] = [0, 0]
    for await (const { disk, isDone } of everyCrash(start, backUp)) {
      for (const left of disk.outcomes(6)) {
        // Before that there is an empty folder, or none: nobody takes it for a backup.
        const isBegun = left.paths().includes(`${COPY}/MARK`)
        if (!isBegun) continue
        const opened = await stateAt(COPY, { position: 1e12 }, offline(left)).catch(() => null)
        const store = await openDirectory(COPY, offline(left)).catch(() => null)
        await store?.close()
        expect(store === null).toBe(opened === null)
        if (opened === null) refused += 1
        else expect(plainWorld(opened.world)).toEqual(plainWorld(expected.world))
        if (opened !== null) whole += 1
        if (isDone) expect(opened).not.toBeNull()
      }
    }
    expect(whole).toBeGreaterThan(0)
    expect(refused).toBeGreaterThan(10)
  })
})
