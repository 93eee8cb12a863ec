/**
 * `docs/http.md` shows the catalogue of operations: all of it, as it is.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { OPERATIONS } from '../../../src/protocol/index.ts'
import { ROOT } from '../tidy/tree.ts'
import { blockNames, rewrite } from './blocks.ts'
import { httpParts, ungrouped } from './http-parts.ts'

const page = readFileSync(join(ROOT, 'docs', 'http.md'), 'utf8')

describe('docs/http.md', () => {
  it('shows what the catalogue draws: run `npm run docs` after a change', () => {
    expect(page).toBe(rewrite(page, httpParts()))
    expect(blockNames(page).toSorted()).toEqual(Object.keys(httpParts()).toSorted())
  })

  it('has every operation, in a group', () => {
    expect(ungrouped()).toEqual([])
    const missing = Object.keys(OPERATIONS).filter((name) => !page.includes(`#### \`${name}\``))
    expect(missing).toEqual([])
  })
})
