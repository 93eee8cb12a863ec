/**
 * What a step needs of a job queue, whichever it is: Pawl, an older build of it, or a peer.
 */

/** An empty place for jobs, or one that an earlier step has filled. */
export interface Place {
  /** Which of the adapter's kinds: a store of Pawl, a mode of a peer. */
  readonly variant: string
  /** For files. */
  readonly folder: string
  /** Of the server, where there is one; else empty. */
  readonly url: string
  /** Of Pawl alone: the `dist/index.js` of the build to load. */
  readonly entry?: string
}

export interface Payload {
  readonly index: number
  readonly submittedAtMs: number
}

/** What an enqueued job can be asked for, where the queue has such a thing. */
export interface Submitted {
  result(): Promise<unknown>
}

export interface Queue {
  /** Resolves when the queue calls the job stored. */
  enqueue(payload: Payload): Promise<unknown>
  /** The same for many, by the queue's own bulk call. Without one, they are enqueued singly. */
  enqueueMany?(payloads: readonly Payload[]): Promise<unknown>
  /** Starts one worker. */
  work(handler: (payload: Payload) => Promise<void>): Promise<void>
  /** Jobs in the store that are not recorded as finished. */
  remaining(): Promise<number>
  close?(): Promise<void>
}

/** The default export of an adapter's file. */
export interface Adapter {
  /** Jobs in a bulk call, and bulk calls under way at once. */
  readonly bulk?: { readonly size: number; readonly inFlight: number }
  /** Prepares an empty store, in a process of its own. */
  setup(place: Place): Promise<void>
  open(place: Place): Promise<Queue>
}

const BODY = 'Lorem ipsum dolor sit amet, consectetur adipiscing elit sed do eiusmod.'

/** About 200 bytes as JSON. */
export function payload(
  index: number,
  submittedAtMs = 0,
): Payload & Readonly<Record<string, unknown>> {
  return {
    index,
    submittedAtMs,
    kind: 'email.welcome',
    to: `user-${String(index).padStart(7, '0')}@example.test`,
    subject: 'Welcome aboard',
    body: BODY,
  }
}

/** Runs `total` calls, at most `limit` of them at once. */
export async function inFlight(
  total: number,
  limit: number,
  call: (index: number) => Promise<unknown>,
): Promise<void> {
  let next = 0
  const caller = async (): Promise<void> => {
    while (next < total) {
      const index = next
      next += 1
      await call(index)
    }
  }
  await Promise.all(Array.from({ length: Math.min(limit, total) }, caller))
}
