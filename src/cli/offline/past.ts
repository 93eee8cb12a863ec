/**
 * `at` and `diff`: all jobs, or one, as they were at a moment, and what was different at another one.
 */
import type { JobListItem, PastFilter, Pawl } from '../../engine/index.ts'
import type { CliCommand, OptionTerms } from '../command.ts'
import type { CommandCall } from '../command-call.ts'
import { argument, textOption } from '../command-call.ts'
import { WrongUsage } from '../failure.ts'
import { jobFacts } from '../job-text.ts'
import { momentFrom } from '../option-values.ts'
import type { CommandReport } from '../report.ts'
import { withStore } from '../store-session.ts'
import type { Styles } from '../styles.ts'
import { stateText } from '../styles.ts'
import { tableText, timeText } from '../table.ts'

const FILTERS: readonly OptionTerms[] = [
  { flags: '--type <type>', says: 'Only jobs of this type' },
  { flags: '--state <state>', says: 'Only jobs that were in this state' },
  { flags: '--queue <queue>', says: 'Only jobs of this queue' },
  { flags: '--tag <tag>', says: 'Only jobs with this tag' },
]
function filterOf(call: CommandCall): PastFilter {
  const given = ['type', 'state', 'queue', 'tag'].map((name) => [name, textOption(call, name)])
  return Object.fromEntries(given.filter(([, value]) => value !== undefined)) as PastFilter
}

function momentText(moment: Date | number): string {
  return moment instanceof Date ? timeText(moment) : `position ${moment}`
}

async function countsReport(
  pawl: Pawl,
  moment: Date | number,
  filter: PastFilter,
): Promise<CommandReport> {
  const counts = await pawl.at(moment).counts(filter)
  return {
    value: counts,
    text: (styles) => {
      const states = Object.entries(counts.states).filter(([, count]) => count > 0)
      return [
        `At ${momentText(moment)}: ${counts.total} jobs`,
        ...states.map(([state, count]) => `  ${stateText(styles, state)} ${count}`),
      ].join('\n')
    },
  }
}

async function jobReport(pawl: Pawl, moment: Date | number, id: string): Promise<CommandReport> {
  const info = await pawl.at(moment).get(id)
  if (info === null) {
    throw new WrongUsage(`There was no job '${id}' at ${momentText(moment)}.`)
  }
  return { value: info, text: (styles) => jobFacts(styles, info) }
}

const WHEN = 'A time (2026-11-18T15:00Z), how long ago (10m), or a position of the log'

export const AT: CliCommand = {
  name: 'at',
  group: 'store',
  says: 'The store as it was: how many jobs were in which state, or one job',
  arguments: [
    { name: 'moment', says: WHEN },
    { name: 'job', says: 'The id of a job', isRequired: false },
  ],
  options: FILTERS,
  examples: ['at 10m', 'at 2026-11-18T15:00Z --type invoice', 'at 4711 invoice-7'],
  run: (call) =>
    withStore(call, async (pawl) => {
      const moment = momentFrom(argument(call, 'moment'), '<moment>')
      const { job } = call.given
      if (job !== undefined) return { report: await jobReport(pawl, moment, job) }
      return { report: await countsReport(pawl, moment, filterOf(call)) }
    }),
}

interface Changed {
  readonly id: string
  readonly type: string
  /** Null: there was no such job. */
  readonly before: string | null
  readonly after: string | null
}

/** Of all jobs that are different, and not more of them in memory than there were at the first moment. */
async function changesBetween(
  pawl: Pawl,
  [from, to]: readonly [Date | number, Date | number],
  filter: PastFilter,
): Promise<Changed[]> {
  const before = new Map<string, JobListItem>()
  for await (const one of pawl.at(from).list(filter)) before.set(one.id, one)
  const changes: Changed[] = []
  for await (const { id, type, state, attempt } of pawl.at(to).list(filter)) {
    const was = before.get(id)
    before.delete(id)
    if (was?.state === state && was.attempt === attempt) continue
    changes.push({ id, type, before: was?.state ?? null, after: state })
  }
  for (const { id, type, state } of before.values()) {
    changes.push({ id, type, before: state, after: null })
  }
  return changes
}

function changesText(styles: Styles, changes: readonly Changed[]): string {
  if (changes.length === 0) return 'No job is different.'
  return tableText(
    styles,
    [
      { title: 'job', of: ({ id }) => id },
      { title: 'type', of: ({ type }) => type, most: 24 },
      { title: 'before', of: ({ before }) => before ?? '-' },
      { title: 'after', of: ({ after }) => after ?? 'forgotten' },
    ],
    changes,
  )
}

export const DIFF: CliCommand = {
  name: 'diff',
  group: 'store',
  says: 'Which jobs were different at two moments: new, in another state, tried again, forgotten',
  details: 'It reads both moments from the log, and keeps the jobs of the first in memory.',
  arguments: [
    { name: 'from', says: WHEN },
    { name: 'to', says: 'Likewise; now, if it is left out', isRequired: false },
  ],
  options: FILTERS.filter(({ flags }) => !flags.startsWith('--state')),
  examples: ['diff 1h', 'diff 4711 4800 --type invoice -o jsonl'],
  run: (call) =>
    withStore(call, async (pawl) => {
      const from = momentFrom(argument(call, 'from'), '<from>')
      const to = momentFrom(call.given['to'] ?? 'now', '<to>')
      const changes = await changesBetween(pawl, [from, to], filterOf(call))
      return {
        report: {
          value: changes,
          items: changes,
          text: (styles) => changesText(styles, changes),
        },
      }
    }),
}
