import { expect, it } from 'vitest'
import type { Job } from '../../kernel/index.ts'
import { HistoryLinks } from './history-links.ts'

/** A job with so many entries, at 10, 20 and so on. */
function job(entries: number, firstPosition = 10): Job {
  return { firstPosition, lastPosition: firstPosition + 10 * (entries - 1) } as Job
}

function counted(first = 10, gone = 0) {
  const counter = {
    reads: 0,
    read: async (position: number): Promise<number | null> => {
      counter.reads += 1
      if (position < gone) return null
      return position === first ? 0 : position - 10
    },
  }
  return counter
}

function every10(entries: number, first = 10): number[] {
  return Array.from({ length: entries }, (_, i) => first + 10 * i)
}

it('passes each link once, however many pages there are, and then only those of new entries', async () => {
  const links = new HistoryLinks()
  const counter = counted()
  for (let page = 0; page < 5; page++) {
    expect(await links.positionsOf(job(1_000), counter.read)).toEqual(every10(1_000))
  }
  expect(counter.reads).toBe(1_000)
  expect(await links.positionsOf(job(1_003), counter.read)).toEqual(every10(1_003))
  expect(counter.reads).toBe(1_003)
})

it('takes another job for another one, and keeps nothing of few entries', async () => {
  const links = new HistoryLinks()
  await links.positionsOf(job(1_000), counted().read)
  const other = counted(5)
  expect(await links.positionsOf(job(1_000, 5), other.read)).toEqual(every10(1_000, 5))
  expect(other.reads).toBe(1_000)
  const few = counted(7)
  for (let page = 0; page < 2; page++) await links.positionsOf(job(5, 7), few.read)
  expect(few.reads).toBe(10)
})

it('ends where the log begins', async () => {
  const found = await new HistoryLinks().positionsOf(job(300), counted(10, 2_000).read)
  expect(found).toEqual(every10(300).filter((position) => position >= 2_000))
})
