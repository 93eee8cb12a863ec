/**
 * What a handler may wait for. While it waits it holds no place: its attempt ends, and when the wait is over
 * the handler runs again from the top, with its steps and waits answered from the record by their names.
 */
import type { Duration } from './duration.ts'
import type { AnyMessage, MessageValue } from './message-definition.ts'

/**
 * It begins when it is awaited. A wait that is neither awaited nor over when the handler returns is an
 * error: the job would be done without it.
 */
export interface HandlerWait<T> extends Promise<T> {
  readonly isWait: true
}

export interface WaitForOptions {
  /** What the wait is known by in the record. Default: the name of the message. */
  readonly name?: string
  /** How long it waits at most: then the handler gets null. Default: for ever. */
  readonly timeout?: Duration
}

/** Null, if there is a timeout. */
type TimeoutIn<O> = O extends { readonly timeout?: unknown }
  ? 'timeout' extends keyof O
    ? O['timeout'] extends undefined
      ? never
      : null
    : never
  : never

/** The waits of a handler. Names are those of one run: no step and no other wait of it may have the same. */
export interface RunWaits<Messages extends readonly AnyMessage[] = readonly AnyMessage[]> {
  /** Waits for so long, counted from when the job begins to wait. Less than a second is waited in place. */
  sleep(this: void, name: string, duration: Duration): HandlerWait<void>
  /** Waits until this time of the store's clock: a date, or milliseconds since 1970. */
  sleepUntil(this: void, name: string, time: Date | number): HandlerWait<void>
  /**
   * Waits for a message of those that the job lists, also one that was sent before: what it says, or null if
   * the timeout came first. One that does not fit is skipped, on record.
   */
  waitFor<M extends Messages[number], const O extends WaitForOptions = object>(
    this: void,
    message: M,
    options?: O,
  ): HandlerWait<MessageValue<M> | TimeoutIn<O>>
}
