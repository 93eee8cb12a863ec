/** What is different between two values, field by field. */
import { expect, it } from 'vitest'
import { changedFields } from './changed-fields.ts'

it('says where they differ, and what stood there', () => {
  const before = { state: 'QUEUED', attempt: 0, tags: ['a'], error: null, gone: 1 }
  const after = { state: 'RUNNING', attempt: 1, tags: ['a', 'b'], error: { code: 'E' } }
  expect(changedFields(before, after)).toEqual([
    { path: 'state', before: '"QUEUED"', after: '"RUNNING"' },
    { path: 'attempt', before: '0', after: '1' },
    { path: 'tags.1', before: null, after: '"b"' },
    { path: 'error.code', before: null, after: '"E"' },
    { path: 'gone', before: '1', after: null },
  ])
  expect(changedFields(before, before)).toEqual([])
  expect(changedFields([1], { 0: 1 })).toHaveLength(1)
  expect(changedFields({ list: null }, { list: [] })).toEqual([
    { path: 'list', before: 'null', after: '[]' },
  ])
})

it('does not go on without end', () => {
  const many = Array.from({ length: 1_000 }, (_, i) => i)
  expect(changedFields(many, [])).toHaveLength(200)
})
