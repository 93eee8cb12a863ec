/**
 * What can be said about a text without understanding it: how long it is, how hard to read, and
 * what it is about.
 */

export interface Analysis {
  readonly words: number
  readonly sentences: number
  readonly syllables: number
  /** Different words. */
  readonly vocabulary: number
  /** Flesch's reading ease: about 100 is easy, 0 and less is hard. */
  readonly readingEase: number
  /** The most frequent words that say something, the most frequent first. */
  readonly keywords: readonly string[]
}

/** How often each word occurs. */
export type Frequencies = Readonly<Record<string, number>>

const WORD = /[\p{L}\p{N}]+(?:['’-][\p{L}\p{N}]+)*/gu
const KEYWORDS = 5

/** Words that are in every text, whatever it is about. */
const EMPTY_WORDS = new Set(
  (
    'a according an and after again all another are as at attempts be been before but by do ' +
    'every for from had has have he her his in into is it its later left no nobody not now of ' +
    'on one or she so that the their then there they this though time to took until was week ' +
    'were what when which who why will with without word yet'
  ).split(' '),
)

export function analysed(text: string): Analysis {
  const words = wordsIn(text)
  const frequencies = frequenciesIn(text)
  const sentences = sentencesIn(text)
  const syllables = words.reduce((sum, word) => sum + syllablesIn(word), 0)
  return {
    words: words.length,
    sentences,
    syllables,
    vocabulary: Object.keys(frequencies).length,
    readingEase: readingEase(words.length, sentences, syllables),
    keywords: keywordsOf(frequencies, KEYWORDS),
  }
}

/** In lower case. What hyphens and apostrophes join is one word. */
export function wordsIn(text: string): string[] {
  return text.toLowerCase().match(WORD) ?? []
}

export function frequenciesIn(text: string): Frequencies {
  return summed(wordsIn(text).map((word) => [word, 1]))
}

/** Of many texts together. */
export function merged(all: readonly Frequencies[]): Frequencies {
  return summed(all.flatMap((one) => Object.entries(one)))
}

/** A sentence ends with a mark or with its paragraph. One without a word is none. */
export function sentencesIn(text: string): number {
  return text
    .split(/\n\s*\n/)
    .flatMap((paragraph) => paragraph.split(/[.!?]+(?=\s|$)/))
    .filter((part) => wordsIn(part).length > 0).length
}

/** About: groups of vowels, and an e at the end is silent. A word has at least one. */
export function syllablesIn(word: string): number {
  const plain = word.normalize('NFD').replaceAll(/\p{M}/gu, '')
  const groups = plain.match(/[aeiouy]+/g)?.length ?? 0
  const isSilent = /[^aeiouyl]e$/.test(plain) && groups > 1
  return Math.max(1, isSilent ? groups - 1 : groups)
}

/** One digit behind the point; 0 for a text without words. */
export function readingEase(words: number, sentences: number, syllables: number): number {
  if (words === 0 || sentences === 0) return 0
  const ease = 206.835 - 1.015 * (words / sentences) - 84.6 * (syllables / words)
  return Math.round(ease * 10) / 10
}

/** Those of the same frequency in order of the alphabet. */
export function keywordsOf(frequencies: Frequencies, count: number): string[] {
  return Object.entries(frequencies)
    .filter(([word]) => word.length > 2 && !EMPTY_WORDS.has(word))
    .toSorted(([a, often], [b, oftener]) => oftener - often || (a < b ? -1 : 1))
    .slice(0, count)
    .map(([word]) => word)
}

function summed(counts: readonly (readonly [word: string, times: number])[]): Frequencies {
  const sums = new Map<string, number>()
  for (const [word, times] of counts) sums.set(word, (sums.get(word) ?? 0) + times)
  return Object.fromEntries(sums)
}
