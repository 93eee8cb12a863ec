import { describe, expect, it } from 'vitest'
import { FieldProblem } from '../action.ts'
import { filterFault, filterIn, filterText, partsIn, timeIn, typedFilter } from './filter-text.ts'

const NOW = Date.parse('2026-11-18T15:00:00.000Z')

function wrong(text: string): string {
  try {
    typedFilter(text)
    return ''
  } catch (error) {
    expect(error).toBeInstanceOf(FieldProblem)
    return (error as Error).message
  }
}

describe('a filter that is typed', () => {
  it('is what stands in the address, and is written again as it was typed', () => {
    const text = 'state:FAILED type:mail tag:"two words" since:1h ended-before:2026-11-18'
    const { parameters, id } = typedFilter(text)
    expect(parameters).toEqual({
      state: 'FAILED',
      type: 'mail',
      tag: 'two words',
      submittedFrom: '1h',
      completedBefore: '2026-11-18',
    })
    expect(id).toBe('')
    expect(filterText(parameters)).toBe(text)
  })

  it('holds any name, with spaces, quotation marks and colons', () => {
    for (const value of ['a:b', 'say "no"', 'back\\slash', ' x ', 'x <img src=x>', '\u202e']) {
      const { parameters } = typedFilter(filterText({ type: value }))
      expect(parameters).toEqual({ type: value })
    }
  })

  it('leads to a job by its id, with or without the word', () => {
    expect(typedFilter('019a-7').id).toBe('019a-7')
    expect(typedFilter('id:019a-7')).toEqual({ parameters: {}, id: '019a-7' })
    expect(typedFilter('"an odd id"').id).toBe('an odd id')
    for (const id of ['order:17', 'Order:A:17', 'urn:x:', 'order:a,b']) {
      expect(typedFilter(id)).toEqual({ parameters: {}, id })
    }
    expect(typedFilter('id:type:17').id).toBe('type:17')
    expect(typedFilter('order:"a b"').id).toBe('order:a b')
  })

  it('says what is wrong with it', () => {
    expect(wrong('state:GONE')).toContain('A state is one of CREATED')
    expect(wrong('since:tomorrowish')).toContain('is no time')
    expect(wrong('type:')).toBe('What type? Such as type:mail')
    expect(wrong('state:failed')).toBe('')
  })

  it('leaves out nothing of what is typed', () => {
    expect(wrong('tag:small tag:x')).toBe('There are two of tag: jobs are filtered by one.')
    expect(wrong('type:note someid')).toContain("'someid' is taken as the id of a job")
    expect(wrong('colour:red type:note')).toContain('Jobs are filtered by state, type, queue')
    expect(wrong('one two')).toContain('which stands alone')
  })

  it('knows where each part stands, for what completes it', () => {
    expect(partsIn(' type:ma  state:')).toEqual([
      { word: 'type', value: 'ma', from: 1, to: 8 },
      { word: 'state', value: '', from: 10, to: 16 },
    ])
    expect(partsIn('tag:"open')).toEqual([{ word: 'tag', value: 'open', from: 0, to: 9 }])
  })

  it('means jobs with held effects by one value only', () => {
    const { parameters } = typedFilter('held-effects:true type:mail')
    expect(parameters).toEqual({ type: 'mail', heldEffects: 'true' })
    expect(filterText(parameters)).toBe('type:mail held-effects:true')
    expect(filterIn(parameters, NOW)).toEqual({ type: 'mail', heldEffects: true })
    expect(wrong('held-effects:false')).toContain('held-effects:true only')
    expect(wrong('held-effects:')).toBe('What held-effects? Such as held-effects:true')
  })

  it('has times that are as long ago as they say, at each moment', () => {
    expect(timeIn('90m', NOW)).toBe(NOW - 90 * 60_000)
    expect(timeIn('2d', NOW)).toBe(NOW - 2 * 86_400_000)
    expect(new Date(timeIn('today', NOW) as number).getHours()).toBe(0)
    expect(timeIn('2026-11-18T15:00:00.000Z', NOW)).toBe(NOW)
    expect(timeIn('2026-11-18', NOW)).toBe(new Date(2026, 10, 18).getTime())
    expect(timeIn('soon', NOW)).toBe(null)
    expect(timeIn('1763500000000', NOW)).toBe(1_763_500_000_000)
    expect(
      filterIn({ type: 'mail', submittedFrom: '1h', order: 'oldest', after: '7' }, NOW),
    ).toEqual({ type: 'mail', submittedFrom: NOW - 3_600_000 })
  })

  it('is refused where a time in the address cannot be read, and drops no part', () => {
    for (const time of ['yesterday', '2h ago', '9'.repeat(20)]) {
      const parameters = { type: 'mail', completedBefore: time }
      expect(() => filterIn(parameters, NOW)).toThrow(FieldProblem)
      expect(filterFault(parameters)).toContain(`'${time}' is no time`)
    }
    expect(filterFault({ heldEffects: 'false' })).toContain('There is held-effects:true only')
    expect(filterFault({ type: 'mail', completedBefore: '2h' })).toBe(null)
  })
})
