import { beforeEach, describe, expect, it } from 'vitest'
import { SuspectGate } from './suspect-gate.ts'

const ALL = { suspects: true, lastChances: true }
const WITH_RETRIES = { suspects: true, lastChances: false }
const NONE = { suspects: false, lastChances: false }
const [a, b] = [{ worker: 'a' }, { worker: 'b' }]
const [first, second] = [{ attempt: 1 }, { attempt: 2 }]

let nowMs: number
let timers: { readonly atMs: number; readonly call: () => void }[]
let told: string[]
let gate: SuspectGate

beforeEach(() => {
  nowMs = 0
  timers = []
  told = []
  gate = new SuspectGate({
    now: () => nowMs,
    steadyNow: () => nowMs,
    after: (ms, call) => {
      timers.push({ atMs: nowMs + ms, call })
      return { cancel: () => undefined }
    },
    soon: setImmediate,
  })
})

function pass(ms: number): void {
  nowMs += ms
  for (const { atMs, call } of timers) if (atMs <= nowMs) call()
  timers = timers.filter(({ atMs }) => atMs > nowMs)
}

function claimOf(worker: typeof a, brought: object | null = null, isLastChance = false): unknown {
  const wanted = gate.claim(worker, () => told.push(worker.worker))
  if (brought !== null) gate.began(brought, { isLastChance })
  if (wanted.suspects) gate.claimed(worker)
  return wanted
}

describe('of tasks that may kill their process, the workers of an engine', () => {
  it('claim none within a second of the start of one, and then others beside it', () => {
    expect(claimOf(a, first)).toEqual(ALL)
    expect(claimOf(a)).toEqual(NONE)
    expect(claimOf(b)).toEqual(NONE)
    pass(999)
    expect(told).toEqual([])
    pass(1)
    expect(told).toEqual(['a', 'b'])
    expect(claimOf(b)).toEqual(WITH_RETRIES)
  })

  it('claim none beside one whose next loss would be its last, until it ends', () => {
    claimOf(a, first, true)
    pass(10_000)
    expect(claimOf(b)).toEqual(NONE)
    gate.ended(first)
    expect(told).toEqual(['b'])
    expect(claimOf(b)).toEqual(ALL)
  })

  it('claim one whose next loss would be its last only when no other runs', () => {
    claimOf(a, first)
    pass(1_000)
    claimOf(b, second)
    pass(1_000)
    gate.ended(first)
    expect(claimOf(a)).toEqual(WITH_RETRIES)
    gate.ended(second)
    expect(told).toContain('a')
    expect(claimOf(a)).toEqual(ALL)
  })

  it('claim none while the claim of one of them is on its way, and are told when it brought none', () => {
    const claim = gate.claim(a, () => told.push('a'))
    expect(claim).toEqual(ALL)
    expect(claimOf(b)).toEqual(NONE)
    // Its second claim.
    expect(claimOf(a)).toEqual(NONE)
    gate.claimed(a)
    expect(told).toEqual(['b'])
    expect(claimOf(b)).toEqual(ALL)
  })

  it('are told later if it brought one, and once', () => {
    gate.claim(a, () => told.push('a'))
    claimOf(b)
    gate.began(first, { isLastChance: false })
    gate.claimed(a)
    expect(told).toEqual([])
    gate.ended(first)
    gate.ended(first)
    pass(1_000)
    expect(told).toEqual(['b'])
  })
})
