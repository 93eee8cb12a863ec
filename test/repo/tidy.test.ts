/**
 * The rules of the house hold for the whole tree. That each can fail is shown in `tidy/`.
 */
import { describe, expect, it } from 'vitest'
import { ALL_RULES, ROOMS } from './tidy/rules.ts'
import { readTree } from './tidy/tree.ts'

const tree = readTree()

describe('the tree is tidy', () => {
  it.each(Object.entries(ALL_RULES))('%s', (_name, rule) => {
    expect(rule(tree).map(({ what }) => what)).toEqual([])
  })

  it('was read: the kernel, the tests and the manifest are there', () => {
    const paths = tree.map(({ path }) => path)
    expect(paths).toContain('src/kernel/decide.ts')
    expect(paths).toContain('test/repo/tidy.test.ts')
    expect(paths).toContain('package.json')
  })
})

describe('the map of rooms', () => {
  it('has no arrow to a room that does not exist', () => {
    const targets = Object.values(ROOMS).flat()
    expect(targets.filter((room) => !(room in ROOMS))).toEqual([])
  })

  it('has no way round: nothing that the kernel, log or store builds on builds on them', () => {
    const reach = (room: string, seen: Set<string> = new Set()): Set<string> => {
      for (const next of ROOMS[room] ?? []) {
        if (seen.has(next)) continue
        seen.add(next)
        reach(next, seen)
      }
      return seen
    }
    const circular = Object.keys(ROOMS).filter((room) => reach(room).has(room))
    expect(circular).toEqual([])
  })
})
