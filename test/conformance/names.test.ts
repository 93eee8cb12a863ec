/**
 * What every store says when it is asked for a name that nothing can have: the same as for any other
 * that nothing has.
 */
import { describe, expect, it } from 'vitest'
import type { Query } from '../../src/store/index.ts'
import { onRecord, plain } from '../support/specs.ts'
import { claim, setUp, STORES } from './bench.ts'

/** U+0000, and a half of a character: what becomes of it in UTF-8 is U+FFFD. */
const IMPOSSIBLE = ['a\0', 'a\uD800', '\0']

const ASKED: readonly ((name: string) => Query)[] = [
  (job) => ({ kind: 'job', job }),
  (job) => ({ kind: 'overview', job }),
  (job) => ({ kind: 'outcome', job }),
  (job) => ({ kind: 'input', job }),
  (job) => ({ kind: 'task', job, stage: 0, segment: 0 }),
  (job) => ({ kind: 'outputs', job, stage: 0, after: -1, limit: 9 }),
  (job) => ({ kind: 'history', job, limit: 9 }),
  (job) => ({ kind: 'ended', jobs: ['a', job] }),
  (job) => ({ kind: 'quarantine', jobs: [job], limit: 9 }),
  (type) => ({ kind: 'quarantine', type, limit: 9 }),
  (queue) => ({ kind: 'quarantine', queue, limit: 9 }),
  (tag) => ({ kind: 'quarantine', tag, limit: 9 }),
  (group) => ({ kind: 'quarantine', group, limit: 9 }),
  (type) => ({ kind: 'jobs', type, limit: 9 }),
  (queue) => ({ kind: 'jobs', queue, limit: 9 }),
  (tag) => ({ kind: 'jobs', tag, limit: 9 }),
  (group) => ({ kind: 'jobs', group, limit: 9 }),
  (key) => ({ kind: 'jobs', key, limit: 9 }),
  (who) => ({ kind: 'questions', for: who, limit: 9 }),
  (type) => ({ kind: 'questions', type, limit: 9 }),
  (job) => ({ kind: 'questions', job, limit: 9 }),
  (queue) => ({ kind: 'queue', queue }),
  (key) => ({ kind: 'limit', key }),
  (prefix) => ({ kind: 'limits', prefix, limit: 9 }),
  (worker) => ({ kind: 'worker-leases', worker }),
  (schedule) => ({ kind: 'schedule', schedule }),
]

describe.each(Object.keys(STORES))(
  'the %s store, asked for a name that nothing can have',
  (kind) => {
    it.each(IMPOSSIBLE)('has nothing of it: %j', async (name) => {
      const { store, send } = await setUp(kind)
      for (const job of ['a', 'a\uFFFD']) {
        const limits = [{ key: job, concurrency: 1, rate: null }]
        const spec = plain({ type: job, group: job, key: job, tags: [job] }, { queue: job, limits })
        await send({ type: 'SubmitJob', job, spec })
      }
      for (const asked of ASKED) {
        const [said, expected] = [await store.query(asked(name)), await store.query(asked('b'))]
        const text = JSON.stringify(said)?.replaceAll(JSON.stringify(name), '"b"')
        expect(text, JSON.stringify(asked(name))).toBe(JSON.stringify(expected))
      }
      await store.close()
    })

    it.each(IMPOSSIBLE)('gives out nothing of it: %j', async (name) => {
      const { store, send } = await setUp(kind)
      await send({ type: 'SubmitJob', job: 'a', spec: plain() })
      const [named, known] = [
        { queue: name, type: name, stage: name },
        { queue: 'default', type: 'test', stage: null },
      ]
      expect(await store.claim(claim({ channels: [named] }))).toEqual([])
      const taken = await store.claim(claim({ request: 2, channels: [named, known] }))
      expect(taken.map(({ job }) => job)).toEqual(['a'])
      await store.close()
    })

    it('refuses commands about it, and decides on the others', async () => {
      const { store } = await setUp(kind)
      const answers = await store.execute([
        { type: 'CancelJob', job: 'a\0', ...onRecord },
        { type: 'SubmitJob', job: 'a\uD800', spec: plain() },
        { type: 'PauseQueue', queue: '\0', ...onRecord },
        { type: 'SubmitJob', job: 'a', spec: plain() },
      ])
      expect(answers.map(({ verdict }) => verdict)).toEqual([
        'rejected',
        'rejected',
        'rejected',
        'committed',
      ])
      await store.close()
    })

    it('lists schedules behind it', async () => {
      const { store, send } = await setUp(kind)
      for (const schedule of ['a', 'ab', 'b']) {
        await send({ type: 'SetSchedule', schedule, definition: 'hourly', seen: null, ...onRecord })
      }
      const page = await store.query({ kind: 'schedules', after: 'a\0', limit: 9 })
      expect(page.map(({ id }) => id)).toEqual(['ab', 'b'])
      await store.close()
    })
  },
)
