import { describe, expect, it } from 'vitest'
import { plain } from '../../../test/support/specs.ts'
import type { Job } from '../../kernel/index.ts'
import { createJob } from '../../kernel/index.ts'
import { Interning } from '../format/interning.ts'
import { SortedRows } from './sorted-rows.ts'
import { FinishedBuffer } from './finished-table.ts'

const interning = new Interning()

function job(id: string, position: number, key: string | null = null, input = 'null'): Job {
  const spec = plain({ key, input })
  const made = createJob({ type: 'JobSubmitted', job: id, version: 1, at: 5, spec, dueAt: 5 })
  made.firstPosition = position
  made.lastPosition = position + 1
  return made
}

describe('a buffer of finished jobs', () => {
  it('gives back each job as it was put there, however large some are', () => {
    const buffer = new FinishedBuffer()
    const jobs = Array.from({ length: 300 }, (_, i) => {
      const size = i % 50 === 7 ? 700_000 : i * 10
      return job(`job ${i}`, 1_000 - i, i % 2 === 0 ? `key ${i}` : null, `"${'x'.repeat(size)}"`)
    })
    for (const [i, one] of jobs.entries()) buffer.add(one, null, i, 'SUCCEEDED')
    for (const [i, one] of jobs.entries()) {
      const row = buffer.find(one.id)
      expect(buffer.idOf(row)).toBe(one.id)
      expect(buffer.read(row, interning)).toEqual({ job: one, stages: null })
      const byKey = buffer.findKey('test', `key ${i}`, interning)
      expect(byKey).toBe(i % 2 === 0 ? row : -1)
    }
    expect(buffer.find('another')).toBe(-1)
    expect(buffer.findKey('other', 'key 0', interning)).toBe(-1)
  })

  it('finds neither id nor key of what has left it, but another job of that id and key', () => {
    const buffer = new FinishedBuffer()
    buffer.add(job('a', 1, 'k'), null, 1, 'SUCCEEDED')
    buffer.leave(buffer.find('a'))
    expect(buffer.find('a')).toBe(-1)
    expect(buffer.findKey('test', 'k', interning)).toBe(-1)
    expect(buffer.left).toBe(0)
    buffer.add(job('a', 9, 'k'), null, 2, 'SUCCEEDED')
    expect(buffer.find('a')).toBe(1)
    expect(buffer.findKey('test', 'k', interning)).toBe(1)
    expect(buffer.left).toBe(1)
  })

  it('lists jobs in the order of their submission, those as well that came since it was asked', () => {
    const buffer = new FinishedBuffer()
    const firsts = [50, 10, 90, 70, 20, 60, 5, 100]
    for (const [i, first] of firsts.entries()) {
      buffer.add(job(`job ${i}`, first), null, i, 'SUCCEEDED')
      const expected = firsts.slice(0, i + 1).toSorted((a, b) => a - b)
      const listed = expected.map((_, n) => buffer.firstPosition(buffer.nthSubmitted(n)))
      expect(listed).toEqual(expected)
      expect(buffer.submittedUpTo(60)).toBe(expected.filter((one) => one <= 60).length)
    }
  })
})

describe('rows in order', () => {
  it('stay in order, the earlier row first, when more come', () => {
    const values = Array.from({ length: 500 }, (_, i) => (i * 7_919) % 83)
    const sorted = new SortedRows((row) => values[row] as number)
    for (const count of [0, 1, 2, 100, 101, 500]) {
      const rows = Array.from({ length: count }, (_, i) => i)
      const expected = rows.toSorted((a, b) => (values[a] as number) - (values[b] as number))
      expect([...sorted.upTo(count)]).toEqual(expected)
    }
  })
})
