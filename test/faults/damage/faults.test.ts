/**
 * Whatever call to the disk fails, and however: all that was answered is there when the store is
 * opened again, nothing is there that was not sent, and everybody is answered.
 */
import { describe, expect, it } from 'vitest'
import type { Plan } from './failing.ts'
import { FAULTS, tryFaults } from './failing.ts'
import { openStore, openWithCheckpoints, openWithoutHistory } from './setting.ts'
import { SHORT_STORY, STORY, STORY_WITHOUT_HISTORY } from './story.ts'
import { referenceOf } from './story-run.ts'
import { IS_LONG } from '../../support/campaign.ts'

function say(name: string, { stories, openings }: { stories: number; openings: number }): void {
  const [told, opened] = [stories, openings].map((count) => count.toLocaleString('en'))
  console.log(`faults: ${name}: ${told} stories, ${opened} openings that failed too, 0 lost`)
}

const once = FAULTS.filter((fault) => 'code' in fault && !fault.forever)

const some = FAULTS.filter((fault) => 'code' in fault && fault.code === 'EIO' && !fault.forever)

const never = (): boolean => false
const always = (): boolean => true
const sometimes = (call: number, second: number): boolean => (call + second) % 23 === 0
/** A power loss in the end, after every eighth story. */
const few = (call: number): number => (call % 8 === 0 ? 2 : 0)

describe('a call to the disk that fails', () => {
  it('loses nothing that was answered, whichever it is', async () => {
    const reference = await referenceOf(openStore, STORY)
    const plan: Plan = { faults: FAULTS, nested: never, outcomes: IS_LONG ? () => 64 : few }
    const tried = await tryFaults(reference, openStore, plan)
    expect(tried.problems).toEqual([])
    say('one call', tried)
    expect(tried.stories).toBeGreaterThan(500)
  })

  it('loses nothing that was answered while checkpoints are made', async () => {
    const reference = await referenceOf(openWithCheckpoints, SHORT_STORY)
    const faults = IS_LONG ? FAULTS : once
    const plan: Plan = { faults, nested: never, outcomes: IS_LONG ? () => 16 : few }
    const tried = await tryFaults(reference, openWithCheckpoints, plan)
    expect(tried.problems).toEqual([])
    say('with checkpoints', tried)
    expect(tried.stories).toBeGreaterThan(200)
  })

  it('loses nothing that was answered while old segments go to the archive', async () => {
    const reference = await referenceOf(openWithoutHistory, STORY_WITHOUT_HISTORY)
    const faults = IS_LONG ? FAULTS : some
    const step = IS_LONG ? 1 : 2
    const plan: Plan = { faults, nested: never, outcomes: IS_LONG ? () => 16 : few, step }
    const tried = await tryFaults(reference, openWithoutHistory, plan)
    expect(tried.problems).toEqual([])
    say('without history', tried)
    expect(tried.stories).toBeGreaterThan(150)
  })

  it('loses nothing if a call fails again while the store is opened the next time', async () => {
    const reference = await referenceOf(openStore, SHORT_STORY)
    const tried = await tryFaults(reference, openStore, {
      faults: IS_LONG ? FAULTS : once,
      nested: IS_LONG ? always : sometimes,
      outcomes: () => (IS_LONG ? 32 : 2),
    })
    expect(tried.problems).toEqual([])
    say('two calls', tried)
    expect(tried.openings).toBeGreaterThan(200)
  })
})
