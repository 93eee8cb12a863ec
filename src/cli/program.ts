/**
 * The parser of the command line, made from the commands: it finds the command, refuses what is not known with the
 * nearest name that is, and calls it.
 */
import type { OptionValues } from 'commander'
import { Command, CommanderError, Option } from 'commander'
import { PAWL_VERSION } from '../engine/presence/presence-loop.ts'
import type { ArgumentTerms, CliCommand, OptionTerms } from './command.ts'
import { GROUPS } from './command.ts'
import type { CommandResult } from './command.ts'
import { COMMANDS } from './commands.ts'
import type { ExitCode } from './exit-code.ts'
import { EXIT_CODES } from './exit-code.ts'
import { exitCodeOf, shownFailure } from './failure.ts'
import { GLOBAL_OPTIONS } from './global-options.ts'
import { commandHelp, rootHelp } from './help.ts'
import { questionFor } from './question.ts'
import type { OutputFormat } from './report.ts'
import { Printer } from './report.ts'
import { Settings } from './settings.ts'

interface ProgramEnd {
  exitCode: ExitCode
}

/** Runs one command line; the exit code. Nothing is thrown. */
export async function runProgram(args: readonly string[]): Promise<number> {
  const outcome: ProgramEnd = { exitCode: 'done' }
  const program = buildProgram(outcome)
  try {
    if (args.length === 0) process.stdout.write(rootHelp(COMMANDS))
    else await program.parseAsync(withoutHelpWord(args), { from: 'user' })
  } catch (error) {
    outcome.exitCode = tellFailure(error, args)
  }
  return EXIT_CODES[outcome.exitCode].code
}

/** `help list` is `list --help`. */
function withoutHelpWord(args: readonly string[]): readonly string[] {
  if (args[0] !== 'help') return args
  const words = args.slice(1).join(' ')
  const isKnown = COMMANDS.some(({ name }) => name === words || name.startsWith(`${words} `))
  // What is no command is refused as such.
  return words === '' || isKnown ? [...args.slice(1), '--help'] : args.slice(1)
}

/** The parser says by itself what is wrong with a command line. */
function tellFailure(error: unknown, args: readonly string[]): ExitCode {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 'done' : 'usage'
  const exitCode = exitCodeOf(error)
  const { name } = error as Error
  if (name === 'CommandEnded') return exitCode
  const failure = shownFailure(error)
  if (isJsonWanted(args)) process.stderr.write(`${JSON.stringify({ error: failure })}\n`)
  else process.stderr.write(`pawl: ${failure.message}${codeText(failure.code, exitCode)}\n`)
  if (exitCode === 'bug' && process.env['PAWL_DEBUG'] !== undefined) console.error(error)
  return exitCode
}

function codeText(code: string, exitCode: ExitCode): string {
  return exitCode === 'usage' ? '' : ` (${code})`
}

function isJsonWanted(args: readonly string[]): boolean {
  const at = args.findIndex((one) => one === '-o' || one === '--output')
  const format =
    at === -1 ? args.find((one) => one.startsWith('--output='))?.slice(9) : args[at + 1]
  return format === 'json' || format === 'jsonl'
}

export function buildProgram(outcome: ProgramEnd = { exitCode: 'done' }): Command {
  const program = new Command('pawl')
  prepare(program, () => rootHelp(COMMANDS))
  program
    .description('A durable job engine: hand in work, look at it, and operate it')
    .version(PAWL_VERSION, '-V, --version', 'Print the version')
    .helpCommand(false)
  for (const terms of GLOBAL_OPTIONS) addOption(program, terms)
  for (const command of COMMANDS) addCommand(program, command, outcome)
  return program
}

/** Errors and help look alike everywhere. */
function prepare(command: Command, help: () => string): void {
  command
    .exitOverride()
    .showSuggestionAfterError(true)
    .configureHelp({ formatHelp: help })
    .configureOutput({
      outputError: (text, write) => write(text.replace(/^error: /, 'pawl: ')),
      getOutHasColors: () => false,
    })
    .helpOption('-h, --help', 'Say how it is used')
}

function addCommand(program: Command, terms: CliCommand, outcome: ProgramEnd): void {
  const words = terms.name.split(' ')
  let parent = program
  for (const word of words.slice(0, -1)) parent = childOf(parent, word)
  const name = words.at(-1) as string
  const command = childOf(parent, name)
  prepare(command, () => commandHelp(terms, COMMANDS))
  command.description(terms.says).helpGroup(`${GROUPS[terms.group]}:`).allowExcessArguments(false)
  for (const one of terms.arguments ?? []) command.argument(argumentSyntax(one), one.says)
  for (const one of terms.options ?? []) addOption(command, one)
  command.action(async (...given: unknown[]) => {
    const values = given.slice(0, terms.arguments?.length ?? 0)
    outcome.exitCode = await perform(terms, command, values)
  })
}

function childOf(parent: Command, name: string): Command {
  const found = parent.commands.find((one) => one.name() === name)
  if (found !== undefined) return found
  const made = parent.command(name)
  prepare(made, () => rootHelp(COMMANDS))
  return made
}

function argumentSyntax({ name, isRequired = true, isRest = false }: ArgumentTerms): string {
  const word = isRest ? `${name}...` : name
  return isRequired ? `<${word}>` : `[${word}]`
}

function addOption(command: Command, { flags, says, choices, isMany = false }: OptionTerms): void {
  const option = new Option(flags, says)
  if (choices !== undefined) option.choices(choices)
  if (isMany) {
    option.argParser((value: string, before: unknown) =>
      Array.isArray(before) ? [...(before as string[]), value] : [value],
    )
  }
  command.addOption(option)
}

async function perform(
  terms: CliCommand,
  command: Command,
  values: readonly unknown[],
): Promise<ExitCode> {
  const options: OptionValues = command.optsWithGlobals()
  const { output = 'text', color, yes } = options
  const printer = new Printer(output as OutputFormat, typeof color === 'boolean' ? color : null)
  const given = Object.fromEntries((terms.arguments ?? []).map(({ name }, i) => [name, values[i]]))
  const result: CommandResult | void = await terms.run({
    given: given as Record<string, string | undefined>,
    rest: values.flatMap((value) => (Array.isArray(value) ? (value as string[]) : [])),
    options,
    settings: new Settings(options),
    printer,
    ask: questionFor(yes === true),
  })
  if (result?.report !== undefined) printer.print(result.report)
  return result?.exitCode ?? 'done'
}
