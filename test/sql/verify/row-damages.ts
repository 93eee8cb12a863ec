/**
 * Damage to rows: each is found, named, and repaired from the events.
 */
import type { Row } from '../../../src/store/sql/connection.ts'
import { COUNT_CELLS } from '../../../src/store/sql/rows/counted-rows.ts'
import { Records } from '../../../src/store/sql/rows/records.ts'
import { createQueue, fingerprintOf } from '../../../src/kernel/index.ts'
import { failure } from '../../support/specs.ts'
import type { Run } from './test-databases.ts'
import { TICK } from './sample-store.ts'

export interface Damage {
  readonly plant: (run: Run) => Promise<unknown>
  readonly table: string
  /** The row that is named; null: the table. */
  readonly row: string | null
  readonly what: RegExp
}

function damage(
  table: string,
  row: string | null,
  what: RegExp,
  plant: (run: Run) => Promise<unknown>,
): Damage {
  return { table, row, what, plant }
}

/** Changes one column of one job's own row. */
function column(job: string, change: string, what: RegExp, row = job): Damage {
  return damage('work', row, what, (run) =>
    run(`update work set ${change} where job = ? and stage = -1`, job),
  )
}

function segment(change: string, what: RegExp): Damage {
  const sql = `update work set ${change} where job = 'pipe' and stage = 1 and segment = 1`
  return damage('work', 'pipe/1/1', what, (run) => run(sql))
}

/** The record of one row, with one bit changed. */
export async function flip(
  run: Run,
  table: string,
  where: string,
  at: number,
  bit: number,
): Promise<void> {
  const [row] = await run(`select record from ${table} where ${where}`)
  const bytes = Buffer.from((row as Row)[0] as Uint8Array)
  const place = at % bytes.length
  bytes[place] = (bytes[place] as number) ^ (1 << bit)
  await run(`update ${table} set record = ? where ${where}`, bytes)
}

async function copyRow(run: Run, changes: Readonly<Record<string, string>>): Promise<void> {
  const [row] = await run(`select * from work where job = 'pipe' and stage = 1 and segment = 0`)
  const columns = [
    'job, stage, segment, position, type, queue, key, key_held, grp, priority, retain_ms',
    'last_position, version, state, record, channel, level, turn, due_at, rank, place, parked',
    'start_by, expires_at, committed, attempt, ended_at, over_at',
  ].join(', ')
  const values = columns
    .split(', ')
    .map((name) => changes[name] ?? name)
    .join(', ')
  if (row === undefined) throw new Error('There is no row to copy.')
  await run(
    `insert into work (${columns}) select ${values} from work where job = 'pipe' and stage = 1 and segment = 0`,
  )
}

const records = new Records()

export const ROW_DAMAGES: Readonly<Record<string, Damage>> = {
  'a state that there is not': column('waiting', `state = 'LOST'`, /'LOST' is no state/),
  'a state that is another': column('waiting', `state = 'DEAD'`, /state is 'DEAD', and must be/),
  'a negative attempt': column('held', `attempt = -1`, /attempt is -1, and must be 1/),
  'an attempt that shrank': column('held', `attempt = 0`, /attempt is 0, and must be 1/),
  'another version': column('done', `version = 7`, /version is 7, and must be 3/),
  'another beginning': column('done', `position = 1`, /position is 1, and must be/),
  'another newest entry': column('done', `last_position = 1`, /last_position is 1/),
  'another type': column('done', `type = 'x'`, /type is 'x', and must be 'quick'/),
  'another queue': segment(`queue = 'x'`, /queue is 'x', and must be 'default'/),
  'a channel of another': column('waiting', `channel = 'x'`, /channel is 'x'/),
  'a task that stands nowhere': column('waiting', `channel = null`, /channel is missing/),
  'another level': column('waiting', `level = 9`, /level is 9, and must be 3/),
  'another rank': column('waiting', `rank = 9`, /rank is 9/),
  'another due time': segment(`due_at = 9`, /due_at is 9/),
  'an expiry that is gone': column('held', `expires_at = null`, /expires_at is missing/),
  'a commit that is gone': column('parent', `committed = false`, /committed is/),
  'an end that is not so': column('waiting', `ended_at = 5`, /ended_at is 5/),
  'a job that is not over': column('waiting', `over_at = 5`, /over_at is 5, and must be missing/),
  'a job that is over': column('done', `over_at = null`, /over_at is missing/),
  'a limit that is not its own': column('parked', `parked = 'x'`, /parked is 'x'/),
  'a key that is lost': column('waiting', `key_held = null`, /key_held is missing/),
  'a key of another': column('done', `key_held = 'x'`, /key_held is 'x', and must be missing/),
  'a record that is gone': column('done', `record = null`, /its record is missing/),
  'a record with a wrong checksum': damage(
    'work',
    'done',
    /record is damaged: its checksum/,
    (run) => flip(run, 'work', `job = 'done'`, 9, 3),
  ),
  'a record of another job': damage(
    'work',
    'held',
    /its record is not what the events say: .*task/,
    (run) =>
      run(
        `update work set record = (select record from work where job = 'done') where job = 'held'`,
      ),
  ),
  'a job without its row': damage('work', 'done', /it is missing/, (run) =>
    run(`delete from work where job = 'done'`),
  ),
  'a segment without its row': damage('work', 'pipe/1/2', /it is missing/, (run) =>
    run(`delete from work where job = 'pipe' and stage = 1 and segment = 2`),
  ),
  'a segment too many': damage('work', 'pipe/1/7', /no event leads to it/, (run) =>
    copyRow(run, { segment: '7' }),
  ),
  'a segment without a job': damage('work', 'nobody/1/0', /no JobSubmitted of its job/, (run) =>
    copyRow(run, { job: `'nobody'` }),
  ),
  'a row of a job that was forgotten': damage('work', 'forgotten/1/0', /no event leads/, (run) =>
    copyRow(run, { job: `'forgotten'` }),
  ),
  'a limit that too many hold': damage('limits', 'one', /held is 5, and 1 leases hold it/, (run) =>
    run(`update limits set held = 5`),
  ),
  'a limit that is gone': damage('limits', 'one', /it is missing/, (run) =>
    run(`delete from limits`),
  ),
  'a limit that is used up for ever': damage('limits', 'one', /full_at is 9000000000/, (run) =>
    run(`update limits set full_at = 9000000000`),
  ),
  'a queue that is used up for ever': damage('queues', 'slow', /full_at is 9000000000/, (run) =>
    run(`update queues set full_at = 9000000000 where queue = 'slow'`),
  ),
  'a queue in which too many are counted': damage(
    'counts',
    'job TYPE slow',
    /RUNNING is 7, and/,
    async (run) => {
      await run(`delete from counts where queue = 'slow'`)
      await run(
        `insert into counts (dimension, name, queue, type, ${COUNT_CELLS.join(', ')})
          values ('job', '', 'slow', 'TYPE', 0, 0, 7, 0, 0, 0, 0, 0)`,
      )
    },
  ),
  'a job that is not listed by its error': damage(
    'labels',
    `error:${fingerprintOf(failure())}`,
    /job dead is missing/,
    (run) => run(`delete from labels`),
  ),
  'a label of no job': damage('labels', 'tag:odd', /there is no job lost/, (run) =>
    run(`insert into labels (label, position, job) values ('tag:odd', 7, 'lost')`),
  ),
  'a question that no job asks': damage('questions', 'odd (all)', /job lost does not/, (run) =>
    run(
      `insert into questions (list, since, position, stage, segment, name, job)
        values ('all', 7, 7, 0, 0, 'odd', 'lost')`,
    ),
  ),
  'a question that is not listed': damage(
    'questions',
    'approval (for ada)',
    /what job asks asks is missing/,
    (run) => run(`delete from questions where list = 'for ada'`),
  ),
  'a pipeline that is not counted': damage('pipelines', 'pipe', /it is missing/, (run) =>
    run(`delete from pipelines`),
  ),
  'a pipeline that is counted as over': damage('pipelines', 'pipe', /as FAILED/, (run) =>
    run(`update pipelines set counted = 'FAILED'`),
  ),
  'a queue that is not paused': damage('queues', 'other', /is_paused is/, (run) =>
    run(`update queues set is_paused = false where queue = 'other'`),
  ),
  'a queue that is gone': damage('queues', 'slow', /it is missing/, (run) =>
    run(`delete from queues where queue = 'slow'`),
  ),
  'a queue without an event': damage('queues', 'odd', /no event leads to it/, (run) =>
    run(`update queues set queue = 'odd' where queue = 'slow'`),
  ),
  'a queue with a wrong checksum': damage('queues', 'slow', /record is damaged/, (run) =>
    flip(run, 'queues', `queue = 'slow'`, 3, 1),
  ),
  'a queue with another record': damage('queues', 'slow', /not what the events say/, (run) => {
    const queue = { ...createQueue('slow'), version: 1, time: 1_000, concurrency: 9, ageingMs: 50 }
    const record = records.ofQueue(queue)
    return run(`update queues set record = ? where queue = 'slow'`, record)
  }),
  'a schedule that is not set': damage('schedules', 'hourly', /is_set is/, (run) =>
    run(`update schedules set is_set = false`),
  ),
  'a schedule that is gone': damage('schedules', 'hourly', /it is missing/, (run) =>
    run(`delete from schedules`),
  ),
  'a schedule with another version': damage('schedules', 'hourly', /version is 9/, (run) =>
    run(`update schedules set version = 9`),
  ),
  'a pipeline that the orchestrator would not look at': damage(
    'tallies',
    'pipe',
    /would not look/,
    (run) => run(`update tallies set to_check = false`),
  ),
  'a tally with one segment too many': damage('tallies', 'pipe', /: waiting is/, (run) =>
    run(`update tallies set waiting = waiting + 1 where job = 'pipe'`),
  ),
  'a tally that is gone': damage('tallies', 'pipe', /: completed is 0, and must be/, (run) =>
    run(`delete from tallies where job = 'pipe'`),
  ),
  'a tally of a job that is not there': damage('tallies', 'nobody', /no such job/, (run) =>
    run(`update tallies set job = 'nobody' where id = (select max(id) from tallies)`),
  ),
  'a task that nothing will unpark': damage(
    'limits',
    'two',
    /1 tasks wait for it, and nothing/,
    (run) => run(`update work set parked = 'two' where job = 'free'`),
  ),
  'a job of a tick with another priority': column(TICK, `priority = 7`, /priority is 7/),
}
