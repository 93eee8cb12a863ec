/**
 * Real processes that are killed and stopped: their jobs run again within seconds, not after a lease, and
 * one that only seemed to be dead commits nothing.
 */
import { existsSync } from 'node:fs'
import { readdir, rm } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Entry, Handle, Pawl } from '../../../src/index.ts'
import type { EntryOf } from '../../../src/kernel/index.ts'
import { open } from '../../../src/index.ts'
import { buildFiles, removeBuilt, THREADS } from '../../support/built.ts'
import { temporaryFolder } from '../../support/engines.ts'
import type { SharedPlace } from '../shared/places.ts'
import { engineAt, SHARED } from '../shared/places.ts'
import { hanging, late, longNeighbour, neighbour, paying, poison, slowPoison } from './jobs.ts'
import { WorkerProcess } from './worker-process.ts'
import { IS_LONG } from '../../support/campaign.ts'

let built: string
beforeAll(async () => {
  built = await buildFiles({ program: 'test/scenarios/presence/program.ts', ...THREADS })
})
afterAll(() => removeBuilt(built))

/** A process that has begun to work. */
async function started(place: SharedPlace): Promise<WorkerProcess> {
  const process = new WorkerProcess(built, place)
  await process.said('ready')
  return process
}

async function entriesOf<T extends Entry['type']>(
  pawl: Pawl,
  id: string,
  type: T,
): Promise<EntryOf<T>[]> {
  const entries = (await pawl.history(id)).map(({ entry }) => entry)
  return entries.filter((entry): entry is EntryOf<T> => entry?.type === type)
}

const NEIGHBOURS = Array.from({ length: 4 }, () => ({})) as never

async function expectOnlyQuarantined(
  pawl: Pawl,
  id: string,
  others: readonly Handle[],
): Promise<void> {
  const results = await Promise.allSettled(others.map((one) => one.result({ timeout: '60s' })))
  expect(results.map(({ status }) => status)).toEqual(others.map(() => 'fulfilled'))
  await expect.poll(() => pawl.handle(id).state(), { timeout: 60_000 }).toBe('QUARANTINED')
  const { jobs } = await pawl.list({ state: 'QUARANTINED' })
  expect(jobs.map((one) => one.id)).toEqual([id])
}

const IN_MS: Readonly<Record<string, number>> = { SQLite: 2_000, PostgreSQL: 5_000 }

describe.each(Object.keys(SHARED))('a process that is killed: %s', (name) => {
  const fresh = SHARED[name] as () => Promise<SharedPlace>

  it(`its job runs again elsewhere in under ${IN_MS[name]} ms, with the default lease of 30 s`, async () => {
    const place = await fresh()
    const pawl = await engineAt(place)
    const doomed = await started(place)
    const handle = await pawl.submit(hanging)
    await doomed.said('begun hanging 1')
    pawl.work([hanging])
    // The other process has a session of its own by now, as any that has been at work for a moment.
    await expect.poll(async () => (await pawl.workers()).length, { timeout: 10_000 }).toBe(2)
    await doomed.kill()
    const killedAt = performance.now()
    expect(await handle.result({ timeout: '20s' })).toBe(process.pid)
    expect(performance.now() - killedAt).toBeLessThan(IN_MS[name] as number)
    const [revoked] = await entriesOf(pawl, handle.id, 'LeaseRevoked')
    expect(revoked).toMatchObject({ by: 'presence', presence: true, lease: 1 })
    expect(revoked?.reason).toContain(`Process ${doomed.pid} on `)
    const [granted] = await entriesOf(pawl, handle.id, 'LeaseGranted')
    expect(revoked?.reason).toContain(granted?.session)
    expect((await pawl.workers()).map(({ pid }) => pid)).toEqual([process.pid])
  })

  it('one that is stopped for three leases and then goes on commits nothing', async () => {
    const place = await fresh()
    const pawl = await engineAt(place)
    const stopped = await started(place)
    const handle = await pawl.submit(late)
    await stopped.said('begun late 1')
    stopped.send('SIGSTOP')
    const stoppedAt = performance.now()
    pawl.work([late])
    expect(await handle.result({ timeout: '20s' })).toBe(2)
    const left = 1_200 - (performance.now() - stoppedAt)
    await new Promise((resolve) => setTimeout(resolve, left))
    stopped.send('SIGCONT')
    // It goes on: it does what no other process does.
    expect(await (await pawl.submit(neighbour)).result({ timeout: '20s' })).toBe(stopped.pid)
    expect(await entriesOf(pawl, handle.id, 'ExecutionCommitted')).toMatchObject([{ lease: 2 }])
    // It held its lock all the time: only time took its lease.
    expect(await entriesOf(pawl, handle.id, 'LeaseRevoked')).toEqual([])
    expect(await entriesOf(pawl, handle.id, 'LeaseExpired')).toMatchObject([{ lease: 1 }])
  })

  it('a started effect that is not idempotent is left to time', async () => {
    const place = await fresh()
    const pawl = await engineAt(place)
    const doomed = await started(place)
    const paid = await pawl.submit(paying)
    const other = await pawl.submit(hanging)
    await Promise.all([doomed.said('begun wire'), doomed.said('begun hanging 1')])
    pawl.work([hanging, paying])
    await expect.poll(async () => (await pawl.workers()).length, { timeout: 10_000 }).toBe(2)
    await doomed.kill()
    expect(await other.result({ timeout: '20s' })).toBe(process.pid)
    expect(await entriesOf(pawl, paid.id, 'LeaseRevoked')).toEqual([])
    expect(await paid.state()).toBe('RUNNING')
  })

  it('a poison job that kills its worker each time does not take its neighbours with it', async () => {
    const place = await fresh()
    const pawl = await engineAt(place)
    // Before any worker is there: they are claimed together, again and again.
    const bad = await pawl.submit(poison)
    const others = await pawl.submitMany(neighbour, Array.from({ length: 6 }, () => ({})) as never)
    let processes = 0
    while ((await bad.state()) !== 'QUARANTINED') {
      const next = new WorkerProcess(built, place)
      processes += 1
      await Promise.race([next.gone(), bad.result().catch(() => undefined)])
    }
    await started(place)
    expect(processes).toBeGreaterThanOrEqual(4)
    await expectOnlyQuarantined(pawl, bad.id, others)
  }, 120_000)

  // It takes half a minute: on one of them, unless there is time.
  it.runIf(IS_LONG || name === 'SQLite')(
    'nor neighbours that run for long',
    async () => {
      const place = await fresh()
      const pawl = await engineAt(place)
      // Whichever is begun first, they run beside it when it kills them.
      const others = await pawl.submitMany(longNeighbour, NEIGHBOURS)
      const bad = await pawl.submit(slowPoison)
      const ended = Promise.allSettled(others.map((one) => one.result()))
      const isOver = async (process: WorkerProcess): Promise<boolean> =>
        Promise.race([process.gone().then(() => false), ended.then(() => true)])
      while (!(await isOver(new WorkerProcess(built, place)))) continue
      await expectOnlyQuarantined(pawl, bad.id, others)
    },
    120_000,
  )

  it('without presence its job waits for the end of its lease', async () => {
    const place = await fresh()
    const alone = { ...place, options: { ...place.options, presence: false } }
    const pawl = await engineAt(alone)
    const doomed = await started(alone)
    const handle = await pawl.submit(late)
    await doomed.said('begun late 1')
    await doomed.kill()
    pawl.work([late])
    expect(await handle.result({ timeout: '20s' })).toBe(2)
    expect(await entriesOf(pawl, handle.id, 'LeaseRevoked')).toEqual([])
    expect(await entriesOf(pawl, handle.id, 'LeaseGranted')).toMatchObject([
      { session: '' },
      { session: '' },
    ])
  })
})

describe('on SQLite', () => {
  const fresh = SHARED['SQLite'] as () => Promise<SharedPlace>

  it('a process locks its file before its first claim; a file that is gone says nothing', async () => {
    const place = await fresh()
    const folder = `${place.location.replace('sqlite:', '')}-presence`
    const pawl = await engineAt(place)
    expect(existsSync(folder)).toBe(false)
    const doomed = await started(place)
    const handle = await pawl.submit(late)
    await doomed.said('begun late 1')
    const [granted] = await entriesOf(pawl, handle.id, 'LeaseGranted')
    expect(await readdir(folder)).toContain(`${granted?.session}.lock`)
    await rm(`${folder}/${granted?.session}.lock`)
    await doomed.kill()
    pawl.work([late])
    expect(await handle.result({ timeout: '20s' })).toBe(2)
    expect(await entriesOf(pawl, handle.id, 'LeaseExpired')).toHaveLength(1)
  })

  it('nothing is left of a process that was killed, nor of one that was closed', async () => {
    const place = await fresh()
    const folder = `${place.location.replace('sqlite:', '')}-presence`
    const pawl = await engineAt(place)
    const doomed = await started(place)
    await expect.poll(async () => (await pawl.workers()).length, { timeout: 10_000 }).toBe(1)
    await doomed.kill()
    const worker = pawl.work([late])
    const locks = async (): Promise<number> =>
      (await readdir(folder)).filter((file) => file.endsWith('.lock')).length
    await expect.poll(locks, { timeout: 10_000 }).toBe(1)
    await worker.stop()
    await pawl.close()
    expect(await locks()).toBe(0)
  })
})

describe('in a directory', () => {
  it('the jobs of a killed owner run again in under a second after it was opened', async () => {
    const folder = await temporaryFolder()
    const first = await open(folder)
    const handle = await first.submit(hanging)
    await first.close()
    const doomed = await started({ location: folder, options: {} })
    await doomed.said('begun hanging 1')
    await doomed.kill()
    const pawl = await open(folder)
    try {
      const openedAt = performance.now()
      pawl.work([hanging])
      expect(await pawl.handle(handle.id).result({ timeout: '20s' })).toBe(process.pid)
      expect(performance.now() - openedAt).toBeLessThan(1_000)
      expect(await entriesOf(pawl, handle.id, 'LeaseRevoked')).toMatchObject([
        { presence: true, by: 'presence' },
      ])
    } finally {
      await pawl.close()
    }
  })

  // It takes a minute, and presence in a directory is one look when it is opened.
  it.runIf(IS_LONG)(
    'a poison job does not take its neighbours with it, short or long',
    async () => {
      const folder = await temporaryFolder()
      const first = await open(folder)
      const ids = [
        ...(await first.submitMany(longNeighbour, NEIGHBOURS)),
        ...(await first.submitMany(neighbour, NEIGHBOURS)),
      ].map(({ id }) => id)
      const bad = await first.submit(poison)
      await first.close()
      // Killed and opened again, until one process lives on: the poison is in quarantine, or all others are over.
      for (;;) {
        const owner = new WorkerProcess(built, { location: folder, options: {} })
        const lived = new Promise<boolean>((resolve) => {
          setTimeout(resolve, 30_000, true).unref()
          void owner.gone().then(() => resolve(false))
        })
        if (!(await lived)) continue
        await owner.kill()
        break
      }
      const pawl = await open(folder)
      try {
        const others = ids.map((id) => pawl.handle(id))
        await expectOnlyQuarantined(pawl, bad.id, others)
      } finally {
        await pawl.close()
      }
    },
    180_000,
  )
})
