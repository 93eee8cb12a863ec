/**
 * What a handler may wait for. While it waits it holds no place: its attempt ends, and when the wait is over
 * the handler runs again from the top, with its steps and waits answered from the record by their names.
 */
import type { Duration } from './duration.ts'
import type { ChildOptions, Submittable } from './job-spec.ts'
import type { AnyMessage, MessageValue } from './message-definition.ts'
import type { AskOptions } from './question.ts'

/**
 * It begins when it is awaited. A wait that is neither awaited nor over when the handler returns is an
 * error: the job would be done without it.
 */
export interface HandlerWait<T> extends Promise<T> {
  readonly isWait: true
}

export interface WaitForOptions extends AskOptions {
  /** What the wait is known by in the record. Default: the name of the message. */
  readonly name?: string
  /** How long it waits at most: then the handler gets null. Default: for ever. */
  readonly timeout?: Duration
  /** What the handler gets then, instead of null; or it fails with a `TerminalError`, unless it catches it. */
  readonly onTimeout?: 'fail' | { readonly value: unknown }
}

/** What can be said about a job that is called. It has no key: its id is made of its caller and the name. */
export interface CallOptions extends Pick<
  ChildOptions,
  'priority' | 'queue' | 'group' | 'limits' | 'tags' | 'metadata' | 'deadline' | 'retention'
> {
  /** It is cancelled when its caller is over before it. Default: it goes on. */
  readonly cancel?: 'with-caller'
}

/** A job or a pipeline, whatever its types. */
export type Callable = Submittable & {
  // oxlint-disable-next-line typescript/no-explicit-any -- inputs differ, and are checked where they are given
  readonly types?: { readonly given: any; readonly result: unknown }
}

/** A job without an input is called without one. */
type CallArguments<Given> = Given extends undefined
  ? [input?: undefined, options?: CallOptions]
  : [input: Given, options?: CallOptions]

/** Waits that have not begun: a list, or by names. */
export type WaitsGiven =
  | readonly HandlerWait<unknown>[]
  | { readonly [name: string]: HandlerWait<unknown> }

type AllOf<W extends WaitsGiven> = { -readonly [K in keyof W]: Awaited<W[K]> }

/** `first`: its name, or its place in the list, from 0. */
type FirstOf<W extends WaitsGiven> = W extends readonly HandlerWait<infer T>[]
  ? { readonly first: number; readonly value: T }
  : { [K in keyof W]: { readonly first: K; readonly value: Awaited<W[K]> } }[keyof W]

/** Null, if there is a timeout. */
type TimeoutIn<O> = O extends { readonly onTimeout: infer T }
  ? T extends { readonly value: infer V }
    ? V
    : never
  : O extends { readonly timeout?: unknown }
    ? 'timeout' extends keyof O
      ? O['timeout'] extends undefined
        ? never
        : null
      : never
    : never

/** With a quorum, what each of them said. */
type Said<Value, O> = O extends { readonly quorum: number } ? readonly Value[] : Value

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
  ): HandlerWait<Said<MessageValue<M>, O> | TimeoutIn<O>>
  /**
   * Submits another job, once however often this one runs, and waits for its result. Throws what it failed
   * with: `JobFailed`, `JobWasCancelled`, `JobDeadlinePassed`. While it is in quarantine, this one waits.
   */
  call<J extends Callable>(
    this: void,
    name: string,
    job: J,
    ...input: CallArguments<NonNullable<J['types']>['given']>
  ): HandlerWait<NonNullable<J['types']>['result']>
  /** Waits for all of them, in a list or by names, and gives what each gives; or throws what the first of them throws. */
  all<const W extends WaitsGiven>(this: void, waits: W): HandlerWait<AllOf<W>>
  /** Waits for the first of them. What was not first is left: it ends no more. */
  any<const W extends WaitsGiven>(this: void, waits: W): HandlerWait<FirstOf<W>>
}
