/**
 * What the server itself refuses.
 */
import { PawlError } from '../kernel/index.ts'
import type { ProblemDetails, ServerProblem } from '../protocol/index.ts'
import type { OutgoingAnswer } from './exchange.ts'
import { PROBLEM_TYPE, problemDetails, SERVER_PROBLEMS } from '../protocol/index.ts'

/** A request that is wrong, or not the caller's to make. Nothing changed. Its `code` is that of the problem. */
export class RequestRefused extends PawlError {
  readonly headers: Readonly<Record<string, string>>

  constructor(
    code: ServerProblem,
    message: string,
    details: Readonly<Record<string, unknown>> = {},
    headers: Readonly<Record<string, string>> = {},
  ) {
    const isLater = SERVER_PROBLEMS[code].kind === 'retryable'
    super(code, isLater ? 'retryable' : 'rejected', message, details)
    this.name = 'RequestRefused'
    this.headers = headers
  }
}

/** What is said to the caller about an error. Of one that is not Pawl's, only that there was one. */
export function problemOf(error: unknown): ProblemDetails {
  if (error instanceof PawlError && error.kind !== 'bug') {
    return problemDetails(error.code, error.kind, error.message, error.details)
  }
  return problemDetails('InternalError', 'bug', SERVER_PROBLEMS.InternalError.says)
}

export function problemAnswer(
  error: unknown,
  headers: Readonly<Record<string, string>>,
): OutgoingAnswer {
  const problem = problemOf(error)
  const own = error instanceof RequestRefused ? error.headers : {}
  return {
    status: problem.status,
    headers: { ...headers, ...own, 'content-type': PROBLEM_TYPE },
    body: JSON.stringify(problem),
  }
}
