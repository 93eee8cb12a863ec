/**
 * A Redis for BullMQ, on a free port of 127.0.0.1, with its files in a folder of the run. The
 * program must be there already: the bench installs nothing on the system.
 */
import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { Places } from '../workload/places.ts'

const START_MS = 15_000
const STOP_MS = 5_000
const LOOK_EVERY_MS = 50

/** As it comes: in memory, with a snapshot now and then. */
export const STOCK: readonly string[] = []
/** Synced before the answer. */
export const SYNCED: readonly string[] = ['--appendonly', 'yes', '--appendfsync', 'always']

export class BenchRedis {
  readonly places: Places
  readonly #child: ChildProcess
  readonly #end = (): void => void this.#child.kill('SIGKILL')

  private constructor(child: ChildProcess, port: number) {
    this.#child = child
    const spot = { folder: '', url: `redis://127.0.0.1:${port}` }
    this.places = {
      ...(child.pid === undefined ? {} : { serverPid: child.pid }),
      fresh: async () => {
        await said(port, 'FLUSHALL')
        return spot
      },
      drop: async () => undefined,
      settle: async () => undefined,
      counts: async () => null,
    }
    process.once('exit', this.#end)
  }

  static async start(settings: readonly string[], folder: string): Promise<BenchRedis> {
    mkdirSync(folder)
    const port = await freePort()
    const address = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder]
    const child = spawn('redis-server', [...address, ...settings], { stdio: 'ignore' })
    const failed = new Promise<never>((_, reject) => {
      child.once('error', () =>
        reject(
          new Error('There is no redis-server on this machine (apt-get install redis-server)'),
        ),
      )
      child.once('exit', (code) => reject(new Error(`redis-server ended at once, by ${code}`)))
    })
    await Promise.race([answers(port), failed])
    failed.catch(() => undefined)
    return new BenchRedis(child, port)
  }

  async stop(): Promise<void> {
    process.off('exit', this.#end)
    const gone = new Promise((resolve) => this.#child.once('exit', resolve))
    this.#child.kill('SIGTERM')
    const late = delay(STOP_MS).then(() => this.#child.kill('SIGKILL'))
    await Promise.race([gone, late])
  }
}

async function answers(port: number): Promise<void> {
  for (let waitedMs = 0; waitedMs < START_MS; waitedMs += LOOK_EVERY_MS) {
    const isThere = await said(port, 'PING').then(
      () => true,
      () => false,
    )
    if (isThere) return
    await delay(LOOK_EVERY_MS)
  }
  throw new Error(`redis-server did not answer within ${START_MS / 1e3} s`)
}

function said(port: number, command: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port }, () => socket.write(`${command}\r\n`))
    socket.once('data', (bytes) => {
      socket.destroy()
      resolve(bytes.toString())
    })
    socket.once('error', reject)
  })
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })
}
