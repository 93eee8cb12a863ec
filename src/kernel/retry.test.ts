/** When a failed attempt is tried again: fixed, growing, listed, and never all at once. */
import { describe, expect, it } from 'vitest'
import { retry } from '../../test/support/specs.ts'
import { DEFAULT_RETRY, hash32, retryDelayMs } from './retry.ts'

const NUMBERS = Array.from({ length: 200 }, (_, i) => i)

describe('the delay before a retry', () => {
  it('is the same each time when it is fixed', () => {
    const policy = retry({ backoff: 'fixed', delayMs: 5_000 })
    expect([1, 2, 3, 50].map((n) => retryDelayMs(policy, n, 'a'))).toEqual([
      5_000, 5_000, 5_000, 5_000,
    ])
  })

  it('is one second, three times, when nobody says otherwise', () => {
    expect(DEFAULT_RETRY.max).toBe(3)
    expect(retryDelayMs(DEFAULT_RETRY, 1, 'a')).toBe(1_000)
  })

  it('of all who say nothing cannot be changed by one of them', () => {
    const policy = DEFAULT_RETRY as unknown as { max: number; delaysMs: number[] }
    expect(() => (policy.max = 9)).toThrow(TypeError)
    expect(() => policy.delaysMs.push(9)).toThrow(TypeError)
  })

  it('doubles when it is exponential, up to the cap', () => {
    const policy = retry({ backoff: 'exponential', delayMs: 100, capMs: 1_000 })
    expect([1, 2, 3, 4, 5, 6].map((n) => retryDelayMs(policy, n, 'a'))).toEqual([
      100, 200, 400, 800, 1_000, 1_000,
    ])
  })

  it('stays at the cap however often it failed, without overflowing', () => {
    const policy = retry({ backoff: 'exponential', delayMs: 1, capMs: 3_600_000 })
    expect(retryDelayMs(policy, 1_000_000, 'a')).toBe(3_600_000)
  })

  it('follows the list, and the last element repeats', () => {
    const policy = retry({ backoff: 'list', delaysMs: [10, 20, 30] })
    expect([1, 2, 3, 4, 99].map((n) => retryDelayMs(policy, n, 'a'))).toEqual([10, 20, 30, 30, 30])
  })

  it('is nothing when the list is empty', () => {
    expect(retryDelayMs(retry({ backoff: 'list', delaysMs: [] }), 1, 'a')).toBe(0)
  })
})

describe('jitter', () => {
  const policy = retry({ backoff: 'fixed', delayMs: 1_000, jitter: 0.5 })

  it('is the same for the same task and retry', () => {
    expect(retryDelayMs(policy, 2, 'a/0/0')).toBe(retryDelayMs(policy, 2, 'a/0/0'))
  })

  it('takes away no more than its share of the delay, and adds nothing', () => {
    const delays = NUMBERS.map((n) => retryDelayMs(policy, 1, `job-${n}`))
    expect(Math.min(...delays)).toBeGreaterThanOrEqual(500)
    expect(Math.max(...delays)).toBeLessThanOrEqual(1_000)
    expect(delays.every(Number.isInteger)).toBe(true)
  })

  it('sets apart tasks that failed together', () => {
    const delays = new Set(NUMBERS.map((n) => retryDelayMs(policy, 1, `job-${n}`)))
    expect(delays.size).toBeGreaterThan(100)
  })

  it('sets apart the retries of one task', () => {
    const delays = new Set(NUMBERS.map((n) => retryDelayMs(policy, n + 1, 'a')))
    expect(delays.size).toBeGreaterThan(100)
  })

  it('of the whole delay reaches from nothing to all of it', () => {
    const whole = retry({ backoff: 'fixed', delayMs: 1_000, jitter: 1 })
    const delays = NUMBERS.map((n) => retryDelayMs(whole, 1, `job-${n}`))
    expect(Math.min(...delays)).toBeLessThan(100)
    expect(Math.max(...delays)).toBeGreaterThan(900)
  })

  it('makes no delay out of none', () => {
    expect(retryDelayMs(retry({ delayMs: 0, jitter: 1 }), 1, 'a')).toBe(0)
  })
})

describe('the hash', () => {
  it('never changes, because logs are read for years', () => {
    expect(hash32('a/0/0#1', 0)).toBe(3_810_303_687)
    expect(hash32('', 0)).toBe(2_872_998_923)
  })

  it('differs by seed', () => {
    expect(hash32('a', 1)).not.toBe(hash32('a', 2))
  })
})
