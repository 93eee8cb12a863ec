/**
 * Repair gives up what cannot be read and nothing else, says exactly what, keeps a copy, and
 * can be interrupted anywhere.
 */
import { isDeepStrictEqual } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'
import { replay } from '../../../src/kernel/index.ts'
import type { PositionedEntry, RepairReport, StateAt } from '../../../src/store/index.ts'
import { repairDirectory, stateAt, verifyDirectory } from '../../../src/store/index.ts'
import { Dice } from '../../model/properties/dice.ts'
import { everyCrash } from '../sim/every-crash.ts'
import { SimDisk } from '../sim/sim-disk.ts'
import { onRecord } from '../../support/specs.ts'
import { UnreadableBlockDisk } from './unreadable-block-disk.ts'
import {
  entriesOn,
  filesOn,
  flip,
  FOLDER,
  Growing,
  offline,
  openOn,
  plainWorld,
} from './grown-store.ts'
import { IS_LONG } from '../../support/campaign.ts'

const MARK = `${FOLDER}/MARK`
const SEGMENT_HEAD = 4_096
/** Whether campaigns go through everything, and not through a sample. */

let whole: SimDisk
let entries: PositionedEntry[]
/** Where the log ends, and where its checkpoints are, oldest first. */
let end: number
let checkpoints: number[]

/** What the tests below damage: two checkpoints, files of every kind, and more than two segments. */
function hasAll(disk: SimDisk): boolean {
  const count = (kind: Parameters<typeof filesOn>[1]): number => filesOn(disk, kind).length
  return count('checkpoint') === 2 && count('live') > 0 && count('finished') > 0 && count('log') > 2
}

/** The first random story that leaves all of it: which one that is changes with every new command. */
async function grownDisk(): Promise<SimDisk> {
  for (let seed = 1; seed <= 50; seed++) {
    const growing = new Growing(new SimDisk(), new Dice(seed), Infinity)
    await growing.open()
    while (growing.count < 450) {
      await growing.step()
      if ([150, 220, 320].includes(growing.count)) await growing.store.checkpoint()
    }
    await growing.store.close()
    if (hasAll(growing.disk)) return growing.disk
  }
  throw new Error('no story leaves what these tests need')
}

beforeAll(async () => {
  whole = await grownDisk()
  entries = await entriesOn(whole)
  end = (await verifyDirectory(FOLDER, offline(whole))).end
  checkpoints = filesOn(whole, 'checkpoint').map(baseOf)
})

function baseOf(path: string): number {
  return Number.parseInt(path.slice(-16), 16)
}

/** The segment that a position is in, and where. */
function placeOf(position: number): { path: string; offset: number } {
  const path = filesOn(whole, 'log').findLast((one) => baseOf(one) <= position) as string
  return { path, offset: SEGMENT_HEAD + (position - baseOf(path)) * 8 }
}

/** Makes the entry at a position unreadable. */
function breakAt(disk: SimDisk, position: number): void {
  const { path, offset } = placeOf(position)
  flip(disk, path, offset + 1)
}

function contents(disk: SimDisk): Record<string, string> {
  return Object.fromEntries(disk.paths().map((path) => [path, disk.bytesOf(path).toString('hex')]))
}

async function stateOf(disk: SimDisk, position: number): Promise<StateAt> {
  return stateAt(FOLDER, { position }, offline(disk))
}

/** As the undamaged store was before a position: what it erased later was there. */
function expected(position: number): unknown {
  const before = entries.filter((one) => one.position < position)
  return plainWorld(replay(before.map(({ entry }) => entry)))
}

/** Every entry that there was is kept, or listed, or was where nothing can be read. */
function mustAccountForAll(report: RepairReport, from: number, known = { from: 0, end }): void {
  const { lost, history, left } = report
  const listed = new Set([...lost.entries, ...history.entries].map(({ position }) => position))
  const ranges = [...lost.unreadable, ...history.unreadable]
  let kept = 0
  for (const { position, entry } of entries) {
    // What is gone from the beginning, or from the end without a mark, nobody can know of.
    const isKnown = position >= known.from && position < known.end
    const isKept = position >= from && position < left.position
    const { path, offset } = placeOf(position)
    const isUnreadable = ranges.some((range) => {
      const length = (range.to - range.from) / 8
      const isInside = position >= range.position && position < range.position + length
      return isInside || (range.file === path && offset >= range.from && offset < range.to)
    })
    if (isKept) kept += 1
    const isTold = isKept || listed.has(position) || isUnreadable
    expect([position, isTold || !isKnown]).toEqual([position, true])
    if (listed.has(position)) expect(isKept).toBe(false)
    const mine = [...lost.entries, ...history.entries].find((one) => one.position === position)
    if (mine === undefined) continue
    expect(mine.type).toBe(entry.type)
    expect(mine.job).toBe('job' in entry ? entry.job : null)
  }
  expect(left.entries).toBe(kept)
}

/** Says, does, and is done: the report of the first, which must be true of the others. */
async function repaired(disk: SimDisk): Promise<RepairReport> {
  const before = contents(disk)
  const plan = await repairDirectory(FOLDER, { ...offline(disk), apply: false })
  expect(contents(disk)).toEqual(before)
  const done = await repairDirectory(FOLDER, { ...offline(disk), apply: true })
  expect({ ...done, applied: false, aside: null }).toEqual(plan)
  expect(done.applied).toBe(plan.steps.length > 0)
  expect(disk.openFiles).toBe(0)
  // Nothing is gone that is not kept aside, byte for byte.
  for (const [path, text] of Object.entries(before)) {
    if (!disk.paths().includes(path) || disk.bytesOf(path).toString('hex') !== text) {
      const copy = path.replace(FOLDER, done.aside as string)
      expect([path, disk.bytesOf(copy).toString('hex') === text]).toEqual([path, true])
    }
  }
  await mustBeSound(disk, done)
  return done
}

async function mustBeSound(disk: SimDisk, { left }: RepairReport): Promise<void> {
  const report = await verifyDirectory(FOLDER, offline(disk))
  expect(report.problems).toEqual([])
  expect([report.end, report.entries, report.jobs]).toEqual([
    left.position,
    left.entries,
    left.jobs,
  ])
  const state = await stateOf(disk, 1e12)
  expect(plainWorld(state.world)).toEqual(expected(left.position))
  const again = await repairDirectory(FOLDER, { ...offline(disk), apply: true })
  expect([again.steps, again.applied]).toEqual([[], false])
}

/** It can be worked with, checkpoints included, and stays sound. */
async function mustGoOn(disk: SimDisk): Promise<void> {
  const store = await openOn(disk, Infinity, () => 1e9)
  await store.execute([
    { type: 'ConfigureQueue', queue: 'q', concurrency: 3, rate: null, ageingMs: null, ...onRecord },
  ])
  await store.checkpoint()
  await store.execute([
    { type: 'ConfigureQueue', queue: 'q', concurrency: 4, rate: null, ageingMs: null, ...onRecord },
  ])
  await store.close()
  expect((await verifyDirectory(FOLDER, offline(disk))).problems).toEqual([])
}

describe('repair', () => {
  it('does nothing where nothing is wrong', async () => {
    const report = await repaired(whole.clone())
    expect(report).toMatchObject({ problems: [], steps: [], applied: false, aside: null })
    expect(report.left.position).toBe(end)
  })

  it('writes a mark anew that is missing, damaged, or from another moment', async () => {
    const later = whole.clone()
    const store = await openOn(later, Infinity, () => 1e9)
    await store.execute([
      {
        type: 'ConfigureQueue',
        queue: 'q',
        concurrency: 3,
        rate: null,
        ageingMs: null,
        ...onRecord,
      },
    ])
    await store.close()
    const damages: ((disk: SimDisk) => Promise<void> | void)[] = [
      (disk) => disk.remove(MARK),
      (disk) => disk.put(MARK, Buffer.alloc(8_192)),
      (disk) => disk.put(MARK, later.bytesOf(MARK)),
    ]
    for (const damage of damages) {
      const disk = whole.clone()
      await damage(disk)
      const report = await repaired(disk)
      expect(report.steps).toEqual([`write the durable mark anew at position ${end}`])
      expect(report.lost.entries).toEqual([])
      expect(report.left.position).toBe(end)
    }
  })

  it('gives up history only where a checkpoint is behind the damage', async () => {
    const disk = whole.clone()
    const broken = entries.find(({ position }) => position > 500)?.position as number
    breakAt(disk, broken)
    const report = await repaired(disk)
    expect(report.left.position).toBe(end)
    expect(report.lost).toEqual({ entries: [], unreadable: [] })
    expect(report.history.entries.length).toBeGreaterThan(10)
    expect(report.history.unreadable).toMatchObject([{ file: placeOf(broken).path }])
    mustAccountForAll(report, baseOf(filesOn(disk, 'log')[0] as string))
    await mustGoOn(disk)
  })

  it('begins the log anew at a checkpoint in the very segment that is damaged', async () => {
    const disk = whole.clone()
    const oldest = checkpoints[0] as number
    const { path } = placeOf(oldest)
    const inFile = entries.filter(
      ({ position }) => placeOf(position).path === path && position < oldest,
    )
    expect(inFile.length).toBeGreaterThan(0)
    breakAt(disk, (inFile[0] as PositionedEntry).position)
    const report = await repaired(disk)
    expect(baseOf(filesOn(disk, 'log')[0] as string)).toBe(oldest - 8)
    expect(report.lost).toEqual({ entries: [], unreadable: [] })
    expect(report.left.position).toBe(end)
    mustAccountForAll(report, oldest - 8)
    await mustGoOn(disk)
  })

  it('cuts the log behind every checkpoint, and lists what is lost', async () => {
    const disk = whole.clone()
    const behind = entries.filter(({ position }) => position > (checkpoints[1] as number))
    const broken = (behind[5] as PositionedEntry).position
    breakAt(disk, broken)
    const report = await repaired(disk)
    expect(report.history).toEqual({ entries: [], unreadable: [] })
    expect(report.left.position).toBeLessThanOrEqual(broken)
    expect(report.lost.entries.length).toBe(
      entries.filter(({ position }) => position >= report.left.position).length - 1,
    )
    expect(report.lost.unreadable).toMatchObject([{ position: broken }])
    mustAccountForAll(report, 0)
    await mustGoOn(disk)
  })

  it('keeps the log whole where only a head is damaged', async () => {
    for (const path of filesOn(whole, 'log')) {
      const disk = whole.clone()
      flip(disk, path, 20)
      const report = await repaired(disk)
      expect(report.steps).toEqual([`write the head of ${path.slice(FOLDER.length + 1)} anew`])
      expect(report.left).toMatchObject({ position: end, entries: entries.length })
    }
  })

  it('sets a damaged checkpoint aside, which costs nothing', async () => {
    for (const kind of ['live', 'finished', 'checkpoint'] as const) {
      const disk = whole.clone()
      flip(disk, filesOn(disk, kind).at(-1) as string, 5)
      const report = await repaired(disk)
      expect(report.lost).toEqual({ entries: [], unreadable: [] })
      expect(report.checkpoints.length).toBeGreaterThan(0)
      expect(report.left).toMatchObject({ position: end, entries: entries.length })
      await mustGoOn(disk)
    }
  })

  it('keeps a checkpoint even if the log around it is gone', async () => {
    const disk = whole.clone()
    const newest = checkpoints[1] as number
    const first = filesOn(disk, 'log').findIndex((path) => path === placeOf(newest).path)
    for (const path of filesOn(disk, 'log').slice(first)) await disk.remove(path)
    const report = await repaired(disk)
    expect(report.left.position).toBeGreaterThan(newest)
    expect(report.left.entries).toBe(0)
    mustAccountForAll(report, newest)
    await mustGoOn(disk)
  })

  it.each(['cut', 'gone', 'gone with every other'])(
    'names as lost what the mark says was durable behind a checkpoint that stays (segment %s)',
    async (how) => {
      const disk = whole.clone()
      const newest = checkpoints[1] as number
      const { path, offset } = placeOf(newest)
      const behind = filesOn(disk, 'log').filter((one) => baseOf(one) > baseOf(path))
      for (const one of behind) await disk.remove(one)
      if (how === 'cut') disk.put(path, disk.bytesOf(path).subarray(0, offset - 256))
      else await disk.remove(path)
      if (how === 'gone with every other') {
        for (const one of filesOn(disk, 'log')) await disk.remove(one)
      }
      const gone = entries.filter(({ position }) => position > newest)
      expect(gone.length).toBeGreaterThan(10)
      const report = await repaired(disk)
      const { lost, history, left } = report
      expect(lost.unreadable.length).toBeGreaterThan(0)
      for (const { position } of gone) {
        const isNamed = lost.unreadable.some((range) => {
          const length = (range.to - range.from) / 8
          return position >= range.position && position < range.position + length
        })
        expect([position, isNamed]).toEqual([position, true])
      }
      // What the checkpoint holds is not lost.
      for (const range of lost.unreadable) expect(range.position).toBeGreaterThanOrEqual(newest)
      for (const { position, from, to } of history.unreadable) {
        expect(position + (to - from) / 8).toBeLessThanOrEqual(left.position)
      }
      mustAccountForAll(report, newest)
      await mustGoOn(disk)
    },
  )

  it('refuses where nothing that is left leads to a state', async () => {
    const disk = whole.clone()
    for (const path of filesOn(disk, 'checkpoint')) await disk.remove(path)
    await disk.remove(filesOn(disk, 'log')[0] as string)
    const before = contents(disk)
    const attempt = repairDirectory(FOLDER, { ...offline(disk), apply: true })
    await expect(attempt).rejects.toMatchObject({ code: 'NotRepairable', kind: 'corrupt' })
    expect(contents(disk)).toEqual(before)
  })

  it('gives up what the disk itself cannot read', async () => {
    const broken = (entries[30] as PositionedEntry).position
    const newest = filesOn(whole, 'live').at(-1) as string
    const places = [placeOf(broken), { path: newest, offset: 100 }, { path: MARK, offset: 0 }]
    for (const { path, offset } of places) {
      const disk = whole.clone()
      const worn = new UnreadableBlockDisk(disk, path, offset)
      const { problems } = await verifyDirectory(FOLDER, { ...offline(disk), disk: worn })
      expect(problems.map(({ file }) => file)).toContain(path)
      const report = await repairDirectory(FOLDER, { ...offline(disk), disk: worn, apply: true })
      expect(report.applied).toBe(true)
      expect(report.left.position).toBe(end)
      await mustBeSound(disk, report)
    }
  })

  it.each([1, 2, 3, 4, 5, 6])('copes with any mixture of damage (seed %i)', async (seed) => {
    const dice = new Dice(seed)
    for (let i = 0; i < 8; i++) {
      const disk = whole.clone()
      for (let left = 1 + dice.below(4); left > 0; left--) await damageOnce(dice, disk)
      const attempt = repairDirectory(FOLDER, { ...offline(disk), apply: false })
      const plan = await attempt.catch((error: { code: string }) => error.code)
      if (plan === 'NotRepairable') continue
      const files = filesOn(disk, 'log').map(baseOf)
      const isMarked = disk.paths().includes(MARK) && disk.bytesOf(MARK).equals(whole.bytesOf(MARK))
      const known = { from: files[0] ?? Infinity, end: isMarked ? end : (files.at(-1) ?? 0) }
      const report = await repaired(disk)
      const [first] = filesOn(disk, 'log')
      mustAccountForAll(report, first === undefined ? 0 : baseOf(first), known)
      await mustGoOn(disk)
    }
  })
})

async function damageOnce(dice: Dice, disk: SimDisk): Promise<void> {
  const path = dice.pick(disk.paths().filter((one) => !one.endsWith('spare')))
  const { length } = disk.bytesOf(path)
  const at = dice.below(Math.max(1, length))
  if (dice.chance(15)) return disk.remove(path)
  if (dice.chance(20)) return disk.put(path, disk.bytesOf(path).subarray(0, at))
  if (dice.chance(30)) {
    const zeros = Buffer.alloc(Math.min(length - at, 512 * (1 + dice.below(8))))
    return disk.patch(path, at, zeros)
  }
  if (length > 0) flip(disk, path, at)
}

async function repairAll(disk: SimDisk): Promise<void> {
  await repairDirectory(FOLDER, { ...offline(disk), apply: true })
}

describe('repair that is interrupted', () => {
  const damages: Readonly<Record<string, (disk: SimDisk) => Promise<void> | void>> = {
    'a mark that is missing': (disk) => disk.remove(MARK),
    'an old segment': (disk) => breakAt(disk, (entries[20] as PositionedEntry).position),
    'the segment with a checkpoint': (disk) => {
      const oldest = checkpoints[0] as number
      const { path } = placeOf(oldest)
      const first = entries.find(({ position }) => placeOf(position).path === path)
      breakAt(disk, (first as PositionedEntry).position)
    },
    'the newest entries': (disk) => {
      const behind = entries.filter(({ position }) => position > (checkpoints[1] as number))
      breakAt(disk, (behind[1] as PositionedEntry).position)
    },
    'the whole log': async (disk) => {
      for (const path of filesOn(disk, 'log')) await disk.remove(path)
    },
    'old and new entries and a head': (disk) => {
      breakAt(disk, (entries[20] as PositionedEntry).position)
      breakAt(disk, (entries.at(-3) as PositionedEntry).position)
      flip(disk, placeOf(checkpoints[1] as number).path, 20)
    },
  }

  it.each(Object.keys(damages))('leaves the old damage or the repaired store: %s', async (name) => {
    const start = whole.clone()
    await damages[name]?.(start)
    const plan = await repairDirectory(FOLDER, { ...offline(start), apply: false })
    const then = expected(plan.left.position)
    const before = contents(start)
    let tried = 0
    for await (const { disk, call, isDone } of everyCrash(start.clone(), repairAll)) {
      if (!IS_LONG && !isDone && call % 3 !== 0) continue
      for (const left of disk.outcomes(IS_LONG ? 32 : 3, call)) {
        // While it only looks, nothing can go wrong that is not tested above.
        if (isDeepStrictEqual(contents(left), before)) continue
        tried += 1
        const opened = await openOn(left.clone()).catch(() => null)
        await opened?.close()
        if (opened !== null) {
          const state = await stateOf(left, 1e12)
          expect(plainWorld(state.world)).toEqual(then)
        }
        const again = await repairDirectory(FOLDER, { ...offline(left), apply: true })
        expect(again.left.position).toBe(plan.left.position)
        await mustBeSound(left, again)
      }
    }
    expect(tried).toBeGreaterThan(0)
  })
})
