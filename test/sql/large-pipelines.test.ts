/**
 * Large pipelines on databases: all of their rows are read once for several questions, and never once too few.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Command, TaskState } from '../../src/kernel/index.ts'
import { JobQueries } from '../../src/store/sql/queries/job-queries.ts'
import { LargePipelines } from '../../src/store/sql/queries/large-pipelines.ts'
import type { SqlStore } from '../../src/store/sql/sql-store.ts'
import { newContext } from '../../src/store/sql/transaction/context.ts'
import { failure, onRecord, pipeline, policy, retry, stage } from '../support/specs.ts'
import type { TestDatabase } from './verify/test-databases.ts'
import { DATABASES } from './verify/test-databases.ts'

const SEGMENTS = 1_200
const JOB = 'large'
const CHANNEL = { queue: 'default', type: 'test', stage: 'many' }
let time = 1_000
const clock = { now: () => time }

const parts = Array.from({ length: SEGMENTS }, (_, i) => i)
const spec = pipeline(
  [stage('many', { each: 'input', policy: policy({ retry: retry({ max: 0 }) }) })],
  { input: JSON.stringify(parts) },
)

describe.each(Object.keys(DATABASES))('a pipeline with many segments on %s', (name) => {
  let place: TestDatabase
  let store: SqlStore
  /** Of another process: what it writes is not told to the first one. */
  let other: SqlStore
  beforeAll(async () => {
    place = await (DATABASES[name] as (typeof DATABASES)[string])()
    store = await place.open(clock)
    other = await place.open(clock)
  })
  afterAll(async () => {
    for (const one of [store, other, place]) await one.close()
  })

  async function must(...commands: Command[]): Promise<void> {
    const answers = await other.execute(commands)
    expect(answers.map(({ verdict, rejection }) => rejection ?? verdict)).toEqual(
      commands.map(() => 'committed'),
    )
  }

  /** As a store says that was opened just now. */
  async function asItIs(kind: 'overview' | 'job') {
    const fresh = await place.open(clock)
    try {
      return await fresh.query({ kind, job: JOB })
    } finally {
      await fresh.close()
    }
  }

  /** The address of a task that is claimed now. */
  async function claimed() {
    time += 1
    const request = { worker: 'w', request: time, channels: [CHANNEL], max: 1, started: true }
    const [one] = await other.claim(request)
    const { job, stage: index, segment, lease } = one as NonNullable<typeof one>
    return { job, stage: index, segment, lease, worker: 'w' }
  }

  const submitted = (): Promise<void> =>
    must({ type: 'SubmitJob', job: JOB, spec }, { type: 'OpenStage', job: JOB, stage: 0 })

  async function stopAll(): Promise<void> {
    const stops = parts.map((segment): Command => {
      return { type: 'StopTask', job: JOB, stage: 0, segment }
    })
    await other.execute(stops)
  }

  /** Each changes something that a view shows. */
  const CHANGES: Readonly<Record<string, () => Promise<void>>> = {
    'it is submitted and opened': submitted,
    'a segment is claimed': async () => void (await claimed()),
    'a lease is extended': async () => {
      const task = await claimed()
      time += 10
      await must({ type: 'ExtendLease', ...task, extension: 1 })
    },
    'a step is recorded': async () => {
      const task = await claimed()
      await must({ type: 'RecordStep', ...task, name: 's', value: '1', definitionVersion: 1 })
    },
    'a value is streamed': async () => {
      const task = await claimed()
      await must({ type: 'AppendStream', ...task, name: 's', offset: 0, values: ['1'] })
    },
    'a segment is committed': async () => {
      const task = await claimed()
      await must({ type: 'CommitExecution', ...task, output: '"out"', effects: [] })
    },
    'a segment fails and is retried': async () => {
      const task = await claimed()
      await must({ type: 'FailTask', ...task, error: failure() })
      const { job, stage: index, segment, lease: attempt } = task
      const address = { job, stage: index, segment, attempt, ...onRecord }
      await must({ type: 'RetryTask', ...address, input: null })
    },
    'a segment is moved': () =>
      must({
        type: 'RescheduleTask',
        job: JOB,
        stage: 0,
        segment: SEGMENTS - 1,
        attempt: 0,
        dueAt: null,
        priority: 3,
        toQueue: null,
        ...onRecord,
      }),
    'it is cancelled': () => must({ type: 'CancelJob', job: JOB, ...onRecord }),
    'its segments are stopped': stopAll,
    'it is erased': () => must({ type: 'EraseJob', job: JOB, ...onRecord }),
    'it is forgotten': async () => {
      time += 1
      await must({ type: 'ForgetJob', job: JOB, endedBefore: time })
    },
    'another one is submitted under its id': submitted,
  }

  it('is shown as it is, whatever another process does to it', async () => {
    for (const [what, change] of Object.entries(CHANGES)) {
      await change()
      for (const kind of ['overview', 'job'] as const) {
        const expected = await asItIs(kind)
        expect(await store.query({ kind, job: JOB }), what).toEqual(expected)
        // This time from what was kept.
        expect(await store.query({ kind, job: JOB }), what).toEqual(expected)
      }
    }
  })

  it('is read once for questions that are asked together, until something happens to it', async () => {
    const context = newContext(place.dialect, clock)
    const jobs = new JobQueries(context)
    const connections = await Promise.all([1, 2, 3].map(() => place.dialect.connect()))
    let reads = 0
    const large = new LargePipelines(context.sql, (connection, id) => {
      reads += 1
      return jobs.record(connection, id)
    })
    const states = async (): Promise<(TaskState | undefined)[]> => {
      const asked = connections.map((connection) => large.record(connection, JOB))
      return (await Promise.all(asked)).map((record) => record?.stages?.[0]?.[3]?.state)
    }
    try {
      expect(await states()).toEqual(['WAITING', 'WAITING', 'WAITING'])
      expect(reads).toBe(1)
      for (let i = 0; i < 4; i++) await claimed()
      expect(await states()).toEqual(['LEASED', 'LEASED', 'LEASED'])
      expect(reads).toBe(2)
      await must({ type: 'SubmitJob', job: 'small', spec: { ...spec, input: '[1, 2]' } })
      await must({ type: 'OpenStage', job: 'small', stage: 0 })
      for (const [connection] of [connections, connections]) {
        await large.record(connection as (typeof connections)[number], 'small')
      }
      expect(reads, 'a small one is read each time').toBe(4)
    } finally {
      for (const connection of connections) await connection.close()
    }
  })
})
