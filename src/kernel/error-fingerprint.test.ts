import { describe, expect, it } from 'vitest'
import {
  errorFingerprint,
  errorOf,
  fingerprintOf,
  placeOf,
  whyGivenUp,
  withoutWhatVaries,
} from './error-fingerprint.ts'
import type { Job, Task } from './model.ts'

const error = (message: string, code = 'E', stack: string | null = null) => ({
  code,
  message,
  stack,
})

function thrownIn(file: string, line: number): string {
  return `E: x\n    at charge (/app/${file}:${line}:1)`
}

describe('a message without what varies', () => {
  it.each([
    ['Order 42 was refused', 'Order # was refused'],
    ['Order ord_9sXk2 was refused', 'Order # was refused'],
    ['No user 5f0c6b1e-7d1d-4a57-9c7e-0d8f9b1a2c3d', 'No user #'],
    ['connect ECONNREFUSED 127.0.0.1:5432', 'connect ECONNREFUSED #'],
    ['connect ECONNREFUSED ::1:5432', 'connect ECONNREFUSED #'],
    ['bad pointer 0xdeadbeef01 at 0x7ffe', 'bad pointer # at #'],
    ['due 2026-11-16T07:48:29.123Z, now late', 'due #, now late'],
    ["There is no job 'invoice'", 'There is no job …'],
    ['Unexpected token "x" in JSON', 'Unexpected token … in JSON'],
    ['`name` is missing', '… is missing'],
    ["can't find the user's name", "can't find the user's name"],
    [
      "ENOENT: no such file or directory, open '/tmp/a/b.txt'",
      'ENOENT: no such file or directory, open …',
    ],
    ['cannot read /var/lib/pawl/data, retry', 'cannot read …, retry'],
    ['cannot read C:\\Users\\ann\\file.txt today', 'cannot read … today'],
    ['GET https://api.example.com/v1/orders?id=7 failed', 'GET … failed'],
    ['mail to ann@example.com bounced', 'mail to … bounced'],
    ['either/or', 'either/or'],
    ['two\n  lines', 'two lines'],
  ])('%s', (message, expected) => {
    expect(withoutWhatVaries(message)).toBe(expected)
  })

  it('is short, and quick for any text', () => {
    for (const piece of ["'", '"', '`', '/', '../', '1', 'a@', 'a1', ' ', 'https://']) {
      expect(withoutWhatVaries(piece.repeat(20_000)).length).toBeLessThanOrEqual(500)
    }
  })
})

describe('the place of an error', () => {
  it.each([
    ['Error: x\n    at charge (/app/src/pay.ts:10:5)\n    at run (/app/x.ts:1:1)', 'charge pay.ts'],
    ['Error: x\n    at async Bank.charge (file:///app/src/pay.ts:10:5)', 'Bank.charge pay.ts'],
    ['Error: x\n    at file:///app/src/pay.ts?v=2:10:5', 'pay.ts'],
    ['Error: x\n    at new Card (C:\\app\\card.js:1:2)', 'new Card card.js'],
    ['Error: without frames', ''],
    [null, ''],
  ])('%j', (stack, expected) => {
    expect(placeOf(stack)).toBe(expected)
  })
})

describe('a fingerprint', () => {
  it('is the same for the same cause in other words of the day', () => {
    const one = fingerprintOf(error("User 'ann' has no card 4711"))
    expect(fingerprintOf(error("User 'bob' has no card 4712"))).toBe(one)
    expect(one).toMatch(/^[0-9a-f]{12}$/)
  })

  it('is another one for another code, message or place', () => {
    const all = [
      error('it failed'),
      error('it failed', 'F'),
      error('it broke'),
      error('it failed', 'E', thrownIn('pay.ts', 1)),
      error('it failed', 'E', thrownIn('card.ts', 1)),
    ].map(fingerprintOf)
    expect(new Set(all).size).toBe(all.length)
    expect(fingerprintOf(error('it failed', 'E', thrownIn('pay.ts', 99)))).toBe(all[3])
  })
})

describe('why a task was given up', () => {
  const failed = { code: 'E', message: 'no money', stack: null } as never
  const alone = { error: failed, endedBy: null, held: [] }

  it.each([
    ['its error', alone, 'E'],
    [
      'an effect whose outcome is not known',
      { ...alone, held: [{ name: 'pay', error: null }] },
      'OutcomeUnknown',
    ],
    [
      'the error of its effect',
      { ...alone, error: null, held: [{ name: 'pay', error: failed }] },
      'E',
    ],
    ['a lease that ran out', { ...alone, endedBy: 'LeaseExpired' as const }, 'LeaseExpired'],
    ['a lease that was taken away', { ...alone, endedBy: 'LeaseRevoked' as const }, 'LeaseRevoked'],
    ['nothing that was said', { ...alone, error: null }, 'Unknown'],
  ])('is %s', (_, task, code) => {
    expect(whyGivenUp(task).code).toBe(code)
  })

  function jobWith(
    changes: Partial<Task>,
    cancelled: Job['cancelled'] = null,
  ): Pick<Job, 'task' | 'cancelled'> {
    const task = { state: 'FAILED', error: failed, leases: [], commit: null, ...changes }
    return { task: task as unknown as Task, cancelled }
  }

  it('is the error of a plain job that failed, or is in quarantine, and of no other', () => {
    const effect = { state: 'HELD', promise: { name: 'pay' }, error: null }
    const commit = { effects: [effect, { ...effect, state: 'DONE' }] } as never
    expect(errorOf(jobWith({ state: 'DEAD', commit }))?.code).toBe('OutcomeUnknown')
    expect(errorOf(jobWith({ leases: [{ endedBy: 'LeaseExpired' }] as never }))?.code).toBe(
      'LeaseExpired',
    )
    expect(errorOf(jobWith({}))?.code).toBe('E')
    expect(errorOf(jobWith({ error: null }))).toBeNull()
    expect(errorOf(jobWith({ state: 'COMPLETED' }))).toBeNull()
    expect(errorOf(jobWith({}, { at: 1 } as never))).toBeNull()
    expect(errorOf({ task: null, cancelled: null })).toBeNull()
  })

  it('has a fingerprint, where there is an error', () => {
    expect(errorFingerprint(jobWith({}))).toBe(fingerprintOf(failed))
    expect(errorFingerprint({ task: null, cancelled: null })).toBeNull()
  })
})
