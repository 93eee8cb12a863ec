/** Applying entries: what does not fit its record is refused, and what is kept is bounded. */
import { describe, expect, it } from 'vitest'
import { Authority } from '../../test/support/authority.ts'
import { failure, pipeline, plain, promise, retry, stage } from '../../test/support/specs.ts'
import type { Entry, EntryOf, EntryType } from './index.ts'
import { applyToJob, BrokenEntry, createWorld, fold, LIMITS, replay } from './index.ts'

/** An entry as a foreign or corrupt log might hold it. */
function entry<T extends EntryType>(
  type: T,
  fields: Partial<Omit<EntryOf<T>, 'type'>> = {},
): EntryOf<T> {
  const address = { job: 'a', stage: 0, segment: 0, lease: 1, effect: 0 }
  return { type, at: 0, version: 9, ...address, ...fields } as unknown as EntryOf<T>
}

function submitted(spec = plain()): Authority {
  const a = new Authority()
  a.must({ type: 'SubmitJob', spec })
  return a
}

describe('an entry that does not fit its record is broken', () => {
  const NO_JOB = [
    'JobReleased',
    'JobCancelled',
    'StageOpened',
    'JobErased',
    'JobForgotten',
  ] as const
  const NO_LEASE = ['ExecutionStarted', 'LeaseExtended', 'ReportRefused'] as const
  const NO_EFFECT = ['EffectStarted', 'EffectFinished', 'EffectFailed', 'EffectResolved'] as const

  it.each(NO_JOB)('%s of a job that is not there', (type) => {
    expect(() => fold(createWorld(), entry(type))).toThrow(
      `${type} at version 9 cannot be applied: there is no job a`,
    )
  })

  it('LeaseGranted of a task that is not there', () => {
    expect(() => fold(submitted().world, entry('LeaseGranted', { segment: 1 }))).toThrow(
      'cannot be applied: there is no task a/0/1',
    )
    expect(() => fold(createWorld(), entry('LeaseGranted'))).toThrow('there is no task a/0/0')
  })

  it.each(NO_LEASE)('%s under a lease that was never granted', (type) => {
    expect(() => fold(submitted().world, entry(type))).toThrow('the task has no lease 1')
  })

  it.each(NO_EFFECT)('%s of an effect that was never promised', (type) => {
    expect(() => fold(submitted().world, entry(type))).toThrow('the commit promised no effect 0')
  })

  it.each(['LeaseExpired', 'LeaseRevoked', 'LeaseReleased'] as const)(
    '%s that settles an effect that was never promised',
    (type) => {
      const a = submitted()
      a.must({ type: 'GrantLease', started: true })
      a.must({ type: 'CommitExecution', effects: [promise()] })
      const settled = [{ effect: 1, to: 'UNKNOWN', retries: 1 }] as const
      const given = { next: 'WAITING', dueAt: 0, retries: 0, settled } as const
      expect(() => fold(a.world, entry(type, given))).toThrow('the commit promised no effect 1')
    },
  )

  it('JobSubmitted of a job that is there', () => {
    const again = entry('JobSubmitted', { version: 1, spec: plain(), dueAt: 0 })
    expect(() => fold(submitted().world, again)).toThrow('cannot be applied: job a exists')
  })

  it('StageOpened of a plain job', () => {
    const broken = entry('StageOpened', { segments: 1, error: null })
    expect(() => fold(submitted().world, broken)).toThrow('a plain job has no stages')
  })

  it('and the error carries it', () => {
    const broken = entry('JobReleased')
    try {
      fold(createWorld(), broken)
      expect.unreachable()
    } catch (error) {
      expect(error).toBeInstanceOf(BrokenEntry)
      expect((error as BrokenEntry).name).toBe('BrokenEntry')
      expect((error as BrokenEntry).entry).toBe(broken)
    }
  })
})

describe('creating and forgetting', () => {
  it.each(['JobSubmitted', 'JobForgotten'] as const)(
    'is up to whoever holds the jobs: by %s the job itself is only stamped',
    (type) => {
      const job = submitted().world.jobs.get('a')
      if (job !== undefined) applyToJob(job, entry(type, { version: 2, at: 5 }))
      expect(job?.task?.version).toBe(2)
      expect(job?.task?.time).toBe(5)
    },
  )
})

describe('an effect that ends', () => {
  it('lets a task out of DEAD only when no other effect is held', () => {
    const a = submitted()
    const once = promise({ idempotent: true, retry: retry({ max: 0 }) })
    a.must({ type: 'GrantLease', started: true })
    a.must({ type: 'CommitExecution', effects: [once, once, once] })
    a.must({ type: 'StartEffect', effect: 0 })
    a.must({ type: 'StartEffect', effect: 1 })
    a.must({ type: 'FailEffect', effect: 0, error: failure() })
    expect(a.task().commit?.effects.map(({ state }) => state)).toEqual(['HELD', 'HELD', 'PROMISED'])
    a.must({ type: 'ResolveEffect', effect: 0, start: 1, outcome: 'again' })
    expect(a.task().state).toBe('DEAD')
    a.must({ type: 'ResolveEffect', effect: 1, start: 1, outcome: 'happened' })
    expect(a.task().state).toBe('WAITING')
    expect(a.task().endedAt).toBeNull()
  })

  it('keeps its failure for those who ask why', () => {
    const a = submitted()
    a.must({ type: 'GrantLease', started: true })
    a.must({ type: 'CommitExecution', effects: [promise()] })
    a.must({ type: 'StartEffect' })
    a.must({ type: 'FailEffect', error: failure({ message: 'no' }) })
    expect(a.task().commit?.effects[0]?.error?.message).toBe('no')
    expect(a.task().leases[0]?.endedByEffect).toBe(0)
  })
})

describe('what a task remembers is bounded', () => {
  const many = LIMITS.leasesRemembered + 1

  /** Straight from entries: no checks after each, so that thousands of them are quick. */
  function takenOften(): Entry[] {
    const entries: Entry[] = [entry('JobSubmitted', { version: 1, spec: plain(), dueAt: 0 })]
    for (let lease = 1; lease <= many; lease++) {
      const given = { next: 'WAITING', dueAt: 0, retries: 0, settled: [] } as const
      entries.push(
        entry('LeaseGranted', {
          version: 2 * lease,
          lease,
          worker: 'w1',
          request: lease,
          expiresAt: 10,
          started: true,
        }),
        entry('LeaseReleased', { version: 2 * lease + 1, lease, ...given }),
      )
    }
    return entries
  }

  function often(): Authority {
    const a = new Authority()
    a.world = replay(takenOften())
    return a
  }

  it('to the newest leases', () => {
    const { leases, attempt } = often().task()
    expect(attempt).toBe(many)
    expect(leases.length).toBe(LIMITS.leasesRemembered)
    expect(leases[0]?.number).toBe(2)
  })

  it('so that a report of a lease that is remembered is answered as before', () => {
    expect(often().send({ type: 'ReleaseLease', lease: 2 }).verdict).toBe('committed')
  })

  it('and an older report, whatever it says, is answered cancelled without an entry', () => {
    const a = often()
    for (const type of ['ReleaseLease', 'CommitExecution', 'StartExecution'] as const) {
      const { verdict, entry: written } = a.send({ type, lease: 1 })
      expect(verdict).toBe('cancelled')
      expect(written).toBeNull()
    }
  })

  it('and who asks to expire an older lease is told that it is over', () => {
    const { rejection } = often().send({ type: 'ExpireLease', lease: 1 })
    expect(rejection?.code).toBe('LeaseNotHeld')
    expect(rejection?.message).toMatch('it is no longer remembered')
  })

  it('to the newest starts of an effect, and the newest decisions of operators', () => {
    const a = submitted()
    a.must({ type: 'GrantLease', started: true })
    a.must({ type: 'CommitExecution', effects: [promise()] })
    for (let i = 1; i <= many; i++) fold(a.world, entry('EffectStarted', { lease: i }))
    expect(a.task().commit?.effects[0]?.starts.length).toBe(LIMITS.leasesRemembered)
    for (let i = 0; i <= LIMITS.interventions; i++) {
      fold(a.world, entry('TaskRetried', { attempt: i, budget: 1, input: null }))
    }
    expect(a.task().interventions.length).toBe(LIMITS.interventions)
    expect(a.task().interventions[0]?.attempt).toBe(1)
  })
})

describe('start-by', () => {
  it('is a time of tasks that open with the job, not of later stages', () => {
    const spec = pipeline([stage('one'), stage('two', { after: ['one'] })], {
      startWithinMs: 10,
      delayMs: 5,
    })
    const a = submitted(spec)
    a.must({ type: 'OpenStage', stage: 0 })
    a.must({ type: 'ForceTask', to: 'COMPLETED' })
    a.must({ type: 'OpenStage', stage: 1 })
    expect(a.task('a', 0).startBy).toBe(15)
    expect(a.task('a', 1).startBy).toBeNull()
  })

  it('is no time of on-failure stages: they run however late it is', () => {
    const stages = [stage('one'), stage('cleanup', { onFailure: true })]
    const a = submitted(pipeline(stages, { startWithinMs: 10 }))
    a.must({ type: 'CancelJob' })
    a.must({ type: 'OpenStage', stage: 1 })
    expect(a.task('a', 1).startBy).toBeNull()
    a.advance(60_000)
    expect(a.send({ type: 'StopTask', stage: 1 }).rejection?.code).toBe('NothingToStop')
    expect(a.send({ type: 'GrantLease', stage: 1 }).verdict).toBe('committed')
  })
})
