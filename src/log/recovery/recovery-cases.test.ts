import { describe, expect, it } from 'vitest'
import type { TailFound, RecoveryVerdict } from './recovery-cases.ts'
import { judgeTail, RECOVERY_CASES } from './recovery-cases.ts'

/** The clean end of a log: nothing behind, nothing missing. */
const END: TailFound = {
  offset: 4_096,
  link: 0,
  head: 'blank',
  body: null,
  restIsBlank: true,
  laterGroup: false,
  entries: 0,
  end: 4_096,
  isLast: true,
  isComplete: false,
  beyondMark: true,
}
const BEHIND: Partial<TailFound> = { restIsBlank: false, end: 8_192 }

const EXAMPLES: readonly [string, Partial<TailFound>, RecoveryVerdict][] = [
  ['a whole segment with another behind it', { isLast: false, isComplete: true }, 'next'],
  ['a segment that ends before the next one begins', { isLast: false }, 'corrupt'],
  ['an end before the durable mark', { beyondMark: false }, 'corrupt'],
  ['zeros to the end', {}, 'end'],
  ['damage with a whole group behind it', { ...BEHIND, laterGroup: true }, 'corrupt'],
  [
    'a group of which sectors were never written',
    { ...BEHIND, head: 'whole', body: 'missing' },
    'torn',
  ],
  ['a group whose first sector was never written', { ...BEHIND, head: 'blank' }, 'torn'],
  ['a group whose head was written in part', { ...BEHIND, head: 'cut' }, 'torn'],
  [
    'a group that does not follow from the one before',
    { ...BEHIND, head: 'whole', body: 'unlinked' },
    'corrupt',
  ],
  ['anything else', { ...BEHIND, head: 'whole', body: 'wrong' }, 'corrupt'],
  ['anything else', { ...BEHIND, head: 'wrong' }, 'corrupt'],
]

function everyFound(): TailFound[] {
  const found: TailFound[] = []
  const yesNo = [true, false]
  for (const head of ['whole', 'blank', 'cut', 'wrong'] as const) {
    for (const body of head === 'whole' ? (['missing', 'wrong', 'unlinked'] as const) : [null]) {
      for (const isLast of yesNo)
        for (const isComplete of yesNo)
          for (const beyondMark of yesNo)
            for (const restIsBlank of yesNo)
              for (const laterGroup of yesNo) {
                const facts = {
                  head,
                  body,
                  isLast,
                  isComplete,
                  beyondMark,
                  restIsBlank,
                  laterGroup,
                }
                found.push({ ...END, ...facts })
              }
    }
  }
  return found
}

describe('the recovery table', () => {
  it.each(EXAMPLES)('%s', (name, facts, verdict) => {
    const found = { ...END, ...facts }
    expect(judgeTail(found)).toMatchObject({ name, verdict })
  })

  it('has an example for every case', () => {
    const shown = new Set(EXAMPLES.map(([name]) => name))
    expect(RECOVERY_CASES.map(({ name }) => name)).toEqual([...shown])
  })

  it('cuts only at the end of the log, behind the mark, and where nothing whole follows', () => {
    const torn = everyFound().filter((found) => judgeTail(found).verdict === 'torn')
    expect(torn.length).toBeGreaterThan(0)
    for (const found of torn) {
      expect(found).toMatchObject({
        isLast: true,
        beyondMark: true,
        laterGroup: false,
        restIsBlank: false,
      })
      expect(found.head === 'wrong' || found.body === 'wrong').toBe(false)
      expect(found.body).not.toBe('unlinked')
    }
  })

  it('takes an end for the end only where nothing follows, and never before the mark', () => {
    for (const found of everyFound()) {
      if (judgeTail(found).verdict !== 'end') continue
      expect(found).toMatchObject({ isLast: true, beyondMark: true, restIsBlank: true })
    }
  })
})
