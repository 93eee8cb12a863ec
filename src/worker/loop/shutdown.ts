/**
 * Stops the workers of this process when a signal tells it to end, and then lets it end.
 *
 * - listening: one listener for each signal, however many workers there are.
 * - stopping: the signal came, and the workers have their time to finish. Another signal means
 *   now.
 * - ended: the last worker has stopped. If the program itself does not listen for the signal, the
 *   process ends by it, as it would have without workers; if it does, ending is up to the program. Process 1,
 *   as in a container, ends with the exit code that stands for the signal.
 *
 * The listener goes with the last worker, so that a process without workers has none.
 */
import { constants } from 'node:os'
import { InvalidDefinition } from '../../definition/index.ts'

/** What it needs of a process: the real one, or that of a test. */
interface Signalled {
  readonly pid: number
  prependListener(signal: NodeJS.Signals, listener: () => void): unknown
  off(signal: NodeJS.Signals, listener: () => void): unknown
  listenerCount(signal: NodeJS.Signals): number
  kill(pid: number, signal: NodeJS.Signals): unknown
  exit(code: number): unknown
}

/** The system ends it by no signal that it does not listen for. */
const FIRST_PROCESS = 1
/** Added to the number of a signal, as a shell says by which one a program ended. */
const ENDED_BY_SIGNAL = 128

/** The system does not let a process listen for these. */
const NEVER_DELIVERED: ReadonlySet<NodeJS.Signals> = new Set(['SIGKILL', 'SIGSTOP'])

interface Stoppable {
  stop(): Promise<void>
}

export class Shutdown {
  readonly #process: Signalled
  readonly #watches = new Map<NodeJS.Signals, SignalWatch>()

  constructor(signalled: Signalled) {
    this.#process = signalled
  }

  /** A worker that has stopped, by a signal or not, calls what it returns. */
  add(worker: Stoppable, signals: readonly NodeJS.Signals[]): () => void {
    for (const signal of signals) assertSignal(signal)
    const watches = signals.map((signal) => this.#watch(signal))
    for (const watch of watches) watch.add(worker)
    return () => {
      for (const watch of watches) watch.delete(worker)
    }
  }

  #watch(signal: NodeJS.Signals): SignalWatch {
    const known = this.#watches.get(signal)
    if (known !== undefined) return known
    const watch = new SignalWatch(this.#process, signal, {
      isStopping: () => this.#isStopping(),
      over: () => this.#watches.delete(signal),
    })
    this.#watches.set(signal, watch)
    return watch
  }

  #isStopping(): boolean {
    for (const { isStopping } of this.#watches.values()) if (isStopping) return true
    return false
  }
}

interface WatchParts {
  /** By this signal or another. */
  readonly isStopping: () => boolean
  readonly over: () => void
}

/** One signal. */
class SignalWatch {
  readonly #process: Signalled
  readonly #signal: NodeJS.Signals
  readonly #parts: WatchParts
  readonly #workers = new Set<Stoppable>()
  readonly #listener = (): void => this.#onSignal()
  isStopping = false
  #isOurs = true

  constructor(signalled: Signalled, signal: NodeJS.Signals, parts: WatchParts) {
    this.#process = signalled
    this.#signal = signal
    this.#parts = parts
    // BEFORE all others: a listener of the program that listens once would be gone when it comes to
    // ours, and we would end the process although the program wants to.
    signalled.prependListener(signal, this.#listener)
  }

  add(worker: Stoppable): void {
    this.#workers.add(worker)
    // AFTER the constructor of the worker has returned.
    if (this.#parts.isStopping()) queueMicrotask(() => stop(worker))
  }

  delete(worker: Stoppable): void {
    if (!this.#workers.delete(worker) || this.#workers.size > 0) return
    this.#unlisten()
    if (this.isStopping) this.#end()
  }

  #onSignal(): void {
    const isRepeated = this.#parts.isStopping()
    this.isStopping = true
    this.#isOurs &&= this.#process.listenerCount(this.#signal) === 1
    if (!isRepeated) for (const worker of this.#workers) stop(worker)
    else if (this.#isOurs) {
      this.#unlisten()
      this.#end()
    }
  }

  #unlisten(): void {
    this.#process.off(this.#signal, this.#listener)
    this.#parts.over()
  }

  #end(): void {
    const { pid } = this.#process
    if (!this.#isOurs || this.#process.listenerCount(this.#signal) > 0) return
    if (pid === FIRST_PROCESS) this.#process.exit(ENDED_BY_SIGNAL + constants.signals[this.#signal])
    else this.#process.kill(pid, this.#signal)
  }
}

function assertSignal(signal: NodeJS.Signals): void {
  if (Object.hasOwn(constants.signals, signal) && !NEVER_DELIVERED.has(signal)) return
  throw new InvalidDefinition(
    `The signals of a worker are such as 'SIGTERM' and 'SIGINT': a process cannot listen for '${signal}'.`,
    { signal },
  )
}

/** It says itself when it has stopped; if it cannot, the next signal ends the process. */
function stop(worker: Stoppable): void {
  worker.stop().catch(() => undefined)
}

/** Of this process. */
export const shutdown = new Shutdown(process)
