/**
 * What is thrown when a definition, an input or an output is not as it must be.
 */
import { PawlError } from '../kernel/index.ts'

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
