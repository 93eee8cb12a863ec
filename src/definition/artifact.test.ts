import { expect, it } from 'vitest'
import { artifactsIn } from './artifact.ts'

const ref = (path: string) => ({ $artifact: path, sha256: '0'.repeat(64), bytes: 1 })

it('references are found wherever they stand in an output, in order', () => {
  const output = { a: ref('1'), b: [ref('2'), { c: { d: ref('3') } }, null, 'text'], e: 5 }
  expect(artifactsIn(output).map(({ $artifact }) => $artifact)).toEqual(['1', '2', '3'])
  expect(artifactsIn(ref('4'))).toEqual([ref('4')])
  expect(artifactsIn({ $artifact: 'x', sha256: 'short', bytes: 1 })).toEqual([])
})

it('references are found in an output of half a million elements', () => {
  expect(artifactsIn([...Array<number>(500_000).fill(1), ref('last')])).toEqual([ref('last')])
})
