/**
 * Servers that come late, go away, come back, and are followed by another one.
 */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { Notice, Pawl } from '../../../src/index.ts'
import { job, open, typed } from '../../../src/index.ts'
import { PostgresServer } from '../../support/postgres-server.ts'

const echo = job('echo', { input: typed<number>(), run: ({ input }) => input })
const WITHIN = { timeout: 2_000, interval: 20 }

let server: PostgresServer

beforeAll(async () => void (server = await PostgresServer.start()))
afterAll(async () => {
  await server.stop('immediate')
  await server.remove()
})

async function opened(url: string, notices: Notice[] = []): Promise<Pawl> {
  const pawl = await open(url, { onNotice: (notice) => void notices.push(notice) })
  onTestFinished(() => pawl.close())
  return pawl
}

describe('a server that is not up yet', () => {
  it('is waited for', async () => {
    await server.stop()
    const begun = performance.now()
    const opening = open(server.url, { waitFor: '30s' })
    const failing = open(server.url, { waitFor: 300 })
    await expect(failing).rejects.toMatchObject({ code: 'SqlFailed', reason: 'unreachable' })
    expect(performance.now() - begun).toBeGreaterThan(300)
    await server.restart()
    await (await opening).close()
  })
})

describe('an outage', () => {
  it('is told when it begins and when it ends, and shows in health()', async () => {
    const notices: Notice[] = []
    const pawl = await opened(server.url, notices)
    expect(await pawl.health()).toMatchObject({ isWell: true, outage: null })
    await server.stop('immediate')
    await expect.poll(() => notices.map(({ kind }) => kind), WITHIN).toEqual(['database-away'])
    expect(notices[0]).toMatchObject({ why: expect.stringContaining('127.0.0.1') as string })
    const health = await pawl.health()
    expect(health).toMatchObject({ isWell: false, outage: { since: expect.any(Date) as Date } })
    expect(health.outage?.why).not.toContain('for-tests-only')
    await server.restart()
    await expect
      .poll(() => notices.map(({ kind }) => kind), WITHIN)
      .toEqual(['database-away', 'database-back'])
    expect(await pawl.health()).toMatchObject({ isWell: true, outage: null })
  })

  it('that begins during health() is in its answer', async () => {
    const pawl = await opened(server.url)
    await server.stop('immediate')
    expect(await pawl.health()).toMatchObject({ isWell: false })
    await server.restart()
  })
})

describe('a list of hosts', () => {
  it('goes on with the one that takes writes, and loses nothing', async () => {
    const primary = await PostgresServer.start()
    const standby = await primary.standby()
    onTestFinished(async () => {
      await standby.stop('immediate')
      await primary.remove()
      await standby.remove()
    })
    // The standby comes first, and is passed over.
    const url = new URL(primary.url)
    const both = `postgres://${url.username}:${url.password}@127.0.0.1:${standby.port},127.0.0.1:${primary.port}/postgres`
    const [pawl, other] = [await opened(both), await opened(both)]
    other.work([echo])
    expect(await (await pawl.submit(echo, 1)).result()).toBe(1)

    const acknowledged: string[] = []
    const promised: Promise<unknown>[] = []
    const until = { isOver: false }
    const submitting = (async () => {
      for (let i = 0; !until.isOver; i++) {
        const handle = await pawl.submit(echo, i)
        acknowledged.push(handle.id)
        promised.push(handle.result())
      }
    })()
    await expect.poll(() => acknowledged.length).toBeGreaterThan(20)
    await primary.stop('immediate')
    const before = acknowledged.length
    await standby.promote()
    await expect.poll(() => acknowledged.length).toBeGreaterThan(before + 20)
    until.isOver = true
    await submitting
    await Promise.all(promised)
    // The jobs, and their outcomes, that the old primary acknowledged are on the new one.
    for (const id of acknowledged) expect(await pawl.get(id)).toMatchObject({ state: 'SUCCEEDED' })
  })

  it('of which none takes writes says what is wrong with each', async () => {
    const opening = open('postgres://app:s3cret@127.0.0.1:1,127.0.0.1:2/db')
    await expect(opening).rejects.toMatchObject({ code: 'SqlFailed', reason: 'unreachable' })
    for (const part of ['No host of the list', '127.0.0.1:1/db', '127.0.0.1:2/db']) {
      await expect(opening).rejects.toThrow(part)
    }
    await expect(opening).rejects.not.toThrow('s3cret')
  })
})
