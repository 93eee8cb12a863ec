/**
 * The error that a handler throws when trying again cannot help.
 *
 * Thrown, not returned, so it goes through code that knows nothing of Pawl. What it leads to is
 * decided elsewhere: here is only how to say it.
 */

export interface TerminalErrorOptions {
  /** What programs look at: it becomes the `code` of the task's failure. Default 'TerminalError'. */
  readonly code?: string
  readonly cause?: unknown
}

/** No further attempt is made, whatever the retry policy says. */
export class TerminalError extends Error {
  readonly code: string

  constructor(message: string, options: TerminalErrorOptions = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined)
    this.name = 'TerminalError'
    this.code = options.code ?? 'TerminalError'
  }
}
