/**
 * Ends a child process when its parent is gone, even while the child computes and hears nothing.
 *
 * The parent holds the other end of a pipe, and the system closes that end whatever the parent
 * died of. A thread of the child's own waits for it: its event loop is always free.
 */
import { Worker } from 'node:worker_threads'

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
