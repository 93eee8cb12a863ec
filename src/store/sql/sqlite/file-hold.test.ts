/**
 * A transaction that has the file, and whose next message does not come.
 */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { BEGIN, FileHold } from './file-hold.ts'

let times = 0
let hold = new FileHold(() => undefined)

beforeEach(() => {
  vi.useFakeTimers()
  times = 0
  hold = new FileHold(() => (times += 1))
})

afterEach(() => {
  vi.useRealTimers()
})

/** How long one that does not go on has the file. */
function heldMs(): number {
  hold.goOn(BEGIN)
  hold.rest(true)
  const before = times
  for (let ms = 1; ; ms++) {
    vi.advanceTimersByTime(1)
    if (times > before) return ms
  }
}

describe('a transaction that does not go on', () => {
  it('is let go of after a moment, and what comes next of it is a conflict', () => {
    expect(heldMs()).toBe(25)
    expect(() => hold.goOn('update')).toThrow(/let go/)
    hold.rest(false)
    expect(() => hold.goOn('rollback')).not.toThrow()
  })

  it('does not trouble the next one', () => {
    heldMs()
    expect(() => hold.goOn(BEGIN)).not.toThrow()
    hold.rest(true)
    expect(() => hold.goOn('commit')).not.toThrow()
  })
})

describe('a transaction that goes on', () => {
  it('is never let go of, however many messages it takes', () => {
    hold.goOn(BEGIN)
    for (let message = 0; message < 20; message++) {
      hold.rest(true)
      vi.advanceTimersByTime(20)
      hold.goOn('select')
    }
    hold.rest(false)
    vi.advanceTimersByTime(10_000)
    expect(times).toBe(0)
  })
})
