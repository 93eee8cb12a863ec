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

it('has what is no text as JSON, a flag alone, and nothing for what has no command', () => {
  const rate = { count: 10, per: '1s' }
  expect(commandLine('bulk.run', { action: 'cancel', all: true, rate })).toBe(
    `pawl bulk cancel --all --rate '{"count":10,"per":"1s"}' --yes`,
  )
  expect(commandLine('bulk.events', { action: 'cancel' })).toBe(null)
})
