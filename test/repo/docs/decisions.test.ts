/**
 * The decision pages: each has one title, a file name that follows it, and a line in the index.
 */
import { expect, it } from 'vitest'
import type { SourceFile } from '../tidy/rules.ts'
import { readTree } from '../tidy/tree.ts'

const FOLDER = 'docs/decisions/'
const tree = readTree()
const pages = tree.filter(({ path }) => path.startsWith(`${FOLDER}0`))
const index = tree.find(({ path }) => path === `${FOLDER}README.md`)?.text ?? ''

const TITLE = /^# (\d{4})\. (.+)$/m

function slugOf(title: string): string {
  return title
    .toLowerCase()
    .replaceAll(/[',]/g, '')
    .replaceAll(/[^a-z0-9]+/g, '-')
}

/** The line of the index that a page asks for; null: it has no title. */
function lineFor({ text }: SourceFile): string | null {
  const [, number, title] = TITLE.exec(text) ?? []
  if (number === undefined || title === undefined) return null
  return `- [${number}](${number}-${slugOf(title)}.md) ${title}`
}

function linesOf(text: string): string[] {
  return text.split('\n').filter((line) => line.startsWith('- ['))
}

it('the index lists every page by its title, and nothing else', () => {
  expect(pages.length).toBeGreaterThan(10)
  expect(linesOf(index).toSorted()).toEqual(
    pages.map((page) => lineFor(page) ?? page.path).toSorted(),
  )
})

it.each(pages)('$path has the file name that its title asks for', (page) => {
  expect(lineFor(page)).toContain(`](${page.path.slice(FOLDER.length)})`)
})

it('a page that is called otherwise, or has no title, would be noticed', () => {
  const page = { path: `${FOLDER}0001-a.md`, text: "# 0001. Log: the user's 1,000 groups\n" }
  expect(lineFor(page)).toBe(
    "- [0001](0001-log-the-users-1000-groups.md) Log: the user's 1,000 groups",
  )
  expect(lineFor({ ...page, text: 'nothing' })).toBe(null)
})
