/**
 * How the statements of a claim and of a report are carried out: by indexes, row by row, whatever is
 * in the tables.
 */
import { describe, expect, it } from 'vitest'
import { HISTORY as POSTGRES_HISTORY } from '../../../src/store/sql/postgres/history-statements.ts'
import { POSTGRES } from '../../../src/store/sql/postgres/statements.ts'
import { HISTORY as SQLITE_HISTORY } from '../../../src/store/sql/sqlite/history-statements.ts'
import { SQLITE } from '../../../src/store/sql/sqlite/statements.ts'
import type { ListSource } from '../../../src/store/sql/list-statements.ts'
import { LIST_SOURCES } from '../../../src/store/sql/list-statements.ts'
import type { HistoryStatements, Statements } from '../../../src/store/sql/statements.ts'
import type { Connection } from '../../../src/store/sql/connection.ts'
import { plain } from '../../support/specs.ts'
import type { Address } from './addresses.ts'
import { dialectOf, openAt } from './addresses.ts'
import { DATABASE_NAMES, freshAddress } from './stores.ts'
import { IS_LONG } from '../../support/campaign.ts'

const SIZES = IS_LONG ? [0, 1_000, 100_000] : [0, 2_000]
const BATCH = 500
/** Each is in the way of every job, many times a second, or is what a monitor asks for. */
const HOT: readonly (keyof Statements)[] = [
  'candidates',
  'lockRows',
  'updateRows',
  'updateUnlisted',
  'lockDueTasks',
  'limitsToWake',
  'lockLimits',
  'unpark',
  'expiredLeases',
  'startTooLate',
  'setTurns',
  'endedKinds',
  'oldestEnded',
  'limitsAfter',
  'limitsUsed',
  'deleteLimits',
  'groupTurnsAfter',
  'deleteGroupTurns',
  'queueView',
  'counts',
  'dueCounts',
  'duePipelines',
  'leased',
  'busyChannels',
  'lockGroupTurns',
  'raiseGroupTurns',
  'readRows',
  'segmentsAfter',
  'tallies',
  'tallyRows',
  'pipelinesToCheck',
  'foldTallies',
  'deleteTalliesOf',
  'questionsBehind',
  'heldJobsAfter',
  'heldTasks',
  'deleteQuestions',
  'deadPipelinesAfter',
]

async function fill(address: Address, from: number, to: number): Promise<void> {
  const store = await openAt(address)
  for (let first = from; first < to; first += BATCH) {
    const ids = Array.from({ length: Math.min(BATCH, to - first) }, (_, i) => `job ${first + i}`)
    const spec = plain({ type: 'red' }, { queue: 'q' })
    await store.execute(ids.map((job) => ({ type: 'SubmitJob', job, spec }) as const))
  }
  await store.close()
}

/** The plan that a prepared statement of the store has, which asks for no values. */
async function postgresPlan(connection: Connection, sql: string): Promise<string> {
  const values = Array.from({ length: parametersOf(sql) }, () => 'null').join(', ')
  await connection.run([{ sql: `prepare hot as ${sql}`, values: [] }])
  const explain = `explain execute hot${values === '' ? '' : `(${values})`}`
  const [answered] = await connection.run([{ sql: explain, values: [] }])
  await connection.run([{ sql: 'deallocate hot', values: [] }])
  return (answered?.rows ?? []).map(([line]) => line as string).join('\n')
}

function parametersOf(sql: string): number {
  return Math.max(0, ...[...sql.matchAll(/\$(\d+)/g)].map(([, number]) => Number(number)))
}

async function sqlitePlan(connection: Connection, sql: string): Promise<string> {
  const count = Math.max(
    [...sql.matchAll(/\?(?!\d)/g)].length,
    ...[...sql.matchAll(/\?(\d+)/g)].map(([, number]) => Number(number)),
  )
  const values = Array.from({ length: count }, () => null)
  const [answered] = await connection.run([{ sql: `explain query plan ${sql}`, values }])
  return (answered?.rows ?? []).map((row) => row.at(-1) as string).join('\n')
}

/** `work` and the other tables are only ever reached by an index. */
const WHOLE_TABLE = {
  PostgreSQL:
    /Seq Scan on (?:work|limits|events|tallies|questions|group_turns)|Hash Join|Merge Join/,
  SQLite:
    /^SCAN (?:(?:work|limits|events|tallies|questions|w|x|y|e)(?! USING (?:COVERING )?INDEX)\b|\w+ USING INDEX sqlite_autoindex)/m,
}

/** Of these, only what is due by now is read, however much is due later. */
const BY_TIME: ReadonlySet<keyof Statements> = new Set<keyof Statements>([
  'lockDueTasks',
  'limitsToWake',
  'expiredLeases',
  'startTooLate',
])
/** Of these, the first few are read, however many there are: none is sorted. */
const IN_ORDER: ReadonlySet<keyof Statements> = new Set<keyof Statements>([
  ...BY_TIME,
  'candidates',
  'oldestEnded',
  'limitsAfter',
  'limitsUsed',
  'groupTurnsAfter',
  'pipelinesToCheck',
  'questionsBehind',
])
/** Plain jobs in quarantine, however many there are, are not looked at. */
const OF_DEAD_SEGMENTS: ReadonlySet<keyof Statements> = new Set<keyof Statements>([
  'counts',
  'deadPipelinesAfter',
])
const SORTED = { PostgreSQL: /\bSort\b/, SQLite: /TEMP B-TREE/ }
const TIME_IN_INDEX = {
  PostgreSQL: /Index Cond: \((?:due_at|wake_at|expires_at|start_by) <=/,
  SQLite: /USING (?:COVERING )?INDEX \w+ \((?:due_at|wake_at|expires_at|start_by)[<>]/,
}

describe.each(DATABASE_NAMES)('the statements of a claim on %s', (name) => {
  it('go by an index, with few rows and with many', async () => {
    const address = await freshAddress(name)
    const plans: string[][] = []
    let filled = 0
    for (const size of SIZES) {
      await fill(address, filled, size)
      filled = size
      const connection = await dialectOf(address).connect()
      const found: string[] = []
      for (const statement of HOT) {
        const plan =
          name === 'PostgreSQL'
            ? await postgresPlan(connection, POSTGRES[statement])
            : await sqlitePlan(connection, SQLITE[statement])
        // A subquery may have the name that a table has elsewhere.
        const own = plan.includes('CO-ROUTINE w\n') ? plan.replaceAll(/^SCAN w$/gm, '') : plan
        expect(own, statement).not.toMatch(WHOLE_TABLE[name])
        // What is looked up for one row, such as the steps of a task, may be sorted.
        const [ofRows] = plan.split(/^\s*SubPlan \d|^CORRELATED SCALAR SUBQUERY/m)
        if (IN_ORDER.has(statement)) expect(ofRows, statement).not.toMatch(SORTED[name])
        if (OF_DEAD_SEGMENTS.has(statement)) expect(plan, statement).toMatch(/\bdead_segments\b/)
        if (BY_TIME.has(statement)) expect(plan, statement).toMatch(TIME_IN_INDEX[name])
        found.push(`${statement}\n${plan.replaceAll(/\(cost=.*\)/g, '')}`)
      }
      await connection.close()
      plans.push(found)
    }
    for (const later of plans.slice(1)) expect(later).toEqual(plans[0])
  })
})

describe('a page of limits that begin with a prefix', () => {
  it('begins at the prefix on SQLite, whichever of the two bounds it is', async () => {
    const address = await freshAddress('SQLite')
    await (await openAt(address)).close()
    const connection = await dialectOf(address).connect()
    const values = ['', 'z', 1]
    const asked = { sql: `explain ${SQLITE.limitsUsed}`, values }
    const [program] = await connection.run([asked])
    const steps = (program?.rows ?? []).map(([, step]) => step as string)
    // `SeekGT` would be by `after` alone, and read all keys between that and the prefix.
    expect(steps.filter((step) => step.startsWith('Seek'))).toEqual(['SeekGE'])
    await connection.close()
  })

  it('begins at both bounds on PostgreSQL, of which its index takes the later one', async () => {
    const address = await freshAddress('PostgreSQL')
    await (await openAt(address)).close()
    const connection = await dialectOf(address).connect()
    const plan = await postgresPlan(connection, POSTGRES.limitsUsed)
    expect(plan).toMatch(/Index Cond: \(\(key > .*\) AND \(key >= /)
    await connection.close()
  })
})

/** Of these the first few are read, in order, however many there are: none is sorted. */
const LISTS_IN_ORDER: ReadonlySet<ListSource> = new Set<ListSource>(['all', 'key', 'label'])
/** Rows that come out of order are in an index of few. */
const LIST_INDEX: Readonly<Record<ListSource, RegExp>> = {
  all: /submits/,
  type: /\bby_type\b[^]*\bleased\b/,
  key: /keyed/,
  label: /labels_pkey|PRIMARY KEY/,
  held: /questions_pkey|questions USING PRIMARY KEY/,
  dead: /\bdead\b/,
  failed: /\bby_state\b/,
  again: /\bby_state\b/,
  running: /\bleased\b/,
  waiting: /\bready\b[^]*\bnot_due\b[^]*\bparked\b[^]*\bby_state\b/,
  succeeded: /\bover\b/,
}

describe.each(DATABASE_NAMES)('the statements that list jobs on %s', (name) => {
  it('go by the index that they are for, with few rows and with many', async () => {
    const address = await freshAddress(name)
    for (const [i, size] of SIZES.entries()) {
      await fill(address, SIZES[i - 1] ?? 0, size)
      const connection = await dialectOf(address).connect()
      for (const order of ['oldest', 'newest'] as const) {
        for (const source of LIST_SOURCES) {
          const sql = dialectOf(address).lists[order][source].page
          const plan =
            name === 'PostgreSQL'
              ? await postgresPlan(connection, sql)
              : await sqlitePlan(connection, sql)
          const what = `${source}, ${order}`
          const own = plan.replaceAll(/^SCAN (?:c|found|listed|w)$/gm, '')
          expect(own, what).not.toMatch(WHOLE_TABLE[name])
          expect(plan, what).toMatch(LIST_INDEX[source])
          const [ofRows] = plan.split(/^\s*SubPlan \d|^CORRELATED SCALAR SUBQUERY/m)
          if (LISTS_IN_ORDER.has(source)) expect(ofRows, what).not.toMatch(SORTED[name])
        }
      }
      await connection.close()
    }
  })
})

/** What removes old events, a portion at a time. */
const PRUNING: readonly (keyof HistoryStatements)[] = [
  'eventFrom',
  'removable',
  'passed',
  'deleteEvents',
  'scheduleBaselines',
  'deleteScheduleBaselines',
  'deleteJobBaselines',
  'keptEvents',
]
/** A portion begins at a position, and is not sorted. */
const FROM_POSITION: ReadonlySet<keyof HistoryStatements> = new Set<keyof HistoryStatements>([
  'eventFrom',
  'removable',
  'passed',
  'keptEvents',
])
const POSITION_IN_INDEX = {
  PostgreSQL: /Index Cond: \(+(?:e\.|events\.)?"?position"? >/,
  SQLite:
    /SEARCH (?:e|events) USING (?:COVERING )?(?:INTEGER PRIMARY KEY|INDEX \w+) \((?:rowid|position)>/,
}
const FORGOTTEN_BY_INDEX = {
  PostgreSQL: /(?:Index|Index Only) Scan using forgotten on events f/,
  SQLite: /SEARCH f USING (?:COVERING )?INDEX forgotten \(job=\?/,
}
const WHOLE_BASELINES = { PostgreSQL: /Seq Scan on baselines/, SQLite: /^SCAN (?:b|baselines)$/m }

describe.each(DATABASE_NAMES)('the statements that remove events on %s', (name) => {
  it('go by an index, from a position on, with few events and with many', async () => {
    const address = await freshAddress(name)
    let filled = 0
    for (const size of SIZES) {
      await fill(address, filled, size)
      filled = size
      const connection = await dialectOf(address).connect()
      for (const statement of PRUNING) {
        const plan =
          name === 'PostgreSQL'
            ? await postgresPlan(connection, POSTGRES_HISTORY[statement])
            : await sqlitePlan(connection, SQLITE_HISTORY[statement])
        // What was read of the portion itself may be gone through.
        const own = plan.replaceAll(/^SCAN e$/gm, (line) =>
          plan.includes('CO-ROUTINE e\n') ? '' : line,
        )
        expect(own, statement).not.toMatch(WHOLE_TABLE[name])
        expect(own, statement).not.toMatch(WHOLE_BASELINES[name])
        if (!FROM_POSITION.has(statement)) continue
        expect(plan, statement).toMatch(POSITION_IN_INDEX[name])
        expect(plan, statement).not.toMatch(SORTED[name])
        if (!/passed|eventFrom/.test(statement)) {
          expect(plan, statement).toMatch(FORGOTTEN_BY_INDEX[name])
        }
      }
      await connection.close()
    }
  })
})
