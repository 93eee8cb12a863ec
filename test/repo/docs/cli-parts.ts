/**
 * Draws the tables of `docs/cli.md` from the commands themselves.
 */
import type { CliCommand, CommandGroup, OptionTerms } from '../../../src/cli/command.ts'
import { GROUPS } from '../../../src/cli/command.ts'
import { COMMANDS } from '../../../src/cli/commands.ts'
import { EXIT_CODES } from '../../../src/cli/exit-code.ts'
import { GLOBAL_OPTIONS } from '../../../src/cli/global-options.ts'
import { introOf, optionText, usageOf } from '../../../src/cli/help.ts'
import { mono, table } from './blocks.ts'

function optionRows(options: readonly OptionTerms[]): string[][] {
  return options.map((one) => [mono(one.flags), optionText(one)])
}

function section(command: CliCommand): string {
  const { name, arguments: given = [], options = [], examples } = command
  const rows = [
    ...given.map((one) => [
      mono(one.isRequired === false ? `[${one.name}]` : `<${one.name}>`),
      one.says,
    ]),
    ...optionRows(options),
  ]
  return [
    `#### ${mono(`pawl ${name}`)}`,
    introOf(command),
    `\`\`\`sh\n${usageOf(command).replaceAll(/^/gm, '# ')}\n${examples.map((one) => `pawl ${one}`).join('\n')}\n\`\`\``,
    ...(rows.length === 0 ? [] : [table(['Given', 'Meaning'], rows)]),
  ].join('\n\n')
}

function commandSections(): string {
  return (Object.keys(GROUPS) as CommandGroup[])
    .map((group) => {
      const own = COMMANDS.filter((one) => one.group === group)
      return [`### ${GROUPS[group]}`, ...own.map(section)].join('\n\n')
    })
    .join('\n\n')
}

function overview(): string {
  const rows = COMMANDS.map(({ name, group, says }) => [mono(name), GROUPS[group], says])
  return table(['Command', 'Group', 'What it does'], rows)
}

/** The parts of `docs/cli.md`, by the name in their marker. */
export function cliParts(): Readonly<Record<string, string>> {
  return {
    overview: overview(),
    commands: commandSections(),
    'global-options': table(['Option', 'Meaning'], optionRows(GLOBAL_OPTIONS)),
    'exit-codes': table(
      ['Code', 'Meaning'],
      Object.values(EXIT_CODES).map(({ code, says }) => [String(code), says]),
    ),
  }
}
