/** The heart: one command in; one entry, or a no, out. */
import { describe, expect, it } from 'vitest'
import { Authority } from '../../test/support/authority.ts'
import { pipeline, plain, policy, promise, stage } from '../../test/support/specs.ts'
import type { Command, Indexes, JobSpec, SubmitJob } from './index.ts'
import {
  areAlike,
  createWorld,
  decide,
  decideAlike,
  decideIn,
  freezePolicy,
  NONE,
  noReads,
  scan,
} from './index.ts'

describe('the life of a plain job', () => {
  it('goes from submit over grant and commit to SUCCEEDED', () => {
    const a = new Authority()
    a.must({ type: 'SubmitJob', spec: plain() })
    expect(a.state()).toBe('QUEUED')
    a.must({ type: 'GrantLease', started: true })
    expect(a.state()).toBe('RUNNING')
    a.must({ type: 'CommitExecution' })
    expect(a.state()).toBe('SUCCEEDED')
  })

  it('is not over before every effect is finished', () => {
    const a = new Authority()
    a.must({ type: 'SubmitJob', spec: plain() })
    a.must({ type: 'GrantLease', started: true })
    a.must({ type: 'CommitExecution', effects: [promise()] })
    expect(a.state()).toBe('RUNNING')
    a.must({ type: 'StartEffect' })
    a.must({ type: 'FinishEffect' })
    expect(a.state()).toBe('SUCCEEDED')
  })
})

describe('a job that is run again', () => {
  const again = { rerunOf: 'failed', asked: { by: 'ann', reason: 'first' } }

  it('is the same whoever asks for it, and the first who asked stays on record', () => {
    const a = new Authority()
    a.must({ type: 'SubmitJob', spec: plain(again) })
    const bob = { by: 'bob', reason: 'second' }
    for (const asked of [again.asked, bob, null]) {
      expect(a.send({ type: 'SubmitJob', spec: plain({ ...again, asked }) })).toMatchObject({
        verdict: 'committed',
        entry: null,
      })
    }
    expect(a.world.jobs.get('a')?.spec.asked).toEqual(again.asked)
  })

  it('is another one if anything else differs, and none if nobody can be who asked', () => {
    const a = new Authority()
    a.must({ type: 'SubmitJob', spec: plain(again) })
    const other = a.send({ type: 'SubmitJob', spec: plain({ ...again, rerunOf: 'other' }) })
    expect(other.rejection?.code).toBe('IdReused')
    const nobody = plain({ ...again, asked: { by: '', reason: '' } })
    expect(a.send({ type: 'SubmitJob', spec: nobody }).rejection?.code).toBe('InvalidSpec')
  })
})

describe('the clock', () => {
  it('never runs backwards within an aggregate', () => {
    const a = new Authority()
    a.advance(10).must({ type: 'SubmitJob', spec: plain() })
    const { rejection } = a.advance(-1).send({ type: 'GrantLease' })
    expect(rejection).toEqual({
      code: 'ClockBackwards',
      check: 'clock',
      message:
        'The clock says 9, but the log is already at 10: wait until the clock has caught up.',
      details: { now: 9, last: 10 },
    })
  })

  it('may stand still', () => {
    const a = new Authority()
    a.advance(10).must({ type: 'SubmitJob', spec: plain() })
    expect(a.send({ type: 'GrantLease' }).verdict).toBe('committed')
  })

  it('does not keep anybody from hearing what the log already has', () => {
    const a = new Authority()
    a.advance(10).must({ type: 'SubmitJob', spec: plain() })
    a.must({ type: 'GrantLease' })
    expect(a.advance(-5).send({ type: 'GrantLease' }).value).toBe(1)
  })
})

describe('a late report', () => {
  it('is put on record once per lease, and answered every time', () => {
    const a = new Authority()
    a.must({ type: 'SubmitJob', spec: plain() })
    a.must({ type: 'GrantLease', started: true })
    a.advance(30_000)
    const first = a.send({ type: 'CommitExecution' })
    expect(first.verdict).toBe('cancelled')
    expect(first.entry).toMatchObject({ type: 'ReportRefused', report: 'CommitExecution' })
    for (const type of ['CommitExecution', 'ReleaseLease'] as const) {
      const again = a.send({ type })
      expect(again.verdict).toBe('cancelled')
      expect(again.entry).toBeNull()
    }
  })
})

describe('a transition that the table does not allow', () => {
  it('is refused with where from, where to and what is allowed', () => {
    const a = new Authority()
    a.must({ type: 'SubmitJob', spec: plain({ held: true }) })
    // No entry leads here: a record is damaged, and must not be led further astray.
    a.task().state = 'DEAD'
    const { rejection } = a.send({ type: 'ForceTask', to: 'WAITING' })
    expect(rejection).toEqual({
      code: 'InvalidTransition',
      check: 'transition',
      message:
        'Job a is QUARANTINED and cannot become CREATED; allowed: QUEUED, SUCCEEDED, FAILED.',
      details: {
        from: 'QUARANTINED',
        to: 'CREATED',
        allowed: ['QUEUED', 'SUCCEEDED', 'FAILED'],
      },
    })
  })
})

describe('a decision on a world in memory', () => {
  /** Whoever asks these has looked before the form was checked. */
  const untouchable = new Proxy({} as Indexes, {
    get: () => {
      throw new Error('the form is checked BEFORE anything is loaded')
    },
  })

  it.each([
    null,
    7,
    {},
    { type: 'GrantLease' },
    { type: 'ReleaseJob', job: { toString: 0 } },
    { type: 'FireSchedule', schedule: { toString: 0 }, tick: 1, skipped: false },
    { type: 'FinishEffect', job: 'a', stage: 0, segment: 0, lease: 1, worker: 'w1', effect: -1 },
  ])('looks at nothing for what has no form: %j', (nonsense) => {
    const command = nonsense as unknown as Command
    const decision = decideIn(createWorld(), untouchable, command, noReads(), 0)
    expect(decision.rejection?.check).toBe('well-formed')
    expect(decision).toEqual(decide(command, noReads(), 0))
  })

  it.each([{ key: { toString: 0 } }, { key: 'k' }, { parent: 7 }, { schedule: 'daily' }])(
    'is not tripped up by a spec that is none: %j',
    (spec) => {
      const command = { type: 'SubmitJob', job: 'a', spec } as unknown as Command
      const world = createWorld()
      const { rejection } = decideIn(world, scan(world), command, noReads(), 0)
      expect(rejection?.code).toBe('InvalidSpec')
    },
  )

  it('is what is decided when the same is loaded first', () => {
    const a = new Authority()
    a.must({ type: 'SubmitJob', spec: plain({ delayMs: 5 }) })
    const at = { job: 'a', stage: 0, segment: 0 }
    const grant = { type: 'GrantLease', ...at, worker: 'w1', request: 1, started: true } as const
    const reads = noReads()
    const first = decideIn(a.world, scan(a.world), grant, reads, 0)
    expect(first.rejection?.check).toBe('task-due')
    expect(decide(grant, reads, 0)).toEqual(first)
    expect(decide(grant, reads, 5)).toEqual(decideIn(a.world, scan(a.world), grant, noReads(), 5))
  })
})

describe('submits that are alike', () => {
  const shared = freezePolicy(policy())
  const usual = { tags: NONE, steps: NONE, policy: shared }
  const submits = (...specs: Partial<JobSpec>[]): SubmitJob[] =>
    specs.map((changes, i) => ({
      type: 'SubmitJob',
      job: `job-${i}`,
      spec: plain({ ...usual, ...changes }),
    }))

  it('are decided together as each is by itself', () => {
    const commands = submits({ input: '1' }, { input: '{"a":2}' }, { input: '3' })
    expect(areAlike(commands)).toBe(true)
    const alone = commands.map((command) => decide(command, noReads(), 5).entry)
    expect(decideAlike(commands, 5)).toEqual(alone)
  })

  it.each<[string, Partial<JobSpec>]>([
    ['another type', { type: 'other' }],
    ['another version', { version: 2 }],
    ['another policy, though it says the same', { policy: freezePolicy(policy()) }],
    ['a priority', { priority: 1 }],
    ['a delay', { delayMs: 1 }],
    ['a key', { key: 'k' }],
    ['a group', { group: 'g' }],
    ['tags', { tags: ['t'] }],
    ['metadata', { metadata: '1' }],
    ['a deadline', { deadlineMs: 5 }],
    ['no input', { input: '' }],
    ['a field that no job has', { color: 'red' } as object],
  ])('are not those of which one has %s', (_what, changes) => {
    expect(areAlike(submits({}, changes))).toBe(false)
    expect(areAlike(submits(changes, {}))).toBe(false)
  })

  it('are not those that share an id, that have none, or that are something else', () => {
    const [one, two] = submits({}, {}) as [SubmitJob, SubmitJob]
    expect(areAlike([one, { ...two, job: one.job }])).toBe(false)
    expect(areAlike([one, { ...two, job: '' }])).toBe(false)
    expect(areAlike([one, { type: 'PauseQueue' } as Command])).toBe(false)
    expect(areAlike([one, null as unknown as Command])).toBe(false)
    expect(areAlike([one, { type: 'SubmitJob', job: 'x' } as Command])).toBe(false)
    expect(areAlike([{ type: 'SubmitJob', job: 'x', spec: pipeline([stage('one')]) }])).toBe(false)
    expect([areAlike([]), decideAlike([], 1)]).toEqual([false, []])
  })
})
