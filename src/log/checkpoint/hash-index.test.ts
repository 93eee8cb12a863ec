import { expect, it } from 'vitest'
import { HashFilter, hashText } from './hash-index.ts'

function passing(filter: HashFilter, from: number, to: number): number {
  let count = 0
  for (let i = from; i < to; i++) if (filter.mayHave(hashText(`job-${i}`))) count += 1
  return count
}

it('everything that was added passes, and little else', () => {
  const filter = new HashFilter(50_000)
  for (let i = 0; i < 50_000; i++) filter.add(hashText(`job-${i}`))
  expect(passing(filter, 0, 50_000)).toBe(50_000)
  expect(passing(filter, 50_000, 150_000)).toBeLessThan(2_000)
})

it('more than were expected pass as well, and still little else', () => {
  const filter = new HashFilter(0)
  for (let i = 0; i < 50_000; i++) filter.add(hashText(`job-${i}`))
  expect(passing(filter, 0, 50_000)).toBe(50_000)
  expect(passing(filter, 50_000, 150_000)).toBeLessThan(6_000)
})
