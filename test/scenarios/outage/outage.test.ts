/** PostgreSQL is away for longer than a lease, and comes back. */
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Pawl, PawlError } from '../../../src/index.ts'
import { job, open, typed } from '../../../src/index.ts'
import { recorded } from '../../support/history.ts'
import { deferred } from '../../support/engines.ts'
import { CutProxy } from '../../support/cut-proxy.ts'
import { freshSchema } from '../../support/postgres.ts'

const LEASE_MS = 600
const RUN_MS = 300

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

interface World {
  readonly proxy: CutProxy
  /** Behind the proxy. */
  readonly far: Pawl
  /** Beside it: this one is never cut off. */
  readonly near: Pawl
}

async function world(): Promise<World> {
  const { url, schema } = await freshSchema()
  const proxy = await CutProxy.to(url)
  const [far, near] = await Promise.all([
    open(proxy.through(url), { schema }),
    open(url, { schema }),
  ])
  onTestFinished(async () => {
    proxy.mend()
    await Promise.all([far.close(), near.close()])
  })
  return { proxy, far, near }
}

describe('a claim that was sent before an outage and answered after it', () => {
  it('is worth its lease: the jobs run once, those that wait in the worker too', async () => {
    const { proxy, far, near } = await world()
    const runs: number[] = []
    const long = job('long', {
      lease: LEASE_MS,
      input: typed<number>(),
      run: async ({ input }) => {
        runs.push(input)
        await pause(RUN_MS)
        return input
      },
    })
    const warm = await far.submit(long, 0)
    far.work([long], { poll: 50, concurrency: 2 })
    await warm.result()
    proxy.cut('all')
    const handles = await near.submitMany(long, [{ input: 1 }, { input: 2 }, { input: 3 }])
    await pause(2 * LEASE_MS)
    proxy.mend()
    for (const [i, handle] of handles.entries()) {
      expect(await handle.result()).toBe(i + 1)
      const types = recorded(await near.history(handle.id)).map(({ entry }) => entry.type)
      expect(types.filter((type) => type === 'LeaseGranted' || type === 'LeaseExpired')).toEqual([
        'LeaseGranted',
      ])
    }
    expect(runs.toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3])
  })
})

describe('while PostgreSQL is away,', () => {
  it('a worker stops by its deadline, and the engine closes soon after it', async () => {
    const { proxy, far } = await world()
    const begun = deferred<AbortSignal>()
    const ended = deferred()
    const endless = job('endless', {
      run: ({ signal }) => {
        begun.resolve(signal)
        return new Promise<never>(() => undefined)
      },
    })
    const brief = job('brief', { run: () => ended.promise })
    await far.submit(endless)
    await far.submit(brief)
    const worker = far.work([endless, brief], { poll: 50, shutdown: 200 })
    const signal = await begun.promise
    await expect.poll(() => worker.running).toBe(2)
    proxy.cut('all')
    // Its report waits for the database, and so do claims.
    ended.resolve()
    await pause(100)
    const stoppingAt = performance.now()
    await worker.stop()
    expect(signal.reason).toMatchObject({ reason: 'shutdown' })
    expect(performance.now() - stoppingAt).toBeLessThan(4_500)
    const closingAt = performance.now()
    await far.close()
    expect(performance.now() - closingAt).toBeLessThan(4_500)
  })

  it('calls that wait for it are answered when the engine closes', async () => {
    const { proxy, far } = await world()
    const never = job('never', { run: () => null })
    proxy.cut('all')
    const submitting = far.submit(never).then(
      () => 'submitted',
      (error: unknown) => error,
    )
    await pause(50)
    const closingAt = performance.now()
    await far.close()
    // Nothing was sent if the connection was known to be gone; else that is not known.
    expect(['SubmitInterrupted', 'SqlFailed']).toContain(((await submitting) as PawlError).code)
    expect(performance.now() - closingAt).toBeLessThan(4_500)
  })
})
