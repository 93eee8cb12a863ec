/**
 * The statements that list jobs: from the index that leaves the fewest, in order of submission or against it. No
 * statement looks at more jobs than it is told to.
 */

import { HELD_LIST } from './count-statements.ts'
import { IS_LISTED_BY_STATE, IS_OWN_ROW } from './statements.ts'

/** Where the jobs of a list are taken from. Each but the first leaves out jobs that a filter does not want. */
export const LIST_SOURCES = [
  'all',
  'type',
  'key',
  'label',
  'held',
  'dead',
  'failed',
  'again',
  'running',
  'waiting',
  'succeeded',
] as const
export type ListSource = (typeof LIST_SOURCES)[number]

/** The name that a source is given is a type, a key or a label; of the others it is not used. */
export interface ListStatements {
  /**
   * position, most looked at, name, type, queue, state of a row, ended from, ended before, most → loaded, spec of jobs
   * behind that position; a null lets all through. Pipelines come whatever their queue and state are.
   */
  readonly page: string
  /** The first three → how many jobs were looked at, and the position of the last. */
  readonly looked: string
}

export type ListOrder = 'oldest' | 'newest'
export type Lists = Readonly<Record<ListOrder, Readonly<Record<ListSource, ListStatements>>>>

/** How a dialect writes what differs. */
export interface ListDialect {
  /** A parameter with its type. */
  readonly position: string
  readonly most: string
  readonly name: string
  /** `select … from (jobs) c`, with the own rows `w` of these jobs. */
  readonly page: (jobs: string, direction: 'asc' | 'desc') => string
}

export function listStatements(dialect: ListDialect): Lists {
  const inOrder = (order: ListOrder): Record<ListSource, ListStatements> => {
    const direction = order === 'oldest' ? 'asc' : 'desc'
    const last = order === 'oldest' ? 'max' : 'min'
    const entries = LIST_SOURCES.map((source): [ListSource, ListStatements] => {
      const jobs = jobsOf(source, dialect, direction)
      // A parameter that a source has no use for must be there.
      const looked = `select count(*), ${last}(position) from (${jobs}) as looked
      where ${dialect.name} is null or ${dialect.name} is not null`
      return [source, { page: dialect.page(jobs, direction), looked }]
    })
    return Object.fromEntries(entries) as Record<ListSource, ListStatements>
  }
  return { oldest: inOrder('oldest'), newest: inOrder('newest') }
}

/** A plain job: the segments of one pipeline would come again and again. In other words than an index by type has. */
const HOLDS_LEASE = 'expires_at is not null and stage + 1 = 0'

/** position, job of the next ones. */
function jobsOf(source: ListSource, dialect: ListDialect, direction: 'asc' | 'desc'): string {
  const { position, most, name } = dialect
  const ahead = `position ${direction === 'asc' ? '>' : '<'} ${position}`
  const from = (table: string, condition: string, rows = 'all'): string => `
      select * from (
        select ${rows} position, job from ${table} where ${condition} and ${ahead}
        order by position ${direction} limit ${most}
      ) as found`
  const pipelines = (...states: string[]): string[] =>
    states.map((state) => from('pipelines', `counted = '${state}'`))
  const together = (...some: string[]): string => `
      select distinct position, job from (${some.join('\n      union all')}) as listed
      order by position ${direction} limit ${most}`
  switch (source) {
    case 'all':
      return from('events', `type = 'JobSubmitted'`)
    case 'type':
      // What holds a lease is in the index of leases: by its type, it would be in there for a moment.
      return together(
        from('work', `type = ${name} and ${IS_OWN_ROW} and expires_at is null`),
        from('work', `${HOLDS_LEASE} and type || '' = ${name}`),
      )
    case 'key':
      return from('work', `key = ${name}`)
    case 'label':
      return from('labels', `label = ${name}`)
    case 'held':
      // Since 0: this list is in the order of jobs.
      return together(from('questions', `list = '${HELD_LIST}' and since = 0`, 'distinct'))
    case 'dead':
      // Of a pipeline with many such segments, one.
      return together(from('work', `state = 'DEAD'`, 'distinct'))
    case 'failed':
      return together(
        from('work', `${IS_LISTED_BY_STATE} and state = 'FAILED'`),
        ...pipelines('FAILED'),
      )
    case 'again':
      return together(
        from('work', `${IS_LISTED_BY_STATE} and state = 'WAITING' and attempt > 0`),
        ...pipelines('RETRYING', 'SUSPENDED'),
      )
    case 'running':
      return together(
        from('work', HOLDS_LEASE),
        ...pipelines('RUNNING', 'RETRYING', 'SUSPENDED', 'QUEUED', 'CREATED'),
      )
    case 'waiting':
      return together(
        from('work', 'channel is not null and turn is not null and parked is null'),
        from('work', 'channel is not null and turn is null'),
        from('work', 'parked is not null'),
        from('work', `${IS_LISTED_BY_STATE} and state = 'WAITING' and channel is null`),
        ...pipelines('CREATED', 'QUEUED'),
      )
    case 'succeeded':
      return together(
        from('work', `over_at is not null and state = 'COMPLETED'`),
        ...pipelines('SUCCEEDED'),
      )
  }
}
