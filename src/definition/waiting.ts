/**
 * What a handler may wait for. While it waits it holds no place: its attempt ends, and when the wait is over
 * the handler runs again from the top, with its steps and waits answered from the record by their names.
 */
import type { Duration } from './duration.ts'

/**
 * It begins when it is awaited. A wait that is neither awaited nor over when the handler returns is an
 * error: the job would be done without it.
 */
export interface HandlerWait<T> extends Promise<T> {
  readonly isWait: true
}

/** The waits of a handler. Names are those of one run: no step and no other wait of it may have the same. */
export interface RunWaits {
  /** Waits for so long, counted from when the job begins to wait. Less than a second is waited in place. */
  sleep(this: void, name: string, duration: Duration): HandlerWait<void>
  /** Waits until this time of the store's clock: a date, or milliseconds since 1970. */
  sleepUntil(this: void, name: string, time: Date | number): HandlerWait<void>
}
