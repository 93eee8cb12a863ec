import { expect, it } from 'vitest'
import type { Job } from '../../kernel/index.ts'
import { NO_TALLIES } from '../../kernel/index.ts'
import { isQuarantined, OrderedJobs } from './ordered-jobs.ts'

function dead(position: number): Job {
  return { id: `job ${position}`, firstPosition: position, task: { state: 'DEAD' } } as Job
}

function positions(some: Iterable<Job>): readonly number[] {
  return [...some].map(({ firstPosition }) => firstPosition)
}

it('lists those ahead of a position from either end, however they came and whichever left', () => {
  const jobs = new Map([30, 10, 50, 20, 40].map((position) => [`job ${position}`, dead(position)]))
  const quarantined = new OrderedJobs(isQuarantined, (id) => jobs.get(id))
  for (const job of jobs.values()) quarantined.update(job, NO_TALLIES)
  const left = { ...dead(30), task: { state: 'WAITING' } } as Job
  quarantined.update(left, NO_TALLIES)
  expect(positions(quarantined.after(0))).toEqual([10, 20, 40, 50])
  expect(positions(quarantined.after(20))).toEqual([40, 50])
  expect(positions(quarantined.before(Infinity))).toEqual([50, 40, 20, 10])
  expect(positions(quarantined.before(40))).toEqual([20, 10])
  expect(positions(quarantined.before(45))).toEqual([40, 20, 10])
  expect(positions(quarantined.before(10))).toEqual([])
})
