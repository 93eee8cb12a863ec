/**
 * Whenever the power goes, and whatever the disk then kept of what was not synced: all that was
 * answered is there when the store is opened again.
 */
import { describe, expect, it } from 'vitest'
import { SimDisk } from '../sim/sim-disk.ts'
import type { Ending, Losses } from './losing-power.ts'
import { losePower, losePowerLater } from './losing-power.ts'
import { openStore, openWithCheckpoints, openWithoutHistory } from './setting.ts'
import { SHORT_STORY, STORY, STORY_WITHOUT_HISTORY } from './story.ts'
import { referenceOf, tellOn } from './story-run.ts'
import { IS_LONG } from '../../support/campaign.ts'

function say(name: string, { moments, disks }: Losses): void {
  const [lost, left] = [moments, disks].map((count) => count.toLocaleString('en'))
  console.log(`power loss: ${name}: ${lost} moments, ${left} disks left, 0 of them lost anything`)
}

const always = (): boolean => true
const sometimes = (call: number): boolean => call % 23 === 0

const EIO = { code: 'EIO', forever: true } as const

const ENDINGS: readonly { readonly name: string; readonly ending: Ending }[] = [
  { name: 'after a killed process', ending: { kind: 'killed', inPart: false } },
  { name: 'after a process killed in a write', ending: { kind: 'killed', inPart: true } },
  { name: 'after a failed call', ending: { kind: 'failed', fault: { ...EIO, forever: false } } },
  { name: 'after a disk that failed for good', ending: { kind: 'failed', fault: EIO } },
]

describe('what is looked at once', () => {
  it('is the same each time: the same calls leave the same disk, byte for byte', async () => {
    const openers = [openStore, openWithCheckpoints, openWithoutHistory]
    for (const open of openers) {
      const disks = [new SimDisk(), new SimDisk(), new SimDisk({ seed: 2 })]
      for (const disk of disks) await tellOn(disk, open, STORY_WITHOUT_HISTORY)
      const looks = new Set(disks.map((disk) => disk.fingerprint()))
      // The next one finds the same, and leaves the same.
      for (const disk of disks) await (await open(disk)).close()
      for (const disk of disks) looks.add(`opened: ${disk.fingerprint()}`)
      expect(looks.size).toBe(2)
    }
  })
})

describe('a power loss', () => {
  it('loses nothing that was answered, whenever it comes', async () => {
    const reference = await referenceOf(openStore, STORY)
    const outcomes = IS_LONG ? 2_000 : 12
    const losses = await losePower(reference, openStore, { outcomes, again: () => false })
    expect(losses.problems).toEqual([])
    say('once', losses)
    expect(losses.moments).toBeGreaterThan(80)
  })

  it('loses nothing that was answered while checkpoints are made', async () => {
    const reference = await referenceOf(openWithCheckpoints, STORY)
    const losses = await losePower(reference, openWithCheckpoints, {
      outcomes: IS_LONG ? 200 : 4,
      again: () => false,
      step: IS_LONG ? 1 : 2,
    })
    expect(losses.problems).toEqual([])
    say('with checkpoints', losses)
    expect(losses.moments).toBeGreaterThan(150)
  })

  it('loses nothing that was answered while old segments go to the archive', async () => {
    const told = new SimDisk()
    await tellOn(told, openWithoutHistory, STORY_WITHOUT_HISTORY)
    const first = '/log-0000000000000000'
    expect(told.paths().filter((path) => path.endsWith(first))).toEqual([`/archive${first}`])
    const reference = await referenceOf(openWithoutHistory, STORY_WITHOUT_HISTORY)
    const losses = await losePower(reference, openWithoutHistory, {
      outcomes: IS_LONG ? 100 : 2,
      again: () => false,
      step: IS_LONG ? 1 : 4,
    })
    expect(losses.problems).toEqual([])
    say('without history', losses)
    expect(losses.moments).toBeGreaterThan(80)
  })

  it('loses nothing if another one comes while the store is opened again', async () => {
    const reference = await referenceOf(openStore, SHORT_STORY)
    const plan = { outcomes: IS_LONG ? 64 : 4, again: IS_LONG ? always : sometimes }
    const losses = await losePower(reference, openStore, plan)
    expect(losses.problems).toEqual([])
    say('twice', losses)
  })

  it.each(ENDINGS)('loses nothing $name, when another one has gone on', async (one) => {
    const reference = await referenceOf(openStore, SHORT_STORY)
    const outcomes = IS_LONG ? 500 : 6
    const plan = { outcomes, again: () => false }
    const losses = await losePowerLater(reference, openStore, one.ending, plan)
    expect(losses.problems).toEqual([])
    say(one.name, losses)
    expect(losses.moments).toBeGreaterThan(50)
  })
})
