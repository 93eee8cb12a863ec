/** A whole state in memory, and what a command gets to see of it. */
import { describe, expect, it } from 'vitest'
import { Authority, snapshot } from '../../test/support/authority.ts'
import { child, pipeline, plain, stage } from '../../test/support/specs.ts'
import type { Command } from './index.ts'
import {
  childId,
  copyTask,
  createWorld,
  findTask,
  loadReads,
  noReads,
  noUsage,
  replay,
  scan,
  tasksOf,
} from './index.ts'

function readsFor(a: Authority, command: Partial<Command>) {
  const reads = noReads()
  loadReads(reads, a.world, scan(a.world), command as Command, a.now)
  return reads
}

describe('a world', () => {
  it('is the same when its log is folded again', () => {
    const a = new Authority()
    a.must({ type: 'SubmitJob', spec: pipeline([stage('one')]) })
    a.must({ type: 'OpenStage' })
    a.must({ type: 'GrantLease' })
    a.must({ type: 'PauseQueue' })
    a.must({ type: 'SetSchedule', definition: 'daily' })
    expect(replay(a.log)).toEqual(a.world)
  })

  it('knows no task of a job that it does not know', () => {
    expect(findTask(createWorld(), 'a', 0, 0)).toBeUndefined()
  })

  it('knows one task of a plain job, and none beside it', () => {
    const a = new Authority()
    a.must({ type: 'SubmitJob', spec: plain() })
    expect(findTask(a.world, 'a', 0, 0)).toBe(a.task())
    expect(findTask(a.world, 'a', 0, 1)).toBeUndefined()
    expect(findTask(a.world, 'a', 1, 0)).toBeUndefined()
  })

  it('knows the tasks of the stages that are open', () => {
    const a = new Authority()
    a.must({ type: 'SubmitJob', spec: pipeline([stage('one'), stage('two')]) })
    a.must({ type: 'OpenStage', stage: 1 })
    const job = a.world.jobs.get('a')
    expect(job && tasksOf(a.world, job)).toEqual([a.task('a', 1, 0)])
    expect(findTask(a.world, 'a', 0, 0)).toBeUndefined()
  })
})

describe('a copy', () => {
  it('of a world does not change with it', () => {
    const a = new Authority()
    a.must({ type: 'SubmitJob', spec: plain() })
    a.must({ type: 'GrantLease', started: true })
    const before = snapshot(a.world)
    a.must({ type: 'CommitExecution' })
    expect(before.jobs.get('a')?.task?.state).toBe('LEASED')
    expect(before.jobs.get('a')?.task?.lease?.endedBy).toBeNull()
  })

  it('of a leased task holds the copy of its newest lease', () => {
    const a = new Authority()
    a.must({ type: 'SubmitJob', spec: plain() })
    a.must({ type: 'GrantLease' })
    const copy = copyTask(a.task())
    expect(copy.lease).toBe(copy.leases[0])
    expect(copy.lease).not.toBe(a.task().lease)
  })
})

describe('what is loaded for a submit', () => {
  it('is not tripped up by a spec that is no spec', () => {
    const a = new Authority()
    expect(readsFor(a, { type: 'SubmitJob', job: 'a', spec: null as never })).toEqual(noReads())
    expect(readsFor(a, { type: 'SubmitJob', job: 'a', spec: {} as never })).toEqual(noReads())
    expect(
      readsFor(a, { type: 'SubmitJob', job: 'a', spec: { type: 't', key: 7 } as never }),
    ).toEqual(noReads())
  })

  it('is the parent that it names, if there is one', () => {
    const a = new Authority()
    const parent = { job: 'ghost', stage: 0, segment: 0, effect: 0 }
    const reads = readsFor(a, { type: 'SubmitJob', job: 'b', spec: plain({ parent }) })
    expect(reads.parent).toBeNull()
  })

  it('is the schedule that it names, if there is one', () => {
    const a = new Authority()
    const spec = plain({ schedule: { id: 's', tick: 1 } })
    expect(readsFor(a, { type: 'SubmitJob', job: 'b', spec }).schedule).toBeNull()
    a.must({ type: 'SetSchedule', definition: 'daily' })
    expect(readsFor(a, { type: 'SubmitJob', job: 'b', spec }).schedule?.id).toBe('s')
  })
})

function promising(spec = plain()): Authority {
  const a = new Authority()
  a.must({ type: 'SubmitJob', spec: plain() })
  a.must({ type: 'GrantLease', started: true })
  a.must({ type: 'CommitExecution', effects: [child(spec)] })
  return a
}

describe('whether a child was submitted', () => {
  const finish = { type: 'FinishEffect', job: 'a', stage: 0, segment: 0, effect: 0 } as const

  it('is seen by its id', () => {
    const a = promising()
    expect(readsFor(a, finish).originSubmitted).toBe(false)
    const parent = { job: 'a', stage: 0, segment: 0, effect: 0 }
    a.must({ type: 'SubmitJob', job: childId(parent), spec: plain({ parent }) })
    expect(readsFor(a, finish).originSubmitted).toBe(true)
  })

  it('is seen by its key, when another job has that', () => {
    const a = promising(plain({ key: 'k' }))
    expect(readsFor(a, finish).originSubmitted).toBe(false)
    a.must({ type: 'SubmitJob', job: 'other', spec: plain({ key: 'k' }) })
    expect(readsFor(a, finish).originSubmitted).toBe(true)
  })

  it('is not seen in a job that only has the same id', () => {
    const a = promising()
    a.must({ type: 'SubmitJob', job: 'a/0/0/0', spec: plain() })
    expect(readsFor(a, finish).originSubmitted).toBe(false)
    a.must({ type: 'StartEffect' })
    expect(a.send({ type: 'FinishEffect' }).rejection?.code).toBe('ChildNotSubmitted')
  })

  it.each([
    ['other input', plain({ key: 'k', input: '1' })],
    ['another type', plain({ key: 'k', type: 'other' })],
  ])('is not seen in a job of the same key with %s', (_what, spec) => {
    const a = promising(plain({ key: 'k' }))
    a.must({ type: 'SubmitJob', job: 'other', spec })
    expect(readsFor(a, finish).originSubmitted).toBe(false)
  })

  it('is not seen in a unique job of the same key that is over', () => {
    const a = promising(plain({ key: 'k', unique: true }))
    a.must({ type: 'SubmitJob', job: 'other', spec: plain({ key: 'k', unique: true }) })
    expect(readsFor(a, finish).originSubmitted).toBe(true)
    a.must({ type: 'CancelJob', job: 'other' })
    expect(readsFor(a, finish).originSubmitted).toBe(false)
  })

  it('is no question for an effect that is no child, or is not there', () => {
    expect(readsFor(promising(), { ...finish, effect: 5 }).originSubmitted).toBe(false)
    expect(readsFor(new Authority(), finish).originSubmitted).toBe(false)
  })
})

describe('whether the job of a tick was submitted', () => {
  const fire = { type: 'FireSchedule', schedule: 's', tick: 5, skipped: false } as const

  it('is seen by its id', () => {
    const a = new Authority()
    a.must({ type: 'SetSchedule', definition: 'daily' })
    expect(readsFor(a, fire).originSubmitted).toBe(false)
    const spec = plain({ schedule: { id: 's', tick: 5 } })
    a.must({ type: 'SubmitJob', job: 's@5', spec })
    expect(readsFor(a, fire).originSubmitted).toBe(true)
  })

  it('is not seen in a job that only has the same id', () => {
    const a = new Authority()
    a.must({ type: 'SetSchedule', definition: 'daily' })
    a.must({ type: 'SubmitJob', job: 's@5', spec: plain() })
    expect(readsFor(a, fire).originSubmitted).toBe(false)
    expect(a.send({ ...fire }).rejection?.code).toBe('TickNotSubmitted')
  })
})

const openStage = (job: string, index: number) =>
  ({ type: 'OpenStage', job, stage: index }) as const

describe('the value that each names', () => {
  it('is the input, or the output of the stage before', () => {
    const a = new Authority()
    const two = stage('two', { after: ['one'], each: 'one' })
    const spec = pipeline([stage('one', { each: 'input' }), two], { input: '[1]' })
    a.must({ type: 'SubmitJob', spec })
    expect(readsFor(a, openStage('a', 0)).eachSource).toBe('[1]')
    expect(readsFor(a, openStage('a', 1)).eachSource).toBeNull()
    a.must({ type: 'OpenStage' })
    a.must({ type: 'ForceTask', to: 'COMPLETED', output: '[2]' })
    expect(readsFor(a, openStage('a', 1)).eachSource).toBe('[2]')
  })

  it('is nothing for a stage without each, or without stages', () => {
    const a = new Authority()
    a.must({ type: 'SubmitJob', spec: pipeline([stage('one')]) })
    a.must({ type: 'SubmitJob', job: 'b', spec: plain() })
    expect(readsFor(a, openStage('a', 0)).eachSource).toBeNull()
    expect(readsFor(a, openStage('b', 0)).eachSource).toBeNull()
  })
})

describe('the usage of a limit', () => {
  it('counts who holds it, in the order of the grants', () => {
    const a = new Authority()
    const limits = [{ key: 'k', concurrency: 2, rate: { count: 1, perMs: 1_000 } }]
    a.must({ type: 'SubmitJob', job: 'late', spec: plain({}, { limits }) })
    a.must({ type: 'SubmitJob', job: 'early', spec: plain({}, { limits }) })
    a.must({ type: 'GrantLease', job: 'early' })
    a.must({ type: 'ReleaseLease', job: 'early' })
    a.advance(5_000).must({ type: 'GrantLease', job: 'late' })
    expect(scan(a.world).usage.get('k')).toEqual({ held: 1, fullAt: 6_000 })
  })

  it('is none of a limit that nobody counts yet', () => {
    const a = new Authority()
    const limits = [{ key: 'k', concurrency: 2, rate: null }]
    a.must({ type: 'SubmitJob', spec: plain({}, { limits }) })
    const reads = noReads()
    const indexes = {
      usage: new Map(),
      tallies: () => [],
      queueUsage: () => null,
      keyHolder: () => null,
    }
    const grant = { type: 'GrantLease', job: 'a', stage: 0, segment: 0 } as Command
    loadReads(reads, a.world, indexes, grant, a.now)
    expect(reads.limits).toEqual([{ ...limits[0], usage: noUsage() }])
  })
})
