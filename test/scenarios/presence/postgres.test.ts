/**
 * PostgreSQL: a process is judged by the session that listens for it. What is cut for less than the grace
 * period costs nothing, whether it is the network, the server, or the session of the process that observes.
 */
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Handle, Notice, Pawl } from '../../../src/index.ts'
import { job, open } from '../../../src/index.ts'
import { GRACE_MS, RECONNECT_MS } from '../../../src/store/sql/postgres/presence.ts'
import { openConnection } from '../../../src/store/sql/postgres/connection.ts'
import { deferred } from '../../support/engines.ts'
import type { Place } from '../../support/postgres.ts'
import { freshSchema } from '../../support/postgres.ts'
import { PostgresServer } from '../../support/postgres-server.ts'
import { engineAt } from '../shared/places.ts'
import { CutProxy } from '../../support/cut-proxy.ts'

const LONG = { timeout: 20_000, interval: 50 }
/** Observers would have judged by then: the grace period, and a few rounds. */
const JUDGED_MS = GRACE_MS + RECONNECT_MS + 2_500

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

interface World {
  readonly here: Pawl
  readonly there: Pawl
  /** Of a job that runs there, until `end` is called. */
  readonly handle: Handle<number>
  readonly end: () => void
}

/** One engine works, the other observes: both serve the job. */
async function running(hereUrl: string, thereUrl: string, { schema }: Place): Promise<World> {
  const here = await engineAt({ location: hereUrl, options: { schema } })
  const there = await engineAt({ location: thereUrl, options: { schema } })
  const begun = deferred()
  const ended = deferred()
  const long = job('long', {
    retry: { max: 3, delay: 0 },
    run: async ({ job: { attempt } }) => {
      begun.resolve()
      if (attempt === 1) await ended.promise
      return attempt
    },
  })
  there.work([long])
  const handle = await here.submit(long)
  await begun.promise
  here.work([long])
  await expect.poll(async () => (await here.workers()).length, LONG).toBe(2)
  return { here, there, handle, end: () => ended.resolve() }
}

async function revocations(pawl: Pawl, { id }: Handle<number>): Promise<unknown[]> {
  const entries = (await pawl.history(id)).map(({ entry }) => entry)
  return entries.filter((entry) => entry?.type === 'LeaseRevoked')
}

describe('a process on PostgreSQL', () => {
  it('connects again within less than a third of the grace period', () => {
    expect(RECONNECT_MS).toBeLessThan(GRACE_MS / 3)
  })

  it('that is cut off for less than the grace period loses nothing', async () => {
    const place = await freshSchema()
    const proxy = await CutProxy.to(place.url)
    const { here, handle, end } = await running(place.url, proxy.through(place.url), place)
    proxy.cut('all')
    await pause(GRACE_MS - 300)
    proxy.mend()
    await pause(JUDGED_MS)
    expect(await revocations(here, handle)).toEqual([])
    end()
    expect(await handle.result({ timeout: '20s' })).toBe(1)
  })

  it('that is cut off for longer has its leases revoked, and commits nothing after that', async () => {
    const place = await freshSchema()
    const proxy = await CutProxy.to(place.url)
    const { here, handle, end } = await running(place.url, proxy.through(place.url), place)
    proxy.cut('all')
    expect(await handle.result({ timeout: '20s' })).toBe(2)
    expect(await revocations(here, handle)).toHaveLength(1)
    end()
    proxy.mend()
    const kinds = async (): Promise<unknown[]> =>
      (await here.history(handle.id)).map(({ entry }) => entry?.type)
    await expect.poll(async () => (await here.workers()).length, LONG).toBe(2)
    expect((await kinds()).filter((type) => type === 'ExecutionCommitted')).toHaveLength(1)
  })

  it('that cannot listen, but speaks, is not taken for dead', async () => {
    const place = await freshSchema()
    const proxy = await CutProxy.to(place.url)
    const { here, handle, end } = await running(place.url, proxy.through(place.url), place)
    proxy.cut('listeners')
    await pause(JUDGED_MS)
    expect(await revocations(here, handle)).toEqual([])
    end()
    expect(await handle.result({ timeout: '20s' })).toBe(1)
  })

  it('claims without a session while it does not listen', async () => {
    const place = await freshSchema()
    const proxy = await CutProxy.to(place.url)
    const { there, end } = await running(place.url, proxy.through(place.url), place)
    proxy.cut('listeners')
    const quick = job('quick', { run: () => 1 })
    // Its own claims find it: no news come.
    there.work([quick], { poll: '50ms' })
    const sessionOfOne = async (): Promise<unknown> => {
      const handle = await there.submit(quick)
      await handle.result({ timeout: '20s' })
      const [, granted] = (await there.history(handle.id)).map(({ entry }) => entry)
      return granted?.type === 'LeaseGranted' ? granted.session : null
    }
    // It notices the cut in a moment.
    await expect.poll(sessionOfOne, LONG).toBe('')
    end()
  })

  it('is judged only while the session of the one that observes is unbroken', async () => {
    const place = await freshSchema()
    const proxy = await CutProxy.to(place.url)
    const { here, handle, end } = await running(place.url, proxy.through(place.url), place)
    const server = await openConnection({ url: place.url })
    proxy.cut('all')
    const cutObserver = {
      sql: `select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1`,
      values: [`pawl listener ${place.schema}`],
    }
    for (let ms = 0; ms < 2 * JUDGED_MS; ms += 1_000) {
      await server.run([cutObserver])
      await pause(1_000)
    }
    expect(await revocations(here, handle)).toEqual([])
    await server.close()
    expect(await handle.result({ timeout: '20s' })).toBe(2)
    proxy.mend()
    end()
  }, 60_000)

  it('loses nothing when the server is started again, at which all sessions end together', async () => {
    const server = await PostgresServer.start()
    onTestFinished(async () => {
      await server.stop('immediate').catch(() => undefined)
      await server.remove()
    })
    const place = { url: server.url, schema: 'pawl' }
    const { here, handle, end } = await running(place.url, place.url, place)
    await server.stop('fast')
    await server.restart()
    await pause(JUDGED_MS)
    expect(await revocations(here, handle)).toEqual([])
    end()
    expect(await handle.result({ timeout: '20s' })).toBe(1)
    await here.close()
  }, 60_000)

  it('behind a pooler has no presence, and says so once', async () => {
    const { url, schema } = await freshSchema()
    const proxy = await CutProxy.to(url, true)
    const notices: Notice[] = []
    const pawl = await open(proxy.through(url), { schema, onNotice: (one) => notices.push(one) })
    onTestFinished(() => pawl.close())
    const quick = job('quick', { run: () => 1 })
    pawl.work([quick])
    const handle = await pawl.submit(quick)
    expect(await handle.result({ timeout: '20s' })).toBe(1)
    const [, granted] = (await pawl.history(handle.id)).map(({ entry }) => entry)
    expect(granted).toMatchObject({ type: 'LeaseGranted', session: '' })
    expect(notices.filter(({ kind }) => kind === 'no-presence')).toMatchObject([
      { why: expect.stringContaining('a pooler') as string },
    ])
    // What it says is heard all the same.
    const other = await engineAt({ location: url, options: { schema } })
    await expect.poll(async () => (await other.workers()).length, LONG).toBe(1)
  })
})
