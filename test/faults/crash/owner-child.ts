/**
 * A process that takes folders on request, for the tests of ownership: it can be killed.
 *
 * It says `ready`, then answers each message with one message, in order. It ends with whoever
 * started it.
 */
import { hostname } from 'node:os'
import { Worker } from 'node:worker_threads'
import type { PawlError } from '../../../src/kernel/index.ts'
import type { Owner } from '../../../src/log/disk/owner.ts'
import { takeOwnership } from '../../../src/log/disk/owner.ts'

export type Request =
  /** At `at` on the clock, to meet another process there; at once without it. */
  | { readonly ask: 'take'; readonly folder: string; readonly at?: number }
  /** Takes it, lets go of everything that refers to it, and collects the garbage. */
  | { readonly ask: 'take and forget'; readonly folder: string }
  /** Whatever it holds. */
  | { readonly ask: 'release' }
  /** A thread of this process tries to take the folder, says how that went, and ends. */
  | { readonly ask: 'take in a thread'; readonly folder: string }
  /** Gives up the rights of the superuser, to whom no folder is closed. */
  | { readonly ask: 'become nobody' }

export type Reply =
  | { readonly ok: true }
  | {
      readonly ok: false
      readonly code: string
      readonly message: string
      readonly details: Readonly<Record<string, unknown>>
      readonly cause: string | null
    }

const owners: Owner[] = []

function take(folder: string): Promise<Owner> {
  return takeOwnership(folder, { pid: process.pid, host: hostname(), since: Date.now() })
}

async function takeInThread(folder: string): Promise<string> {
  // As the test has it compiled: beside this file.
  const source = new URL('./owner.js', import.meta.url).href
  const code = `
    const { parentPort } = require('node:worker_threads')
    import(${JSON.stringify(source)})
      .then(({ takeOwnership }) =>
        takeOwnership(${JSON.stringify(folder)}, { pid: 1, host: 'thread', since: 0 }))
      .then(() => parentPort.postMessage('taken'), (error) => parentPort.postMessage(error.code))`
  const thread = new Worker(code, { eval: true })
  let said = 'nothing'
  thread.on('message', (message: string) => {
    said = message
  })
  await new Promise((resolve, reject) => {
    thread.on('exit', resolve)
    thread.on('error', reject)
  })
  return said
}

async function serve(request: Request): Promise<void> {
  switch (request.ask) {
    case 'take': {
      while (request.at !== undefined && Date.now() < request.at);
      owners.push(await take(request.folder))
      return
    }
    case 'take and forget': {
      await take(request.folder)
      await new Promise(setImmediate)
      globalThis.gc?.()
      // What the collection found to be garbage is closed a moment later.
      await new Promise(setImmediate)
      return
    }
    case 'release': {
      await Promise.all(owners.map((owner) => owner.release()))
      return
    }
    case 'take in a thread': {
      const said = await takeInThread(request.folder)
      if (said !== 'taken') throw Object.assign(new Error('refused in a thread'), { code: said })
      return
    }
    case 'become nobody': {
      if (process.getuid?.() !== 0) return
      process.setgid?.(65_534)
      process.setuid?.(65_534)
    }
  }
}

async function answer(request: Request): Promise<Reply> {
  try {
    await serve(request)
    return { ok: true }
  } catch (error) {
    const { code, message, details, cause } = error as PawlError
    const inner = (cause as NodeJS.ErrnoException | undefined)?.code ?? null
    return { ok: false, code, message, details, cause: inner }
  }
}

process.on('message', (request: Request) => {
  void answer(request).then((reply) => process.send?.(reply))
})
// oxlint-disable-next-line unicorn/no-process-exit -- it must not outlive the test.
process.on('disconnect', () => process.exit())
process.send?.('ready')
