import * as fc from 'fast-check'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { SimDisk } from '../../test/faults/sim/sim-disk.ts'
import { plain } from '../../test/support/specs.ts'
import type { AwakeClock, Clock } from './clock.ts'
import { awakeClock, systemClock } from './clock.ts'
import type { DirectoryOptions } from './directory/open-directory.ts'
import { openDirectory } from './directory/open-directory.ts'
import type { DirectoryStore } from './directory/directory-store.ts'
import type { StoreNotice } from './notice.ts'

const START_MS = 1_000_000
const BEAT_MS = 50
const HOUR_MS = 3_600_000
const YEAR_MS = 365 * 24 * HOUR_MS

/** Time that a test turns, and an event loop that turns when the test says so. */
class FakeTime {
  wallMs = START_MS
  monotonicMs = 7.25
  beat: (() => void) | null = null
  readonly clock: AwakeClock

  constructor() {
    this.clock = awakeClock({
      wallMs: () => Math.floor(this.wallMs),
      monotonicMs: () => this.monotonicMs,
      every: (ms, call) => {
        expect(ms).toBe(BEAT_MS)
        this.beat = call
        return () => {
          this.beat = null
        }
      },
    })
  }

  /** Milliseconds since the start that the clock shows. */
  get shown(): number {
    return this.clock.now() - START_MS
  }

  /** Time goes by, and the event loop does not turn. */
  stall(ms: number): this {
    this.wallMs += ms
    this.monotonicMs += ms
    return this
  }

  turn(): this {
    this.beat?.()
    return this
  }

  /** Time goes by as it should. */
  run(ms: number): this {
    for (let left = ms; left > 0; left -= BEAT_MS) this.stall(Math.min(BEAT_MS, left)).turn()
    return this
  }
}

describe('the awake clock', () => {
  it('shows the wall clock while the event loop turns', () => {
    const time = new FakeTime()
    expect(time.shown).toBe(0)
    for (let i = 1; i <= 100; i++) expect(time.run(37).shown).toBe(i * 37)
  })

  it('takes a turn that is a little late for awake', () => {
    const time = new FakeTime().run(1_000)
    expect(time.stall(250).shown).toBe(1_250)
    expect(time.turn().shown).toBe(1_250)
  })

  it('goes on by one beat in a stall, however long, and from there when it is over', () => {
    const time = new FakeTime().run(1_000)
    expect(time.stall(60_000).shown).toBe(1_050)
    expect(time.stall(60_000).shown).toBe(1_050)
    expect(time.turn().shown).toBe(1_050)
    expect(time.stall(40).shown).toBe(1_090)
  })

  it('knows of a stall also when the clock was not read before it was over', () => {
    const time = new FakeTime().run(1_000)
    expect(time.stall(60_000).turn().shown).toBe(1_050)
  })

  it('takes back nothing that was shown before the stall was known for one', () => {
    const time = new FakeTime().run(1_000)
    expect(time.stall(240).shown).toBe(1_240)
    expect(time.stall(760).shown).toBe(1_240)
    expect(time.turn().shown).toBe(1_240)
    // It stands until what it should show has come so far.
    expect(time.run(150).shown).toBe(1_240)
    expect(time.run(100).shown).toBeGreaterThan(1_290)
  })

  it('is not talked out of a stall by being looked at', () => {
    const time = new FakeTime().run(1_000)
    for (let i = 0; i < 1_000; i++) time.stall(10).clock.now()
    expect(time.shown).toBe(1_250)
  })

  it('runs 5 % faster while it is behind, and no more once it is in step', () => {
    const time = new FakeTime().stall(1_050).turn()
    expect(time.shown).toBe(50)
    expect(time.run(10_000).shown).toBe(10_550)
    expect(time.run(10_000).shown).toBe(21_050)
    expect(time.run(10_000).shown).toBe(31_050)
  })

  it('adds stall to stall', () => {
    const time = new FakeTime()
    for (let i = 0; i < 10; i++) time.stall(1_050).turn()
    expect(time.shown).toBeGreaterThanOrEqual(500)
    expect(time.shown).toBeLessThan(530)
  })

  it('is never more than ten minutes behind', () => {
    const time = new FakeTime().run(1_000)
    expect(time.stall(3_600_000).shown).toBe(3_001_000)
    expect(time.turn().shown).toBe(3_001_000)
    expect(time.stall(50_000).shown).toBe(3_051_000)
    // So it is in step again after 200 minutes.
    expect(time.turn().run(12_000_000).shown).toBe(time.wallMs - START_MS)
  })

  it('jumps with the wall clock, either way', () => {
    const time = new FakeTime().run(1_000)
    time.wallMs += 5_000
    expect(time.shown).toBe(6_000)
    time.wallMs -= 20_000
    expect(time.shown).toBe(-14_000)
    expect(time.run(100).shown).toBe(-13_900)
  })

  it('goes on at its own pace when the wall clock is set back by more than ten minutes', () => {
    const time = new FakeTime().run(1_000)
    time.wallMs += YEAR_MS
    expect(time.shown).toBe(YEAR_MS + 1_000)
    time.wallMs -= YEAR_MS
    expect(time.shown).toBe(YEAR_MS + 1_000)
    expect(time.run(5_000).shown).toBe(YEAR_MS + 6_000)
    // A stall is a stall.
    expect(time.stall(60_000).turn().shown).toBe(YEAR_MS + 6_050)
  })

  it('is in step again once the wall clock has come so far', () => {
    const time = new FakeTime().run(1_000)
    time.clock.goOnFrom(START_MS + HOUR_MS)
    expect(time.run(500).shown).toBe(HOUR_MS + 500)
    // It was the wall clock that was wrong, and an operator sets it right.
    time.wallMs += 2 * HOUR_MS
    expect(time.shown).toBe(2 * HOUR_MS + 1_500)
    time.wallMs -= 20_000
    expect(time.shown).toBe(2 * HOUR_MS - 18_500)
  })

  it('is closed: the beat ends, and it goes on with the wall clock', () => {
    const time = new FakeTime().stall(1_050).turn()
    time.clock.close()
    expect(time.beat).toBeNull()
    expect(time.stall(10_000).shown).toBe(10_050)
  })

  it('never runs backwards, nor ahead of the wall clock, nor more than 5 % faster', () => {
    const step = fc.record({
      ms: fc.oneof(fc.double({ min: 0, max: 60, noNaN: true }), fc.integer({ min: 0, max: 3_000 })),
      turns: fc.boolean(),
      looks: fc.boolean(),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const time = new FakeTime()
        let before = { shown: time.shown, wallMs: time.wallMs }
        for (const { ms, turns, looks } of steps) {
          time.stall(ms)
          if (turns) time.turn()
          if (!looks) continue
          const now = { shown: time.shown, wallMs: time.wallMs }
          expect(Number.isInteger(now.shown)).toBe(true)
          expect(now.shown).toBeGreaterThanOrEqual(before.shown)
          expect(now.shown).toBeLessThanOrEqual(now.wallMs - START_MS)
          // The gain of a beat comes at its end: up to 250 ms of it may be from before the look.
          const most = (now.wallMs - before.wallMs) * 1.05 + 250 * 0.05 + 2
          expect(now.shown - before.shown).toBeLessThanOrEqual(most)
          before = now
        }
      }),
      { numRuns: 500 },
    )
  })
})

const LEASE_MS = 1_000
const TASK = { job: 'a', stage: 0, segment: 0 }

async function own(): Promise<{ release(): Promise<void> }> {
  return { release: async () => undefined }
}

async function refuse(): Promise<never> {
  throw new Error('another process has it')
}

async function openOn(options: Partial<DirectoryOptions>): Promise<DirectoryStore> {
  return openDirectory('/store', { disk: new SimDisk(), own, segmentBytes: 16 * 1_024, ...options })
}

/** Claims a job, keeps the event loop to itself for longer than the lease, and reports. */
async function holdUp(clock?: Clock): Promise<{ verdict: string | undefined; due: string[] }> {
  const store = await openOn(clock === undefined ? {} : { clock })
  const spec = plain({}, { leaseMs: LEASE_MS })
  await store.execute([{ type: 'SubmitJob', job: TASK.job, spec }])
  const channels = [{ queue: 'default', type: 'test', stage: null }]
  const [lease] = await store.claim({ worker: 'w', request: 1, channels, max: 1, started: true })
  const until = performance.now() + 1.5 * LEASE_MS
  while (performance.now() < until);
  const upkeep = await store.query({ kind: 'upkeep', limit: 10 })
  const [answer] = await store.execute([
    { type: 'ExtendLease', ...TASK, lease: lease?.lease as number, worker: 'w', extension: 1 },
  ])
  await store.close()
  return { verdict: answer?.verdict, due: upkeep.map(({ type }) => type) }
}

describe('a lease whose own process stood still for longer than it', () => {
  it('is not lost in a directory store', async () => {
    expect(await holdUp()).toEqual({ verdict: 'committed', due: [] })
  })

  it('would be lost by the wall clock', async () => {
    expect(await holdUp(systemClock)).toEqual({ verdict: 'cancelled', due: ['ExpireLease'] })
  })
})

describe('a log whose time is far ahead of the machine', () => {
  const spec = plain({}, { leaseMs: LEASE_MS })
  const channels = [{ queue: 'default', type: 'test', stage: null }]
  const request = { worker: 'w', request: 1, channels, max: 1, started: true }

  /** A job was granted when the clock was this far ahead, and then it was set right. */
  async function openedAfter(aheadMs: number, clockOf: (time: FakeTime) => Clock) {
    const disk = new SimDisk()
    const wrong = new FakeTime()
    wrong.wallMs += aheadMs
    const before = await openOn({ disk, clock: wrong.clock })
    await before.execute([{ type: 'SubmitJob', job: TASK.job, spec }])
    await before.claim(request)
    await before.close()
    const time = new FakeTime()
    const notices: StoreNotice[] = []
    const onNotice = (notice: StoreNotice) => notices.push(notice)
    const store = await openOn({ disk, clock: clockOf(time), onNotice })
    const due = async () =>
      (await store.query({ kind: 'upkeep', limit: 9 })).map(({ type }) => type)
    return { store, time, notices, due }
  }

  it('goes on from there: a lease of a second ends after a second, and not in years', async () => {
    const { store, time, notices, due } = await openedAfter(3 * YEAR_MS, ({ clock }) => clock)
    expect(notices).toEqual([{ kind: 'clock-behind', byMs: 3 * YEAR_MS }])
    expect(await due()).toEqual([])
    time.run(LEASE_MS)
    expect(await due()).toEqual(['ExpireLease'])
    await store.execute([{ type: 'ExpireLease', ...TASK, lease: 1 }])
    const [again] = await store.claim({ ...request, request: 2 })
    expect(again).toMatchObject({ job: TASK.job, attempt: 2 })
    await store.close()
  })

  it('would stop all work for years if the clock could not', async () => {
    const { store, time, due } = await openedAfter(3 * YEAR_MS, ({ clock }) => ({
      now: () => clock.now(),
    }))
    time.run(100 * LEASE_MS)
    expect(await due()).toEqual([])
    await store.close()
  })

  it('is waited for when it is only a little ahead', async () => {
    const { store, time, notices, due } = await openedAfter(HOUR_MS / 6, ({ clock }) => clock)
    expect(notices).toEqual([])
    time.run(HOUR_MS / 6 + LEASE_MS)
    expect(await due()).toEqual(['ExpireLease'])
    await store.close()
  })
})

/** The timers that were made and not ended. */
function timersLeft(): () => number {
  const made = vi.spyOn(globalThis, 'setInterval')
  const ended = vi.spyOn(globalThis, 'clearInterval')
  return () => {
    const timers = made.mock.results.map(({ value }) => value as unknown)
    expect(timers.filter((timer) => (timer as NodeJS.Timeout).hasRef())).toEqual([])
    const gone = new Set<unknown>(ended.mock.calls.map(([timer]) => timer))
    return timers.filter((timer) => !gone.has(timer)).length
  }
}

describe('the clock of a directory store', () => {
  afterEach(() => {
    vi.restoreAllMocks()
  })

  it('beats while the store is open, and keeps no process alive', async () => {
    const left = timersLeft()
    const store = await openOn({})
    expect(left()).toBe(1)
    await store.close()
    expect(left()).toBe(0)
  })

  it('ends when the store does not open, whether or not it came to be owned', async () => {
    const left = timersLeft()
    await expect(openOn({ own: refuse })).rejects.toThrow('another process has it')
    expect(left()).toBe(0)
    const disk = new SimDisk()
    vi.spyOn(disk, 'list').mockImplementation(refuse)
    await expect(openOn({ disk })).rejects.toThrow('another process has it')
    expect(left()).toBe(0)
  })

  it('is none of its own when one is given', async () => {
    const left = timersLeft()
    const store = await openOn({ clock: systemClock })
    expect(left()).toBe(0)
    await store.close()
  })
})
