/** Policies that `open` says once, for definitions that say nothing of them. */
import { describe, expect, it } from 'vitest'
import { EVERY_ENGINE } from '../../../test/support/engines.ts'
import { engineAt, SHARED } from '../../../test/scenarios/shared/places.ts'
import type { SharedPlace } from '../../../test/scenarios/shared/places.ts'
import type { JobSpec } from '../../kernel/index.ts'
import type { Pawl } from '../../index.ts'
import { child, effect, job, open, pipeline } from '../../index.ts'

const run = (): null => null
const fails = { run: () => Promise.reject(new Error('no')) }

async function specOf(pawl: Pawl, id: string): Promise<JobSpec> {
  for (const { entry } of await pawl.history(id)) {
    if (entry?.type === 'JobSubmitted') return entry.spec
  }
  throw new Error(`Job ${id} was not submitted.`)
}

describe.each(EVERY_ENGINE)('with defaults, an engine %s', (_, openEngine) => {
  it('records them with each job whose definition does not say otherwise', async () => {
    const pawl = await openEngine({
      defaults: {
        lease: '45s',
        timeout: '2m',
        retry: { max: 1, delay: '5s' },
        quarantine: 'never',
        retention: '3h',
      },
    })
    const plain = job('plain', fails)
    const own = job('own', { ...fails, lease: '1m', retry: { max: 0 }, quarantine: 'always' })
    const { policy, retainMs } = await specOf(pawl, (await pawl.submit(plain)).id)
    expect(policy).toMatchObject({ leaseMs: 45_000, timeoutMs: 120_000, quarantine: 'never' })
    expect(policy?.retry).toMatchObject({ max: 1, delayMs: 5_000, backoff: 'fixed' })
    expect(retainMs).toBe(3 * 3_600_000)
    const [handle] = await pawl.submitMany(own, [{ options: { retention: '1h' } }])
    const said = await specOf(pawl, handle?.id as string)
    expect(said.policy).toMatchObject({
      leaseMs: 60_000,
      timeoutMs: 120_000,
      quarantine: 'always',
      retry: { max: 0, delayMs: 1_000 },
    })
    expect(said.retainMs).toBe(3_600_000)
  })

  it('fails jobs that used up their retries, where it says so once', async () => {
    const pawl = await openEngine({ defaults: { quarantine: 'never', retry: { max: 0 } } })
    const plain = job('plain', fails)
    const kept = job('kept', { ...fails, quarantine: 'always' })
    pawl.work([plain, kept])
    await expect((await pawl.submit(plain)).result()).rejects.toMatchObject({ code: 'JobFailed' })
    const other = await pawl.submit(kept)
    await expect(other.result()).rejects.toMatchObject({ code: 'JobQuarantined' })
  })

  it('records them with each stage, after what the stage and its pipeline say', async () => {
    const pawl = await openEngine({ defaults: { lease: '45s', quarantine: 'never' } })
    const film = pipeline('film', { lease: '1m' })
      .stage('split', { run })
      .stage('join', { after: 'split', quarantine: 'always', lease: '2m', run })
    const { stages } = await specOf(pawl, (await pawl.submit(film)).id)
    expect(stages?.map(({ policy: { leaseMs, quarantine } }) => [leaseMs, quarantine])).toEqual([
      [60_000, 'never'],
      [120_000, 'always'],
    ])
  })

  it('records them with children and with jobs of schedules, and leaves effects their own retries', async () => {
    const pawl = await openEngine({ defaults: { lease: '45s', retry: { max: 9 } } })
    const small = job('small', { run: () => null })
    const ping = effect('ping', { run: () => null })
    const parent = job('parent', {
      effects: [ping],
      run: ({ commit }) => commit(null, [ping()], [child(small)]),
    })
    pawl.work([parent, small])
    const handle = await pawl.submit(parent)
    await handle.result()
    for (const { entry } of await pawl.history(handle.id)) {
      if (entry?.type !== 'ExecutionCommitted') continue
      expect(entry.effects.map(({ retry }) => retry.max)).toEqual([3, 3])
      expect(entry.effects[1]?.child?.policy).toMatchObject({ leaseMs: 45_000, retry: { max: 9 } })
    }
    await pawl.schedule('often', { job: small, every: '1s' })
    await expect
      .poll(async () => (await pawl.list({ type: 'small' })).jobs.length, { timeout: 20_000 })
      .toBeGreaterThan(1)
    const { jobs } = await pawl.list({ type: 'small' })
    for (const { id } of jobs) {
      expect((await specOf(pawl, id)).policy).toMatchObject({ leaseMs: 45_000, retry: { max: 9 } })
    }
  })
})

it.each(Object.keys(SHARED))('workers with other defaults change nothing: %s', async (name) => {
  const place = await (SHARED[name] as () => Promise<SharedPlace>)()
  const client = await engineAt(place, { defaults: { quarantine: 'never', retry: { max: 0 } } })
  const worker = await engineAt(place, { defaults: { quarantine: 'always', retry: { max: 7 } } })
  const plain = job('plain', fails)
  worker.work([plain])
  const handle = await client.submit(plain)
  await expect(handle.result({ timeout: '20s' })).rejects.toMatchObject({ code: 'JobFailed' })
  const { executions } = await handle.info()
  expect(executions).toHaveLength(1)
})

it.each([
  [{ queue: 'x' }, "There are no `defaults` for 'queue'"],
  [{ stalled: {} }, "'lease', 'timeout', 'retry', 'quarantine', 'retention'"],
  [{ quarantin: 'never' }, "There are no `defaults` for 'quarantin'"],
  [{ quarantine: 'maybe' }, 'The policy of the defaults must be'],
  [{ lease: '-1s' }, 'The lease of the defaults'],
  [{ retry: { max: -1 } }, 'The policy of the defaults must be'],
  [null, '`defaults` is an object, not null'],
])('defaults such as %j are refused', async (defaults, why) => {
  await expect(open('memory:', { defaults: defaults as never })).rejects.toThrow(why)
})
