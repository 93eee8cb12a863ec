/**
 * What is thrown when a definition, an input or an output is not as it must be; and the error that
 * a handler throws when trying again cannot help.
 */
import { LIMITS, PawlError } from '../kernel/index.ts'

/** An option of a definition, a submit or a worker makes no sense. */
export class InvalidDefinition extends PawlError {
  constructor(message: string, details: Readonly<Record<string, unknown>> = {}) {
    super('InvalidDefinition', 'rejected', message, details)
  }
}

/** What a schema said about one value. */
export interface SchemaIssue {
  readonly path: string
  readonly message: string
}

/** A value that its schema refuses. */
export class InvalidValue extends PawlError {
  readonly issues: readonly SchemaIssue[]

  constructor(what: string, issues: readonly SchemaIssue[]) {
    const lines = issues.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`))
    super('InvalidValue', 'rejected', `${what} does not fit its schema: ${lines.join('; ')}.`, {
      what,
      issues,
    })
    this.issues = issues
  }
}

interface TerminalErrorOptions {
  /** What programs look at: it becomes the `code` of the task's failure. Default 'TerminalError'. */
  readonly code?: string
  readonly cause?: unknown
}

/**
 * No further attempt is made, whatever the retry policy says. Thrown, not returned, so it goes
 * through code that knows nothing of Pawl.
 */
export class TerminalError extends Error {
  readonly code: string

  constructor(message: string, options: TerminalErrorOptions = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined)
    this.name = 'TerminalError'
    this.code = options.code ?? 'TerminalError'
  }
}

/** Of jobs, effects, stages, queues, schedules and workers. */
export function assertName(name: unknown, whose: string): void {
  if (typeof name === 'string' && name !== '' && name.length <= LIMITS.nameChars) return
  throw new InvalidDefinition(
    `${whose} needs a name of 1 to ${LIMITS.nameChars} characters, not ${typeof name === 'string' ? `one of ${name.length}` : typeof name}.`,
  )
}
