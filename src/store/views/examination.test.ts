import { describe, expect, it } from 'vitest'
import {
  child,
  failure,
  onRecord,
  pipeline,
  plain,
  policy,
  retry,
  stage,
} from '../../../test/support/specs.ts'
import type { Command, Job, JobSpec, Task } from '../../kernel/index.ts'
import { Examination } from './examination.ts'
import { Ledger } from '../state/ledger.ts'
import type { Examined } from '../store.ts'

const NEVER_MS = 1e9

class Desk {
  readonly ledger = new Ledger()
  /** What each look at the stopwatch takes. */
  lookUs = 0
  #us = 0
  readonly examination = new Examination(this.ledger, () => (this.#us += this.lookUs))
  now = 1_000

  must(command: Command): this {
    const { verdict, rejection } = this.ledger.perform(command, this.now)
    expect([verdict, rejection]).toEqual(['committed', null])
    return this
  }

  submit(job: string, spec: JobSpec = plain()): this {
    return this.must({ type: 'SubmitJob', job, spec })
  }

  /** Everything that time and the orchestrator ask for. */
  upkeep(): this {
    for (const command of this.ledger.upkeep(this.now, 1_000)) this.must(command)
    return this
  }

  look(limit = 1_000, waitedMs = NEVER_MS): Examined {
    this.ledger.tick(this.now)
    return this.examination.examineNext({ kind: 'examination', limit, waitedMs })
  }

  job(id: string): Job {
    return this.ledger.world.jobs.get(id) as Job
  }
}

describe('an examination', () => {
  it('goes through all jobs, a few at a time, round after round', () => {
    const changes = new Desk()
    for (let i = 0; i < 25; i++) changes.submit(`job-${i}`)
    const looks = Array.from({ length: 6 }, () => changes.look(10))
    expect(looks.map(({ looked }) => looked)).toEqual([10, 10, 5, 10, 10, 5])
    expect(looks.map(({ isRoundOver }) => isRoundOver)).toEqual([
      false,
      false,
      true,
      false,
      false,
      true,
    ])
    expect(looks.flatMap(({ violations }) => violations)).toEqual([])
    // What comes in the middle of a round is of the next one.
    changes.look(10)
    changes.submit('new')
    expect(changes.look(100)).toMatchObject({ looked: 15, isRoundOver: true })
    expect(changes.look(100)).toMatchObject({ looked: 26, isRoundOver: true })
  })

  it('comes to the end of a round although jobs come faster than it looks', () => {
    const changes = new Desk()
    let submitted = 0
    const ends = Array.from({ length: 30 }, () => {
      for (let i = 0; i < 12; i++) changes.submit(`job-${submitted++}`)
      return changes.look(10).isRoundOver
    })
    expect(ends.filter(Boolean).length).toBeGreaterThan(1)
  })

  it('does not count as waiting how long a job was held, or in hand', () => {
    const changes = new Desk().submit('a').submit('b', plain({ held: true }))
    const address = { job: 'a', stage: 0, segment: 0, worker: 'w' }
    changes.must({ type: 'GrantLease', ...address, request: 1, started: true })
    changes.now += 20
    changes.must({ type: 'ReleaseLease', ...address, lease: 1 })
    changes.must({ type: 'ReleaseJob', job: 'b', ...onRecord })
    changes.now += 10
    expect(changes.look(99, 11).waiting).toEqual([])
    expect(changes.look(99, 10).waiting).toMatchObject([{ since: 1_020 }, { since: 1_020 }])
  })

  it('takes no longer than a millisecond or so, however many jobs there are', () => {
    const changes = new Desk()
    for (let i = 0; i < 50; i++) changes.submit(`job-${i}`)
    changes.lookUs = 100
    const looks = Array.from({ length: 6 }, () => changes.look())
    expect(looks.map(({ looked }) => looked)).toEqual([9, 9, 9, 9, 9, 5])
    expect(looks.at(-1)?.isRoundOver).toBe(true)
  })

  it('finds a record that contradicts itself', () => {
    const changes = new Desk().submit('a').submit('b')
    const { task } = changes.job('b')
    ;(task as Task).state = 'LEASED'
    const { violations } = changes.look()
    expect(violations).toMatchObject([{ invariant: 2 }])
    expect(violations[0]?.what).toContain('b/0/0: LEASED with no lease')
  })

  it('finds a pipeline that can never advance', () => {
    const changes = new Desk().submit(
      'p',
      pipeline([stage('one'), stage('two', { after: ['one'] })]),
    )
    changes.upkeep()
    expect(changes.look().violations).toEqual([])
    // The stage is open, and its task is gone.
    const [tasks] = changes.ledger.world.tasks.get('p') as Task[][]
    tasks?.pop()
    const [tally] = changes.ledger.tallies(changes.job('p'))
    Object.assign(tally as object, { waiting: 0, failed: 1 })
    expect(changes.look().violations.map(({ what }) => what)).toContainEqual(
      expect.stringContaining('the tally of one is off'),
    )
    Object.assign(tally as object, { failed: 0 })
    const spec = changes.job('p').spec as unknown as { stages: { after: string[] }[] }
    // And nothing may ever open the next one.
    ;(spec.stages[1] as { after: string[] }).after = ['nowhere']
    expect(changes.look().violations).toContainEqual({
      invariant: 7,
      what: 'p: QUEUED and nothing will ever happen',
    })
  })

  it('finds an orphan among those that are too large to be counted, too', () => {
    const changes = new Desk()
    const input = JSON.stringify(Array.from({ length: 500 }, (_, i) => i))
    const stages = [stage('cut', { each: 'input' }), stage('join', { after: ['cut'] })]
    changes.submit('p', pipeline(stages, { input })).upkeep()
    expect(changes.look().violations).toEqual([])
    const [tally] = changes.ledger.tallies(changes.job('p'))
    Object.assign(tally as object, { waiting: 0, completed: 499 })
    const spec = changes.job('p').spec as unknown as { stages: { after: string[] }[] }
    ;(spec.stages[1] as { after: string[] }).after = ['nowhere']
    expect(changes.look().violations).toEqual([
      { invariant: 7, what: 'p: nothing will ever happen' },
    ])
  })

  it('says who is due for long, and not who is held, paused, taken or early', () => {
    const changes = new Desk()
    changes
      .submit('a')
      .submit('held', plain({ held: true }))
      .submit('early', plain({ delayMs: 90 }))
    changes.submit('paused', plain({}, { queue: 'mail' }))
    changes.must({ type: 'PauseQueue', queue: 'mail', by: 'ann', reason: 'because' })
    changes.submit('p', pipeline([stage('one', { policy: policy({ queue: 'big' }) })])).upkeep()
    changes.now += 50
    expect(changes.look(99, 51).waiting).toEqual([])
    expect(changes.look(99, 50).waiting).toEqual([
      { queue: 'default', type: 'test', stage: null, since: 1_000 },
      { queue: 'big', type: 'test', stage: 'one', since: 1_000 },
    ])
    const address = { job: 'a', stage: 0, segment: 0, worker: 'w' }
    changes.must({ type: 'GrantLease', ...address, request: 1, started: true })
    expect(changes.look(99, 50).waiting).toHaveLength(1)
    const error = failure()
    changes.must({ type: 'FailTask', ...address, lease: 1, error })
    expect(changes.look(99, 50).waiting).toHaveLength(1)
  })

  it('is content with what is in quarantine, and with children', () => {
    const changes = new Desk().submit('q', plain({}, { retry: retry({ max: 0 }) }))
    const address = { job: 'q', stage: 0, segment: 0, worker: 'w' }
    changes.must({ type: 'GrantLease', ...address, request: 1, started: true })
    changes.must({ type: 'FailTask', ...address, lease: 1, error: failure() }).submit('parent')
    const parent = { job: 'parent', stage: 0, segment: 0, worker: 'w' }
    changes.must({ type: 'GrantLease', ...parent, request: 2, started: true })
    const effects = [child(plain())]
    changes.must({ type: 'CommitExecution', ...parent, lease: 1, output: '1', effects })
    expect(changes.look().violations).toEqual([])
  })
})
