/** What a real engine is measured by: each figure against what was done. */
import { describe, expect, it, onTestFinished } from 'vitest'
import { CutProxy } from '../../../test/support/cut-proxy.ts'
import { EVERY_ENGINE } from '../../../test/support/engines.ts'
import { freshSchema } from '../../../test/support/postgres.ts'
import { effect, job, message, open, pipeline, TerminalError, typed } from '../../index.ts'
import type { Pawl } from '../../index.ts'
import type { EngineAccess } from '../../engine/engine-access.ts'
import { accessTo } from '../../engine/engine-access.ts'
import type { EngineMeter, MetricFamily } from './index.ts'
import { METRIC_NAMES, observe } from './index.ts'
import { METRIC_TERMS } from './metric-names.ts'

const good = job('good', { queue: 'fine', run: () => 'done' })
const bad = job('bad', {
  retry: { max: 1, delay: 0 },
  run: () => Promise.reject(new Error('no')),
})
const wrong = job('wrong', {
  quarantine: 'never',
  run: () => {
    throw new TerminalError('never')
  },
})
const approval = message('approval', { input: typed<boolean>() })
const asks = job('asks', { messages: [approval], run: ({ waitFor }) => waitFor(approval) })
const naps = job('naps', { run: ({ sleep }) => sleep('nap', '1h') })
const film = pipeline('film', { input: typed<number[]>() }).stage('each', {
  each: 'input',
  run: ({ segment }) => segment,
})

function observed(pawl: Pawl, mostNames?: number): EngineMeter {
  const meter = observe(pawl, mostNames === undefined ? {} : { mostNames })
  onTestFinished(() => meter.close())
  return meter
}

class Figures {
  readonly #families: readonly MetricFamily[]

  constructor(families: readonly MetricFamily[]) {
    this.#families = families
  }

  /** Undefined: there is no such sample. */
  value(name: string, labels: Readonly<Record<string, string>> = {}): number | undefined {
    const family = this.#families.find((one) => one.name === name)
    const of = [...(family?.samples ?? []), ...(family?.distributions ?? [])].find((one) =>
      Object.entries(labels).every(([label, text]) => one.labels[label] === text),
    )
    return of === undefined ? undefined : 'value' in of ? of.value : of.count
  }
}

async function figuresOf(meter: EngineMeter): Promise<Figures> {
  return new Figures(await meter.families())
}

describe.each(EVERY_ENGINE)('an engine %s', (_, openEngine) => {
  it('is measured by what was done', async () => {
    const pawl = await openEngine()
    const meter = observed(pawl)
    const worker = pawl.work([good, bad, wrong, asks, naps, film], { concurrency: 4, signals: [] })
    const done = await pawl.submitMany(good, [{}, {}, {}])
    await Promise.all(done.map((handle) => handle.result()))
    await expect((await pawl.submit(bad)).result()).rejects.toThrow()
    await expect((await pawl.submit(wrong)).result()).rejects.toThrow()
    await (await pawl.submit(film, [1, 2])).result()
    const waiting = [await pawl.submit(asks), await pawl.submit(naps)]
    for (const { id } of waiting) {
      await expect.poll(async () => (await pawl.get(id))?.state).toBe('SUSPENDED')
    }
    const figures = await figuresOf(meter)
    const fine = { queue: 'fine', type: 'good' }
    expect(figures.value('pawl_store_up')).toBe(1)
    expect(figures.value('pawl_jobs_submitted_total', fine)).toBe(3)
    expect(figures.value('pawl_attempts_started_total', fine)).toBe(3)
    expect(figures.value('pawl_attempts_committed_total', fine)).toBe(3)
    expect(figures.value('pawl_wait_seconds', fine)).toBe(3)
    expect(figures.value('pawl_run_seconds', fine)).toBe(3)
    expect(figures.value('pawl_attempts_failed_total', { type: 'bad' })).toBe(2)
    expect(figures.value('pawl_quarantined_total', { type: 'bad' })).toBe(1)
    expect(figures.value('pawl_quarantine_jobs')).toBe(1)
    expect(figures.value('pawl_quarantine_oldest_seconds')).toBeGreaterThanOrEqual(0)
    expect(figures.value('pawl_entries_total', { entry: 'JobSubmitted' })).toBe(8)
    expect(figures.value('pawl_suspensions_total', { kind: 'message' })).toBe(1)
    expect(figures.value('pawl_suspensions_total', { kind: 'sleep' })).toBe(1)
    expect(figures.value('pawl_jobs', { state: 'SUSPENDED' })).toBe(2)
    expect(figures.value('pawl_jobs', { state: 'SUCCEEDED' })).toBe(4)
    expect(figures.value('pawl_queue_jobs', { queue: 'default', state: 'SUSPENDED' })).toBe(2)
    expect(figures.value('pawl_workers', { state: 'working' })).toBe(1)
    expect(figures.value('pawl_slots', { state: 'free' })).toBe(4)
    expect(figures.value('pawl_invariant_violations')).toBe(0)
    await worker.stop()
    await pawl.submit(good)
    const later = await figuresOf(meter)
    expect(later.value('pawl_queue_waiting', { queue: 'fine' })).toBe(1)
    await expect
      .poll(async () =>
        (await figuresOf(meter)).value('pawl_queue_oldest_seconds', { queue: 'fine' }),
      )
      .toBeGreaterThan(0)
    await pawl.pause('fine')
    expect((await figuresOf(meter)).value('pawl_queue_paused', { queue: 'fine' })).toBe(1)
  })
})

/** The event loop is measured between two runs of a timer, each of which must have come. */
function timers(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 30))
}

describe('what should be rare', () => {
  it('is counted: leases that are lost, stale reports, unknown outcomes', async () => {
    const pawl = await open('memory:')
    onTestFinished(() => pawl.close())
    const charge = effect('charge', {
      input: typed<string>(),
      run: (_, { signal }) =>
        new Promise((resolve) => {
          signal.addEventListener('abort', () => resolve(undefined))
        }),
    })
    const pays = job('pays', {
      effects: [charge],
      run: ({ commit }) => commit('paid', [charge('7')]),
    })
    pawl.work([pays], { signals: [] })
    const meter = observed(pawl)
    const { id } = await pawl.submit(pays)
    const started = async (): Promise<number | undefined> =>
      (await figuresOf(meter)).value('pawl_entries_total', { entry: 'EffectStarted' })
    await expect.poll(started).toBe(1)
    await pawl.revoke(id, { reason: 'it hangs' })
    const lost = await figuresOf(meter)
    expect(lost.value('pawl_leases_lost_total', { type: 'pays' })).toBe(1)
    expect(lost.value('pawl_unknown_outcomes_total')).toBe(1)
    expect(lost.value('pawl_quarantined_total', { type: 'pays' })).toBe(1)
    expect(lost.value('pawl_held_effect_jobs')).toBe(1)
    await pawl.resolveEffect(id, 0, { outcome: 'happened' })
    expect((await figuresOf(meter)).value('pawl_held_effect_jobs')).toBe(0)
  })

  it('is counted: a report that comes after its lease was taken away', async () => {
    const pawl = await open('memory:')
    onTestFinished(() => pawl.close())
    const meter = observed(pawl)
    const { id } = await pawl.submit(good)
    const access = accessTo(pawl) as EngineAccess
    const channels = [{ queue: 'fine', type: 'good', stage: null }]
    const claim = { worker: 'slow', request: 1, channels, max: 1, started: true }
    const [claimed] = await access.store.claim(claim)
    await pawl.revoke(id)
    const lease = { job: id, stage: 0, segment: 0, lease: claimed?.lease ?? 0, worker: 'slow' }
    const late = { type: 'CommitExecution', ...lease, output: '1', effects: [] } as const
    expect(await access.execute([late])).toMatchObject([{ verdict: 'cancelled' }])
    expect((await figuresOf(meter)).value('pawl_stale_reports_total')).toBe(1)
  })

  it('is measured: an event loop that is blocked', async () => {
    const pawl = await open('memory:')
    onTestFinished(() => pawl.close())
    const meter = observed(pawl)
    const most = { quantile: '1' }
    const delay = async (): Promise<number> =>
      (await figuresOf(meter)).value('pawl_event_loop_delay_seconds', most) ?? 0
    const blocked = async (): Promise<number> => {
      await delay()
      await timers()
      const until = performance.now() + 250
      while (performance.now() < until);
      await timers()
      return delay()
    }
    await expect.poll(blocked).toBeGreaterThan(0.2)
  })
})

describe('the labels', () => {
  it('are bounded: what comes later is counted together, and no counter shrinks', async () => {
    const pawl = await open('memory:')
    onTestFinished(() => pawl.close())
    const meter = observed(pawl, 3)
    const others = { queue: '(others)' }
    const submit = async (from: number): Promise<void> => {
      for (let i = from; i < from + 5; i++) {
        await pawl.submit(job(`type-${i}`, { queue: `queue-${i}`, run: () => null }))
      }
    }
    await submit(0)
    const first = await figuresOf(meter)
    expect(first.value('pawl_jobs_submitted_total', others)).toBe(2)
    expect(first.value('pawl_queue_waiting', others)).toBe(2)
    await submit(5)
    await submit(0)
    const then = await figuresOf(meter)
    expect(then.value('pawl_jobs_submitted_total', others)).toBe(9)
    expect(then.value('pawl_queue_waiting', others)).toBe(9)
    expect(then.value('pawl_wait_seconds', others)).toBe(0)
    const named = (await meter.families()).find(({ name }) => name === 'pawl_jobs_submitted_total')
    expect(named?.samples).toHaveLength(4)
  })

  it('are those that the terms name, and every metric that is named is there', async () => {
    const pawl = await open('memory:')
    onTestFinished(() => pawl.close())
    pawl.work([good, bad], { signals: [] })
    await (await pawl.submit(good)).result()
    // What was refused once is counted from then on.
    await expect(pawl.cancel('none')).rejects.toThrow()
    const families = await observed(pawl).families()
    expect(families.map(({ name }) => name)).toEqual(METRIC_NAMES)
    for (const { name, samples, distributions } of families) {
      const { labels } = METRIC_TERMS[name as keyof typeof METRIC_TERMS]
      for (const one of [...samples, ...distributions]) {
        expect(Object.keys(one.labels).toSorted()).toEqual([...labels].toSorted())
      }
    }
  })
})

describe('an engine whose database is away', () => {
  it('is measured all the same: the store is not up, and its event loop is measured', async () => {
    const { url, schema } = await freshSchema()
    const proxy = await CutProxy.to(url)
    const pawl = await open(proxy.through(url), { schema })
    onTestFinished(async () => {
      proxy.mend()
      await pawl.close()
    })
    const meter = observed(pawl)
    expect((await figuresOf(meter)).value('pawl_store_up')).toBe(1)
    proxy.cut('all')
    const away = await figuresOf(meter)
    expect(away.value('pawl_store_up')).toBe(0)
    expect(away.value('pawl_jobs', { state: 'QUEUED' })).toBe(undefined)
    expect(
      away.value('pawl_event_loop_delay_seconds', { quantile: '0.99' }),
    ).toBeGreaterThanOrEqual(0)
    proxy.mend()
    await expect.poll(async () => (await figuresOf(meter)).value('pawl_store_up')).toBe(1)
  })
})

describe('observe()', () => {
  it('refuses what is no engine, and options that do not exist', async () => {
    const pawl = await open('memory:')
    onTestFinished(() => pawl.close())
    expect(() => observe({} as Pawl)).toThrow(/takes an engine/)
    expect(() => observe(pawl, { most: 1 } as never)).toThrow(/mostNames/)
    expect(() => observe(pawl, { mostNames: 0 })).toThrow(/whole number from 1/)
  })
})
