/**
 * A report beside the files that it is about: each sound document is in it, once and with the
 * right numbers, and each of the others is named.
 */
import type { Collection } from './corpus.ts'
import type { Count } from './recount.ts'
import { recount } from './recount.ts'
import type { Report } from './report.ts'

export interface Comparison {
  /** Sound documents that are in the report. */
  readonly counted: number
  readonly lost: number
  readonly countedTwice: number
  /** Named as such. */
  readonly unusable: number
  /** Of all sound documents, as counted in the files. */
  readonly recounted: Count
  readonly problems: readonly string[]
}

export async function compared(collection: Collection, report: Report): Promise<Comparison> {
  const { name: id, folder, documents } = collection
  const problems: string[] = []
  const reported = new Map(report.documents.map((document) => [document.name, document]))
  const countedTwice = report.documents.length - reported.size
  if (countedTwice > 0) problems.push(`${id} has ${countedTwice} documents twice`)
  let [counted, words, sentences] = [0, 0, 0]
  const sound = documents.filter(({ flaw }) => flaw === null)
  for (const { name } of sound) {
    const count = await recount(folder, name)
    words += count.words
    sentences += count.sentences
    const document = reported.get(name)
    if (reported.delete(name)) counted += 1
    if (document === undefined) problems.push(`${id}/${name} is not in the report`)
    else if (document.words !== count.words || document.sentences !== count.sentences) {
      problems.push(`${id}/${name} has ${shown(count)}, not ${shown(document)}`)
    }
  }
  for (const name of reported.keys()) problems.push(`${id}/${name} is in the report`)
  if (report.words !== words || report.sentences !== sentences) {
    problems.push(`${id} has ${shown({ words, sentences })}, not ${shown(report)}`)
  }
  const flawed = documents.filter(({ flaw }) => flaw !== null).map(({ name }) => name)
  if (flawed.join('\n') !== report.unusable.join('\n')) {
    problems.push(`${id} names others as unusable: ${report.unusable.join(', ') || 'none'}`)
  }
  return {
    counted,
    lost: sound.length - counted,
    countedTwice,
    unusable: report.unusable.length,
    recounted: { words, sentences },
    problems,
  }
}

function shown({ words, sentences }: Count): string {
  return `${words} words in ${sentences} sentences`
}
