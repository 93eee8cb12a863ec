/**
 * What went wrong, for a person or a program: what was given, where, and what to write instead.
 */
import { PawlError } from '../kernel/index.ts'
import type { ExitCode } from './exit-code.ts'

/** The command line is wrong, or what it names is not there. Nothing was done. */
export class WrongUsage extends Error {
  override readonly name = 'WrongUsage'
}

/** The command is over, and has said why: nothing more is printed. */
export class CommandEnded extends Error {
  override readonly name = 'CommandEnded'
  readonly exitCode: ExitCode

  constructor(exitCode: ExitCode) {
    super(exitCode)
    this.exitCode = exitCode
  }
}

export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof WrongUsage) return 'usage'
  if (error instanceof CommandEnded) return error.exitCode
  return error instanceof PawlError ? error.kind : 'bug'
}

export interface ShownFailure {
  readonly code: string
  readonly kind: string
  readonly message: string
  readonly details: unknown
}

export function shownFailure(error: unknown): ShownFailure {
  if (error instanceof WrongUsage) {
    return { code: 'WrongUsage', kind: 'usage', message: error.message, details: {} }
  }
  if (error instanceof PawlError) {
    const { code, kind, message, details } = error
    return { code, kind, message, details }
  }
  const message = error instanceof Error ? error.message : String(error)
  return { code: codeOf(error), kind: 'bug', message, details: {} }
}

function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' ? code : 'Error'
}
