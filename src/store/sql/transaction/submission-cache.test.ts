/** What was submitted is kept of pipelines: for a later life of the id it is of no use. */
import { expect, it } from 'vitest'
import { freshFile } from '../../../../test/support/sqlite.ts'
import { onRecord, pipeline, plain, stage } from '../../../../test/support/specs.ts'
import type { JobSpec } from '../../../kernel/index.ts'
import { sqliteDialect } from '../sqlite/dialect.ts'
import type { Connection } from '../connection.ts'
import { openSql } from '../open-sql.ts'
import type { SqlStore } from '../sql-store.ts'

interface Counted {
  readonly store: SqlStore
  readonly now: { time: number }
  /** How often it was asked for what was submitted, in a round trip of its own. */
  asked: number
}

async function opened(): Promise<Counted> {
  const dialect = sqliteDialect({ path: await freshFile() })
  const connect = async (): Promise<Connection> => {
    const connection = await dialect.connect()
    return {
      run: (asks) => {
        if (asks.some(({ sql }) => sql === dialect.statements.events)) counted.asked += 1
        return connection.run(asks)
      },
      close: () => connection.close(),
    }
  }
  const now = { time: 1_000 }
  const store = await openSql({ ...dialect, connect }, { clock: { now: () => now.time } })
  const counted = { store, now, asked: 0 }
  return counted
}

/** Job a was a pipeline, and is this now. */
async function reused(spec: JobSpec): Promise<Counted> {
  const counted = await opened()
  const { store, now } = counted
  const first = pipeline([stage('only')], { held: true })
  await store.execute([{ type: 'SubmitJob', job: 'a', spec: first }])
  await store.execute([{ type: 'CancelJob', job: 'a', ...onRecord }])
  now.time += 10
  await store.execute([{ type: 'ForgetJob', job: 'a', endedBefore: now.time }])
  const [answer] = await store.execute([{ type: 'SubmitJob', job: 'a', spec }])
  expect(answer?.verdict).toBe('committed')
  counted.asked = 0
  return counted
}

it.each([
  ['a plain job', plain()],
  ['another pipeline', pipeline([stage('only')])],
])(
  'an id that was a pipeline and is %s now is looked up once more, and never again',
  async (_, spec) => {
    const counted = await reused(spec)
    for (let i = 0; i < 5; i++) {
      const [answer] = await counted.store.execute([{ type: 'ReleaseJob', job: 'a', ...onRecord }])
      expect(answer?.verdict).toBe('committed')
    }
    expect(counted.asked).toBe(1)
    await counted.store.close()
  },
)
