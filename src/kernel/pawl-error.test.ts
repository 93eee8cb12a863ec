import { expect, it } from 'vitest'
import { PawlError } from './index.ts'

it('an error has its code as its name, and a cause only if there was one', () => {
  const cause = new Error('the disk')
  const error = new PawlError('Broken', 'bug', 'It broke.', { job: 'a' }, cause)
  expect(error).toMatchObject({ name: 'Broken', code: 'Broken', kind: 'bug', cause })
  expect(error.details).toEqual({ job: 'a' })
  const other = new PawlError('Broken', 'bug', 'It broke.')
  expect('cause' in other).toBe(false)
  expect(other.details).toEqual({})
})
