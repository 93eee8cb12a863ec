/**
 * Reads the promises of `docs/guarantees.md` and the tests that hold them.
 *
 * A promise is a heading `### 1. Title`. A test is a line "- `file`: “name of the test”". The page
 * opens with all of them in plain words: a line `- [1](#1-title). The promise.`
 */
import type { SourceFile } from '../tidy/rules.ts'

export interface PromiseOnPage {
  readonly number: number
  readonly title: string
  readonly tests: readonly { readonly file: string; readonly name: string }[]
}

const HEADING = /^### (\d+)\. (.+)$/
const TEST = /^- `([^`]+)`: “([^”]+)”$/

/** The numbers of the promises in plain words, in the order in which the page has them. */
export function summaryOf(page: string): number[] {
  return [...page.matchAll(/^- \[(\d+)\]\(#\1-[^)]+\)\. \S.*\.$/gm)].map((match) =>
    Number(match[1]),
  )
}

export function promisesOf(page: string): PromiseOnPage[] {
  const promises: { number: number; title: string; tests: { file: string; name: string }[] }[] = []
  for (const line of page.split('\n')) {
    const heading = HEADING.exec(line)
    if (heading !== null) {
      promises.push({ number: Number(heading[1]), title: heading[2] as string, tests: [] })
    }
    const test = TEST.exec(line)
    if (test !== null) {
      promises.at(-1)?.tests.push({ file: test[1] as string, name: test[2] as string })
    }
  }
  return promises
}

/** The tests that are named, and that are not in the tree under that name. */
export function missingTests(
  { tests }: Pick<PromiseOnPage, 'tests'>,
  tree: readonly SourceFile[],
): string[] {
  return tests
    .filter(({ file, name }) => {
      const text = tree.find(({ path }) => path === file)?.text
      return text === undefined || !unquoted(text).includes(unquoted(name))
    })
    .map(({ file, name }) => `${file}: ${name}`)
}

/** Quotes are written differently in code and on the page. */
function unquoted(text: string): string {
  return text.replaceAll(/[\\'"’]/g, '')
}
