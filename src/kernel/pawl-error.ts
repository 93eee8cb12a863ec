/**
 * The base of everything that Pawl throws. What it answers as a value is in `answers.ts`.
 *
 * `code` is stable and listed in `docs/errors.md`; `kind` says what the caller can do:
 * - rejected: the request is wrong, change it;
 * - retryable: nothing happened, try again;
 * - unknown_outcome: it may have happened, ask again (commands are safe to repeat);
 * - corrupt: stored bytes are damaged, a person must look;
 * - bug: should not happen, report it.
 */
export type ErrorKind = 'rejected' | 'retryable' | 'unknown_outcome' | 'corrupt' | 'bug'

export class PawlError extends Error {
  readonly code: string
  readonly kind: ErrorKind
  readonly details: Readonly<Record<string, unknown>>

  constructor(
    code: string,
    kind: ErrorKind,
    message: string,
    details: Readonly<Record<string, unknown>> = {},
    cause?: unknown,
  ) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = code
    this.code = code
    this.kind = kind
    this.details = details
  }
}
