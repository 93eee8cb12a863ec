/**
 * What a database keeps of jobs with held effects, damaged with plain SQL: verify finds each wrong row, and repair puts it right.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { COUNT_CELLS } from '../../../src/store/sql/rows/counted-rows.ts'
import type { SqlStore } from '../../../src/store/sql/sql-store.ts'
import { repairIn } from '../../../src/store/sql/verify/repair-database.ts'
import { verifyIn, verifySql } from '../../../src/store/sql/verify/verify-database.ts'
import { openStages, submitHeld, submitHeldPipeline } from '../../support/held-jobs.ts'
import { plain } from '../../support/specs.ts'
import type { Damage } from './row-damages.ts'
import type { Run, TestDatabase } from './test-databases.ts'
import { DATABASES } from './test-databases.ts'

const OTHER = plain({ type: 'other' })

/** The jobs that stand in the list, and what the pipelines are counted as. */
async function listed(run: Run): Promise<readonly unknown[]> {
  const places = await run(
    `select job, segment from questions where list = 'held' order by position, segment`,
  )
  const pipelines = await run(`select job, counted, held, until from pipelines order by job`)
  return [places, pipelines]
}

const DAMAGES: Readonly<Record<string, Damage>> = {
  'a plain job that is not listed': {
    table: 'questions',
    row: 'plain (held)',
    what: /that job plain has a held effect is missing/,
    plant: (run) => run(`delete from questions where list = 'held' and job = 'plain'`),
  },
  'a segment that is not listed': {
    table: 'questions',
    row: 'pipe (held)',
    what: /that job pipe has a held effect is missing/,
    plant: (run) => run(`delete from questions where job = 'pipe' and segment = 2`),
  },
  'a job that is listed, and has none': {
    table: 'questions',
    row: 'other (held)',
    what: /job other has no such effect/,
    plant: (run) =>
      run(`insert into questions (list, since, position, stage, segment, name, job)
        select 'held', 0, position, 0, 0, '', job from work where job = 'other' and stage = -1`),
  },
  'a job too many that is counted': {
    table: 'counts',
    row: 'held lost default',
    what: /QUARANTINED is 1, and 0 are/,
    plant: (run) => {
      const cells = COUNT_CELLS.map((cell) => (cell === 'quarantined' ? 1 : 0))
      return run(
        `insert into counts (dimension, name, queue, type, ${COUNT_CELLS.join(', ')})
          values ('held', '', 'default', 'lost', ${cells.join(', ')})`,
      )
    },
  },
  'a pipeline that is counted without': {
    table: 'pipelines',
    row: 'pipe',
    what: /counted without held effects, and has some/,
    plant: (run) => run(`update pipelines set held = (1 = 0) where job = 'pipe'`),
  },
  'a pipeline that is counted with some': {
    table: 'pipelines',
    row: 'other-pipe',
    what: /counted with held effects, and has none/,
    plant: (run) => run(`update pipelines set held = (1 = 1) where job = 'other-pipe'`),
  },
}

describe.each(Object.keys(DATABASES))('of jobs with held effects, a store on %s', (name) => {
  let place: TestDatabase
  let store: SqlStore
  beforeAll(async () => {
    place = await (DATABASES[name] as (typeof DATABASES)[string])()
    store = await place.open({ now: () => 1_000 })
    await submitHeld(store, 'plain')
    await submitHeldPipeline(store, 'pipe', 'hdh')
    await submitHeldPipeline(store, 'other-pipe', 'fd')
    await store.execute([{ type: 'SubmitJob', job: 'other', spec: OTHER }])
    // Until nothing is left to look at: then each pipeline is counted as it is.
    await openStages(store)
    // As of one that waits for a retry: nothing else says when it is to be counted again.
    await place.plant((run) => run(`update pipelines set until = 9000 where job = 'other-pipe'`))
  })
  afterAll(async () => {
    await store.close()
    await place.close()
  })

  it('has nothing wrong', async () => {
    expect((await verifySql(place.dialect)).problems).toEqual([])
  })

  it.each(Object.keys(DAMAGES))('with %s is found out, and repaired', async (kind) => {
    const { plant, table, row, what } = DAMAGES[kind] as Damage
    await place.inside(async (run, connection) => {
      const before = await listed(run)
      await plant(run)
      const { problems } = await verifyIn(connection, place.dialect)
      expect(problems).toContainEqual(
        expect.objectContaining({ table, row, what: expect.stringMatching(what) as string }),
      )
      const done = await repairIn(connection, place.dialect, { apply: true })
      // All triggers are off while damage is planted.
      expect(done.left.filter((one) => one.row !== 'triggers')).toEqual([])
      expect(await listed(run)).toEqual(before)
    })
  })
})
