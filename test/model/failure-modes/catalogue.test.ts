/**
 * Holds the catalogue together: every failure mode has its story, its three tests and its section
 * in docs/failure-modes.md, and the page names no guard that does not exist.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { listGuards } from '../../../src/kernel/index.ts'
import { COMMIT_FENCE } from '../../../src/lab/rules-left-out.ts'

const HERE = import.meta.dirname
const PAGE = readFileSync(join(HERE, '../../../docs/failure-modes.md'), 'utf8')
const MODES = readdirSync(HERE).filter((name) => name.startsWith('FM_'))
const FILES = ['reproduction.test.ts', 'prevention.test.ts', 'recovery.test.ts']
const LAB = join(HERE, '../../../src/lab')
const PARTS = ['Story', 'Damage', 'Prevention', 'Recovery', 'Not promised']

/** The section of a mode: from its heading to the next one. */
function sectionOf(mode: string): string {
  const number = mode.slice(0, 'FM_000'.length)
  return PAGE.split(/^## /m).find((section) => section.startsWith(number)) ?? ''
}

function tableRowOf(mode: string): string {
  return PAGE.split('\n').find((line) => line.startsWith('|') && line.includes(mode)) ?? ''
}

/** Guards are written `Command.guard` in code quotes. */
function guardsNamedIn(text: string): string[] {
  return [...text.matchAll(/`([A-Z][A-Za-z]+\.[a-z-]+|clock|transition)`/g)].map(
    ([, id]) => id as string,
  )
}

describe('the catalogue of failure modes', () => {
  it('numbers the modes from FM_001 without a gap', () => {
    const numbers = MODES.map((mode) => Number(mode.slice(3, 6)))
    expect(numbers).toEqual(MODES.map((_, index) => index + 1))
    expect(numbers.length).toBeGreaterThanOrEqual(10)
  })

  it.each(MODES)('%s has a story, a reproduction, a prevention and a recovery', (mode) => {
    expect(FILES.filter((file) => !existsSync(join(HERE, mode, file)))).toEqual([])
    const story = mode.slice('FM_000_'.length).replaceAll('_', '-')
    expect(existsSync(join(LAB, `${story}.ts`)), story).toBe(true)
  })

  it.each(MODES)('%s has a complete section and a row in docs/failure-modes.md', (mode) => {
    const section = sectionOf(mode)
    expect(PARTS.filter((part) => !section.includes(`**${part}.**`))).toEqual([])
    expect(tableRowOf(mode)).toContain(`test/model/failure-modes/${mode}`)
  })

  it.each(MODES)(
    '%s names in its section and its row the guards that its tests leave out',
    (mode) => {
      const source = readFileSync(join(HERE, mode, 'reproduction.test.ts'), 'utf8')
      const leftOut = [...source.matchAll(/'([A-Z][A-Za-z]+\.[a-z-]+|clock)'/g)].map(([, id]) => id)
      if (source.includes('COMMIT_FENCE')) leftOut.push(...COMMIT_FENCE)
      expect(guardsNamedIn(sectionOf(mode))).toEqual(expect.arrayContaining(leftOut))
      expect(guardsNamedIn(tableRowOf(mode))).toEqual(expect.arrayContaining(leftOut))
    },
  )

  it('names only guards that exist', () => {
    const known = new Set(listGuards().map((guard) => guard.id))
    const named = guardsNamedIn(PAGE)
    expect(named.length).toBeGreaterThan(0)
    expect(named.filter((id) => !known.has(id))).toEqual([])
  })

  it('has no section without a folder', () => {
    const sections = [...PAGE.matchAll(/^## (FM_\d{3})/gm)].map(([, number]) => number)
    expect(sections).toEqual(MODES.map((mode) => mode.slice(0, 'FM_000'.length)))
  })
})
