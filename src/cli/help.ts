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
  const words = given.map(({ name: one, isRequired = true, isRest = false }: ArgumentTerms) => {
    const word = isRest ? `${one}...` : one
    return isRequired ? `<${word}>` : `[${word}]`
  })
  return ['pawl', name, ...words, ...(options.length > 0 ? ['[options]'] : [])].join(' ')
}

const MOST_OWN_LINES = 8

export function commandHelp(command: CliCommand, commands: readonly CliCommand[]): string {
  const { arguments: given = [], options = [], examples, name } = command
  const within = commands.filter((one) => one.name.startsWith(`${name} `))
  // Of a few options each has a line.
  const isLong = options.length > MOST_OWN_LINES
  const plain = isLong ? options.filter(({ isPlain }) => isPlain === true) : []
  const told = options.filter((one) => !plain.includes(one))
  const parts = [
    `Usage: ${usageOf(command)}`,
    wrapped(introOf(command), 0),
    listed(given.map((one) => [one.name, one.says])),
    listed(within.map((one) => [one.name, one.says])),
    [listed(told.map((one) => [one.flags, optionText(one)])), together(plain)]
      .filter((part) => part !== '')
      .join('\n'),
    formsText(command),
    examples.map((one) => `  pawl ${one}`).join('\n'),
  ]
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`
}

export function introOf({ says, intro = `${says}.`, details }: CliCommand): string {
  return details === undefined ? intro : `${intro} ${details}`
}

/** Options without a line of their own. */
function together(options: readonly OptionTerms[]): string {
  const all = options.map(({ flags, isMany }) => `${flags}${isMany === true ? '…' : ''}`)
  return all.length === 0 ? '' : wrapped(`  ${all.join(', ')}`, 2)
}

/** How values are written that look alike in all commands. */
function formsText({ options = [], arguments: given = [] }: CliCommand): string {
  const flags = options.map((one) => one.flags).join(' ')
  const isJson = flags.includes('<json>') || given.some(({ name }) => JSON_ARGUMENTS.has(name))
  const forms = [
    ...(flags.includes('<time>') ? ['<time>: 30s, 5m, 2h, 7d; a date, or 10m for 10 min ago'] : []),
    ...(isJson ? ['JSON may be @file, or @- for stdin'] : []),
  ]
  return forms.length === 0 ? '' : wrapped(`${forms.join('. ')}.`, 0)
}

const JSON_ARGUMENTS: ReadonlySet<string> = new Set(['input', 'value'])

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
