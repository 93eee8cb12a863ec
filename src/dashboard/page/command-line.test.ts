/** Commands as one would type them, from the catalogue. */
import { expect, it } from 'vitest'
import { commandLine } from './command-line.ts'

it('has positional words first, then options in kebab-case, and quotes what a shell would take apart', () => {
  const input = { job: 'j-1', by: "o'hara", reason: 'no need; rm -rf /' }
  expect(commandLine('jobs.cancel', input)).toBe(
    String.raw`pawl cancel j-1 --by 'o'\''hara' --reason 'no need; rm -rf /' --yes`,
  )
  expect(commandLine('jobs.reschedule', { job: 'j-1', delay: '5m', priority: 3 })).toBe(
    'pawl reschedule j-1 --delay 5m --priority 3',
  )
})

it('writes rates, lists, flags and JSON as they are typed, under the names of the options', () => {
  const rate = { count: 10, per: '1s' }
  expect(commandLine('bulk.run', { action: 'cancel', all: true, rate })).toBe(
    'pawl bulk cancel --all --rate 10/1s --yes',
  )
  expect(commandLine('jobs.retry', { job: 'j-1', input: 'hello' })).toBe(
    `pawl retry j-1 --input '"hello"'`,
  )
  expect(commandLine('jobs.retry', { job: 'j-1', input: '17' })).toBe(
    `pawl retry j-1 --input '"17"'`,
  )
  expect(commandLine('jobs.force', { job: 'j-1', to: 'SUCCEEDED', output: 'done' })).toBe(
    `pawl force j-1 SUCCEEDED --result '"done"' --yes`,
  )
  expect(commandLine('jobs.submit', { type: 'mail', tags: ['a', 'b'], unique: false })).toBe(
    'pawl submit mail --tags a --tags b',
  )
})

it('has its options first where a place begins like one, and nothing for what has no command', () => {
  expect(commandLine('queues.pause', { queue: '-night', by: 'ada' })).toBe(
    'pawl pause --by ada -- -night',
  )
  expect(commandLine('bulk.events', { action: 'cancel' })).toBe(null)
})
