/**
 * Where a child begins, be it a thread or a process. It ends when it is told to, and when
 * nobody is there any more who could tell it.
 */
import { Worker } from 'node:worker_threads'
import { parentPort } from 'node:worker_threads'
import { ChildHost, markAsChild } from './child-host.ts'
import type { ToChild, ToParent } from './protocol.ts'

markAsChild()
const host = new ChildHost(say, () => process.exit(0))
if (parentPort === null) {
  // A terminal and a service's supervisor send them to all processes of a group. It is for the
  // parent to say what is to stop, and when it ends by them, so does its child.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
  endWithParent()
  process.on('disconnect', () => process.exit(0))
  process.on('message', (message) => host.receive(message as ToChild))
} else {
  parentPort.on('message', (message: ToChild) => host.receive(message))
}

function say(message: ToParent): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  if (parentPort !== null) parentPort.postMessage(message)
  // A parent that is gone hears nothing; `disconnect` follows.
  else if (process.connected) process.send?.(message, undefined, undefined, () => undefined)
}

/** Where the pipe is: after the standard three and the channel. */
const LIFELINE = 4

const WAIT = `
const { Socket } = require('node:net')
const end = () => process.kill(process.pid, 'SIGKILL')
new Socket({ fd: ${LIFELINE}, readable: true, writable: false })
  .on('error', end)
  .on('close', end)
  .resume()
`

export function endWithParent(): void {
  const thread = new Worker(WAIT, {
    eval: true,
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2 },
  })
  // Without it the child still ends when it hears that its channel is closed.
  thread.on('error', () => undefined)
  thread.unref()
}
