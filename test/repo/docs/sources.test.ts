/**
 * What the source documents ask for is held by tests that exist, under the titles that are named, and the
 * stores on the page are those that the tests run on.
 */
import { describe, expect, it } from 'vitest'
import { readTree } from '../tidy/tree.ts'
import { missingTests } from './promises.ts'
import { DEPARTURES } from './sources/departures.ts'
import { SOURCES } from './sources/index.ts'
import type { Demand } from './sources/source-document.ts'
import type { TestName } from './sources/tests.ts'
import { TESTS } from './sources/tests.ts'
import { storesOf, storesText } from './test-stores.ts'

const tree = readTree()

function demandsOf(demands: Readonly<Record<string, readonly Demand[]>>): readonly Demand[] {
  return Object.values(demands).flat()
}

/** Every name that a demand, an answer or a departure gives. */
const NAMED: readonly (readonly TestName[])[] = [
  ...SOURCES.flatMap(({ demands, questions = [] }) => [
    ...demandsOf(demands).map(([, heldBy]) => heldBy),
    ...questions.map(([, , heldBy]) => heldBy),
  ]),
  ...DEPARTURES.map(([, , , heldBy]) => heldBy),
]

describe('the source documents', () => {
  it.each(SOURCES)('$number, $title, is held by tests that exist', ({ demands }) => {
    const all = demandsOf(demands)
    expect(all.length).toBeGreaterThan(20)
    const tests = all.flatMap(([, heldBy]) => heldBy.map((name) => TESTS[name]))
    expect(missingTests({ tests }, tree)).toEqual([])
  })

  it.each(SOURCES)(
    '$number, $title, asks in sentences, each once in its section',
    ({ demands }) => {
      for (const [section, asked] of Object.entries(demands)) {
        const sentences = asked.map(([asks]) => asks)
        expect([section, new Set(sentences).size]).toEqual([section, asked.length])
        const odd = sentences.filter((asks) => !/^[A-Za-z].*\.$|^test_\w+$/.test(asks))
        expect([section, odd]).toEqual([section, []])
      }
    },
  )

  it('have no name of which a note says that it is still to come', () => {
    const notes = SOURCES.flatMap(({ names }) => names.map(([, , here, note = '']) => here + note))
    const later = /not written yet|is planned|are planned|when it comes|not part of/i
    expect(notes.filter((note) => later.test(note))).toEqual([])
  })

  it('have all their questions answered, and all departures named', () => {
    expect(SOURCES.map(({ questions = [] }) => questions.length)).toEqual([0, 7, 0, 0, 0])
    expect(DEPARTURES).toHaveLength(11)
  })

  it('are held, answered and departed from with at least one test each, named once', () => {
    for (const heldBy of NAMED) {
      expect(heldBy).not.toEqual([])
      expect(new Set(heldBy).size).toBe(heldBy.length)
    }
  })
})

describe('the tests that hold them', () => {
  it('are all named by something', () => {
    const named = new Set(NAMED.flat())
    expect(Object.keys(TESTS).filter((name) => !named.has(name as TestName))).toEqual([])
  })

  it('are there once each', () => {
    const places = Object.values(TESTS).map(({ file, name }) => `${file}: ${name}`)
    expect(new Set(places).size).toBe(places.length)
  })

  it('would be missed under another title, or in another file', () => {
    const { file, name } = TESTS.life
    const tests = [
      { file, name: `${name}, and back` },
      { file: 'test/conformance/gone.test.ts', name },
    ]
    expect(missingTests({ tests }, tree)).toHaveLength(2)
    // A part of a title is no title.
    expect(() => storesOf({ file, name: 'goes from LEASED' }, tree)).toThrow(/has no test/)
  })
})

describe('the stores of a test', () => {
  it('are read from what its describe goes through', () => {
    expect(storesText(storesOf(TESTS.life, tree))).toBe('every store')
    expect(storesText(storesOf(TESTS.attempts, tree))).toBe('every store')
    expect(storesText(storesOf(TESTS.openedAgain, tree))).toBe('directory, SQLite, PostgreSQL')
    expect(storesText(storesOf(TESTS.processesKilled, tree))).toBe('SQLite, PostgreSQL')
    expect(storesText(storesOf(TESTS.silentWorker, tree))).toBe(
      'memory, directory, SQLite°, PostgreSQL°',
    )
  })

  it('or from its folder', () => {
    expect(storesText(storesOf(TESTS.everyMove, tree))).toBe('kernel')
    expect(storesText(storesOf(TESTS.powerLoss, tree))).toBe('directory')
    expect(storesText(storesOf(TESTS.walCutShort, tree))).toBe('SQLite')
  })

  it('are said where the test does not show them, and else it is refused', () => {
    const { file, name } = TESTS.skipsLocked
    expect(() => storesOf({ file, name }, tree)).toThrow(/^Say what/)
    expect(storesText(storesOf(TESTS.skipsLocked, tree))).toBe('PostgreSQL')
  })

  it('are put together: one that runs each time is not marked', () => {
    expect(storesText(['SQLite°', 'kernel', 'SQLite'])).toBe('kernel, SQLite')
    expect(storesText(['kernel', 'memory', 'directory', 'SQLite', 'PostgreSQL'])).toBe(
      'kernel, every store',
    )
    expect(storesText([])).toBe('no store')
  })
})
