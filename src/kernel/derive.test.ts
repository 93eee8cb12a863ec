/**
 * The model's table of derived states, row by row: what makes a stage or a job what it is.
 * Each row is a story that ends in it; the first row that matches counts.
 */
import { describe, expect, it } from 'vitest'
import { Authority } from '../../test/support/authority.ts'
import {
  failure,
  pipeline,
  plain,
  policy,
  promise,
  retry,
  stage,
} from '../../test/support/specs.ts'
import type { Job, JobSpec, JobState, StageState } from './index.ts'
import {
  countTallies,
  executionStatus,
  hasHeldEffects,
  isSettled,
  jobState,
  NOT_OPENED,
  NO_TALLIES,
  openableStages,
  prerequisitesDone,
  stageIsDone,
  stageState,
  stateByCommit,
} from './index.ts'
import { emptyTally } from './derive.ts'

type Row = readonly [state: JobState, when: string, spec: JobSpec, story: (a: Authority) => void]

const noRetries = policy({ retry: retry({ max: 0 }) })
const grant = (a: Authority, at = 0) =>
  void a.must({ type: 'GrantLease', stage: at, started: true })
const fail = (a: Authority, at = 0) =>
  void a.must({ type: 'FailTask', stage: at, error: failure() })
const failForGood = (a: Authority, at = 0) =>
  void a.must({ type: 'FailTask', stage: at, error: failure({ type: 'TERMINAL' }) })
const cancel = (a: Authority) => void a.must({ type: 'CancelJob' })
const open = (a: Authority, at = 0) => void a.must({ type: 'OpenStage', stage: at })
const openAndGrant = (a: Authority, at = 0) => {
  open(a, at)
  grant(a, at)
}
/** Commits with an effect that nobody can judge, and falls silent. */
const dieAfterCommit = (a: Authority, at = 0) => {
  a.must({ type: 'CommitExecution', stage: at, effects: [promise()] })
  a.must({ type: 'StartEffect', stage: at })
  a.advance(30_000).must({ type: 'ExpireLease', stage: at })
}

const PLAIN: readonly Row[] = [
  ['CREATED', 'held', plain({ held: true }), () => {}],
  ['CREATED', 'not due yet', plain({ delayMs: 1 }), () => {}],
  ['QUEUED', 'due', plain({ delayMs: 1 }), (a) => a.advance(1)],
  ['RUNNING', 'leased', plain(), grant],
  [
    'RETRYING',
    'waiting for a retry time',
    plain(),
    (a) => {
      grant(a)
      fail(a)
    },
  ],
  [
    'QUEUED',
    'its retry time reached',
    plain(),
    (a) => {
      grant(a)
      fail(a)
      a.advance(1_000)
    },
  ],
  [
    'QUARANTINED',
    'its task DEAD',
    plain({}, noRetries),
    (a) => {
      grant(a)
      fail(a)
    },
  ],
  [
    'QUARANTINED',
    'its task DEAD after the commit',
    plain(),
    (a) => {
      grant(a)
      dieAfterCommit(a)
    },
  ],
  [
    'SUCCEEDED',
    'its task COMPLETED',
    plain(),
    (a) => {
      grant(a)
      a.must({ type: 'CommitExecution' })
    },
  ],
  [
    'FAILED',
    'its task FAILED',
    plain(),
    (a) => {
      grant(a)
      failForGood(a)
    },
  ],
  ['FAILED', 'cancelled', plain({ held: true }), cancel],
]

const one = pipeline([stage('one', { policy: noRetries })])
const two = pipeline([stage('one'), stage('two')])
const chain = pipeline([stage('one'), stage('two', { after: ['one'] })])
const withCleanup = pipeline([stage('one'), stage('cleanup', { onFailure: true })])
const twoWithoutRetries = pipeline([
  stage('one', { policy: noRetries }),
  stage('two', { policy: noRetries }),
])

const PIPELINE: readonly Row[] = [
  ['FAILED', 'cancelled and nothing open', one, cancel],
  [
    'FAILED',
    'more FAILED than a stage tolerates, and nothing else open',
    chain,
    (a) => {
      openAndGrant(a)
      failForGood(a)
    },
  ],
  [
    'FAILED',
    'ending, and a DEAD task was never committed',
    twoWithoutRetries,
    (a) => {
      openAndGrant(a)
      fail(a)
      openAndGrant(a, 1)
      failForGood(a, 1)
    },
  ],
  [
    'FAILED',
    'ending, and the on-failure stage is through',
    withCleanup,
    (a) => {
      cancel(a)
      openAndGrant(a, 1)
      a.must({ type: 'CommitExecution', stage: 1 })
    },
  ],
  [
    'FAILED',
    'ending, whatever became of the on-failure stage',
    withCleanup,
    (a) => {
      cancel(a)
      openAndGrant(a, 1)
      failForGood(a, 1)
    },
  ],
  [
    'RUNNING',
    'ending, one DEAD without a commit, and the on-failure stage is open',
    pipeline([stage('one', { policy: noRetries }), stage('cleanup', { onFailure: true })]),
    (a) => {
      openAndGrant(a)
      fail(a)
      cancel(a)
      open(a, 1)
    },
  ],
  [
    'RUNNING',
    'ending, and a task is open',
    one,
    (a) => {
      open(a)
      cancel(a)
    },
  ],
  ['RUNNING', 'ending, and an on-failure stage is to open', withCleanup, cancel],
  [
    'RUNNING',
    'ending, one DEAD after its commit, another still open',
    two,
    (a) => {
      openAndGrant(a)
      open(a, 1)
      dieAfterCommit(a)
      cancel(a)
    },
  ],
  [
    'QUARANTINED',
    'ending, and one is DEAD after its commit',
    two,
    (a) => {
      openAndGrant(a)
      dieAfterCommit(a)
      cancel(a)
    },
  ],
  [
    'SUCCEEDED',
    'every stage DONE but on-failure ones',
    withCleanup,
    (a) => {
      openAndGrant(a)
      a.must({ type: 'CommitExecution' })
    },
  ],
  [
    'QUARANTINED',
    'a stage is ERROR by a DEAD task, and nothing is open',
    one,
    (a) => {
      openAndGrant(a)
      fail(a)
    },
  ],
  [
    'QUARANTINED',
    'a stage is ERROR by a DEAD task, and another stage is still to be opened',
    twoWithoutRetries,
    (a) => {
      openAndGrant(a)
      fail(a)
    },
  ],
  [
    'RUNNING',
    'that other stage was opened',
    twoWithoutRetries,
    (a) => {
      openAndGrant(a)
      fail(a)
      open(a, 1)
    },
  ],
  [
    'RUNNING',
    'a task is DEAD, but another is leased',
    twoWithoutRetries,
    (a) => {
      openAndGrant(a)
      openAndGrant(a, 1)
      fail(a)
    },
  ],
  ['CREATED', 'held', pipeline([stage('one')], { held: true }), () => {}],
  ['CREATED', 'not due yet, open or not', pipeline([stage('one')], { delayMs: 1 }), open],
  ['RUNNING', 'a task is LEASED', one, openAndGrant],
  [
    'RETRYING',
    'every open task waits for a retry time',
    two,
    (a) => {
      openAndGrant(a)
      fail(a)
    },
  ],
  [
    'RUNNING',
    'one task waits for a retry time, and another for a worker',
    two,
    (a) => {
      openAndGrant(a)
      fail(a)
      open(a, 1)
    },
  ],
  ['QUEUED', 'nothing was opened yet', chain, () => {}],
  ['QUEUED', 'nothing was granted yet', chain, open],
  [
    'RUNNING',
    'between two stages',
    chain,
    (a) => {
      openAndGrant(a)
      a.must({ type: 'CommitExecution' })
    },
  ],
]

function told(spec: JobSpec, story: (a: Authority) => void): Authority {
  const a = new Authority()
  a.must({ type: 'SubmitJob', spec })
  story(a)
  return a
}

describe('a plain job', () => {
  it.each(PLAIN)('is %s when %s', (state, _when, spec, story) => {
    expect(told(spec, story).state()).toBe(state)
  })
})

describe('a pipeline', () => {
  it.each(PIPELINE)('is %s when %s', (state, _when, spec, story) => {
    expect(told(spec, story).state()).toBe(state)
  })
})

describe('a stage', () => {
  const STAGES: readonly [StageState, string, number, object][] = [
    ['NEW', 'not opened', NOT_OPENED, {}],
    ['ERROR', 'more FAILED than it tolerates', 3, { completed: 1, failed: 2 }],
    ['ERROR', 'more FAILED and DEAD together', 3, { waiting: 1, failed: 1, dead: 1 }],
    ['ERROR', 'one DEAD after its commit', 1, { dead: 1, deadCommitted: 1 }],
    ['DONE', 'without tasks', 0, {}],
    ['DONE', 'no task open', 3, { completed: 2, dead: 1 }],
    ['RUNNING', 'a task LEASED', 2, { waiting: 1, leased: 1 }],
    ['READY', 'every open task WAITING', 2, { waiting: 1, completed: 1 }],
  ]

  it.each(STAGES)('is %s when %s', (state, _when, segments, counts) => {
    expect(stageState(segments, { ...emptyTally(), ...counts }, 1)).toBe(state)
  })
})

describe('an execution', () => {
  it('goes from LEASED over IN_PROGRESS and COMMITTED to DONE', () => {
    const a = told(plain(), (b) => b.must({ type: 'GrantLease' }))
    const status = () => executionStatus(a.task(), a.task().leases[0] as never)
    expect(status()).toBe('LEASED')
    a.must({ type: 'StartExecution' })
    expect(status()).toBe('IN_PROGRESS')
    a.must({ type: 'CommitExecution', effects: [promise()] })
    expect(status()).toBe('COMMITTED')
    a.must({ type: 'StartEffect' })
    a.must({ type: 'FinishEffect' })
    expect(status()).toBe('DONE')
  })

  it('is ABORTED when its lease ends before the commit', () => {
    const a = told(plain(), grant)
    fail(a)
    expect(executionStatus(a.task(), a.task().leases[0] as never)).toBe('ABORTED')
  })
})

const openable = (a: Authority) => {
  const job = a.world.jobs.get('a')
  return job === undefined ? [] : openableStages(job, countTallies(a.world, job))
}

describe('what an orchestrator may open', () => {
  it('is every stage whose prerequisites are DONE', () => {
    const a = told(two, () => {})
    expect(openable(a)).toEqual([0, 1])
    open(a)
    expect(openable(a)).toEqual([1])
  })

  it('is nothing while a stage before is not DONE', () => {
    expect(openable(told(chain, open))).toEqual([])
  })

  it('is nothing while the job is held', () => {
    expect(openable(told(pipeline([stage('one')], { held: true }), () => {}))).toEqual([])
  })

  it('is one on-failure stage after the other when the job is ending', () => {
    const spec = pipeline([
      stage('one'),
      stage('first', { onFailure: true }),
      stage('second', { onFailure: true }),
    ])
    const a = told(spec, open)
    expect(openable(a)).toEqual([])
    cancel(a)
    expect(openable(a)).toEqual([])
    a.must({ type: 'StopTask' })
    expect(openable(a)).toEqual([1])
    openAndGrant(a, 1)
    expect(openable(a)).toEqual([])
    a.must({ type: 'CommitExecution', stage: 1 })
    expect(openable(a)).toEqual([2])
  })

  it('is no on-failure stage while a commit waits for a person', () => {
    const a = told(
      pipeline([stage('one'), stage('two'), stage('cleanup', { onFailure: true })]),
      (b) => {
        openAndGrant(b)
        dieAfterCommit(b)
        cancel(b)
      },
    )
    expect(openable(a)).toEqual([])
    const job = a.world.jobs.get('a')
    expect(job && isSettled(job, countTallies(a.world, job))).toBe(false)
    a.must({ type: 'ResolveEffect', start: 1, outcome: 'happened' })
    expect(openable(a)).toEqual([2])
  })

  it('is nothing for a plain job, which has no stages', () => {
    const a = told(plain(), () => {})
    const job = a.world.jobs.get('a')
    expect(openable(a)).toEqual([])
    expect(job && stageIsDone(job, NO_TALLIES, 0)).toBe(false)
    expect(job && prerequisitesDone(job, NO_TALLIES, 0)).toBe(true)
    expect(job && jobState(job, NO_TALLIES, 0)).toBe('QUEUED')
  })
})

function has({ world }: Authority): boolean {
  const a = world.jobs.get('a') as Job
  return hasHeldEffects(a, countTallies(world, a))
}

describe('a job has held effects', () => {
  it('from when one may have happened or not, until a person has said so', () => {
    const a = told(plain(), (b) => {
      grant(b)
      expect(has(b)).toBe(false)
      b.must({ type: 'CommitExecution', effects: [promise()] })
      expect(has(b)).toBe(false)
      b.must({ type: 'StartEffect' })
      expect(has(b)).toBe(false)
      b.advance(30_000).must({ type: 'ExpireLease' })
    })
    expect(has(a)).toBe(true)
    a.must({ type: 'ResolveEffect', start: 1, outcome: 'again' })
    expect(has(a)).toBe(false)
  })

  it('not by what was given up before its commit', () => {
    const a = told(plain({}, noRetries), (b) => {
      grant(b)
      fail(b)
    })
    expect(jobState(a.world.jobs.get('a') as Job, NO_TALLIES, a.now)).toBe('QUARANTINED')
    expect(has(a)).toBe(false)
  })

  it('in any stage of a pipeline, whatever else runs', () => {
    const a = told(pipeline([stage('one'), stage('two')]), (b) => {
      openAndGrant(b)
      openAndGrant(b, 1)
      expect(has(b)).toBe(false)
      dieAfterCommit(b)
    })
    expect(has(a)).toBe(true)
    a.must({ type: 'ResolveEffect', start: 1, outcome: 'happened' })
    expect(has(a)).toBe(false)
  })
})

describe('a commit of a plain job', () => {
  it.each([
    ['without effects', []],
    ['with one', [promise()]],
  ])('%s says what the job is by it, as the records do', (_, effects) => {
    const a = told(plain(), grant)
    a.must({ type: 'CommitExecution', effects })
    const said = stateByCommit(effects)
    expect(said ?? 'RUNNING').toBe(a.state())
    expect(said === null).toBe(effects.length > 0)
  })
})
