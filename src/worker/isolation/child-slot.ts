/**
 * One child of a pool, and its run.
 *
 * - starting: until it says that it is ready. It gets no run yet: another child may be free sooner.
 * - free: ended when no run comes for long.
 * - busy: with one pending. Told to stop, it has a grace to end, then it is killed.
 * - ending: it gets no more runs. It is told to end, and killed if it does not.
 * - gone.
 *
 * A message about another run than the current one is dropped, and so is one that is not of this
 * protocol: a handler can reach the channel. No message of a child may end this process.
 */
import type { Timer, Timing } from '../../store/clock.ts'
import type { AbortHandle } from '../abort-handle.ts'
import type { Died } from '../handler/executor.ts'
import type { HandlerPort } from '../handler/handler-context.ts'
import type { Child, StartChild } from './child.ts'
import type { ChildOutcome, ChildRequest, ToChild, ToParent, WaitAsk } from './protocol.ts'
import { carried } from './protocol.ts'

/** A handler or an effect that waits for a child, or runs in one. */
export interface PendingRun {
  readonly ask: ChildRequest
  readonly port: HandlerPort
  readonly abortHandle: AbortHandle
  readonly resolve: (outcome: ChildOutcome | Died) => void
}

interface ChildSlotOptions {
  readonly start: StartChild
  readonly modules: readonly string[]
  readonly timing: Timing
  readonly artifacts: string | null
  readonly idleMs: number
  readonly graceMs: number
  readonly startMs: number
  readonly onError: (error: Error) => void
}

interface ChildSlotEvents {
  /** It can be given something. */
  free(): void
  /** It cannot be given anything any more. */
  ending(): void
  /** `failedStart`: why it ended before it was ready, unless it was told to, by us or by a signal. */
  gone(failedStart: Died | null): void
}

export class ChildSlot {
  readonly gone: Promise<void>
  readonly #options: ChildSlotOptions
  readonly #events: ChildSlotEvents
  readonly #child: Child | null
  #setGone: () => void = () => undefined
  #pending: PendingRun | null = null
  #run = 0
  #isReady = false
  /** Why it was killed while it started. */
  #whyKilled = ''
  #isEnding = false
  /** Of a free child: until it is told to end. Else: until it is killed. */
  #timer: Timer | null = null
  #unlisten: () => void = () => undefined

  constructor(options: ChildSlotOptions, events: ChildSlotEvents) {
    this.#options = options
    this.#events = events
    this.gone = new Promise((resolve) => {
      this.#setGone = resolve
    })
    this.#child = this.#start()
    const { timing, startMs } = options
    this.#timer = timing.after(startMs, () => {
      this.#whyKilled = `It was not ready after ${startMs} ms. `
      this.#child?.kill()
    })
  }

  run(pending: PendingRun): void {
    this.#timer?.cancel()
    this.#run += 1
    this.#pending = pending
    const { abortHandle, ask } = pending
    const stopped = (): void => this.#stopRun()
    abortHandle.signal.addEventListener('abort', stopped, { once: true })
    this.#unlisten = () => abortHandle.signal.removeEventListener('abort', stopped)
    this.#child?.send({ type: 'run', run: this.#run, ask })
  }

  /** Ends it. A run that was told to stop keeps its grace. */
  close(): void {
    if (!this.#isReady) this.#kill()
    else if (this.#pending === null) this.#end()
    else if (this.#pending.abortHandle.reason === null) this.#kill()
  }

  #start(): Child | null {
    const { start, modules, artifacts } = this.#options
    try {
      const child = start(modules, {
        message: (message) => this.#onMessage(message),
        gone: (why, wasTold, stack) => this.#onGone(why, wasTold, stack),
      })
      child.send({ type: 'setup', modules, artifacts })
      return child
    } catch (error) {
      // AFTER the pool knows this child.
      queueMicrotask(() => this.#onGone(`It could not be started: ${(error as Error).message}.`))
      return null
    }
  }

  #onMessage(message: unknown): void {
    if (typeof message !== 'object' || message === null) return
    try {
      this.#receive(message as ToParent)
    } catch (error) {
      this.#options.onError(error as Error)
    }
  }

  #receive(message: ToParent): void {
    if (message.type === 'ready') return this.#ready()
    if (message.type === 'uncaught') return
    const pending = this.#pending
    if (pending === null || message.run !== this.#run) return
    switch (message.type) {
      case 'record':
        void this.#record(pending, message)
        return
      case 'read':
        void this.#read(pending, message)
        return
      case 'wait':
        void this.#wait(pending, message)
        return
      case 'emit':
        void this.#emit(pending, message)
        return
      case 'progress':
        pending.port.progress(message.value)
        return
      case 'log':
        pending.port.log(message.line)
        return
      case 'settled':
        this.#endRun(message)
    }
  }

  #ready(): void {
    if (this.#isReady || this.#isEnding) return
    this.#isReady = true
    this.#becomeFree()
  }

  #becomeFree(): void {
    const { timing, idleMs } = this.#options
    this.#timer?.cancel()
    this.#timer = timing.after(idleMs, () => this.#end())
    this.#events.free()
  }

  async #record(
    { port }: PendingRun,
    { run, call, name, value }: Extract<ToParent, { type: 'record' }>,
  ): Promise<void> {
    try {
      const recorded = await port.record(name, value)
      this.#child?.send({ type: 'recorded', run, call, value: recorded })
    } catch (error) {
      this.#child?.send({ type: 'refused', run, call, error: carried(error) })
    }
  }

  async #read(
    { port }: PendingRun,
    { run, call, what }: Extract<ToParent, { type: 'read' }>,
  ): Promise<void> {
    try {
      const found = await read(port, what)
      this.#child?.send({ type: 'found', run, call, found })
    } catch (error) {
      this.#child?.send({ type: 'refused', run, call, error: carried(error) })
    }
  }

  async #emit(
    { port }: PendingRun,
    { run, call, name, value }: Extract<ToParent, { type: 'emit' }>,
  ): Promise<void> {
    try {
      await port.emit(name, value)
      this.#child?.send({ type: 'found', run, call, found: null })
    } catch (error) {
      this.#child?.send({ type: 'refused', run, call, error: carried(error) })
    }
  }

  async #wait(
    { port }: PendingRun,
    { run, call, ask }: Extract<ToParent, { type: 'wait' }>,
  ): Promise<void> {
    try {
      const found = await answerTo(port, ask)
      this.#child?.send({ type: 'found', run, call, found })
    } catch (error) {
      this.#child?.send({ type: 'refused', run, call, error: carried(error) })
    }
  }

  #endRun({ outcome, isUsable }: Extract<ToParent, { type: 'settled' }>): void {
    this.#takeRun()?.resolve(outcome)
    // Its kill may be under way.
    if (this.#isEnding) return
    if (isUsable) this.#becomeFree()
    else this.#end()
  }

  #stopRun(): void {
    const { abortHandle } = this.#pending as PendingRun
    const { reason, by } = abortHandle
    if (reason === null || reason === 'timed-out') return this.#kill()
    this.#child?.send({ type: 'stop', run: this.#run, reason, by })
    if (reason !== 'suspended') return this.#killLater()
    // The handler never returns, and what it left behind ends with its child.
    this.#takeRun()?.resolve({ kind: 'suspended' })
    this.#end()
  }

  #end(): void {
    if (this.#isEnding) return
    this.#isEnding = true
    this.#events.ending()
    this.#child?.send({ type: 'end' })
    this.#killLater()
  }

  #killLater(): void {
    const { timing, graceMs } = this.#options
    this.#timer?.cancel()
    this.#timer = timing.after(graceMs, () => this.#kill(), true)
  }

  #kill(): void {
    this.#timer?.cancel()
    this.#isEnding = true
    this.#events.ending()
    this.#child?.kill()
  }

  #onGone(why: string, wasTold = false, stack?: string | null): void {
    const isNoFault = this.#isReady || this.#isEnding || wasTold
    const failedStart: Died | null = isNoFault
      ? null
      : { kind: 'died', why: this.#whyKilled + why, stack }
    this.#timer?.cancel()
    this.#isEnding = true
    this.#events.ending()
    this.#takeRun()?.resolve({ kind: 'died', why, stack })
    this.#events.gone(failedStart)
    this.#setGone()
  }

  #takeRun(): PendingRun | null {
    const pending = this.#pending
    this.#pending = null
    this.#timer?.cancel()
    this.#unlisten()
    return pending
  }
}

function read(
  port: HandlerPort,
  what: Extract<ToParent, { type: 'read' }>['what'],
): ReturnType<HandlerPort['input' | 'outputs' | 'callee']> {
  switch (what.kind) {
    case 'input':
      return port.input()
    case 'callee':
      return port.callee(what.job)
    case 'outputs':
      return port.outputs(what.stage, what.after, what.job)
  }
}

async function answerTo(
  port: HandlerPort,
  ask: WaitAsk,
): Promise<Extract<ToChild, { type: 'found' }>['found']> {
  switch (ask.kind) {
    case 'suspend':
      return port.suspend({ needs: ask.needs, waits: ask.waits, unfit: ask.unfit })
    case 'end':
      return port.endWait({ wait: ask.wait, message: ask.message, unfit: ask.unfit })
    case 'rest':
      await port.rest(ask.ms)
      return null
  }
}
