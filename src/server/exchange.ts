/**
 * A request and its answer, as much of them as the server reads and writes. A `Request` is one; a listener has no need to make a
 * whole one of what came in, nor a `Response` of what goes out.
 */
export interface IncomingCall {
  readonly method: string
  readonly url: string
  readonly headers: { get(name: string): string | null }
  readonly body: AsyncIterable<Uint8Array> | null
  /** Aborted when the caller is gone. */
  readonly signal: AbortSignal
}

export interface OutgoingAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** A stream is one of events. */
  readonly body: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>
}

/** The server, beneath what it is mounted by. */
export interface AnswerFunction {
  (call: IncomingCall): Promise<OutgoingAnswer>
  /** Polls are answered and streams end. The engine stays open. */
  close(): void
}
