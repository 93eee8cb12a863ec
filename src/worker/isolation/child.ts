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
import type { ToChild, ToParent, UncaughtError } from './protocol.ts'
import { uncaughtError } from './protocol.ts'

export interface Child {
  /** A child that is gone gets nothing. */
  send(message: ToChild): void
  /** At once, whatever it does. */
  kill(): void
}

export interface ChildEvents {
  message(message: ToParent): void
  /**
   * `why`: one sentence, which names the signal or the exit code, and an error that nothing caught. `wasTold`:
   * by a signal that goes to all processes of a group, such as from a terminal. `stack`: of that error.
   */
  gone(why: string, wasTold?: boolean, stack?: string | null): void
}

/** `modules`: URLs of what it will import. */
export type StartChild = (modules: readonly string[], events: ChildEvents) => Child

export const startThread: StartChild = (modules, events) => {
  const { url, ...options } = threadEntry(modules)
  const thread = new Worker(url, options)
  let uncaught: UncaughtError | null = null
  thread.on('message', (message: ToParent) => events.message(message))
  // It has ended itself by then, or is about to: `exit` follows.
  thread.once('error', (error: unknown) => {
    uncaught = uncaughtError(error)
  })
  thread.once('exit', (code) => {
    events.gone(
      `Its thread ended with exit code ${code}${byError(uncaught)}.`,
      false,
      uncaught?.stack,
    )
  })
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

function byError(uncaught: UncaughtError | null): string {
  return uncaught === null ? '' : `: ${uncaught.headline}`
}

/** A handler can reach the channel: what looks like one is looked at. */
function isUncaught(message: unknown): message is Extract<ToParent, { type: 'uncaught' }> {
  const { type, error } = Object(message) as { type?: unknown; error?: Partial<UncaughtError> }
  if (type !== 'uncaught' || typeof error !== 'object' || error === null) return false
  const { headline, stack } = error
  return typeof headline === 'string' && (stack === null || typeof stack === 'string')
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
  let uncaught: UncaughtError | null = null
  let why: string | null = null
  let wasTold = false
  let isConnected = true
  let isGone = false
  const checkGone = (): void => {
    if (why === null || isConnected || isGone) return
    isGone = true
    events.gone(`${why}${byError(uncaught)}.`, wasTold, uncaught?.stack)
  }
  const parentPipe = child.stdio[4] as Socket | undefined
  parentPipe?.on('error', () => undefined)
  child.on('message', (message) => {
    if (isUncaught(message)) uncaught = message.error
    else events.message(message as ToParent)
  })
  child.once('disconnect', () => {
    isConnected = false
    // No message reaches it any more, nor comes from it.
    child.kill('SIGKILL')
    checkGone()
  })
  child.once('exit', (code, signal) => {
    wasTold = GROUP_SIGNALS.has(signal)
    // By a signal it did not end by an error.
    if (signal !== null) uncaught = null
    const how = signal === null ? `with exit code ${code}` : `by signal ${signal}`
    why = `Its process ended ${how}`
    checkGone()
  })
  child.on('error', (error) => {
    // One that could not be started has neither an exit nor a channel.
    if (child.pid !== undefined) return
    why = `Its process could not be started: ${error.message}`
    isConnected = false
    checkGone()
  })
  return {
    send(message) {
      // What went wrong in the run before, and was survived, is not what ends this one.
      if (message.type === 'run') uncaught = null
      // A child that is gone is noticed by its `exit`.
      if (child.connected) child.send(message, () => undefined)
    },
    kill() {
      child.kill('SIGKILL')
    },
  }
}
