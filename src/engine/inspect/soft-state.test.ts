import { expect, it } from 'vitest'
import { SoftState } from './soft-state.ts'

function state(now = (): number => 1): SoftState {
  return new SoftState({
    now,
    authorityTime: (ms) => ms,
    onStalled: () => undefined,
    onNewer: () => undefined,
  })
}

it('a line is cut after 500 characters, and the newest 100 of a job are kept', () => {
  const soft = state()
  soft.log('a', 'x'.repeat(500))
  soft.log('a', 'y'.repeat(501))
  expect(soft.reportsOf('a').lines).toEqual(['x'.repeat(500), `${'y'.repeat(500)}…`])
  for (let i = 0; i < 100; i++) soft.log('a', `line ${i}`)
  expect(soft.reportsOf('a').lines).toHaveLength(100)
  expect(soft.reportsOf('a').lines[0]).toBe('line 0')
})

it('progress of more than 2,000 characters is not kept, and a line says so', () => {
  const soft = state()
  const most = 'x'.repeat(2_000)
  soft.progress('a', most)
  soft.progress('a', `${most}x`)
  expect(soft.reportsOf('a').progress).toBe(most)
  expect(soft.reportsOf('a').lines).toEqual([
    'A progress of 2001 characters is too long to be kept.',
  ])
})

it('the newest 1,000 jobs are remembered', () => {
  const soft = state()
  for (let i = 0; i < 1_001; i++) soft.log(`job ${i}`, 'here')
  expect(soft.reportsOf('job 0').lines).toEqual([])
  expect(soft.reportsOf('job 1').lines).toEqual(['here'])
})

it('what a handler still says of a job that was erased is not kept, until a time', () => {
  let now = 1
  const soft = state(() => now)
  soft.progress('a', '"secret"')
  soft.forget('a', 5)
  expect(soft.reportsOf('a').progress).toBeNull()
  now = 5
  soft.progress('a', '"secret"')
  soft.log('a', 'secret')
  soft.log('b', 'here')
  expect(soft.takeChanged(9).map(({ job }) => job)).toEqual(['b'])
  now = 6
  soft.log('a', 'another job of this id')
  expect(soft.reportsOf('a').lines).toEqual(['another job of this id'])
})
