/** States of segments, as the kernel says them of jobs. */
import { expect, it } from 'vitest'
import { stateOf } from './segment-state.ts'

const NOW = Date.parse('2026-11-18T15:00:00Z')
const DUE = new Date(NOW).toISOString()
const LATER = new Date(NOW + 1_000).toISOString()

it.each([
  ['CREATED', 'WAITING', 0, false, LATER],
  ['QUEUED', 'WAITING', 0, false, DUE],
  ['RETRYING', 'WAITING', 2, false, LATER],
  // Its time has come, and no worker has taken it yet.
  ['QUEUED', 'WAITING', 2, false, DUE],
  ['SUSPENDED', 'WAITING', 1, true, LATER],
  ['QUEUED', 'WAITING', 1, true, DUE],
  ['RUNNING', 'LEASED', 1, false, DUE],
  ['SUCCEEDED', 'COMPLETED', 1, false, DUE],
  ['FAILED', 'FAILED', 1, false, DUE],
  ['QUARANTINED', 'DEAD', 1, false, DUE],
] as const)(
  'is %s: %s at attempt %i, suspended: %s, due %s',
  (shown, state, attempt, isSuspended, dueAt) => {
    expect(stateOf({ state, attempt, isSuspended, dueAt }, NOW)).toBe(shown)
  },
)
