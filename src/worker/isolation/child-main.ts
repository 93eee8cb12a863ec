/**
 * Where a child begins, be it a thread or a process. It ends when the worker tells it to, and when
 * the worker's process is gone.
 */
import { parentPort, Worker } from 'node:worker_threads'
import { ChildHost, markAsChild } from './child-host.ts'
import type { ToChild, ToParent } from './protocol.ts'
import { uncaughtError } from './protocol.ts'

/** The file descriptor of the pipe: after the standard three and the channel. */
const PARENT_PIPE = 4

const WAIT_FOR_PARENT = `
const { Socket } = require('node:net')
const end = () => process.kill(process.pid, 'SIGKILL')
new Socket({ fd: ${PARENT_PIPE}, readable: true, writable: false })
  .on('error', end)
  .on('close', end)
  .resume()
`

markAsChild()
const host = new ChildHost(send, () => process.exit(0))
if (parentPort === null) {
  // A terminal and a service's supervisor send them to all processes of a group. The parent says
  // what stops, and when it ends by them, so does its child.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
  endWithParent()
  // The process ends by it as it would have, unless the user's code listens for such errors.
  process.on('uncaughtExceptionMonitor', (error) => {
    send({ type: 'uncaught', error: uncaughtError(error) })
  })
  process.on('disconnect', () => process.exit(0))
  process.on('message', (message) => host.receive(message as ToChild))
} else {
  parentPort.on('message', (message: ToChild) => host.receive(message))
}

function send(message: ToParent): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  if (parentPort !== null) parentPort.postMessage(message)
  // A parent that is gone hears nothing; `disconnect` follows.
  else if (process.connected) process.send?.(message, undefined, undefined, () => undefined)
}

/**
 * Ends a child process when its parent is gone, even while the child computes and reads no message.
 * The parent holds the other end of a pipe, and the system closes that end however the parent ends.
 * A thread of the child waits for it: its event loop is always free.
 */
function endWithParent(): void {
  const thread = new Worker(WAIT_FOR_PARENT, {
    eval: true,
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2 },
  })
  // Without it the child still ends when it hears that its channel is closed.
  thread.on('error', () => undefined)
  thread.unref()
}
