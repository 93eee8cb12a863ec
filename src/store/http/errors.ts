/**
 * What a server says no with, and what it means when it cannot be reached.
 */
import { PawlError } from '../../kernel/index.ts'
import { NoSuchPosition } from '../../log/index.ts'
import type { ProblemDetails } from '../../protocol/index.ts'
import { BadRequest } from '../errors.ts'
import { BeforeHistory } from '../moment.ts'

/** The server could not be reached for so long, or what answers is none. */
export class ServerUnreachable extends PawlError {
  constructor(address: string, why: string, triedMs: number, cause?: unknown) {
    super(
      'ServerUnreachable',
      'unknown_outcome',
      `The server at ${address} was not reached within ${Math.round(triedMs)} ms: ${why} It may have done what it was asked. Repeat the call: each command is safe to repeat.`,
      { address, triedMs: Math.round(triedMs) },
      cause,
    )
  }
}

/** The server refused a request. Its `code` is that of the problem. Nothing changed. */
export class ServerRefused extends PawlError {
  constructor({ code, detail, details }: ProblemDetails) {
    super(code, 'rejected', `The server refused (${code}): ${detail}`, details)
    this.name = 'ServerRefused'
  }
}

/** The server failed, or its store did. Its `code` is that of the problem. */
export class ServerFailed extends PawlError {
  constructor({ code, kind, detail, details }: ProblemDetails) {
    // A bug, or damage: it may have happened before that.
    const isCertain = kind === 'retryable'
    super(
      code,
      isCertain ? 'retryable' : 'unknown_outcome',
      `The server could not do it (${code}): ${detail}`,
      details,
    )
    this.name = 'ServerFailed'
  }
}

/** The error that the store behind the server would have thrown, where its caller looks for it by its class. */
export function errorOf(problem: ProblemDetails): PawlError {
  const { code, kind, detail, details } = problem
  if (code === 'BadRequest' || code === 'InvalidInput') return new BadRequest(detail)
  if (code === 'NoSuchPosition') return new NoSuchPosition(details['position'] as number)
  if (code === 'BeforeHistory') {
    const { time, position, oldestPosition, oldestTime } = details as Record<string, number>
    return new BeforeHistory(time === undefined ? { position: position as number } : { time }, {
      position: oldestPosition as number,
      time: oldestTime as number,
    })
  }
  return kind === 'rejected' ? new ServerRefused(problem) : new ServerFailed(problem)
}
