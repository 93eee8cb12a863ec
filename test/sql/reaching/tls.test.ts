/** A server that is reached by TLS only. */
import { chmod, chown, copyFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { Client } from 'pg'
import type { Pawl } from '../../../src/index.ts'
import { fromPg, job, open, typed } from '../../../src/index.ts'
import { CERTIFICATE, KEY } from '../../support/certificate.ts'
import { PostgresServer } from '../../support/postgres-server.ts'

const echo = job('echo', { input: typed<number>(), run: ({ input }) => input })

let server: PostgresServer
let ca: string

/** `hostssl` alone: the server refuses a connection without TLS. */
beforeAll(async () => {
  server = await PostgresServer.start()
  await server.stop()
  const data = join(server.folder, 'data')
  ca = join(server.folder, 'ca.pem')
  await writeFile(ca, CERTIFICATE)
  await copyFile(ca, join(data, 'server.crt'))
  await writeFile(join(data, 'server.key'), KEY)
  await chmod(join(data, 'server.key'), 0o600)
  await writeFile(join(data, 'pg_hba.conf'), 'hostssl all all 127.0.0.1/32 password\n')
  await writeFile(join(data, 'postgresql.auto.conf'), 'ssl = on\n')
  // They are the server's, which may run as another user.
  const { uid, gid } = await stat(join(data, 'PG_VERSION'))
  const files = ['server.crt', 'server.key', 'pg_hba.conf', 'postgresql.auto.conf']
  for (const file of files) await chown(join(data, file), uid, gid)
  await server.restart()
})

afterAll(async () => {
  await server.stop('immediate')
  await server.remove()
})

async function runsJob(opening: Promise<Pawl>): Promise<void> {
  const pawl = await opening
  onTestFinished(() => pawl.close())
  pawl.work([echo], { signals: [] })
  expect(await (await pawl.submit(echo, 7)).result({ timeout: '20s' })).toBe(7)
}

async function isEncrypted(): Promise<boolean> {
  const client = new Client({ connectionString: server.url, ssl: { ca: CERTIFICATE } })
  await client.connect()
  try {
    const { rows } = await client.query(
      `select bool_and(ssl) as all from pg_stat_ssl s join pg_stat_activity a using (pid) where a.application_name = 'pawl'`,
    )
    return (rows[0] as { all: boolean }).all
  } finally {
    await client.end()
  }
}

describe('a server that takes TLS only', () => {
  it('is reached with the certificate that it is to have, by URL or by `connection`', async () => {
    await runsJob(open(`${server.url}?sslmode=verify-full&sslrootcert=${ca}`))
    await runsJob(open(server.url, { connection: { ssl: { ca: CERTIFICATE } } }))
    expect(await isEncrypted()).toBe(true)
  })

  it('is refused if its certificate is not known', async () => {
    const failing = open(`${server.url}?sslmode=verify-full`)
    await expect(failing).rejects.toMatchObject({ code: 'SqlFailed' })
    await expect(failing).rejects.toThrow(/certificate/)
    await expect(failing).rejects.not.toThrow(/for-tests-only/)
  })

  it('refuses a connection without it, and the error says what to write', async () => {
    await expect(open(server.url)).rejects.toThrow(/TLS|sslmode/)
  })

  it("takes a job in a transaction of the user's", async () => {
    const pawl = await open(server.url, { connection: { ssl: { ca: CERTIFICATE } } })
    onTestFinished(() => pawl.close())
    const client = new Client({ connectionString: server.url, ssl: { ca: CERTIFICATE } })
    await client.connect()
    await client.query('begin')
    const handle = await pawl.submit(echo, 8, { tx: fromPg(client) })
    await client.query('commit')
    await client.end()
    expect(await handle.state()).toBe('QUEUED')
  })
})
