/**
 * Help that fits a screen: the commands in groups, and of each command what it takes, and examples.
 */
import type { ArgumentTerms, CliCommand, CommandGroup, OptionTerms } from './command.ts'
import { GROUPS } from './command.ts'

const WIDTH = 80

/** Without the commands within others. */
function mainCommands(commands: readonly CliCommand[], group: CommandGroup): string[] {
  const names = commands
    .filter((one) => one.group === group)
    .map(({ name }) => name.split(' ')[0] as string)
  return [...new Set(names)]
}

export function rootHelp(commands: readonly CliCommand[]): string {
  const groups = (Object.keys(GROUPS) as CommandGroup[]).map((group) => {
    const title = GROUPS[group].padEnd(9)
    return wrapped(`  ${title}${mainCommands(commands, group).join(' ')}`, 11)
  })
  const lines = [
    'Usage: pawl <command> [options]',
    '',
    ...groups,
    '',
    '  -s, --store <place>    ./data, sqlite:jobs.db, postgres://…, http://… (PAWL_STORE)',
    '  -p, --profile <name>   a profile of the config file (PAWL_PROFILE)',
    '  -o, --output <format>  text, json or jsonl',
    '  -y, --yes              ask nothing before what cannot be taken back',
    '',
    '  pawl dev ./jobs.ts                              try jobs on this machine',
    '  pawl list --state QUARANTINED -s ./data         what waits for a person',
    '  pawl explain <job> -s http://127.0.0.1:7295     why it is not running',
    '',
    '`pawl help <command>` says more about one. docs/cli.md has all of them.',
  ]
  return `${lines.join('\n')}\n`
}

/** Words that go on below each other, behind a margin. */
function wrapped(text: string, margin: number): string {
  const lines: string[] = ['']
  for (const word of text.split(/(?<=\S) (?=\S)/)) {
    const line = lines.at(-1) as string
    if (line !== '' && line.length + 1 + word.length > WIDTH) {
      lines.push(' '.repeat(margin) + word)
    } else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`
  }
  return lines.join('\n')
}

export function usageOf({ name, arguments: given = [], options = [] }: CliCommand): string {
  const words = given.map(({ name: one, isRequired = true }: ArgumentTerms) =>
    isRequired ? `<${one}>` : `[${one}]`,
  )
  return ['pawl', name, ...words, ...(options.length > 0 ? ['[options]'] : [])].join(' ')
}

export function commandHelp(command: CliCommand, commands: readonly CliCommand[]): string {
  const { says, details, arguments: given = [], options = [], examples, name } = command
  const within = commands.filter((one) => one.name.startsWith(`${name} `))
  const parts = [
    `Usage: ${usageOf(command)}`,
    `${says}.`,
    ...(details === undefined ? [] : [details]),
    listed(given.map((one) => [one.name, one.says])),
    listed(within.map((one) => [one.name, one.says])),
    listed(options.map((one) => [one.flags, optionText(one)])),
    examples.map((one) => `  pawl ${one}`).join('\n'),
    'Options of every command: `pawl --help`.',
  ]
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`
}

export function optionText({ says, choices, isMany = false }: OptionTerms): string {
  const from = choices === undefined ? '' : `: ${choices.join(', ')}`
  return `${says}${from}${isMany ? '; may be given several times' : ''}`
}

function listed(rows: readonly (readonly [name: string, says: string])[]): string {
  const width = Math.min(28, Math.max(0, ...rows.map(([name]) => name.length)))
  return rows
    .map(([name, says]) => wrapped(`  ${name.padEnd(width)}  ${says}`, width + 4))
    .join('\n')
}
