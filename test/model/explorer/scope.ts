/**
 * The small worlds that are explored: which jobs, which workers, and how much may happen.
 *
 * A scope bounds what would go on for ever (attempts, interventions, lives of an id); within
 * those bounds everything that anybody could send is tried, in every order. Leases last two
 * ticks of the clock and retries wait one.
 */
import type {
  EffectPromise,
  JobSpec,
  StageSpec,
  TaskPolicy,
  WaitSpec,
} from '../../../src/kernel/index.ts'
import { calleeId, childId, tickId } from '../../../src/kernel/index.ts'
import {
  call,
  caller,
  child,
  pipeline,
  plain,
  policy,
  promise,
  retry,
  stage,
} from '../../support/specs.ts'

export interface Slot {
  readonly id: string
  /** What is submitted under this id; a second one is the same id with other content. */
  readonly specs: readonly JobSpec[]
  /** What a commit of one of its tasks promises. */
  readonly effects: readonly EffectPromise[]
  /** Grants per task. */
  readonly attempts: number
  /** Interventions of an operator per task, and resolutions per effect. */
  readonly interventions: number
}

export interface Scope {
  readonly name: string
  readonly about: string
  readonly slots: readonly Slot[]
  readonly workers: readonly string[]
  /** How often an id may be submitted, with forgetting in between. */
  readonly lives: number
  /** How executions start: with their grant, or by a report of their own. */
  readonly starts: readonly ('with the grant' | 'later')[]
  readonly steps: boolean
  /** What a handler may wait for, alone or together. */
  readonly waits: readonly WaitSpec[]
  /** Runs also begin anew. */
  readonly continues: boolean
  /** Messages that may be sent to each task, by id; all have the same name. */
  readonly messages: readonly string[]
  /** Versions of the definition that workers run. */
  readonly versions: readonly number[]
  readonly extensions: number
  /** Leases are also revoked by presence, and by what was seen of their extensions. */
  readonly presence: boolean
  /** Waiting tasks are rescheduled: to now, to later, to another queue. */
  readonly reschedules: boolean
  /** Submits that may replace each job, by id. */
  readonly replacements: readonly string[]
  /** How many values a stream of each task may have; 0: there is none. */
  readonly streamed: number
  /** Failures also come with a delay of their own, and for nothing. */
  readonly snoozes: boolean
  /** Jobs are erased. */
  readonly erases: boolean
  /** Jobs see each other: by limits, keys, promises or ticks. */
  readonly linked: boolean
  readonly queue: boolean
  readonly schedule: boolean
  /** How often the clock may go back by one tick. */
  readonly clockBack: number
}

export const LEASE_TICKS = 2

const quick: Partial<TaskPolicy> = {
  leaseMs: LEASE_TICKS,
  retry: retry({ max: 1, delayMs: 1 }),
}
/** The smallest that still has everything: a lease of one tick, one retry without delay. */
const short: Partial<TaskPolicy> = { leaseMs: 1, retry: retry({ max: 1, delayMs: 0 }) }
const once: Partial<TaskPolicy> = { ...quick, retry: retry({ max: 0, delayMs: 1 }) }
const effectRetry = retry({ max: 1, delayMs: 1 })

export function scope(name: string, about: string, changes: Partial<Scope>): Scope {
  const made: Scope = {
    name,
    about,
    slots: [],
    workers: ['w1', 'w2'],
    lives: 1,
    starts: ['with the grant', 'later'],
    steps: false,
    waits: [],
    messages: [],
    continues: false,
    versions: [1],
    extensions: 0,
    presence: false,
    snoozes: false,
    reschedules: false,
    replacements: [],
    streamed: 0,
    erases: false,
    linked: false,
    queue: false,
    schedule: false,
    clockBack: 0,
    ...changes,
  }
  if (!made.linked) assertNothingShared(made)
  return made
}

/** Jobs that are not linked are not looked at for each other: what they share would go unseen. */
function assertNothingShared({ name, slots }: Scope): void {
  const owners = new Map<string, string>()
  for (const one of slots) {
    for (const bond of bondsOf(one)) {
      const other = owners.get(bond)
      if (other !== undefined) {
        throw new Error(`In '${name}' ${other} and ${one.id} share ${bond}, and are not linked.`)
      }
      owners.set(bond, one.id)
    }
  }
}

/** By what jobs of other slots could see it. No queue has bounds: nobody here configures one. */
function bondsOf({ id, specs, effects }: Slot): Set<string> {
  const bonds = new Set<string>()
  if (effects.some((effect) => effect.child !== null)) bonds.add(`what ${id} promises`)
  for (const { type, key, policy: own, stages, parent: promiser, schedule, caller: by } of specs) {
    if (by !== null) bonds.add(`what ${by.job} calls`)
    if (key !== null) bonds.add(`the key '${key}' of ${type}`)
    if (promiser !== null) bonds.add(`what ${promiser.job} promises`)
    if (schedule !== null) bonds.add(`tick ${schedule.tick} of ${schedule.id}`)
    const policies = own === null ? (stages ?? []).map((one) => one.policy) : [own]
    for (const limit of policies.flatMap(({ limits }) => limits)) {
      bonds.add(`the limit '${limit.key}'`)
    }
  }
  return bonds
}

export function slot(id: string, spec: JobSpec, changes: Partial<Slot> = {}): Slot {
  return { id, specs: [spec], effects: [], attempts: 2, interventions: 0, ...changes }
}

const twoStages = (task: Partial<TaskPolicy>): StageSpec[] => [
  stage('split', { policy: policy(task) }),
  stage('work', { after: ['split'], each: 'split', policy: policy(task) }),
]

/** Commits of `split` put out two elements, so that `work` has two segments. */
export const OUTPUT = '[1,2]'

const childSpec = plain({ type: 'child' }, once)
const parent = { job: 'a', stage: 0, segment: 0, effect: 0 }
const scheduled = plain({ schedule: { id: 's', tick: 5 } }, once)
const shared = [{ key: 'k', concurrency: 1, rate: null }]
const repeatable = promise({ idempotent: true, retry: effectRetry })
const reconciled = promise({ reconcile: true, retry: effectRetry })
const neither = promise({ retry: effectRetry })

/** The name of every message. */
export const MESSAGE = 'go'
const nap: WaitSpec = {
  name: 'nap',
  message: null,
  schema: null,
  ask: null,
  delayMs: 1,
  dueAt: null,
  callee: null,
}
const answer: WaitSpec = { ...nap, name: 'answer', message: MESSAGE, delayMs: 2 }
const endless: WaitSpec = { ...answer, delayMs: null }
const asks: WaitSpec = { ...call({}, plain({ type: 'callee' }, once)), delayMs: 3 }
const called = asks.callee as JobSpec

export const SCOPES: readonly Scope[] = [
  scope('plain', 'one job: retries, steps, extensions, cancel, an operator', {
    slots: [slot('a', plain({}, quick), { attempts: 3, interventions: 1 })],
    steps: true,
    extensions: 1,
  }),
  scope('effect', 'an effect that is neither idempotent nor can be reconciled', {
    slots: [slot('a', plain({}, once), { effects: [neither], attempts: 3, interventions: 1 })],
  }),
  scope('reconcile', 'an effect that can be reconciled', {
    slots: [slot('a', plain({}, once), { effects: [reconciled], attempts: 3, interventions: 1 })],
  }),
  scope('idempotent', 'an effect that may be repeated', {
    slots: [slot('a', plain({}, once), { effects: [repeatable], attempts: 3, interventions: 1 })],
  }),
  scope('presence', 'processes that die, or seem to: a lease that is lost again and again', {
    slots: [slot('a', plain({}, quick), { attempts: 4 })],
    workers: ['w1'],
    extensions: 1,
    presence: true,
  }),
  scope('presence-effects', 'processes that die while their effects are on their way', {
    slots: [slot('a', plain({}, once), { effects: [neither, repeatable] })],
    workers: ['w1'],
    presence: true,
  }),
  scope('effects', 'two effects of different kinds', {
    slots: [slot('a', plain({}, once), { effects: [neither, reconciled], interventions: 1 })],
    workers: ['w1'],
  }),
  scope('pipeline', 'two stages, two segments, an on-failure stage, cancel, an operator', {
    slots: [
      slot(
        'p',
        pipeline([...twoStages(once), stage('sorry', { onFailure: true, policy: policy(once) })]),
        { attempts: 1, interventions: 1 },
      ),
    ],
  }),
  scope('tolerant', 'a stage that tolerates one failure, a stage after it, an operator', {
    slots: [
      slot(
        'p',
        pipeline(
          [
            stage('work', { each: 'input', tolerate: 1, policy: policy(once) }),
            stage('join', { after: ['work'], policy: policy(once) }),
          ],
          { input: OUTPUT },
        ),
        { attempts: 1, interventions: 1 },
      ),
    ],
  }),
  scope('finishing', 'segments with an effect, cancelled between commit and end', {
    slots: [
      slot(
        'p',
        pipeline([stage('work', { each: 'input', policy: policy(once) })], { input: OUTPUT }),
        { effects: [repeatable], attempts: 1 },
      ),
    ],
    workers: ['w1'],
  }),
  scope('child', 'a parent, the child that its commit promises, and one under another id', {
    linked: true,
    slots: [
      slot('a', plain({}, once), { effects: [{ ...child(childSpec), retry: effectRetry }] }),
      slot(childId(parent), { ...childSpec, parent }, { attempts: 1 }),
      slot('b', { ...childSpec, parent }, { attempts: 1 }),
    ],
    workers: ['w1'],
    lives: 2,
  }),
  scope('schedule', 'a schedule, the job of its tick, forgotten and asked for again', {
    linked: true,
    slots: [
      slot(tickId('s', 5), scheduled, { attempts: 1 }),
      slot('b', scheduled, { attempts: 1 }),
    ],
    workers: ['w1'],
    lives: 2,
    schedule: true,
  }),
  scope('names', 'ids and keys used again with other content, an id forgotten and used again', {
    linked: true,
    slots: [
      slot('a', plain({ key: 'k' }, once), {
        specs: [plain({ key: 'k' }, once), plain({ priority: 1 }, once)],
        effects: [repeatable],
      }),
      slot('b', plain({ key: 'k', input: '"other"' }, once)),
    ],
    lives: 2,
    extensions: 1,
    steps: true,
  }),
  scope('limits', 'two jobs that share a limit of one, on a queue that is paused and resumed', {
    linked: true,
    slots: ['a', 'b'].map((id) =>
      slot(id, plain({}, { ...quick, limits: shared }), { effects: [repeatable] }),
    ),
    workers: ['w1'],
    queue: true,
  }),
  scope('held', 'a held job, a held pipeline, delays and start-by times', {
    slots: [
      slot('a', plain({ held: true, startWithinMs: 2 }, once), { attempts: 1, interventions: 1 }),
      slot('b', plain({ delayMs: 1, startWithinMs: 1 }, once), { attempts: 1 }),
      slot(
        'p',
        pipeline(
          [
            stage('only', { policy: policy(once) }),
            stage('sorry', { onFailure: true, policy: policy(once) }),
          ],
          { held: true },
        ),
        { attempts: 1 },
      ),
    ],
    workers: ['w1'],
  }),
  scope('reschedule', 'a job with an effect that is rescheduled, on a queue that is paused', {
    slots: [
      slot('a', plain({ startWithinMs: 2 }, quick), { effects: [repeatable], interventions: 1 }),
    ],
    workers: ['w1'],
    reschedules: true,
    queue: true,
  }),
  scope('rescheduled-segments', 'segments that are rescheduled while their job ends', {
    slots: [
      slot(
        'p',
        pipeline([stage('work', { each: 'input', policy: policy(once) })], { input: OUTPUT }),
        { attempts: 1 },
      ),
    ],
    workers: ['w1'],
    reschedules: true,
  }),
  scope('rescheduled-waits', 'a job that waits, and is rescheduled when it does not', {
    slots: [slot('a', plain({}, once))],
    workers: ['w1'],
    waits: [nap],
    reschedules: true,
  }),
  scope('replace', 'a job that is replaced until it begins, is too late, or is given up', {
    slots: [
      slot('a', plain({ delayMs: 1, startWithinMs: 2, deadlineMs: 4 }, once), {
        attempts: 1,
        interventions: 1,
      }),
    ],
    workers: ['w1'],
    replacements: ['r1', 'r2'],
  }),
  scope('replaced-pipeline', 'a held pipeline that is replaced, released, opened and cancelled', {
    slots: [
      slot(
        'p',
        pipeline(
          [
            stage('work', { each: 'input', policy: policy(once) }),
            stage('sorry', { onFailure: true, policy: policy(once) }),
          ],
          { input: OUTPUT, held: true, deadlineMs: 3 },
        ),
        { attempts: 1 },
      ),
    ],
    workers: ['w1'],
    starts: ['with the grant'],
    replacements: ['r1', 'r2'],
  }),
  scope('streams', 'two workers that append to a stream, before the commit and after it', {
    slots: [slot('a', plain({}, once), { effects: [repeatable], attempts: 2 })],
    streamed: 2,
  }),
  scope('snoozes', 'a job that is put off, and fails, and is put off', {
    slots: [slot('a', plain({}, quick), { attempts: 4 })],
    workers: ['w1'],
    snoozes: true,
  }),
  scope('deadline', 'a job with an effect whose deadline passes', {
    slots: [slot('a', plain({ deadlineMs: 2 }, once), { effects: [repeatable], interventions: 1 })],
  }),
  scope('late-pipeline', 'a pipeline whose deadline passes, with a stage for that', {
    slots: [
      slot(
        'p',
        pipeline([...twoStages(once), stage('sorry', { onFailure: true, policy: policy(once) })], {
          deadlineMs: 2,
        }),
        { attempts: 1 },
      ),
    ],
    workers: ['w1'],
  }),
  scope('clock', 'one job while the clock goes back', {
    slots: [slot('a', plain({}, quick))],
    workers: ['w1'],
    clockBack: 1,
  }),
  scope('waiting', 'a sleep and a message with a time, any or all; sent before, during and after', {
    slots: [slot('a', plain({}, once), { attempts: 3, interventions: 1 })],
    workers: ['w1'],
    starts: ['with the grant'],
    waits: [nap, answer],
    messages: ['m1', 'm2'],
  }),
  scope('asking', 'two workers and a wait that only a message ends; an effect after it', {
    slots: [slot('a', plain({}, once), { effects: [repeatable], attempts: 2 })],
    starts: ['later'],
    waits: [endless],
    messages: ['m1'],
  }),
  scope('deploy', 'an old worker meets the steps and waits of a newer one', {
    slots: [slot('a', plain({}, once))],
    workers: ['w1'],
    starts: ['with the grant'],
    steps: true,
    waits: [nap, endless],
    messages: ['m1'],
    versions: [1, 2],
  }),
  scope('awaited', 'stages that wait: messages before they open, segments, cancel', {
    slots: [
      slot(
        'p',
        pipeline([
          stage('first', { policy: policy(once) }),
          stage('then', { after: ['first'], policy: policy(once) }),
        ]),
        { attempts: 2 },
      ),
    ],
    workers: ['w1'],
    starts: ['with the grant'],
    waits: [{ ...answer, delayMs: 1 }],
    messages: ['m1'],
  }),
  scope('continuing', 'runs that begin anew, with waits and messages, and an older worker', {
    slots: [slot('a', plain({}, once), { effects: [repeatable] })],
    starts: ['with the grant'],
    waits: [endless],
    messages: ['m1'],
    versions: [1, 2],
    continues: true,
  }),
  scope(
    'calling',
    'a job that calls another, forgotten and asked for again, and one under another id',
    {
      linked: true,
      slots: [
        slot('a', plain({}, once)),
        slot(calleeId(caller()), called, { attempts: 1 }),
        slot('b', called, { attempts: 1 }),
      ],
      workers: ['w1'],
      starts: ['with the grant'],
      waits: [asks, nap],
      lives: 2,
    },
  ),
  scope('erased', 'a job with a key that is erased; its id and key, and its reports, come again', {
    linked: true,
    slots: [
      slot('a', plain({ key: 'k' }, once), {
        specs: [plain({ key: 'k' }, once), plain({ priority: 1 }, once)],
        effects: [repeatable],
        attempts: 1,
      }),
      slot('b', plain({ key: 'k', input: '"other"' }, once), { attempts: 1 }),
    ],
    workers: ['w1'],
    lives: 2,
    steps: true,
    erases: true,
  }),
  scope('erased-child', 'a parent and its child, each of which is erased', {
    linked: true,
    slots: [
      slot('a', plain({}, once), { effects: [{ ...child(childSpec), retry: effectRetry }] }),
      slot(childId(parent), { ...childSpec, parent }, { attempts: 1 }),
    ],
    workers: ['w1'],
    lives: 2,
    erases: true,
  }),
  scope('erased-pipeline', 'a pipeline with messages that waits, and is erased', {
    slots: [
      slot(
        'p',
        pipeline(
          [
            stage('work', { each: 'input', tolerate: 1, policy: policy(once) }),
            stage('sorry', { onFailure: true, policy: policy(once) }),
          ],
          { input: OUTPUT },
        ),
        { attempts: 1 },
      ),
    ],
    workers: ['w1'],
    messages: ['m1'],
    erases: true,
  }),
  scope('whole', 'everything at once, small: a job with an effect and a pipeline of two stages', {
    slots: [
      slot('a', plain({}, short), { effects: [reconciled], interventions: 1 }),
      slot('p', pipeline(twoStages(short)), { attempts: 1 }),
    ],
    starts: ['with the grant'],
  }),
  scope('large', 'everything at once, with more attempts than can be explored to the end', {
    slots: [
      slot('a', plain({}, quick), { effects: [neither], attempts: 3, interventions: 1 }),
      slot(
        'p',
        pipeline([...twoStages(quick), stage('sorry', { onFailure: true, policy: policy(quick) })]),
        { interventions: 1 },
      ),
    ],
    queue: true,
  }),
]

export function findScope(name: string): Scope {
  const found = SCOPES.find((one) => one.name === name)
  if (found === undefined) {
    const names = SCOPES.map((one) => one.name).join(', ')
    throw new RangeError(`There is no scope '${name}'; the scopes are: ${names}.`)
  }
  return found
}
