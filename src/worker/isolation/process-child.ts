/**
 * A child that is a process of its own: it may crash, run out of memory or be killed, and
 * nobody else is touched.
 *
 * It is gone when it has exited AND its channel is empty: a result that it sent with its last
 * breath counts.
 */
import { fork } from 'node:child_process'
import type { Socket } from 'node:net'
import type { StartChild } from './child.ts'
import { processEntry } from './child-entry.ts'
import type { ToParent } from './protocol.ts'

/** It lives through them (see `child-main.ts`), but not before its code is loaded. */
const TOLD: ReadonlySet<string | null> = new Set(['SIGINT', 'SIGTERM', 'SIGHUP'])

export const startProcess: StartChild = (modules, events) => {
  const { file, ...options } = processEntry(modules)
  const child = fork(file, [], {
    ...options,
    serialization: 'advanced',
    // The last is the lifeline (see `lifeline.ts`): nothing is said on it, but it ends with us.
    stdio: ['ignore', 'inherit', 'inherit', 'ipc', 'pipe'],
  })
  let why: string | null = null
  let wasTold = false
  let isConnected = true
  let isGone = false
  const look = (): void => {
    if (why === null || isConnected || isGone) return
    isGone = true
    events.gone(why, wasTold)
  }
  const lifeline = child.stdio[4] as Socket | undefined
  lifeline?.on('error', () => undefined)
  child.on('message', (message) => events.message(message as ToParent))
  child.once('disconnect', () => {
    isConnected = false
    // Nothing can be said to it any more, nor by it.
    child.kill('SIGKILL')
    look()
  })
  child.once('exit', (code, signal) => {
    wasTold = TOLD.has(signal)
    why = `Its process ended ${signal === null ? `with exit code ${code}` : `by signal ${signal}`}.`
    look()
  })
  child.on('error', (error) => {
    // One that could not be started has neither an exit nor a channel.
    if (child.pid !== undefined) return
    why = `Its process could not be started: ${error.message}.`
    isConnected = false
    look()
  })
  return {
    send(message) {
      // One that is gone is told nothing, and its `exit` tells us.
      if (child.connected) child.send(message, () => undefined)
    },
    kill() {
      child.kill('SIGKILL')
    },
  }
}
