/**
 * One child of a pool, and what it has in hand.
 *
 * - starting: until it says that it is ready. Nothing is given to it yet, so that whatever there
 *   is to do can go to another that is free sooner.
 * - free: ended when nothing comes for long.
 * - busy: with one errand. Told to stop, it has a grace to settle, then it is killed.
 * - ending: nothing more is given to it. It is told to end, and killed if it does not.
 * - gone.
 *
 * What a busy child says about another run than its own is dropped, and so is what is no message
 * of ours: a handler can reach the channel. Nothing that a child says may end this process.
 */
import type { Child, StartChild } from './child.ts'
import type { ToParent, ChildRequest, ChildOutcome } from './protocol.ts'
import { carried } from './protocol.ts'
import type { Timer, Timing } from '../../store/clock.ts'
import type { HandlerPort } from '../handler/handler-context.ts'
import type { AbortHandle } from '../abort-handle.ts'
import type { Died } from '../handler/executor.ts'

/** Something to be done. */
export interface Errand {
  readonly ask: ChildRequest
  readonly port: HandlerPort
  readonly abortHandle: AbortHandle
  readonly resolve: (outcome: ChildOutcome | Died) => void
}

export interface ChildSlotOptions {
  readonly start: StartChild
  readonly modules: readonly string[]
  readonly timing: Timing
  readonly artifacts: string | null
  readonly idleMs: number
  readonly graceMs: number
  readonly startMs: number
  readonly onError: (error: Error) => void
}

export interface ChildSlotEvents {
  /** It can be given something. */
  free(): void
  /** It cannot be given anything any more. */
  ending(): void
  /** `stillborn`: why it ended before it was ready, unless it was told to, by us or by a signal. */
  gone(stillborn: string | null): void
}

export class ChildSlot {
  readonly gone: Promise<void>
  readonly #options: ChildSlotOptions
  readonly #events: ChildSlotEvents
  readonly #child: Child | null
  #setGone: () => void = () => undefined
  #errand: Errand | null = null
  #run = 0
  #isReady = false
  /** Why it was killed while it started. */
  #verdict = ''
  #isEnding = false
  /** Of a free one: until it is told to end. Else: until it is killed. */
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
      this.#verdict = `It was not ready after ${startMs} ms. `
      this.#child?.kill()
    })
  }

  run(errand: Errand): void {
    this.#timer?.cancel()
    this.#run += 1
    this.#errand = errand
    const { abortHandle, ask } = errand
    const stopped = (): void => this.#stop()
    abortHandle.signal.addEventListener('abort', stopped, { once: true })
    this.#unlisten = () => abortHandle.signal.removeEventListener('abort', stopped)
    this.#child?.send({ type: 'run', run: this.#run, ask })
  }

  /** Ends it. One that was told to stop keeps its grace. */
  close(): void {
    if (!this.#isReady) this.#kill()
    else if (this.#errand === null) this.#end()
    else if (this.#errand.abortHandle.reason === null) this.#kill()
  }

  #start(): Child | null {
    const { start, modules, artifacts } = this.#options
    try {
      const child = start(modules, {
        message: (message) => this.#hear(message),
        gone: (why, wasTold) => this.#leave(why, wasTold),
      })
      child.send({ type: 'setup', modules, artifacts })
      return child
    } catch (error) {
      // AFTER whoever made this place knows it.
      queueMicrotask(() => this.#leave(`It could not be started: ${(error as Error).message}.`))
      return null
    }
  }

  #hear(message: unknown): void {
    if (typeof message !== 'object' || message === null) return
    try {
      this.#receive(message as ToParent)
    } catch (error) {
      this.#options.onError(error as Error)
    }
  }

  #receive(message: ToParent): void {
    if (message.type === 'ready') return this.#ready()
    const errand = this.#errand
    if (errand === null || message.run !== this.#run) return
    switch (message.type) {
      case 'record':
        void this.#record(errand, message)
        return
      case 'read':
        void this.#read(errand, message)
        return
      case 'progress':
        errand.port.progress(message.value)
        return
      case 'log':
        errand.port.log(message.line)
        return
      case 'settled':
        this.#settle(message)
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
    { port }: Errand,
    { run, call, name, value }: Extract<ToParent, { type: 'record' }>,
  ): Promise<void> {
    try {
      const stands = await port.record(name, value)
      this.#child?.send({ type: 'recorded', run, call, value: stands })
    } catch (error) {
      this.#child?.send({ type: 'refused', run, call, error: carried(error) })
    }
  }

  async #read(
    { port }: Errand,
    { run, call, what }: Extract<ToParent, { type: 'read' }>,
  ): Promise<void> {
    try {
      const found =
        what.kind === 'input' ? await port.input() : await port.outputs(what.stage, what.after)
      this.#child?.send({ type: 'found', run, call, found })
    } catch (error) {
      this.#child?.send({ type: 'refused', run, call, error: carried(error) })
    }
  }

  #settle({ outcome, isUsable }: Extract<ToParent, { type: 'settled' }>): void {
    this.#putDown()?.resolve(outcome)
    // Its kill may be under way.
    if (this.#isEnding) return
    if (isUsable) this.#becomeFree()
    else this.#end()
  }

  #stop(): void {
    const { abortHandle } = this.#errand as Errand
    const { reason } = abortHandle
    if (reason === null || reason === 'timed-out') return this.#kill()
    this.#child?.send({ type: 'stop', run: this.#run, reason })
    this.#killLater()
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

  #leave(why: string, wasTold = false): void {
    const isNoFault = this.#isReady || this.#isEnding || wasTold
    const stillborn = isNoFault ? null : this.#verdict + why
    this.#timer?.cancel()
    this.#isEnding = true
    this.#events.ending()
    this.#putDown()?.resolve({ kind: 'died', why })
    this.#events.gone(stillborn)
    this.#setGone()
  }

  #putDown(): Errand | null {
    const errand = this.#errand
    this.#errand = null
    this.#timer?.cancel()
    this.#unlisten()
    return errand
  }
}
