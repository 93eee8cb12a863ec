/**
 * The tables of allowed transitions: what they say, that stories really go that way, and that
 * `decide` refuses what they do not allow.
 */
import { describe, expect, it } from 'vitest'
import { Authority } from '../../test/support/authority.ts'
import {
  failForGood,
  grant,
  inTurn,
  noRetries,
  openAndGrant,
  PIPELINE_MOVES,
  PLAIN_MOVES,
  toDead,
  walk,
} from '../../test/support/moves.ts'
import { pipeline, plain, stage } from '../../test/support/specs.ts'
import type { JobState, Table } from './index.ts'
import {
  EFFECT_TRANSITIONS,
  effectMayMove,
  EXECUTION_TRANSITIONS,
  executionMayMove,
  isFinal,
  jobMayMove,
  PIPELINE_JOB_TRANSITIONS,
  PLAIN_JOB_TRANSITIONS,
  TASK_TRANSITIONS,
  taskMayMove,
} from './index.ts'

const STATES = Object.keys(PLAIN_JOB_TRANSITIONS) as JobState[]

describe('a plain job goes', () => {
  it.each(PLAIN_MOVES)('from %s to %s', (from, to, ...rest) => {
    expect(walk([from, to, ...rest])).toMatchObject({ from, to })
  })

  it('every way that its table allows, and no other is listed here', () => {
    const listed = PLAIN_MOVES.map(([from, to]) => `${from} → ${to}`)
    const allowed = STATES.flatMap((from) =>
      PLAIN_JOB_TRANSITIONS[from].map((to) => `${from} → ${to}`),
    )
    expect(listed.toSorted()).toEqual(allowed.toSorted())
  })
})

describe('a pipeline goes', () => {
  it.each(PIPELINE_MOVES)('from %s to %s', (from, to, ...rest) => {
    expect(walk([from, to, ...rest])).toMatchObject({ from, to })
    expect(jobMayMove(PIPELINE_JOB_TRANSITIONS, from, to)).toBe(true)
  })

  it('never back to CREATED or QUEUED once it has begun', () => {
    for (const from of STATES.filter((state) => state !== 'CREATED')) {
      if (from !== 'QUEUED') expect(PIPELINE_JOB_TRANSITIONS[from]).not.toContain('CREATED')
      expect(PIPELINE_JOB_TRANSITIONS[from]).not.toContain('QUEUED')
    }
  })

  it('between RUNNING, RETRYING and QUARANTINED as often as it likes', () => {
    const between = ['RUNNING', 'RETRYING', 'QUARANTINED'] as const
    for (const from of between) {
      for (const to of between) expect(jobMayMove(PIPELINE_JOB_TRANSITIONS, from, to)).toBe(true)
    }
  })
})

describe('the tables', () => {
  it('let nothing leave a final state, and let every job that is not final end both ways', () => {
    for (const table of [PLAIN_JOB_TRANSITIONS, PIPELINE_JOB_TRANSITIONS]) {
      for (const state of STATES) {
        if (isFinal(state)) expect(table[state]).toEqual([])
        else expect(table[state]).toEqual(expect.arrayContaining(['SUCCEEDED', 'FAILED']))
      }
    }
  })

  it('allow to stay, by any entry', () => {
    expect(taskMayMove('COMPLETED', 'COMPLETED', 'ReportRefused')).toBe(true)
    expect(effectMayMove('FINISHED', 'FINISHED', 'EffectFinished')).toBe(true)
    expect(executionMayMove('ABORTED', 'ABORTED', 'LeaseGranted')).toBe(true)
    expect(jobMayMove(PLAIN_JOB_TRANSITIONS, 'FAILED', 'FAILED')).toBe(true)
  })

  it('allow a move by the entries that they name, and by no other', () => {
    expect(taskMayMove('WAITING', 'LEASED', 'LeaseGranted')).toBe(true)
    expect(taskMayMove('WAITING', 'LEASED', 'TaskForced')).toBe(false)
    expect(effectMayMove('UNKNOWN', 'STARTED', 'EffectStarted')).toBe(true)
    expect(effectMayMove('UNKNOWN', 'STARTED', 'LeaseGranted')).toBe(false)
    expect(executionMayMove('IN_PROGRESS', 'COMMITTED', 'ExecutionCommitted')).toBe(true)
    expect(executionMayMove('IN_PROGRESS', 'COMMITTED', 'TaskForced')).toBe(false)
  })

  it('allow no move that they do not list', () => {
    expect(taskMayMove('FAILED', 'WAITING', 'TaskRetried')).toBe(false)
    expect(effectMayMove('FINISHED', 'PROMISED', 'EffectResolved')).toBe(false)
    expect(executionMayMove('ABORTED', 'COMMITTED', 'ExecutionCommitted')).toBe(false)
    expect(jobMayMove(PLAIN_JOB_TRANSITIONS, 'RETRYING', 'RUNNING')).toBe(false)
  })

  it.each([
    ['task', TASK_TRANSITIONS],
    ['execution', EXECUTION_TRANSITIONS],
    ['effect', EFFECT_TRANSITIONS],
  ] as readonly [string, Table<string>][])('of the %s lead only to its states', (_of, table) => {
    const known = Object.keys(table)
    for (const row of Object.values(table))
      expect(known).toEqual(expect.arrayContaining(Object.keys(row)))
  })
})

const refusedCancel = (a: Authority) => a.send({ type: 'CancelJob' }).rejection

describe('same to same', () => {
  it.each<[string, (a: Authority) => void]>([
    [
      'a plain job that failed for good',
      (a) => {
        a.must({ type: 'SubmitJob', spec: plain() })
        inTurn(grant, failForGood)(a)
      },
    ],
    [
      'a pipeline that failed with a stage unopened',
      (a) => {
        const spec = pipeline([stage('one'), stage('two', { after: ['one'] })])
        a.must({ type: 'SubmitJob', spec })
        inTurn(openAndGrant, failForGood)(a)
      },
    ],
  ])('a cancel of %s is answered, and writes nothing', (_name, bring) => {
    const a = new Authority()
    bring(a)
    expect(a.state()).toBe('FAILED')
    expect(a.send({ type: 'CancelJob' })).toMatchObject({ verdict: 'committed', entry: null })
    expect(a.world.jobs.get('a')?.cancelled).toBeNull()
  })
})

describe('an entry that the table does not allow is refused', () => {
  it('when a job succeeded with a DEAD task that it tolerates, and is cancelled after that', () => {
    const a = new Authority()
    a.must({
      type: 'SubmitJob',
      spec: pipeline([stage('one', { tolerate: 1, policy: noRetries })]),
    })
    toDead(a)
    expect(a.state()).toBe('SUCCEEDED')
    expect(refusedCancel(a)).toEqual({
      code: 'InvalidTransition',
      check: 'transition',
      message: 'Job a is SUCCEEDED and cannot become FAILED; allowed: nothing, it is final.',
      details: { from: 'SUCCEEDED', to: 'FAILED', allowed: [] },
    })
  })
})
