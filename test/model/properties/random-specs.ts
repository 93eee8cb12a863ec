/** Random jobs, pipelines, policies and promises: small, and with every option now and then. */
import type {
  EffectPromise,
  JobSpec,
  LimitSpec,
  RetryPolicy,
  StageSpec,
  TaskPolicy,
} from '../../../src/kernel/index.ts'
import { child, pipeline, plain, policy, promise, retry, stage } from '../../support/specs.ts'
import type { Dice } from './dice.ts'

export const QUEUES = ['left', 'right']
export const WORKERS = ['w1', 'w2', 'w3']
export const JOBS = ['a', 'b', 'c', 'd']
export const SCHEDULES = ['hourly', 'daily']
export const STEPS = ['one', 'two', 'three']
export const OUTPUTS = ['[1]', '[1,2]', '[]', '{"list":[1,2]}', '"done"', 'no json']

const INPUTS = ['{}', '[1,2]', '[]', '{"list":[1,2,3]}', '"text"']

/** A key always has the same bounds, as its users would have it. */
export const LIMITS: readonly LimitSpec[] = [
  { key: 'one at a time', concurrency: 1, rate: null },
  { key: 'two per 20 ms', concurrency: null, rate: { count: 2, perMs: 20 } },
  { key: 'both', concurrency: 2, rate: { count: 1, perMs: 10 } },
  { key: 'three per 10 ms', concurrency: null, rate: { count: 3, perMs: 10 } },
]

export function randomRetry(dice: Dice): RetryPolicy {
  return retry({
    max: dice.below(4),
    backoff: dice.pick(['fixed', 'fixed', 'exponential', 'list']),
    delayMs: dice.pick([0, 0, 5, 20]),
    capMs: 15,
    delaysMs: dice.pick([[], [3], [0, 10]]),
    jitter: dice.pick([0, 0, 0, 0.5, 1]),
  })
}

/** Seldom the same twice, which is refused. */
function randomLimits(dice: Dice): LimitSpec[] {
  const first = dice.pick(LIMITS)
  return dice.chance(10) ? [first, dice.pick(LIMITS)] : [first]
}

export function randomPolicy(dice: Dice): TaskPolicy {
  return policy({
    queue: dice.pick(QUEUES),
    leaseMs: dice.pick([10, 40, 200]),
    retry: randomRetry(dice),
    quarantine: dice.pick(['always', 'always', 'never']),
    limits: dice.chance(15) ? randomLimits(dice) : [],
  })
}

function randomOptions(dice: Dice, now: number): Partial<JobSpec> {
  return {
    type: dice.pick(['red', 'blue']),
    // Now and then there is a deploy.
    version: now % 5 === 0 ? 2 : 1,
    input: dice.pick(INPUTS),
    priority: dice.below(3),
    delayMs: dice.chance(10) ? dice.pick([5, 30]) : 0,
    dueAt: dice.chance(5) ? now + dice.below(20) : null,
    startWithinMs: dice.chance(12) ? dice.pick([1, 10, 40]) : null,
    deadlineMs: dice.chance(8) ? dice.pick([20, 100]) : null,
    submittedBy: now % 7 === 0 ? 'ada' : null,
    key: dice.chance(25) ? dice.pick(['k1', 'k2']) : null,
    unique: dice.chance(50),
    held: dice.chance(8),
    group: [null, 'x', 'y'][now % 3] ?? null,
  }
}

function randomStages(dice: Dice): StageSpec[] {
  const part = (name: string, changes: Partial<StageSpec> = {}): StageSpec =>
    stage(name, { policy: randomPolicy(dice), tolerate: dice.pick([0, 0, 0, 1]), ...changes })
  const input = dice.pick(['input', 'input', 'input.list'])
  const rescue = part('rescue', { onFailure: true, each: dice.pick([null, null, input]) })
  const split = part('split')
  switch (dice.below(6)) {
    case 0:
      return [part('first'), part('second', { after: ['first'] })]
    case 1:
      return [split, part('work', { after: ['split'], each: 'split' }), rescue]
    case 2: {
      const work = part('work', { after: ['split'], each: dice.pick(['split', 'split.list']) })
      return [split, work, part('again', { after: ['work'], each: 'work' })]
    }
    case 3:
      return [part('many', { each: input }), part('join', { after: ['many'] }), rescue]
    case 4: {
      const clean = part('clean', { onFailure: true })
      return [
        part('left'),
        part('right'),
        part('join', { after: ['left', 'right'] }),
        rescue,
        clean,
      ]
    }
    default:
      return [part('many', { each: input })]
  }
}

/** Nearly always one that has the list that a stage asks for. */
function fittingInput(dice: Dice, stages: readonly StageSpec[]): string {
  const each = stages.map((one) => one.each).find((one) => one?.startsWith('input'))
  if (each == null || dice.chance(4)) return dice.pick(INPUTS)
  return each === 'input' ? dice.pick(['[1,2]', '[1,2]', '[]']) : '{"list":[1,2,3]}'
}

export function randomSpec(dice: Dice, now: number): JobSpec {
  if (dice.chance(55)) {
    const steps = now % 11 === 0 ? [{ name: 'one', value: '"kept"' }] : []
    return plain({ ...randomOptions(dice, now), steps, policy: randomPolicy(dice) })
  }
  const stages = randomStages(dice)
  return pipeline(stages, { ...randomOptions(dice, now), input: fittingInput(dice, stages) })
}

function randomPromise(dice: Dice, now: number): EffectPromise {
  if (dice.chance(25)) {
    return { ...child(randomSpec(dice, now)), retry: randomRetry(dice) }
  }
  return promise({
    idempotent: dice.chance(40),
    reconcile: dice.chance(40),
    retry: randomRetry(dice),
  })
}

export function randomPromises(dice: Dice, now: number): EffectPromise[] {
  return Array.from({ length: dice.pick([0, 0, 1, 1, 2]) }, () => randomPromise(dice, now))
}
