import { expect, it } from 'vitest'
import type { Job } from '../../kernel/index.ts'
import { keptSteps } from './kept-steps.ts'

/** A worker in another language wrote its values in its own way. */
const JOB = {
  id: 'trip',
  task: {
    steps: [
      { name: 'find', value: '{"a": 1, "b": 2}', lease: 1 },
      { name: 'count', value: '9007199254740993', lease: 1 },
      { name: 'book', value: '3', lease: 1 },
    ],
  },
} as unknown as Job

it('a step that is given the value that it had keeps its text, and is not named', () => {
  expect(keptSteps(JOB, 'count', { find: { b: 2, a: 1 } })).toEqual({
    steps: [{ name: 'find', value: '{"a": 1, "b": 2}' }],
    changed: [],
  })
})

it('one that is given another value is named, and those that are given none are as they were', () => {
  expect(keptSteps(JOB, 'book', { find: { a: 1 } })).toEqual({
    steps: [
      { name: 'find', value: '{"a":1}' },
      { name: 'count', value: '9007199254740993' },
    ],
    changed: ['find'],
  })
})
