/**
 * `conformance`: examines a worker in any language.
 */
import type { CliCommand } from '../command.ts'
import { textOption } from '../command-call.ts'
import { wholeFrom } from '../option-values.ts'

export const CONFORMANCE: CliCommand = {
  name: 'conformance',
  group: 'learn',
  says: 'Examines a worker in any language: starts a server and the worker, and checks what it does',
  details:
    'The command gets PAWL_URL and PAWL_TOKEN, and has the handlers that docs/guide/21-other-machines.md lists. It takes about 15 seconds. Exit code 1: a check that is required does not hold.',
  arguments: [{ name: 'command', says: 'The worker, behind --', isRest: true }],
  options: [{ flags: '--patience <n>', says: 'How long it may take for a check, in seconds; 20' }],
  examples: ['conformance -- python3 worker.py', 'conformance -o json -- ./worker.sh'],
  run: async (call) => {
    const { printer, rest } = call
    const patience = textOption(call, 'patience')
    const { runConformance } = await import('../../conformance/index.ts')
    const report = await runConformance(rest, {
      onCheck: ({ name }) => {
        if (printer.format === 'text') printer.note(`checked: ${name}`)
      },
      ...(patience === undefined
        ? {}
        : { patienceMs: wholeFrom(patience, '--patience', 1) * 1_000 }),
    })
    const { isOk, checks, said } = report
    return {
      exitCode: isOk ? 'done' : 'no',
      report: {
        value: report,
        items: checks,
        text: (styles) => {
          const lines = checks.map((one) => {
            const bad = one.isRequired ? styles.red('no ') : styles.yellow('no ')
            const mark = one.isOk ? styles.green('yes') : bad
            return `${mark}  ${one.name}${one.why === null ? '' : `: ${one.why}`}`
          })
          const end = isOk ? styles.green('It conforms.') : styles.red('It does not conform.')
          const words = isOk || said === '' ? [] : [`It said: ${said.trim()}`]
          return [...lines, ...words, end].join('\n')
        },
      },
    }
  },
}
