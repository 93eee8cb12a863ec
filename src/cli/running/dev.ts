/**
 * `dev`: engine, workers and server in one process, on a directory that keeps everything, for a developer who changes
 * the jobs meanwhile.
 *
 * Modules that were imported stay in their process. So the process that has it all is a child of the one that the
 * developer started: when a source changes it is told to drain, and another one begins with the new code.
 *
 * - up: the child works and serves.
 * - draining: handlers end, then the child does.
 * - down: the child could not start, or died; the next change starts another one.
 */
import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { dirname, resolve } from 'node:path'
import type { PawlServer, ServeOptions } from '../../server/index.ts'
import type { Pawl } from '../../engine/index.ts'
import type { CliCommand } from '../command.ts'
import type { CommandCall } from '../command-call.ts'
import { argument, textOption } from '../command-call.ts'
import { WrongUsage } from '../failure.ts'
import { isServer, Settings, shownStore } from '../settings.ts'
import { withStore } from '../store-session.ts'
import { stopSignals } from '../stop-signals.ts'
import { readDefinitions } from './definition-module.ts'
import { FileWatch } from './file-watch.ts'
import { SERVE_OPTIONS, serveOptionsOf } from './serve.ts'
import { whereToLook } from './where-to-look.ts'
import { WORK_OPTIONS, workerOptionsOf } from './work.ts'

/** Set for the child alone: the port that the one before it had, or nothing. */
const CHILD = 'PAWL_DEV_CHILD'
const STORE = './.pawl'
const DRAIN = 'drain'

interface ChildReady {
  readonly port: number
}

export const DEV: CliCommand = {
  name: 'dev',
  group: 'run',
  says: 'Engine, workers and server in one process, durable in ./.pawl; reloads when files change',
  details:
    'Before it reloads, handlers end. Ctrl-C ends it; the jobs are kept. The server listens on this machine alone.',
  arguments: [{ name: 'module', says: 'Exports jobs and pipelines: ./jobs.ts, ./jobs.js' }],
  options: [...SERVE_OPTIONS.filter(({ flags }) => flags.startsWith('--port')), ...WORK_OPTIONS],
  examples: ['dev ./jobs.ts', 'dev ./src/jobs.ts --port 8080 --store ./try'],
  run: (call) => {
    const store = textOption(call, 'store') ?? STORE
    if (isServer(store)) {
      throw new WrongUsage('`pawl dev` has a server of its own: use `pawl work` for another one.')
    }
    const settings = new Settings({ ...call.options, store })
    const own = { ...call, settings }
    return process.env[CHILD] === undefined ? supervise(own) : runChild(own)
  },
}

type Event =
  | { readonly what: 'stop' }
  | { readonly what: 'changed'; readonly path: string }
  | { readonly what: 'ended' }

/** Starts one child after the other. */
async function supervise(call: CommandCall): Promise<void> {
  const { printer, settings } = call
  let child: ChildProcess | null = null
  const stop = stopSignals(() => {
    child?.kill('SIGKILL')
    process.exit(130)
  })
  const asked = stop.asked.then((): Event => ({ what: 'stop' }))
  const changes = new Changes()
  const folder = dirname(resolve(argument(call, 'module')))
  const watch = new FileWatch(folder, [settings.store], (path) => changes.tell(path))
  let port = ''
  try {
    for (;;) {
      const one = startChild(port, (ready) => {
        port = String(ready.port)
      })
      child = one
      const ended = new Promise<Event>((done) => one.once('exit', () => done({ what: 'ended' })))
      let event = await Promise.race([asked, changes.next(), ended])
      if (event.what === 'ended') {
        printer.note('It is down. A change of a file starts it again, Ctrl-C ends it.')
        event = await Promise.race([asked, changes.next()])
      }
      if (event.what === 'changed') printer.note(`\n${event.path} has changed.`)
      if (one.connected) one.send(DRAIN, () => undefined)
      await ended
      if (event.what === 'stop') return
    }
  } finally {
    watch.close()
    stop.dispose()
  }
}

/** What has changed, for a reader that comes when it can. */
class Changes {
  #path: string | null = null
  #wake: ((event: Event) => void) | null = null

  tell(path: string): void {
    this.#path = path
    this.#give()
  }

  next(): Promise<Event> {
    return new Promise((done) => {
      this.#wake = done
      this.#give()
    })
  }

  #give(): void {
    if (this.#path === null || this.#wake === null) return
    this.#wake({ what: 'changed', path: this.#path })
    this.#path = null
    this.#wake = null
  }
}

function startChild(port: string, onReady: (ready: ChildReady) => void): ChildProcess {
  const [, program = '', ...args] = process.argv
  const child = fork(program, args, { env: { ...process.env, [CHILD]: port } })
  child.on('message', (message) => onReady(message as ChildReady))
  return child
}

/** The process that has it all, until it is told to drain, or its parent is gone. */
async function runChild(call: CommandCall): Promise<void> {
  const drained = new Promise<void>((done) => {
    process.once('message', () => done())
    process.once('disconnect', () => done())
  })
  const stop = stopSignals()
  try {
    await withStore(call, (pawl) => workAndServe(call, pawl, Promise.race([stop.asked, drained])), {
      isMade: true,
    })
  } finally {
    stop.dispose()
    // Its channel would keep the process alive.
    if (process.connected) process.disconnect()
  }
}

async function workAndServe(
  call: CommandCall,
  pawl: Pawl,
  isToEnd: Promise<unknown>,
): Promise<void> {
  const { printer, settings } = call
  const { definitions, url: moduleUrl } = await readDefinitions(argument(call, 'module'))
  const server = await serveSomewhere(pawl, { ...serveOptionsOf(call), definitions })
  const worker = pawl.work(definitions, workerOptionsOf(call, moduleUrl))
  const ready: ChildReady = { port: server.port }
  process.send?.(ready)
  const jobs = definitions.map(({ name }) => name)
  const places = { store: shownStore(settings.store), url: server.url, jobs, hasPage: true }
  printer.note(`pawl dev\n${whereToLook(printer.noteStyles, places)}`)
  await isToEnd
  printer.note('Drains: handlers end.')
  await worker.stop()
  await server.close()
}

/** Where the one before it was, else at the usual port, else, unless a port was named, at any that is free. */
async function serveSomewhere(pawl: Pawl, options: ServeOptions): Promise<PawlServer> {
  const { serve } = await import('../../server/index.ts')
  const before = Number(process.env[CHILD] ?? '')
  const isNamed = options.port !== undefined
  const given = before > 0 ? { ...options, port: before } : options
  try {
    return await serve(pawl, given)
  } catch (error) {
    const isTaken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE'
    if (!isTaken || isNamed) throw error
    return serve(pawl, { ...options, port: 0 })
  }
}
