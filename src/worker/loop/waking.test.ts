import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { recorded } from '../../../test/support/history.ts'
import { deferred, ENGINES } from '../../../test/support/engines.ts'
import { hookedEngine } from '../../../test/support/hooked-store.ts'
import type { AnyJob, Handle, Pawl } from '../../index.ts'
import { job, typed } from '../../index.ts'
import { plain as plainSpec } from '../../../test/support/specs.ts'
import type { ClaimWithSubmit, SubmitClaimer } from '../../store/command-batcher.ts'
import { CommandBatcher } from '../../store/command-batcher.ts'
import type { Store } from '../../store/index.ts'
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

describe('a worker that is killed', () => {
  it('gives nothing back of a claim that is answered afterwards, as a process that died would', async () => {
    const slow = slowClaims()
    const handle = await slow.pawl.submit(plain, 1)
    const worker = slow.pawl.work([plain], { poll: '1h' })
    await expect.poll(() => slow.held).toHaveLength(1)
    await worker.kill()
    slow.hold = false
    slow.held[0]?.()
    // It would have gone out by now: another worker has claimed, and run a job of its own.
    const other = slow.pawl.work([limited])
    expect(await (await slow.pawl.submit(limited, 2)).result()).toBe(2)
    await other.stop()
    const entries = recorded(await slow.pawl.history(handle.id)).map(({ entry }) => entry.type)
    expect(entries).toEqual(['JobSubmitted', 'LeaseGranted'])
  })
})

/** A worker whose claims travel with a submit when the test says so. */
function standingBy() {
  const slow = slowClaims()
  const claimers: SubmitClaimer[] = []
  const kept: ClaimWithSubmit[] = []
  const addClaimer = vi
    .spyOn(CommandBatcher.prototype, 'addClaimer')
    .mockImplementation((claimer) => {
      claimers.push(claimer)
      return () => void claimers.pop()
    })
  const settle = (): void => kept.splice(0).forEach((one) => one.granted([]))
  onTestFinished(() => {
    settle()
    addClaimer.mockRestore()
  })
  return Object.assign(slow, {
    claimers,
    settle,
    /** How many places a claim asks for that travels with so many submits. */
    reserve(most: number, type = 'plain'): number {
      const spec = plainSpec({ type }, { queue: 'default' })
      const submits = Array.from({ length: most }, (_, i) => {
        return { type: 'SubmitJob', job: `job ${i}`, spec } as const
      })
      const claim = claimers[0]?.claimFor(submits) ?? null
      if (claim !== null) kept.push(claim)
      return claim?.request.max ?? 0
    },
  })
}

describe('a claim of a worker that travels with a submit', () => {
  it('asks for no room that a claim asks for already', async () => {
    const slow = standingBy()
    slow.pawl.work([plain], { poll: '1h', concurrency: 2 })
    await expect.poll(() => slow.held).toHaveLength(1)
    expect(slow.reserve(1)).toBe(0)
    slow.hold = false
    slow.held[0]?.()
    await expect.poll(() => slow.reserve(5)).toBe(2)
  })

  it('asks for what the worker runs, and for nothing else', async () => {
    const slow = standingBy()
    slow.hold = false
    slow.pawl.work([plain], { poll: '1h', concurrency: 2 })
    await expect.poll(() => slow.reserve(1)).toBe(1)
    expect(slow.reserve(1, 'other')).toBe(0)
    expect(slow.reserve(5)).toBe(1)
    expect(slow.reserve(5)).toBe(0)
  })

  it('keeps its room, and what came meanwhile is looked for afterwards', async () => {
    const slow = standingBy()
    slow.hold = false
    slow.pawl.work([plain], { poll: '1h', concurrency: 1 })
    await expect.poll(() => slow.reserve(1)).toBe(1)
    const handle = await slow.pawl.submit(plain, 4)
    expect(await handle.state()).toBe('QUEUED')
    slow.settle()
    expect(await handle.result()).toBe(4)
  })

  it('is not made while the worker knows of something that waits', async () => {
    const slow = standingBy()
    slow.hold = false
    slow.pawl.work([plain], { poll: '1h', concurrency: 1 })
    await expect.poll(() => slow.reserve(1)).toBe(1)
    const handle = await slow.pawl.submit(plain, 4)
    slow.settle()
    expect(slow.reserve(1)).toBe(0)
    expect(await handle.result()).toBe(4)
  })

  it('is not made between the answer to a claim and the jobs that the worker takes', async () => {
    const slow = standingBy()
    const handle = await slow.pawl.submit(waiting)
    const worker = slow.pawl.work([waiting], { poll: '1h', concurrency: 1, shutdown: 0 })
    await expect.poll(() => slow.held).toHaveLength(1)
    slow.hold = false
    slow.held[0]?.()
    for (let ticks = 0; ticks < 20; ticks++) {
      expect(slow.reserve(1, 'waiting')).toBe(0)
      await Promise.resolve()
    }
    expect(await handle.state()).toBe('RUNNING')
    await worker.stop()
  })

  it('is not made any more when the worker has stopped', async () => {
    const slow = standingBy()
    slow.hold = false
    const worker = slow.pawl.work([plain], { poll: '1h' })
    expect(slow.claimers).toHaveLength(1)
    await worker.stop()
    expect(slow.claimers).toEqual([])
  })
})
