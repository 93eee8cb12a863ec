/**
 * Places behind servers: each is a directory that a process of its own serves over HTTP on this machine.
 */
import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Scratch } from '../log/scratch.ts'
import type { Places, Spot } from './places.ts'

const PROGRAM = fileURLToPath(new URL('serve-http.js', import.meta.url))

/** `entry`: the `dist/index.js` of the build. */
export function behindServers(scratch: Scratch, entry: string): Places {
  const servers = new Map<string, ChildProcess>()
  process.once('exit', () => {
    for (const server of servers.values()) server.kill('SIGKILL')
  })
  return {
    async fresh(): Promise<Spot> {
      const folder = scratch.fresh('served')
      mkdirSync(folder)
      const server = spawn(process.execPath, [PROGRAM, entry, folder], {
        stdio: ['pipe', 'pipe', 'inherit'],
      })
      const ended = once(server, 'exit').then(() => {
        throw new Error('The server ended at once')
      })
      ended.catch(() => undefined)
      const lines = createInterface({ input: server.stdout })
      const [url] = (await Promise.race([once(lines, 'line'), ended])) as [string]
      servers.set(folder, server)
      return { folder, url }
    },
    async drop({ folder }) {
      const server = servers.get(folder)
      servers.delete(folder)
      if (server !== undefined) {
        const gone = once(server, 'exit')
        server.stdin?.end()
        await gone
      }
      scratch.drop(folder)
    },
    settle: async () => undefined,
    counts: async () => null,
  }
}
