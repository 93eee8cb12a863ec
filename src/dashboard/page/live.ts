/**
 * What a view shows, asked for again and again while the page is visible.
 *
 * The next question comes after the answer to the one before, and later the longer that answer took: questions never pile
 * up, and a server that is slow is asked less. A hidden tab asks nothing. Without a connection the pauses grow, and the
 * page asks at once when the browser says that it is back.
 */
import { signal } from '@preact/signals'
import { createContext } from 'preact'
import { useContext, useEffect, useRef, useState } from 'preact/hooks'
import { CallRefused, messageOf, NotReached } from './api.ts'
import { afterDelay, elapsedMs } from './clock.ts'

const PAUSE_MS = 1_500
/** What is over hardly changes. */
export const RARELY_MS = 15_000
/** The pause of views below that have none of their own. */
export const UsualPause = createContext<number | undefined>(undefined)
/** Of the time between two questions, the server works on one for a tenth at the most. */
export const PATIENCE = 9
const LONGEST_PAUSE_MS = 15_000
/** As a pause: what has been answered does not change, and is asked again only when something was done. */
export const ONCE = Infinity

export interface Live<T> {
  /** Null: there is no answer yet. */
  readonly data: T | null
  /** Why the newest question has no answer; null: it has one. */
  readonly problem: string | null
}

/** The question is asked anew at once when `key` changes. */
export function useLive<T>(
  key: string,
  ask: (signal: AbortSignal) => Promise<T>,
  ownPauseMs?: number,
): Live<T> {
  const usualPauseMs = useContext(UsualPause)
  const pauseMs = ownPauseMs ?? usualPauseMs ?? PAUSE_MS
  const [state, setState] = useState<{ key: string; data: T | null; problem: string | null }>({
    key,
    data: null,
    problem: null,
  })
  const newest = useRef(ask)
  newest.current = ask
  useEffect(() => {
    const own = new AskLoop(pauseMs, async (ended) => {
      try {
        const data = await newest.current(ended)
        if (!ended.aborted) setState({ key, data, problem: null })
      } catch (error) {
        if (ended.aborted) return
        const problem = error instanceof NotReached ? null : messageOf(error)
        setState((was) => ({ key, data: was.key === key ? was.data : null, problem }))
        throw error
      }
    })
    return () => own.stop()
  }, [key, pauseMs])
  const isOwn = state.key === key
  return {
    data: isOwn ? state.data : null,
    problem: isOwn ? state.problem : null,
  }
}

/** Raised by whatever changed something: every view asks again. */
export const changes = signal(0)

class AskLoop {
  readonly #pauseMs: number
  readonly #ask: (ended: AbortSignal) => Promise<void>
  readonly #ended = new AbortController()
  #stopWaiting: () => void = () => undefined
  #isAsking = false
  #isAskedAgain = false
  #failures = 0

  constructor(pauseMs: number, ask: (ended: AbortSignal) => Promise<void>) {
    this.#pauseMs = pauseMs
    this.#ask = ask
    const { signal: ended } = this.#ended
    document.addEventListener('visibilitychange', () => this.now(), { signal: ended })
    addEventListener('online', () => this.now(), { signal: ended })
    const first = changes.value
    const unsubscribe = changes.subscribe((value) => value !== first && this.now())
    ended.addEventListener('abort', unsubscribe)
    this.now()
  }

  stop(): void {
    this.#stopWaiting()
    this.#ended.abort()
  }

  now(): void {
    this.#stopWaiting()
    this.#isAskedAgain = this.#isAsking
    if (!this.#isAsking) void this.#run()
  }

  async #run(): Promise<void> {
    if (this.#ended.signal.aborted || document.hidden) return
    this.#isAsking = true
    const began = elapsedMs()
    try {
      await this.#ask(this.#ended.signal)
      this.#failures = 0
    } catch (error) {
      // What was refused will be refused again: it is asked, but rarely.
      this.#failures += error instanceof CallRefused ? 3 : 1
    }
    this.#isAsking = false
    if (this.#ended.signal.aborted) return
    if (this.#isAskedAgain) return this.now()
    if (this.#pauseMs === ONCE && this.#failures === 0) return
    this.#stopWaiting = afterDelay(this.#pause(elapsedMs() - began), () => void this.#run())
  }

  #pause(tookMs: number): number {
    const pause =
      Math.max(this.#pauseMs === ONCE ? PAUSE_MS : this.#pauseMs, PATIENCE * tookMs) *
      1.5 ** Math.min(this.#failures, 8)
    return Math.min(pause, Math.max(LONGEST_PAUSE_MS, this.#pauseMs === ONCE ? 0 : this.#pauseMs))
  }
}
