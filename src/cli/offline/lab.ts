/**
 * `lab`: a failure mode played on the real kernel, without its guard and with it.
 */
import type { LabRun, LabStep } from '../../lab/index.ts'
import { FAILURE_MODES, invariantText, runExperiment } from '../../lab/index.ts'
import type { CliCommand } from '../command.ts'
import { WrongUsage } from '../failure.ts'
import type { CommandReport } from '../report.ts'
import type { Styles } from '../styles.ts'
import { tableText } from '../table.ts'

/** Of a story that is longer, the beginning and the end. */
const FIRST_STEPS = 12
const LAST_STEPS = 4

function listReport(): CommandReport {
  const modes = FAILURE_MODES.map(({ id, title, story }) => ({ id, title, story }))
  return {
    value: modes,
    items: modes,
    text: (styles) =>
      tableText(
        styles,
        [
          { title: 'mode', of: ({ id }) => id },
          { title: 'what goes wrong', of: ({ title }) => title },
        ],
        modes,
      ),
  }
}

function stepText(styles: Styles, { atMs, by, command, answer }: LabStep): string {
  const seconds = `${(atMs / 1_000).toFixed(1)} s`.padStart(10)
  const told = answer === 'committed' ? answer : styles.yellow(answer)
  return `${styles.dim(seconds)}  ${by.padEnd(12)} ${command.padEnd(18)} ${told}`
}

function runText(styles: Styles, run: LabRun): string[] {
  const { steps, findings, brokenInvariants } = run
  const left = steps.length - FIRST_STEPS - LAST_STEPS
  const shown = (some: readonly LabStep[]): string[] => some.map((one) => stepText(styles, one))
  return [
    ...(left > 0
      ? [
          ...shown(steps.slice(0, FIRST_STEPS)),
          styles.dim(`            … ${left} more`),
          ...shown(steps.slice(-LAST_STEPS)),
        ]
      : shown(steps)),
    ...findings.map((one) => `  ${styles.bold(one)}`),
    ...brokenInvariants.map(
      (number) => `  ${styles.red(`broken: ${invariantText(number)} (invariant ${number})`)}`,
    ),
  ]
}

export const LAB: CliCommand = {
  name: 'lab',
  group: 'learn',
  says: 'Shows a failure mode live, on the real kernel: without its guard, and with it',
  details:
    'Nothing is stored. docs/failure-modes.md tells the stories, and how each is recovered from.',
  arguments: [{ name: 'mode', says: 'FM_001, …; none: a list of them', isRequired: false }],
  examples: ['lab', 'lab FM_001', 'lab FM_008 -o json'],
  run: async ({ given: { mode } }) => {
    if (mode === undefined) return { report: listReport() }
    const wanted = mode
      .toUpperCase()
      .replace(/^FM_?0*(\d+).*$/, (_, n: string) => `FM_${n.padStart(3, '0')}`)
    const found = FAILURE_MODES.find(({ id }) => id === wanted)
    if (found === undefined) {
      const last = FAILURE_MODES.at(-1)?.id
      throw new WrongUsage(`There is no failure mode '${mode}': there are FM_001 to ${last}.`)
    }
    const runs = found.experiments.map((experiment) => ({
      damage: experiment.damage,
      leftOut: experiment.leftOut,
      without: runExperiment(experiment, false),
      with: runExperiment(experiment, true),
    }))
    const { id, title, story } = found
    return {
      report: {
        value: { id, title, story, experiments: runs },
        text: (styles) =>
          [
            `${styles.bold(id)}  ${title}`,
            story,
            ...runs.flatMap((run) =>
              [
                ['', `${styles.red('WITHOUT')} ${run.leftOut.join(', ')}: ${run.damage}`],
                runText(styles, run.without),
                ['', `${styles.green('WITH')} every guard:`],
                runText(styles, run.with),
              ].flat(),
            ),
          ].join('\n'),
      },
    }
  },
}
