/**
 * The messages between a worker and its children: plain data, so that it can go to another thread as
 * well as to another process.
 *
 * A child has one run at a time. The worker numbers the runs; a message with the number of another
 * run than the current one is too late, and is dropped.
 */
import type { Payload } from '../../kernel/index.ts'
import type { OutputsPage } from '../../store/index.ts'
import type { AbortReason, StoppedBy } from '../abort-handle.ts'
import type { EffectOutcome, EffectRequest } from '../handler/executor.ts'
import { failureOf } from '../handler/failure.ts'
import type { HandlerRequest } from '../handler/handler-context.ts'
import type { HandlerOutcome } from '../handler/handler.ts'
import type {
  CalleeOutcome,
  EndWaitAnswer,
  EndWaitRequest,
  SettledWait,
  SuspendRequest,
} from '../handler/wait-port.ts'

/** A handler or an effect to run. `definition`: the name of a job that one of the modules exports. */
export type ChildRequest =
  | { readonly kind: 'job'; readonly definition: string; readonly request: HandlerRequest }
  | { readonly kind: 'effect'; readonly definition: string; readonly request: EffectRequest }

type ReadRequest =
  | { readonly kind: 'input' }
  | {
      readonly kind: 'outputs'
      readonly stage: number
      readonly after: number
      readonly job: string | undefined
    }
  | { readonly kind: 'callee'; readonly job: string }

export type WaitAsk =
  | ({ readonly kind: 'suspend' } & SuspendRequest)
  | ({ readonly kind: 'end' } & EndWaitRequest)
  | { readonly kind: 'rest'; readonly ms: number }

export type ChildOutcome = HandlerOutcome | EffectOutcome

/** An error as it goes to another thread or process: it is made again there. */
interface CarriedError {
  readonly name: string
  readonly code: string | null
  readonly message: string
}

/** `stack`: null: it has none. */
export interface UncaughtError {
  /** Its name and message. */
  readonly headline: string
  readonly stack: string | null
}

export type ToChild =
  /** Comes first, once. `artifacts`: their folder; null: they are out of reach. */
  | {
      readonly type: 'setup'
      readonly modules: readonly string[]
      readonly artifacts: string | null
    }
  | { readonly type: 'run'; readonly run: number; readonly ask: ChildRequest }
  | {
      readonly type: 'stop'
      readonly run: number
      readonly reason: AbortReason
      readonly by: StoppedBy | null
    }
  /** The answer to `record`: the value that stands, or why nothing was recorded. */
  | {
      readonly type: 'recorded'
      readonly run: number
      readonly call: number
      readonly value: Payload
    }
  | {
      readonly type: 'refused'
      readonly run: number
      readonly call: number
      readonly error: CarriedError
    }
  /** The answer to `read`, or to `wait`. */
  | {
      readonly type: 'found'
      readonly run: number
      readonly call: number
      readonly found: Payload | OutputsPage | CalleeOutcome | SettledWait | EndWaitAnswer | null
    }
  /** Nothing more will come. */
  | { readonly type: 'end' }

export type ToParent =
  /** Once: its modules are imported, or cannot be. From now on it can be asked. */
  | { readonly type: 'ready' }
  | {
      readonly type: 'record'
      readonly run: number
      readonly call: number
      readonly name: string
      readonly value: Payload
    }
  /** The input of the job, or some outputs of a stage's segments. */
  | {
      readonly type: 'read'
      readonly run: number
      readonly call: number
      readonly what: ReadRequest
    }
  /** If the run is suspended, there is no answer: the child ends. */
  | {
      readonly type: 'wait'
      readonly run: number
      readonly call: number
      readonly ask: WaitAsk
    }
  /** Answered by `found`, once it is durable. */
  | {
      readonly type: 'emit'
      readonly run: number
      readonly call: number
      readonly name: string
      readonly value: Payload
    }
  | { readonly type: 'progress'; readonly run: number; readonly value: Payload }
  | { readonly type: 'log'; readonly run: number; readonly line: string }
  /** Nothing caught this error. A process that ends next ends by it; a thread tells it by itself. */
  | { readonly type: 'uncaught'; readonly error: UncaughtError }
  /** `isUsable`: the child can do more. One that could not import its modules cannot. */
  | {
      readonly type: 'settled'
      readonly run: number
      readonly outcome: ChildOutcome
      readonly isUsable: boolean
    }

/** In a child: the transaction is elsewhere. */
export const NO_WRITES_IN_CHILD =
  'commit(…).with() does not work in a thread or a process of its own: the transaction is in the process that holds the lease. Run this job without isolation, or write in an effect.'

/** Anything can be thrown: nothing of it is looked at here. */
export function uncaughtError(thrown: unknown): UncaughtError {
  const { code, message, stack } = failureOf(thrown)
  return { headline: `${code}: ${message}`, stack }
}

export function carried(thrown: unknown): CarriedError {
  const { name, code, message } = (thrown instanceof Error ? thrown : {}) as Partial<
    Error & { code: unknown }
  >
  return {
    name: name ?? 'Error',
    code: typeof code === 'string' ? code : null,
    message: message ?? String(thrown),
  }
}

export function uncarried({ name, code, message }: CarriedError): Error {
  return Object.assign(new Error(message), { name }, code === null ? {} : { code })
}
