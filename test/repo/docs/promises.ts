/**
 * Reads the promises of `docs/guarantees.md` and the tests that hold them.
 *
 * A promise is a heading `### 1. Title`. A test is a line "- `file`: “name of the test”".
 */
import type { SourceFile } from '../tidy/rules.ts'

export interface PromiseOnPage {
  readonly number: number
  readonly title: string
  readonly tests: readonly { readonly file: string; readonly name: string }[]
}

const HEADING = /^### (\d+)\. (.+)$/
const TEST = /^- `([^`]+)`: “([^”]+)”$/

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

/** The tests that a promise names and that are not in the tree under that name. */
export function missingTests(promise: PromiseOnPage, tree: readonly SourceFile[]): string[] {
  return promise.tests
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
