/**
 * `completion`: a script for a shell.
 */
import type { CliCommand, OptionTerms } from './command.ts'
import { completionScript, SHELLS } from './completion.ts'
import type { Shell } from './completion.ts'
import { WrongUsage } from './failure.ts'

/** Given all commands, this one included. */
export function completionCommand(
  commands: () => readonly CliCommand[],
  globals: readonly OptionTerms[],
): CliCommand {
  return {
    name: 'completion',
    group: 'learn',
    says: 'Prints a completion script for a shell',
    arguments: [{ name: 'shell', says: SHELLS.join(', ') }],
    examples: ['completion bash >> ~/.bashrc', 'completion fish | source'],
    run: async ({ given: { shell } }) => {
      if (!SHELLS.includes(shell as Shell)) {
        throw new WrongUsage(`<shell> is '${shell}': write ${SHELLS.join(', ')}.`)
      }
      const script = completionScript(shell as Shell, commands(), globals)
      return { report: { value: { shell, script }, text: () => script.trimEnd() } }
    },
  }
}
