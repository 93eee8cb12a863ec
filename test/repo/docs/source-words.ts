/**
 * The nouns that the files of `src/` are named after, each with the sentence that its file opens
 * with: the second half of the glossary. So a name that no sentence explains shows at once.
 */
import { posix } from 'node:path'
import { readTree } from '../tidy/tree.ts'

export interface SourceWord {
  /** `log-writer.ts` is a log writer. */
  readonly word: string
  readonly meaning: string
  readonly file: string
}

export function sourceWords(): SourceWord[] {
  return readTree()
    .filter(({ path }) => /^src\/.*\/(?!index)[\w-]+(?<!\.test)\.ts$/.test(path))
    .map(({ path, text }) => ({
      word: posix.basename(path, '.ts').replaceAll('-', ' '),
      meaning: firstSentence(text),
      file: path,
    }))
    .toSorted((a, b) => (a.word + a.file < b.word + b.file ? -1 : 1))
}

/** Of the comment that a file opens with; up to a colon behind which a list or an example begins. */
function firstSentence(text: string): string {
  // What the system runs a program with may stand before it.
  const comment = /^(?:#!.*\n)?\/\*\*([\s\S]*?)\*\//.exec(text)?.[1] ?? ''
  const paragraph = comment
    .replaceAll(/^\s*\* ?/gm, '')
    .trim()
    .split(/\n\s*\n|\n- |\n```/)[0] as string
  const [sentence = ''] = paragraph.replaceAll(/\s+/g, ' ').split(/(?<=[.!?])\s+(?=[A-Z`'"])/)
  return sentence.replace(/[:;,]$/, '.')
}
