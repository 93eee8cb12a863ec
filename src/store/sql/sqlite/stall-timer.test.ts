/**
 * A transaction that has the file, and whose next message does not come.
 */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { BEGIN, StallTimer } from './stall-timer.ts'

let rollbacks = 0
let timer = new StallTimer(() => undefined)

beforeEach(() => {
  vi.useFakeTimers()
  rollbacks = 0
  timer = new StallTimer(() => (rollbacks += 1))
})

afterEach(() => {
  vi.useRealTimers()
})

/** How long one that does not go on has the file. */
function stallMs(): number {
  timer.receive(BEGIN)
  timer.start()
  const before = rollbacks
  for (let ms = 1; ; ms++) {
    vi.advanceTimersByTime(1)
    if (rollbacks > before) return ms
  }
}

describe('a transaction that does not go on', () => {
  it('is rolled back after a moment, and its next message is a conflict', () => {
    expect(stallMs()).toBe(25)
    expect(() => timer.receive('update')).toThrow(/stalled/)
    expect(() => timer.receive('rollback')).not.toThrow()
  })

  it('does not disturb the next one', () => {
    stallMs()
    expect(() => timer.receive(BEGIN)).not.toThrow()
    timer.start()
    expect(() => timer.receive('commit')).not.toThrow()
  })
})

describe('a transaction that goes on', () => {
  it('is never rolled back, however many messages it takes', () => {
    timer.receive(BEGIN)
    for (let message = 0; message < 20; message++) {
      timer.start()
      vi.advanceTimersByTime(20)
      timer.receive('select')
    }
    vi.advanceTimersByTime(10_000)
    expect(rollbacks).toBe(0)
  })
})
