/**
 * One call of a command: what it was given, and the means that it has.
 */
import type { Printer } from './report.ts'
import type { AskFirst } from './question.ts'
import type { Settings } from './settings.ts'

export interface CommandCall {
  /** Arguments by their names. */
  readonly given: Readonly<Record<string, string | undefined>>
  /** The words of an argument that takes as many as there are. */
  readonly rest: readonly string[]
  /** Options by their names, in camel case. */
  readonly options: Readonly<Record<string, unknown>>
  readonly settings: Settings
  readonly printer: Printer
  readonly ask: AskFirst
}

/** Text of an option; undefined if it was not given. */
export function textOption({ options }: CommandCall, name: string): string | undefined {
  const value = options[name]
  return typeof value === 'string' ? value : undefined
}

export function hasFlag({ options }: CommandCall, name: string): boolean {
  return options[name] === true
}

export function argument({ given }: CommandCall, name: string): string {
  return given[name] as string
}
