/**
 * A real PgBouncer before a real PostgreSQL, where the machine has one: `apt-get install pgbouncer`.
 */
import type { ChildProcess } from 'node:child_process'
import { execFileSync, spawn } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from './postgres-server.ts'

/** Null: the machine has none. */
export const PGBOUNCER = ((): string | null => {
  try {
    const found = execFileSync('sh', [
      '-c',
      'command -v pgbouncer || command -v /usr/sbin/pgbouncer',
    ])
    return found.toString().trim()
  } catch {
    console.warn('There is no pgbouncer on this machine: the tests behind one are skipped.')
    return null
  }
})()

export interface PgBouncer {
  /** Of the same database, through it. */
  readonly url: string
  stop(): Promise<void>
}

/** `servers`: how many sessions it has for all of its clients. */
export async function startPgBouncer(
  target: string,
  mode: 'transaction' | 'session',
  servers = 2,
): Promise<PgBouncer> {
  const server = new URL(target)
  const folder = mkdtempSync(join(tmpdir(), 'pawl-pgbouncer-'))
  chmodSync(folder, 0o755)
  const port = await freePort()
  const users = join(folder, 'users.txt')
  writeFileSync(users, `"${server.username}" "${server.password}"\n`)
  const settings = join(folder, 'pgbouncer.ini')
  writeFileSync(
    settings,
    `[databases]
* = host=${server.hostname} port=${server.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = plain
auth_file = ${users}
pool_mode = ${mode}
default_pool_size = ${servers}
max_client_conn = 200
server_round_robin = 1
`,
  )
  const asOther = process.getuid?.() === 0 ? ['--user=nobody'] : []
  const bouncer = spawn(PGBOUNCER as string, ['--quiet', ...asOther, settings], { stdio: 'ignore' })
  await listening(port, bouncer)
  const url = new URL(target)
  url.port = String(port)
  return {
    url: url.href,
    async stop() {
      const ended = new Promise((resolve) => bouncer.once('exit', resolve))
      bouncer.kill('SIGTERM')
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function listening(port: number, bouncer: ChildProcess): Promise<void> {
  for (;;) {
    if (bouncer.exitCode !== null) throw new Error(`pgbouncer ended with ${bouncer.exitCode}`)
    const isThere = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1')
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
      socket.once('connect', () => socket.destroy())
    })
    if (isThere) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
