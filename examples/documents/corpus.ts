/**
 * The corpus: collections of documents, planned by a seed and written as files.
 *
 * Most documents are sound. Some have a flaw that no further attempt can mend, and some cannot be
 * read the first time. Every fourth collection is spoilt: it has more flaws than the pipeline
 * tolerates.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Chance } from './chance.ts'
import { chance, pickSome } from './chance.ts'
import { EXTENSION, sealed } from './document.ts'
import { TOLERATED } from './pipeline.ts'
import { prose, title } from './prose.ts'
import type { Theme } from './vocabulary.ts'
import { THEMES } from './vocabulary.ts'

/** Each with the code that the pipeline gives it. */
export type Flaw = 'NotUtf8' | 'WrongChecksum' | 'CutShort' | 'Unsupported'

export interface PlannedDocument {
  readonly name: string
  /** Null: it is sound. */
  readonly flaw: Flaw | null
  /** It cannot be read the first time. */
  readonly isFlaky: boolean
}

export interface Collection {
  readonly name: string
  readonly isSpoilt: boolean
  /** In order of their names. */
  readonly documents: readonly PlannedDocument[]
  /** Where its documents are. */
  readonly folder: string
  /** Where it is kept which of them cannot be read the first time. */
  readonly flaky: string
}

const FLAWS: readonly Flaw[] = ['NotUtf8', 'WrongChecksum', 'CutShort', 'Unsupported']
const FLAWED_SHARE = 1 / 8
const FLAKY_SHARE = 1 / 6
const SPOILT_EVERY = 4
const FLAWS_OF_SPOILT = TOLERATED + 2

/** Writes one collection, and says what is in it. `number` counts from 1. */
export async function writeCollection(
  place: string,
  seed: number,
  number: number,
  size: number,
): Promise<Collection> {
  const random = chance(seed + Math.imul(number, 0x9e3779b1))
  const theme = THEMES[(number - 1) % THEMES.length] as Theme
  const name = `${theme.name}-${number}`
  const isSpoilt = number % SPOILT_EVERY === 0 && size > FLAWS_OF_SPOILT
  const documents = planned(theme, size, isSpoilt, random)
  const folder = join(place, 'documents', name)
  const flaky = join(place, 'flaky', name)
  await mkdir(folder, { recursive: true })
  await mkdir(flaky, { recursive: true })
  for (const document of documents) {
    const file = fileOf(prose(theme, random), document.flaw)
    await writeFile(join(folder, document.name), file)
    if (document.isFlaky) await writeFile(join(flaky, document.name), '')
  }
  return { name, isSpoilt, documents, folder, flaky }
}

function planned(
  theme: Theme,
  size: number,
  isSpoilt: boolean,
  random: Chance,
): readonly PlannedDocument[] {
  const numbers = Array.from({ length: size }, (_, i) => i)
  const fewFlaws = Math.min(TOLERATED, Math.ceil(size * FLAWED_SHARE))
  const flawed = pickSome(numbers, isSpoilt ? FLAWS_OF_SPOILT : fewFlaws, random)
  const sound = numbers.filter((i) => !flawed.includes(i))
  const flaky = pickSome(sound, Math.ceil(size * FLAKY_SHARE), random)
  // Every collection begins with another one.
  const first = Math.floor(random() * FLAWS.length)
  return numbers.map((i) => {
    const at = flawed.indexOf(i)
    const flaw = at < 0 ? null : (FLAWS[(first + at) % FLAWS.length] as Flaw)
    const extension = flaw === 'Unsupported' ? '.bin' : EXTENSION
    const name = `${String(i + 1).padStart(4, '0')}-${title(theme, random)}${extension}`
    return { name, flaw, isFlaky: flaky.includes(i) }
  })
}

function fileOf(text: string, flaw: Flaw | null): Buffer {
  const content = Buffer.from(text)
  // A byte that no UTF-8 text has. It is sealed with it: only the text is wrong.
  if (flaw === 'NotUtf8') content[Math.floor(content.length / 2)] = 0xff
  const file = sealed(content)
  if (flaw === 'CutShort') return file.subarray(0, Math.floor(file.length * 0.7))
  if (flaw === 'WrongChecksum') file.write('?', Math.floor(content.length / 3))
  return file
}
