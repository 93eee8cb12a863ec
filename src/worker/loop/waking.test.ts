import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { deferred, ENGINES } from '../../../test/support/engines.ts'
import { hookedEngine } from '../../../test/support/hooked-store.ts'
import type { AnyJob, Handle, Pawl } from '../../index.ts'
import { job, typed } from '../../index.ts'
import type { Reservation, Store, Taker } from '../../store/index.ts'
import { MemoryStore } from '../../store/index.ts'

const JOBS = 50

/** Jobs that end after one another, and together, in turns. */
async function run({ input }: { readonly input: number }): Promise<number> {
  for (let i = 0; i < input % 4; i++) await turn()
  return input
}

const input = typed<number>()
const plain = job('plain', { input, run })
const limited = job('limited', { input, limits: [{ key: 'one', concurrency: 1 }], run })
const bounded = job('bounded', { input, queue: 'bounded', run })

/** Until it is told to stop. */
const waiting = job('waiting', {
  run: ({ signal }) =>
    new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve())),
})

/** Some at once, and some while the worker is about to ask for more. */
async function submitted(pawl: Pawl, definition: AnyJob): Promise<Handle[]> {
  const items = Array.from({ length: JOBS / 2 }, (_, i) => ({ input: i }))
  const handles: Handle[] = await pawl.submitMany(definition as typeof plain, items)
  const late: Promise<Handle>[] = []
  for (let i = JOBS / 2; i < JOBS; i++) {
    late.push(pawl.submit(definition as typeof plain, i))
    for (let k = 0; k < i % 3; k++) await turn()
  }
  return [...handles, ...(await Promise.all(late))]
}

describe.each(ENGINES)('a worker that does not look by itself %s', (_, open) => {
  for (const concurrency of [1, 2]) {
    it.each([plain, limited, bounded])(
      `is woken for every job, ${concurrency} at once: $name`,
      async (definition) => {
        const pawl = await open()
        await pawl.configure('bounded', { concurrency: 1 })
        pawl.work([definition], { poll: '1h', concurrency })
        const handles = await submitted(pawl, definition)
        const results = await Promise.all(handles.map((one) => one.result()))
        expect(results).toEqual(Array.from({ length: JOBS }, (_one, i) => i))
      },
    )
  }

  it('takes the next job when one was cancelled, and nothing is reported of it', async () => {
    const pawl = await open()
    pawl.work([waiting, plain], { poll: '1h', concurrency: 1 })
    const first = await pawl.submit(waiting)
    await expect.poll(() => first.state()).toBe('RUNNING')
    const second = await pawl.submit(plain, 1)
    await first.cancel()
    expect(await second.result()).toBe(1)
  })
})

/** Claims are answered when the test says so, AFTER they were decided. */
function slowClaims(
  given?: Store,
): ReturnType<typeof hookedEngine> & { held: (() => void)[]; hold: boolean } {
  const engine = hookedEngine(given === undefined ? {} : { store: given })
  const store = given ?? engine.store
  const slow = { ...engine, held: [] as (() => void)[], hold: true }
  const claim = store.claim.bind(store)
  store.claim = async (request) => {
    const claimed = await claim(request)
    if (slow.hold) await new Promise<void>((resolve) => slow.held.push(resolve))
    return claimed
  }
  onTestFinished(async () => {
    slow.hold = false
    for (const release of slow.held) release()
    await engine.pawl.close()
  })
  return slow
}

/** Others use it, too, so a worker is not woken by what its own process does; and news are lost. */
function sharedStore(): Store {
  const store: Store = new MemoryStore({ now: () => Date.now() })
  return Object.assign(store, { onNews: () => () => undefined })
}

describe('a claim that is under way', () => {
  it('is followed by another if a job came meanwhile', async () => {
    const slow = slowClaims()
    slow.pawl.work([plain], { poll: '1h', concurrency: 2 })
    await expect.poll(() => slow.held).toHaveLength(1)
    const handle = await slow.pawl.submit(plain, 1)
    slow.hold = false
    slow.held[0]?.()
    expect(await handle.result()).toBe(1)
  })

  it('and got all it asked for is followed by another, if a handler ended meanwhile', async () => {
    const slow = slowClaims(sharedStore())
    const ends = [deferred(), deferred(), deferred()]
    const begun: number[] = []
    const numbered = job('numbered', {
      input: typed<number>(),
      run: async ({ input: number }) => {
        begun.push(number)
        await ends[number]?.promise
      },
    })
    await slow.pawl.submit(numbered, 0)
    const worker = slow.pawl.work([numbered], { poll: '1h', concurrency: 2 })
    await expect.poll(() => slow.held).toHaveLength(1)
    slow.held[0]?.()
    await expect.poll(() => begun).toEqual([0])
    await slow.pawl.submitMany(numbered, [{ input: 1 }, { input: 2 }])
    worker.wake()
    await expect.poll(() => slow.held).toHaveLength(2)
    // It asked for one, and there is room for two now.
    ends[0]?.resolve()
    await expect.poll(() => worker.running).toBe(0)
    slow.hold = false
    slow.held[1]?.()
    await expect.poll(() => begun).toEqual([0, 1, 2])
    for (const { resolve } of ends) resolve()
  })
})

const CHANNEL = { queue: 'default', type: 'plain', stage: null }

/** A store that asks its workers for room, when the test says so. */
function standingBy() {
  const slow = slowClaims()
  const store: Store = slow.store
  const takers: Taker[] = []
  const kept: Reservation[] = []
  store.standBy = (taker) => {
    takers.push(taker)
    return () => void takers.pop()
  }
  const settle = (): void => kept.splice(0).forEach((one) => one.settle([]))
  onTestFinished(settle)
  return Object.assign(slow, {
    takers,
    settle,
    /** How many places are kept. */
    reserve(most: number, channel = CHANNEL): number {
      const reservation = takers[0]?.reserve(channel, most) ?? null
      if (reservation !== null) kept.push(reservation)
      return reservation?.places ?? 0
    },
  })
}

describe('a worker that is asked for room', () => {
  it('keeps none that a claim asks for already', async () => {
    const slow = standingBy()
    slow.pawl.work([plain], { poll: '1h', concurrency: 2 })
    await expect.poll(() => slow.held).toHaveLength(1)
    expect(slow.reserve(1)).toBe(0)
    slow.hold = false
    slow.held[0]?.()
    await expect.poll(() => slow.reserve(5)).toBe(2)
  })

  it('keeps it for what it runs, and for nothing else', async () => {
    const slow = standingBy()
    slow.hold = false
    slow.pawl.work([plain], { poll: '1h', concurrency: 2 })
    await expect.poll(() => slow.reserve(1)).toBe(1)
    expect(slow.reserve(1, { ...CHANNEL, type: 'other' })).toBe(0)
    expect(slow.reserve(5)).toBe(1)
    expect(slow.reserve(5)).toBe(0)
  })

  it('looks for what came while all of its room was kept', async () => {
    const slow = standingBy()
    slow.hold = false
    slow.pawl.work([plain], { poll: '1h', concurrency: 1 })
    await expect.poll(() => slow.reserve(1)).toBe(1)
    const handle = await slow.pawl.submit(plain, 4)
    expect(await handle.state()).toBe('QUEUED')
    slow.settle()
    expect(await handle.result()).toBe(4)
  })

  it('keeps none while it knows of something that waits', async () => {
    const slow = standingBy()
    slow.hold = false
    slow.pawl.work([plain], { poll: '1h', concurrency: 1 })
    await expect.poll(() => slow.reserve(1)).toBe(1)
    const handle = await slow.pawl.submit(plain, 4)
    slow.settle()
    expect(slow.reserve(1)).toBe(0)
    expect(await handle.result()).toBe(4)
  })

  it('keeps none between the answer to a claim and the jobs that it takes', async () => {
    const slow = standingBy()
    const handle = await slow.pawl.submit(waiting)
    const worker = slow.pawl.work([waiting], { poll: '1h', concurrency: 1, shutdown: 0 })
    await expect.poll(() => slow.held).toHaveLength(1)
    slow.hold = false
    slow.held[0]?.()
    for (let ticks = 0; ticks < 20; ticks++) {
      expect(slow.reserve(1, { ...CHANNEL, type: 'waiting' })).toBe(0)
      await Promise.resolve()
    }
    expect(await handle.state()).toBe('RUNNING')
    await worker.stop()
  })

  it('is not asked any more when it has stopped', async () => {
    const slow = standingBy()
    slow.hold = false
    const worker = slow.pawl.work([plain], { poll: '1h' })
    expect(slow.takers).toHaveLength(1)
    await worker.stop()
    expect(slow.takers).toEqual([])
  })
})
