/**
 * `verify` and `repair`: whether a store holds what it should, to the last byte, and what to do if it does not.
 */
import type {
  DatabaseRepairReport,
  DatabaseReport,
  RepairReport,
  VerifyReport,
} from '../../store/index.ts'
import type { CliCommand } from '../command.ts'
import type { CommandCall } from '../command-call.ts'
import { hasFlag } from '../command-call.ts'
import { WrongUsage } from '../failure.ts'
import { withProgress } from '../progress.ts'
import { isDatabase, isServer, shownStore } from '../settings.ts'
import type { Styles } from '../styles.ts'
import { plainText } from '../table.ts'

interface FoundProblem {
  readonly what: string
}

const MOST_SHOWN = 50

/** Where, and what: as far as a problem of a directory or of a database has a place. */
function problemText(problem: FoundProblem): string {
  const { what, ...places } = problem as FoundProblem & Record<string, unknown>
  const where = Object.entries(places)
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([name, value]) => `${name} ${plainText(value)}`)
  return where.length === 0 ? what : `${what} (${where.join(', ')})`
}

function problemLines(styles: Styles, problems: readonly FoundProblem[]): string[] {
  const shown = problems.slice(0, MOST_SHOWN).map((one) => `${styles.red('-')} ${problemText(one)}`)
  const rest = problems.length - shown.length
  return rest > 0 ? [...shown, `and ${rest} more: -o json has them all`] : shown
}

/** The store as a file of this machine, or a database. */
function placeOf({ settings }: CommandCall): string {
  const { store } = settings
  if (isServer(store)) {
    throw new WrongUsage(
      'A server cannot be examined from outside: run this where the store is, with the directory or database that the server opens.',
    )
  }
  settings.assertIsThere()
  return store
}

function schemaOf({ settings }: CommandCall): { readonly schema?: string } {
  const { schema } = settings
  return schema === undefined ? {} : { schema }
}

export const VERIFY: CliCommand = {
  name: 'verify',
  group: 'store',
  says: 'Whether the store holds what it should, to the last byte and entry; it changes nothing',
  details:
    'A directory must be closed: no engine, no server and no `pawl dev` has it open. A database is examined as it is at one moment, while work goes on. Exit code 1: something is wrong.',
  examples: ['verify --store ./data', 'verify --store postgres://localhost/app -o json'],
  run: async (call) => {
    const store = placeOf(call)
    const { verifyDatabase, verifyDirectory } = await import('../../store/index.ts')
    const report = await withProgress<VerifyReport | DatabaseReport>('verifying', (onProgress) =>
      isDatabase(store)
        ? verifyDatabase(store, { ...schemaOf(call), onProgress })
        : verifyDirectory(store, { onProgress }),
    )
    const { problems, ...others } = report
    const isWell = problems.length === 0
    return {
      exitCode: isWell ? 'done' : 'no',
      report: {
        value: { isWell, ...report },
        text: (styles) => {
          const figures = Object.entries(others)
            .flatMap(([name, value]) => (typeof value === 'number' ? [`${value} ${name}`] : []))
            .join(', ')
          const place = shownStore(store)
          return isWell
            ? `${styles.green('well')}  ${place}: ${figures}`
            : [
                `${styles.red('damaged')}  ${place}: ${problems.length} problems; ${figures}`,
                ...problemLines(styles, problems),
                'pawl repair says what could be done.',
              ].join('\n')
        },
      },
    }
  },
}

export const REPAIR: CliCommand = {
  name: 'repair',
  group: 'store',
  says: 'Says what a repair would do; with --apply it does it',
  details:
    'What is taken away from a directory is kept in its folder `aside`. In a database, rows are written anew from events; jobs whose events do not check are given up only if --give-up names them.',
  options: [
    { flags: '--apply', says: 'Do it. Asks first' },
    { flags: '--give-up <job>', says: 'Of a database: a job that may be given up', isMany: true },
  ],
  examples: ['repair --store ./data', 'repair --store ./data --apply --yes'],
  run: async (call) => {
    const store = placeOf(call)
    const apply = hasFlag(call, 'apply')
    const giveUp = (call.options['giveUp'] as string[] | undefined) ?? []
    if (apply) await call.ask(`This changes ${shownStore(store)}, and may give up what is damaged.`)
    const { repairDatabase, repairDirectory } = await import('../../store/index.ts')
    const report = await withProgress<RepairReport | DatabaseRepairReport>(
      'repairing',
      (onProgress) =>
        isDatabase(store)
          ? repairDatabase(store, { ...schemaOf(call), apply, giveUp, onProgress })
          : repairDirectory(store, { apply }),
    )
    const { problems, steps, applied } = report
    const left = 'blocked' in report ? [...report.blocked, ...report.left] : []
    return {
      exitCode: problems.length === 0 || (applied && left.length === 0) ? 'done' : 'no',
      report: {
        value: report,
        text: (styles) => {
          if (problems.length === 0) return `${styles.green('well')}  There is nothing to repair.`
          const did = applied ? 'Was done:' : 'Would be done, with --apply:'
          return [
            `${styles.red('damaged')}  ${problems.length} problems`,
            ...problemLines(styles, problems),
            ...(steps.length === 0 ? ['Nothing can be done about it.'] : [did]),
            ...steps.map((step) => `  ${step}`),
          ].join('\n')
        },
      },
    }
  },
}
