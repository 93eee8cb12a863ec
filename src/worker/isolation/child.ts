/**
 * A child as the pool sees it, whatever it is: a thread or a process.
 *
 * It is there from the moment it is started (what is sent before it listens is kept for it)
 * until `gone` is called, once: after the last of its messages, and never before it is gone.
 */
import { fork } from 'node:child_process'
import type { Socket } from 'node:net'
import { Worker } from 'node:worker_threads'
import type { ToChild, ToParent } from './protocol.ts'
import { threadEntry, processEntry } from './child-entry.ts'

export interface Child {
  /** To one that is gone it says nothing. */
  send(message: ToChild): void
  /** At once, whatever it does. */
  kill(): void
}

export interface ChildEvents {
  message(message: ToParent): void
  /**
   * `why`: one sentence, which names the signal or the exit code. `wasTold`: by a signal that somebody
   * sends to all processes of a group, such as a terminal.
   */
  gone(why: string, wasTold?: boolean): void
}

/** `modules`: URLs of what it will import. */
export type StartChild = (modules: readonly string[], events: ChildEvents) => Child

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
