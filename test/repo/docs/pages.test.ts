/**
 * The pages are honest: links lead somewhere, names exist, and every promise names tests that
 * are there.
 */
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { SourceFile } from '../tidy/rules.ts'
import { readTree, ROOT } from '../tidy/tree.ts'
import { knownNames, quotedNames } from './names.ts'
import { missingTests, promisesOf } from './promises.ts'

const tree = readTree()
const pages = tree.filter(({ path }) => path.endsWith('.md') && !path.startsWith('test/'))
const known = knownNames(tree)

/** `[text](where)`, but not an address on the web. */
const LINK = /\]\((?!https?:)([^)\s]+)\)/g

function deadLinks({ path, text }: SourceFile): string[] {
  return [...text.matchAll(LINK)]
    .map((match) => match[1] as string)
    .filter((link) => !leadsSomewhere(path, text, link))
}

function leadsSomewhere(path: string, text: string, link: string): boolean {
  const [file = '', anchor] = link.split('#')
  if (file !== '') return existsSync(join(ROOT, dirname(path), file))
  const headings = [...text.matchAll(/^#+ (.+)$/gm)].map((match) =>
    (match[1] as string)
      .toLowerCase()
      .replaceAll(/[^\w\s-]/g, '')
      .replaceAll(' ', '-'),
  )
  return headings.includes(anchor ?? '')
}

/** Words in backticks that look like an entry, a command, a type or a state. */
function strangeNames({ text }: SourceFile): string[] {
  const prose = text.replaceAll(/^```[\s\S]*?^```/gm, '')
  return quotedNames(prose)
    .filter((name) => /^(?:[A-Z][a-z]+){2,}(?:\.\w+)?$|^[A-Z][A-Z_]{2,}$/.test(name))
    .filter((name) => !known.has(name))
}

describe('every page', () => {
  it.each(pages)('$path has no dead link', (page) => {
    expect(deadLinks(page)).toEqual([])
  })

  it.each(pages)('$path names nothing that does not exist', (page) => {
    expect(strangeNames(page)).toEqual([])
  })

  it('a dead link and a strange name would be noticed', () => {
    const page = { path: 'docs/a.md', text: '# Here\n[a](nowhere.md) [b](#here) `TaskVanished`' }
    expect(deadLinks(page)).toEqual(['nowhere.md'])
    expect(strangeNames(page)).toEqual(['TaskVanished'])
  })
})

describe('docs/guarantees.md', () => {
  const page = tree.find(({ path }) => path === 'docs/guarantees.md')?.text ?? ''
  const promises = promisesOf(page)

  it('numbers its promises without a gap', () => {
    expect(promises.map(({ number }) => number)).toEqual(promises.map((_, i) => i + 1))
    expect(promises.length).toBeGreaterThan(5)
  })

  it.each(promises)('promise $number, "$title", is held by tests that exist', (promise) => {
    expect(promise.tests).not.toEqual([])
    expect(missingTests(promise, tree)).toEqual([])
  })

  it('a test that does not exist would be noticed', () => {
    const [promise] = promisesOf(
      '### 1. All is well\n\n- `test/repo/tidy.test.ts`: “all is well”\n',
    )
    expect(promise?.title).toBe('All is well')
    expect(promise === undefined ? [] : missingTests(promise, tree)).toEqual([
      'test/repo/tidy.test.ts: all is well',
    ])
  })
})
