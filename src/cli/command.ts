/**
 * A command of the command line as a value: its name, what it takes, what it says of itself, and what it does. The
 * parser, the help, the completion and `docs/cli.md` are made from it.
 */
import type { CommandCall } from './command-call.ts'
import type { ExitCode } from './exit-code.ts'
import type { CommandReport } from './report.ts'

export const GROUPS = {
  run: 'Run',
  jobs: 'Jobs',
  operate: 'Operate',
  store: 'Store',
  learn: 'Learn',
} as const

export type CommandGroup = keyof typeof GROUPS

export interface ArgumentTerms {
  readonly name: string
  readonly says: string
  /** Default true. */
  readonly isRequired?: boolean
  /** The last one: as many words as there are. */
  readonly isRest?: boolean
}

export interface OptionTerms {
  /** As it is typed: `--limit <n>`, `-f, --follow`. */
  readonly flags: string
  readonly says: string
  readonly choices?: readonly string[]
  /** Given several times, it is a list. */
  readonly isMany?: boolean
  /** Its name says it all: the help lists it with others, without a line of its own. */
  readonly isPlain?: boolean
}

/** What a command came to: something to print, and how it ended. Default: done. */
export interface CommandResult {
  readonly report?: CommandReport
  readonly exitCode?: ExitCode
}

export interface CliCommand {
  /** `list`, or `quarantine redrive`, which is a command within a command. */
  readonly name: string
  readonly group: CommandGroup
  /** One sentence, without its full stop. */
  readonly says: string
  readonly arguments?: readonly ArgumentTerms[]
  readonly options?: readonly OptionTerms[]
  /** Whole lines, without `pawl`. */
  readonly examples: readonly string[]
  /** In the place of `says` where there is room for more. */
  readonly intro?: string
  /** What else there is to know, in a few lines. */
  readonly details?: string
  run(call: CommandCall): Promise<CommandResult | void>
}
