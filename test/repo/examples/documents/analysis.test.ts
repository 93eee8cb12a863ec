/** What the example says about a text. */
import { describe, expect, it } from 'vitest'
import {
  analysed,
  frequenciesIn,
  keywordsOf,
  merged,
  readingEase,
  sentencesIn,
  syllablesIn,
  wordsIn,
} from '../../../../examples/documents/analysis.ts'
import { countIn } from '../../../../examples/documents/recount.ts'

describe('words', () => {
  it('are letters and digits, in lower case, whatever the alphabet', () => {
    expect(wordsIn('The naïve Ödön, aged 42.')).toEqual(['the', 'naïve', 'ödön', 'aged', '42'])
  })

  it('stay one when a hyphen or an apostrophe joins them', () => {
    expect(wordsIn("well-kept – wasn't everybody’s")).toEqual([
      'well-kept',
      "wasn't",
      'everybody’s',
    ])
  })

  it('are none in an empty text', () => {
    expect(wordsIn('')).toEqual([])
    expect(wordsIn(' – … !')).toEqual([])
  })
})

describe('sentences', () => {
  it.each([
    ['', 0],
    ['One.', 1],
    ['One. Two! Three?', 3],
    ['Really?! Yes...', 2],
    ['It is 3.5 metres long.', 1],
    ['A heading\n\nAnd a sentence.', 2],
    ['... !', 0],
  ])('%j has %i', (text, count) => {
    expect(sentencesIn(text)).toBe(count)
  })
})

describe('syllables', () => {
  it.each([
    ['pawl', 1],
    ['cat', 1],
    ['late', 1],
    ['table', 2],
    ['the', 1],
    ['ordinary', 4],
    ['purée', 2],
    ['42', 1],
  ])('%s has about %i', (word, count) => {
    expect(syllablesIn(word)).toBe(count)
  })
})

describe('the reading ease', () => {
  it('is that of Flesch', () => {
    // 206.835 - 1.015 * 10 - 84.6 * 1.5
    expect(readingEase(100, 10, 150)).toBe(69.8)
  })

  it('is 0 of a text without words', () => {
    expect(readingEase(0, 0, 0)).toBe(0)
    expect(analysed('').readingEase).toBe(0)
  })
})

describe('keywords', () => {
  it('are the most frequent words that say something, then by the alphabet', () => {
    const frequencies = frequenciesIn('The tide and the rope. A rope, the tide, an anchor of it.')
    expect(keywordsOf(frequencies, 2)).toEqual(['rope', 'tide'])
    expect(keywordsOf(frequencies, 9)).toEqual(['rope', 'tide', 'anchor'])
  })

  it('are counted over many texts', () => {
    const all = merged([frequenciesIn('tide rope'), frequenciesIn('tide constructor')])
    expect(all).toEqual({ tide: 2, rope: 1, constructor: 1 })
  })
})

it('a text is analysed as a whole', () => {
  expect(analysed('The pilot counted the ropes. Was it late?')).toEqual({
    words: 8,
    sentences: 2,
    syllables: 11,
    vocabulary: 7,
    readingEase: 86.5,
    keywords: ['counted', 'late', 'pilot', 'ropes'],
  })
})

it('the other way to count agrees on prose', () => {
  const text = 'The well-kept café – it wasn’t late! Was it?\n\nNobody knew, in 1 of 3 cases.\n'
  const { words, sentences } = analysed(text)
  expect(countIn(text)).toEqual({ words, sentences })
})
