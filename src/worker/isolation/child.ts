/**
 * A child as the pool sees it, whatever it is: a thread or a process.
 *
 * Messages that are sent before it listens are kept for it. `gone` is called once, AFTER the last of
 * its messages.
 *
 * - a thread of this process: quick to start, and stopped wherever it is in JavaScript. What takes
 *   down the process takes down the worker as well.
 * - a process of its own: it may crash, run out of memory or be killed, and the worker goes on. It is
 *   gone when it has exited AND its channel is empty: a result that it sent last counts.
 */
import { fork } from 'node:child_process'
import type { Socket } from 'node:net'
import { Worker } from 'node:worker_threads'
import { processEntry, threadEntry } from './child-entry.ts'
import type { ToChild, ToParent } from './protocol.ts'

export interface Child {
  /** A child that is gone gets nothing. */
  send(message: ToChild): void
  /** At once, whatever it does. */
  kill(): void
}

export interface ChildEvents {
  message(message: ToParent): void
  /**
   * `why`: one sentence, which names the signal or the exit code. `wasTold`: by a signal that goes to
   * all processes of a group, such as from a terminal.
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

/** A child ignores them (see `child-main.ts`) once its code is loaded. */
const GROUP_SIGNALS: ReadonlySet<string | null> = new Set(['SIGINT', 'SIGTERM', 'SIGHUP'])

export const startProcess: StartChild = (modules, events) => {
  const { file, ...options } = processEntry(modules)
  const child = fork(file, [], {
    ...options,
    serialization: 'advanced',
    // The last is the pipe that tells the child that we are gone: nothing is sent on it.
    stdio: ['ignore', 'inherit', 'inherit', 'ipc', 'pipe'],
  })
  let why: string | null = null
  let wasTold = false
  let isConnected = true
  let isGone = false
  const checkGone = (): void => {
    if (why === null || isConnected || isGone) return
    isGone = true
    events.gone(why, wasTold)
  }
  const parentPipe = child.stdio[4] as Socket | undefined
  parentPipe?.on('error', () => undefined)
  child.on('message', (message) => events.message(message as ToParent))
  child.once('disconnect', () => {
    isConnected = false
    // No message reaches it any more, nor comes from it.
    child.kill('SIGKILL')
    checkGone()
  })
  child.once('exit', (code, signal) => {
    wasTold = GROUP_SIGNALS.has(signal)
    why = `Its process ended ${signal === null ? `with exit code ${code}` : `by signal ${signal}`}.`
    checkGone()
  })
  child.on('error', (error) => {
    // One that could not be started has neither an exit nor a channel.
    if (child.pid !== undefined) return
    why = `Its process could not be started: ${error.message}.`
    isConnected = false
    checkGone()
  })
  return {
    send(message) {
      // A child that is gone is noticed by its `exit`.
      if (child.connected) child.send(message, () => undefined)
    },
    kill() {
      child.kill('SIGKILL')
    },
  }
}
