/**
 * Damage to events: each is found and named with its position. Nothing can be repaired from it; the
 * job can be given up.
 */
import type { Entry } from '../../../src/kernel/index.ts'
import { Records } from '../../../src/store/sql/rows/records.ts'
import type { Run } from './test-databases.ts'
import { flip } from './row-damages.ts'
import { CHILD } from './sample-store.ts'

export interface EventDamage {
  readonly plant: (run: Run) => Promise<unknown>
  /** The job that is named. */
  readonly job: string
  readonly what: RegExp
  /** What becomes of the job if it is given up; null: that does not help. */
  readonly givenUp: 'kept' | 'gone' | null
}

const records = new Records()

async function positionOf(run: Run, job: string, type: string): Promise<number> {
  const [row] = await run(`select max(position) from events where job = ? and type = ?`, job, type)
  return row?.[0] as number
}

/** Writes an entry that was never decided behind all others. */
async function forge(run: Run, entry: Entry & { job: string }): Promise<void> {
  const [newest] = await run('select max(position) from events')
  const [row] = await run('select last_position from work where job = ? and stage = -1', entry.job)
  const before = entry.type === 'JobSubmitted' ? null : ((row?.[0] as number | undefined) ?? null)
  await run(
    'insert into events (position, job, before, type, at, record) values (?, ?, ?, ?, ?, ?)',
    (newest?.[0] as number) + 1,
    entry.job,
    before,
    entry.type,
    entry.at,
    records.ofEntry(entry),
  )
}

async function read(run: Run, position: number): Promise<Entry> {
  const [row] = await run('select record from events where position = ?', position)
  return records.entry(row?.[0] as Uint8Array, position)
}

function changed(job: string, type: string, change: string, what: RegExp): EventDamage {
  return {
    job,
    what,
    givenUp: 'kept',
    plant: async (run) => {
      const position = await positionOf(run, job, type)
      await run(`update events set ${change} where position = ?`, position)
    },
  }
}

function deleted(job: string, type: string, what: RegExp, givenUp: 'kept' | 'gone'): EventDamage {
  return {
    job,
    what,
    givenUp,
    plant: async (run) => {
      await run('delete from events where position = ?', await positionOf(run, job, type))
    },
  }
}

function flipped(job: string, type: string, givenUp: 'kept' | 'gone'): EventDamage {
  return {
    job,
    what: new RegExp(`${type}: its checksum is wrong`),
    givenUp,
    plant: async (run) => {
      const position = await positionOf(run, job, type)
      await flip(run, 'events', `position = ${position}`, 7, 2)
    },
  }
}

export const EVENT_DAMAGES: Readonly<Record<string, EventDamage>> = {
  'a wrong checksum': flipped('done', 'ExecutionCommitted', 'kept'),
  'a wrong checksum in what was submitted': flipped('done', 'JobSubmitted', 'gone'),
  'a wrong checksum in a stage': flipped('pipe', 'StageOpened', 'kept'),
  'another type': changed(
    'done',
    'LeaseGranted',
    `type = 'TaskStopped'`,
    /type is 'TaskStopped', and/,
  ),
  'another time': changed('done', 'LeaseGranted', `at = 5`, /at is 5, and its record says 1000/),
  'no entry before': changed('held', 'LeaseGranted', `before = null`, /before is missing, and/),
  'a wrong entry before': changed('held', 'LeaseGranted', `before = 1`, /before is 1, and the/),
  'an entry that is gone': deleted('done', 'LeaseGranted', /the task has no lease 1/, 'kept'),
  'a job that was never submitted': deleted('held', 'JobSubmitted', /there is no task/, 'gone'),
  'a stage that was never opened': deleted('pipe', 'StageOpened', /there is no task/, 'kept'),
  'an entry of another job': {
    job: 'done',
    what: /job is 'done', and its record says 'waiting'/,
    givenUp: 'kept',
    plant: async (run) => {
      const position = await positionOf(run, 'waiting', 'JobSubmitted')
      await run(`update events set job = 'done' where position = ?`, position)
    },
  },
  'two commits': {
    job: 'parent',
    what: /a second commit replaced the first/,
    givenUp: 'kept',
    plant: async (run) => {
      const position = await positionOf(run, 'parent', 'ExecutionCommitted')
      const first = (await read(run, position)) as Entry & { type: 'ExecutionCommitted' }
      const [row] = await run(`select version from work where job = 'parent'`)
      const version = (row?.[0] as number) + 1
      await forge(run, { ...first, version, output: '"another"' })
    },
  },
  'a shrinking attempt': {
    job: 'dead',
    what: /attempt 1 became 0/,
    givenUp: 'kept',
    plant: async (run) => {
      const position = await positionOf(run, 'dead', 'LeaseGranted')
      const first = (await read(run, position)) as Entry & { type: 'LeaseGranted' }
      await forge(run, { ...first, version: 4, lease: 0 })
    },
  },
  'an id that is submitted twice': {
    job: 'waiting',
    what: /job waiting exists/,
    givenUp: 'kept',
    plant: async (run) => {
      const position = await positionOf(run, 'waiting', 'JobSubmitted')
      await forge(run, (await read(run, position)) as Entry & { job: string })
    },
  },
  'a child that was never submitted': {
    job: CHILD,
    what: /it was recorded as submitted, and never was/,
    givenUp: null,
    plant: async (run) => {
      await run('delete from events where job = ?', CHILD)
      await run('delete from work where job = ?', CHILD)
    },
  },
}
