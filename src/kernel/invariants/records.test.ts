/**
 * Every check of the records can fail: a healthy state is damaged in one place, and the check
 * names the invariant that is broken.
 */
import { describe, expect, it } from 'vitest'
import { Authority } from '../../../test/support/authority.ts'
import { failure, pipeline, plain, promise, stage } from '../../../test/support/specs.ts'
import type { Effect, InvariantNumber, Job, Lease, Task, TaskStream } from '../index.ts'
import {
  emptyTally,
  jobViolations,
  NO_TALLIES,
  scan,
  taskViolations,
  worldViolations,
} from '../index.ts'

/** Records are written by `apply` only; here they are damaged on purpose. */
type Damaged<T> = { -readonly [K in keyof T]: T[K] }
type Case = readonly [
  invariant: InvariantNumber,
  what: string,
  healthy: () => Authority,
  damage: (task: Damaged<Task>, lease: Damaged<Lease>, effect: Damaged<Effect>) => void,
]

function waiting(): Authority {
  const a = new Authority()
  a.advance(100).must({ type: 'SubmitJob', spec: plain({ startWithinMs: 1_000 }) })
  return a
}

function leased(): Authority {
  const a = waiting()
  a.must({ type: 'GrantLease', started: true })
  a.must({ type: 'RecordStep', name: 'one', value: '1' })
  return a
}

function failedOnce(): Authority {
  const a = leased()
  a.must({ type: 'FailTask', error: failure() })
  return a
}

function expired(): Authority {
  const a = leased()
  a.advance(30_000).must({ type: 'ExpireLease' })
  return a
}

function secondLease(): Authority {
  const a = expired()
  a.must({ type: 'GrantLease', request: 2, started: true })
  return a
}

function effectStarted(): Authority {
  const a = leased()
  a.must({ type: 'CommitExecution', effects: [promise()] })
  a.must({ type: 'StartEffect' })
  return a
}

function completed(): Authority {
  const a = effectStarted()
  a.must({ type: 'FinishEffect' })
  return a
}

function dead(): Authority {
  const a = effectStarted()
  a.must({ type: 'ReleaseLease' })
  return a
}

const LEASES: readonly Case[] = [
  [1, '2 leases are not over', secondLease, (task) => endNothing(task)],
  [1, 'lease 2 was granted while lease 1 was held', secondLease, (task) => endLater(task)],
  [1, 'the held lease is not the newest', secondLease, (task) => hold(task, 0)],
  [1, 'the held lease is over', leased, (_task, lease) => void (lease.endedBy = 'TaskFailed')],
  [2, 'WAITING with a lease', leased, (task) => void (task.state = 'WAITING')],
  [2, 'LEASED with no lease', leased, (task) => void (task.lease = null)],
  [2, 'a lease that nobody holds is not over', leased, (task) => void (task.lease = null)],
  [5, 'the newest lease is not the newest attempt', leased, (task) => void (task.attempt = 7)],
  [5, 'lease numbers have a gap', secondLease, (task) => renumber(task)],
  [9, 'lease 1 was started after its time', leased, (_t, lease) => void (lease.expiresAt = 100)],
  [
    5,
    'lease 1 was started before it was granted',
    leased,
    (_t, lease) => void (lease.startedAt = 9),
  ],
  [9, 'lease 1 expired before its time was over', expired, (_t, lease) => void (lease.endedAt = 0)],
  [9, 'lease 1 expired before its time', expired, (_t, lease) => void (lease.endedAt = null)],
  [
    9,
    'lease 1 was ended by TaskFailed after its time was over',
    failedOnce,
    (_t, lease) => void (lease.endedAt = 99_999),
  ],
  [9, 'lease 1 was granted after the start-by time', leased, (task) => void (task.startBy = 100)],
]

function endNothing(task: Task): void {
  for (const lease of task.leases) lease.endedBy = null
}

function endLater(task: Task): void {
  for (const lease of task.leases.slice(0, 1)) lease.endedAt = 99_999
}

function hold(task: Damaged<Task>, index: number): void {
  task.lease = task.leases[index] ?? null
}

function renumber(task: Task): void {
  for (const lease of task.leases.slice(0, 1)) (lease as Damaged<Lease>).number = 0
}

const SEVENTEEN = Array.from({ length: 17 }, (_, i) => `s${i}`)

function stream(changes: Partial<TaskStream>): TaskStream[] {
  return [{ name: 's', next: 1, lease: 1, since: 0, ...changes }]
}

function streams(...names: readonly string[]): TaskStream[] {
  return names.flatMap((name) => stream({ name }))
}

const TASKS: readonly Case[] = [
  [13, 'a stream is recorded twice', leased, (task) => void (task.streams = streams('s', 's'))],
  [13, '17 streams', leased, (task) => void (task.streams = streams(...SEVENTEEN))],
  [
    13,
    "stream 's' has no such offset",
    leased,
    (task) => void (task.streams = stream({ next: 0 })),
  ],
  [
    13,
    "stream 's' has no such offset",
    leased,
    (task) => void (task.streams = stream({ lease: 0 })),
  ],
  [
    13,
    "stream 's' has no such offset",
    leased,
    (task) => void (task.streams = stream({ lease: 9 })),
  ],
  [
    13,
    "stream 's' has no such offset",
    leased,
    (task) => void (task.streams = stream({ next: 2_000_000 })),
  ],
  [6, 'COMPLETED, but endedAt is null', completed, (task) => void (task.endedAt = null)],
  [6, 'WAITING, but endedAt is 5', waiting, (task) => void (task.endedAt = 5)],
  [3, 'COMPLETED without an output', completed, (task) => void (task.output = null)],
  [5, 'retries 9 of 3', failedOnce, (task) => void (task.retries = 9)],
  [5, 'retries -1 of 3', failedOnce, (task) => void (task.retries = -1)],
  [5, '9999 snoozes', failedOnce, (task) => void (task.snoozes = 9_999)],
  [5, '-1 snoozes', failedOnce, (task) => void (task.snoozes = -1)],
  [5, '1 retries after 0 attempts', waiting, (task) => void (task.retries = 1)],
  [
    3,
    'a step is recorded twice',
    leased,
    (task) => void (task.steps = [...task.steps, ...task.steps]),
  ],
  [3, 'a step was recorded after the commit', effectStarted, (task) => addStep(task)],
  [3, 'FAILED although it is committed', completed, (task) => void (task.state = 'FAILED')],
  [
    6,
    'committed without being started',
    effectStarted,
    (_t, lease) => void (lease.startedAt = null),
  ],
  [
    9,
    'committed after the time of the lease',
    effectStarted,
    (_t, lease) => void (lease.expiresAt = 1),
  ],
  [1, 'committed after the lease was over', completed, (_t, lease) => void (lease.endedAt = 1)],
  [
    3,
    'COMPLETED with effects not all',
    completed,
    (_t, _l, effect) => void (effect.state = 'UNKNOWN'),
  ],
  [
    3,
    'LEASED with effects all',
    effectStarted,
    (_t, _l, effect) => void (effect.state = 'FINISHED'),
  ],
  [7, 'LEASED with a held effect', effectStarted, (_t, _l, effect) => void (effect.state = 'HELD')],
  [7, 'DEAD with no held effect', dead, (_t, _l, effect) => void (effect.state = 'PROMISED')],
]

function addStep(task: Task): void {
  task.steps = [...task.steps, { name: 'two', value: '2', lease: 2 }]
}

const EFFECTS: readonly Case[] = [
  [5, 'effect 0 has retries 9 of 3', effectStarted, (_t, _l, effect) => void (effect.retries = 9)],
  [
    3,
    'is STARTED, but not under the held lease',
    effectStarted,
    (_t, _l, e) => void (e.starts = [7]),
  ],
  [3, 'is FINISHED and was never started', completed, (_t, _l, e) => void (e.starts = [])],
  [3, 'was started twice under one lease', completed, (_t, _l, e) => void (e.starts = [1, 1])],
]

describe.each([
  ['leases', LEASES],
  ['tasks', TASKS],
  ['effects', EFFECTS],
])('the check of %s', (_of, cases) => {
  it.each(cases)('%i: %s', (invariant, what, healthy, damage) => {
    const a = healthy()
    const task = a.task()
    expect(taskViolations(task)).toEqual([])
    damage(task, task.leases[0] as Lease, task.commit?.effects[0] as Effect)
    const found = taskViolations(task)
    expect(found.find((one) => one.what.includes(what))?.invariant).toBe(invariant)
    for (const one of found) expect(one.what).toMatch(/^a\/0\/0: /)
  })
})

describe('the check of a commit', () => {
  it('does not ask about a lease that is no longer remembered', () => {
    const a = dead()
    a.task().leases = []
    a.task().attempt = 0
    expect(taskViolations(a.task())).toEqual([])
  })
})

function aPipeline(): Authority {
  const a = new Authority()
  const spec = pipeline([
    stage('one'),
    stage('two', { after: ['one'] }),
    stage('cleanup', { onFailure: true }),
  ])
  a.must({ type: 'SubmitJob', spec })
  a.must({ type: 'OpenStage' })
  return a
}

const JOBS: readonly [
  invariant: InvariantNumber,
  what: string,
  healthy: () => Authority,
  damage: (job: Damaged<Job>, a: Authority) => void,
][] = [
  [9, 'held, but a task was granted', leased, (job) => void (job.held = true)],
  [6, 'cancelled, but its task is LEASED', leased, (job) => cancelSilently(job)],
  [4, 'cancelled at another time than its task ended', completed, (job) => cancelSilently(job)],
  [4, 'SUCCEEDED with a task that is not over', aPipeline, (job, a) => openBehind(job, a)],
  [7, 'QUEUED and nothing will ever happen', aPipeline, (job, a) => waitForNothing(job, a)],
  [
    6,
    'stage one has 0 tasks',
    aPipeline,
    (_job, a) => void a.world.tasks.set('a', [[], null, null]),
  ],
  [10, 'held, but stage one is open', aPipeline, (job) => void (job.held = true)],
  [10, 'stage two is open, but one is not DONE', aPipeline, (job) => openStage(job, 1)],
  [10, 'cleanup is open, but the job is not ending', aPipeline, (job) => openStage(job, 2)],
  [10, 'cleanup is open, but one is not over', aPipeline, (job) => openStage(job, 2)],
]

function cancelSilently(job: Job): void {
  job.cancelled = { at: 1, by: 'nobody', reason: 'none', deadline: false }
}

function openStage(job: Job, index: number): void {
  if (job.opened !== null) job.opened[index] = 0
}

/** The on-failure stage has an open task, although the job succeeded. */
function openBehind(job: Job, a: Authority): void {
  const task = a.task()
  a.world.tasks.set('a', [[{ ...task, state: 'COMPLETED' }], [], [{ ...task, stage: 2 }]])
  job.opened = [1, 0, 1]
}

/** The second stage waits for one that does not exist. */
function waitForNothing(job: Damaged<Job>, a: Authority): void {
  job.spec = pipeline([stage('one'), stage('two', { after: ['nowhere'] })])
  a.world.tasks.set('a', [[{ ...a.task(), state: 'COMPLETED' }], null])
  job.opened = [1, -1]
}

describe('the check of a job', () => {
  it.each(JOBS)('%i: %s', (invariant, what, healthy, damage) => {
    const a = healthy()
    expect(worldViolations(a.world, scan(a.world), a.now)).toEqual([])
    damage(a.world.jobs.get('a') as Job, a)
    const found = worldViolations(a.world, scan(a.world), a.now)
    expect(found.map((one) => `${one.invariant} ${one.what}`)).toContainEqual(
      expect.stringMatching(`^${invariant} a: .*${what}`),
    )
  })

  const parent = { job: 'a', stage: 0, segment: 0, effect: 0 }

  it('3: a child whose id is not derived from its parent', () => {
    const a = new Authority()
    a.must({ type: 'SubmitJob', job: 'b', spec: plain() })
    give(a, 'b', { parent })
    expect(broken(a)).toContain('3 b: a child whose id is not derived from its parent')
  })

  it('3: a child that nobody promised', () => {
    const a = effectStarted()
    a.advance(1).must({ type: 'SubmitJob', job: 'a/0/0/0', spec: plain() })
    give(a, 'a/0/0/0', { parent })
    expect(broken(a)).toEqual(['3 a/0/0/0: a child that nobody promised'])
  })

  it('3: an id that is not derived from its tick', () => {
    const a = new Authority()
    a.must({ type: 'SubmitJob', job: 's@5', spec: plain() })
    give(a, 's@5', { schedule: { id: 's', tick: 5 } })
    expect(broken(a)).toEqual([])
    give(a, 's@5', { schedule: { id: 's', tick: 6 } })
    expect(broken(a)).toEqual(['3 s@5: an id that is not derived from its tick'])
  })

  it('does not ask who promised a child whose parent is forgotten, or is a later one', () => {
    const a = new Authority()
    a.must({ type: 'SubmitJob', job: 'a/0/0/0', spec: plain() })
    give(a, 'a/0/0/0', { parent })
    expect(broken(a)).toEqual([])
    a.advance(1).must({ type: 'SubmitJob', spec: plain() })
    expect(broken(a)).toEqual([])
  })

  it('does not call a job held that is cancelled', () => {
    const a = new Authority()
    const stages = [stage('one'), stage('cleanup', { onFailure: true })]
    a.must({ type: 'SubmitJob', spec: pipeline(stages, { held: true }) })
    a.must({ type: 'CancelJob' })
    expect(a.world.jobs.get('a')?.held).toBe(true)
    expect(broken(a)).toEqual([])
  })

  it('6: a tally that a store keeps is off', () => {
    const a = aPipeline()
    const job = a.world.jobs.get('a') as Job
    const tallies = scan(a.world).tallies(job)
    expect(jobViolations(a.world, job, tallies, 0)).toEqual([])
    const off = tallies.with(0, { ...emptyTally(), waiting: 5 })
    expect(jobViolations(a.world, job, off, 0).map(({ what }) => what)).toContain(
      'a: the tally of one is off',
    )
  })

  it('does not count the tasks of a plain job', () => {
    const a = leased()
    expect(jobViolations(a.world, a.world.jobs.get('a') as Job, NO_TALLIES, a.now)).toEqual([])
  })
})

/** Gives a job another origin than it was submitted with. */
function give(a: Authority, id: string, origin: Partial<Job['spec']>): void {
  const job = a.world.jobs.get(id) as Damaged<Job>
  job.spec = { ...job.spec, ...origin }
}

const broken = (a: Authority) =>
  worldViolations(a.world, scan(a.world), a.now).map((one) => `${one.invariant} ${one.what}`)
const limited = (concurrency: number | null) =>
  plain({}, { limits: [{ key: 'gpu', concurrency, rate: null }] })

function twoRunning(first: number | null, second: number | null): Authority {
  const a = new Authority()
  a.must({ type: 'SubmitJob', job: 'b', spec: limited(first) })
  a.must({ type: 'SubmitJob', job: 'c', spec: limited(second) })
  a.must({ type: 'GrantLease', job: 'b' })
  a.must({ type: 'GrantLease', job: 'c' })
  return a
}

/** Job a has the key k; b has none yet. */
function keyed(first: 'kept' | 'unique', second: 'kept' | 'unique', isOver: boolean): Authority {
  const a = new Authority()
  a.must({ type: 'SubmitJob', spec: plain({ key: 'k', unique: first === 'unique' }) })
  a.must({ type: 'SubmitJob', job: 'b', spec: plain({ unique: second === 'unique' }) })
  if (isOver) a.must({ type: 'CancelJob' })
  return a
}

describe('the check of a world', () => {
  it.each([
    ['one is over', 'kept', 'kept', true],
    ['neither is over', 'unique', 'unique', false],
    ['one is kept for ever, and the other is not over', 'kept', 'unique', true],
  ] as const)('11: two jobs have one key, and %s', (_what, first, second, isOver) => {
    const a = keyed(first, second, isOver)
    expect(broken(a)).toEqual([])
    give(a, 'b', { key: 'k' })
    expect(broken(a)).toEqual(["11 world: key 'k' belongs to a and b"])
  })

  it.each([
    ['another unique one', 'unique'],
    ['one that keeps it for ever', 'kept'],
  ] as const)('lets %s have the key of a unique job that is over', (_what, second) => {
    const a = keyed('unique', second, true)
    give(a, 'b', { key: 'k' })
    expect(broken(a)).toEqual([])
  })

  it('knows a unique pipeline that is over', () => {
    const a = new Authority()
    const unique = { key: 'k', unique: true }
    a.must({ type: 'SubmitJob', spec: pipeline([stage('one')], unique) })
    a.must({ type: 'SubmitJob', job: 'b', spec: plain() })
    give(a, 'b', unique)
    expect(broken(a)).toEqual(["11 world: key 'k' belongs to a and b"])
    a.must({ type: 'CancelJob' })
    expect(broken(a)).toEqual([])
  })

  it('does not take the keys of two types for one', () => {
    const a = new Authority()
    a.must({ type: 'SubmitJob', spec: plain({ type: 'send', key: 'mail now' }) })
    a.must({ type: 'SubmitJob', job: 'b', spec: plain({ type: 'send mail', key: 'now' }) })
    expect(broken(a)).toEqual([])
  })

  it('9: a task was granted while its queue was paused', () => {
    const a = leased()
    a.must({ type: 'PauseQueue' })
    expect(broken(a)).toEqual([])
    for (const queue of a.world.queues.values()) queue.pausedAt = 1
    expect(broken(a)).toEqual(['9 world: a was granted while queue default was paused'])
  })

  it('9: more tasks hold a limit than it allows', () => {
    const a = twoRunning(2, 2)
    expect(broken(a)).toEqual([])
    for (const job of a.world.jobs.values()) {
      for (const limit of job.spec.policy?.limits ?? []) Object.assign(limit, { concurrency: 1 })
    }
    expect(broken(a)).toEqual(["9 world: 2 hold limit 'gpu' of 1"])
  })

  it.each([
    ['the wider one counts when the first is wider', 3, 2],
    ['the wider one counts when the second is wider', 2, 3],
    ['none counts when one has none', 2, null],
    ['none counts when the first has none', null, 2],
  ])('tasks of one key may declare different bounds: %s', (_rule, first, second) => {
    expect(broken(twoRunning(first, second))).toEqual([])
  })
})
