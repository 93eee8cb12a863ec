/**
 * The report on a collection: what its documents have in common, and each of them.
 */
import type { Analysis, Frequencies } from './analysis.ts'
import { keywordsOf, merged, readingEase } from './analysis.ts'

export interface ReportedDocument extends Analysis {
  readonly name: string
}

export interface Report {
  readonly collection: string
  readonly words: number
  readonly sentences: number
  readonly readingEase: number
  readonly keywords: readonly string[]
  readonly documents: readonly ReportedDocument[]
  /** Names of those that are not counted, because they cannot be used. */
  readonly unusable: readonly string[]
}

const KEYWORDS = 10

/** Joins what is known of single documents. */
export class Summary {
  readonly #collection: string
  readonly #names: readonly string[]
  readonly #documents: ReportedDocument[] = []
  #frequencies: Frequencies = {}

  constructor(collection: string, names: readonly string[]) {
    this.#collection = collection
    this.#names = names
  }

  add(document: ReportedDocument, frequencies: Frequencies): void {
    const { name, words, sentences, syllables, vocabulary, readingEase: ease, keywords } = document
    this.#documents.push({
      name,
      words,
      sentences,
      syllables,
      vocabulary,
      readingEase: ease,
      keywords,
    })
    this.#frequencies = merged([this.#frequencies, frequencies])
  }

  report(): Report {
    const total = (what: 'words' | 'sentences' | 'syllables'): number =>
      this.#documents.reduce((sum, document) => sum + document[what], 0)
    const counted = new Set(this.#documents.map(({ name }) => name))
    return {
      collection: this.#collection,
      words: total('words'),
      sentences: total('sentences'),
      readingEase: readingEase(total('words'), total('sentences'), total('syllables')),
      keywords: keywordsOf(this.#frequencies, KEYWORDS),
      documents: this.#documents,
      unusable: this.#names.filter((name) => !counted.has(name)),
    }
  }
}

/** For people. */
export function asText(report: Report): string {
  const { collection, documents, words, sentences, keywords, unusable } = report
  const widest = Math.max(0, ...documents.map(({ name }) => name.length))
  const row = ({ name, ...document }: ReportedDocument): string =>
    [
      name.padEnd(widest),
      `${document.words} words`.padStart(12),
      `${document.sentences} sentences`.padStart(14),
      document.readingEase.toFixed(1).padStart(6),
      ` ${document.keywords.join(', ')}`,
    ].join(' ')
  return [
    `${collection}: ${documents.length} documents, ${words} words, ${sentences} sentences`,
    `reading ease: ${report.readingEase.toFixed(1)}`,
    `about: ${keywords.join(', ')}`,
    '',
    ...documents.map(row),
    '',
    `not counted, because they cannot be used: ${unusable.join(', ') || 'none'}`,
    '',
  ].join('\n')
}
