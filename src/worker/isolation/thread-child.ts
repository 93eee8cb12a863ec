/**
 * A child that is a thread of this process: quick to start, and stopped wherever it is in
 * JavaScript. What takes down the process takes down the worker as well.
 */
import { Worker } from 'node:worker_threads'
import type { StartChild } from './child.ts'
import { threadEntry } from './child-entry.ts'
import type { ToParent } from './protocol.ts'

export const startThread: StartChild = (modules, events) => {
  const { url, ...options } = threadEntry(modules)
  const thread = new Worker(url, options)
  let what = ''
  thread.on('message', (message: ToParent) => events.message(message))
  // It has ended itself by then, or is about to: `exit` follows.
  thread.once('error', (error: unknown) => {
    what = `: ${error instanceof Error ? `${error.name}: ${error.message}` : String(error)}`
  })
  thread.once('exit', (code) => events.gone(`Its thread ended with exit code ${code}${what}.`))
  return {
    send(message) {
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
      thread.postMessage(message)
    },
    kill() {
      void thread.terminate()
    },
  }
}
