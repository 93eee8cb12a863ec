/**
 * A well-formed command of any kind, at anything: most make no sense in the current world, and
 * the commands of operators and clients, which need little sense, are all made here.
 */
import type {
  Command,
  CommandOf,
  Job,
  LeaseAddress,
  Task,
  TaskAddress,
  World,
} from '../../../src/kernel/index.ts'
import { findTask, tasksOf, tickId } from '../../../src/kernel/index.ts'
import { failure } from '../../support/specs.ts'
import type { Dice } from './dice.ts'
import {
  JOBS,
  OUTPUTS,
  QUEUES,
  randomPromises,
  randomSpec,
  SCHEDULES,
  WORKERS,
} from './random-specs.ts'

import { waitCommands } from './random-waits.ts'

export function onRecord(dice: Dice): { by: string; reason: string } {
  return { by: dice.pick(['ops', 'watchdog']), reason: dice.pick(['', 'because']) }
}

/** Whose revocation it is, and what it saw of the lease. */
export function seenSilent(dice: Dice, extension = 0): Partial<CommandOf<'RevokeLease'>> {
  if (dice.chance(30)) return {}
  const known = dice.pick([null, extension, extension, Math.max(0, extension - 1)])
  return { seen: known, presence: dice.chance(50), delayMs: dice.pick([null, null, 0, 7]) }
}

/** Time, an operator who saw an attempt of it in quarantine, or a client. */
function whoCancels(dice: Dice, attempt: number): Partial<CommandOf<'CancelJob'>> {
  return { deadline: dice.chance(50), attempt: dice.pick([null, attempt]) }
}

/** Now and then an error says itself when to try again. */
export function putOff(dice: Dice): Partial<CommandOf<'FailTask'>> {
  if (dice.chance(70)) return {}
  return { delayMs: dice.pick([null, 0, 7]), free: dice.chance(60) }
}

export function failedEffect(dice: Dice): Pick<CommandOf<'FailEffect'>, 'error' | 'delayMs'> {
  return { error: randomFailure(dice), delayMs: dice.pick([null, null, 0, 7]) }
}

export function randomFailure(dice: Dice): ReturnType<typeof failure> {
  return failure({ type: dice.chance(20) ? 'TERMINAL' : 'RETRYABLE' })
}

export function queueCommand(dice: Dice): Command {
  const queue = dice.pick(QUEUES)
  switch (dice.below(5)) {
    case 0:
      return { type: 'PauseQueue', queue, ...onRecord(dice) }
    case 1:
    case 2:
      return { type: 'ResumeQueue', queue, ...onRecord(dice) }
    default:
      return {
        type: 'ConfigureQueue',
        queue,
        concurrency: dice.pick([null, null, null, 4, 3, 2]),
        rate: dice.pick([null, null, { count: 4, perMs: 8 }]),
        ageingMs: dice.pick([null, null, 5]),
        ...onRecord(dice),
      }
  }
}

export function scheduleCommand(dice: Dice, world: World, now: number): Command {
  const schedule = dice.pick(SCHEDULES)
  const record = world.schedules.get(schedule)
  const tick = Math.max(0, (record?.firedTick ?? now) + dice.pick([-1, 0, 1, 1, 1, 5]))
  if (record?.definition == null || dice.chance(10)) {
    const definition = dice.pick(['cron', 'every hour'])
    const version = record?.version ?? 0
    const seen = dice.pick([null, null, version, version + 1, Math.max(0, version - 1)])
    return { type: 'SetSchedule', schedule, definition, seen, ...onRecord(dice) }
  }
  if (dice.chance(8)) return { type: 'RemoveSchedule', schedule, ...onRecord(dice) }
  if (world.jobs.has(tickId(schedule, tick)) || dice.chance(25)) {
    return { type: 'FireSchedule', schedule, tick, skipped: dice.chance(40) }
  }
  const spec = { ...randomSpec(dice, now), schedule: { id: schedule, tick } }
  return { type: 'SubmitJob', job: tickId(schedule, tick), spec }
}

function anyAddress(dice: Dice, world: World): { job: string; stage: number; segment: number } {
  const ids = [...world.jobs.keys()]
  const job = ids.length === 0 || dice.chance(10) ? dice.pick(JOBS) : dice.pick(ids)
  const record = world.jobs.get(job)
  const tasks: Task[] = record === undefined ? [] : tasksOf(world, record)
  if (tasks.length === 0 || dice.chance(10)) {
    return { job, stage: dice.below(3), segment: dice.below(3) }
  }
  const { stage, segment } = dice.pick(tasks)
  return { job, stage, segment }
}

export function reschedule(
  dice: Dice,
  { job, stage, segment }: TaskAddress,
  attempt: number,
  now: number,
): Command {
  return {
    type: 'RescheduleTask',
    job,
    stage,
    segment,
    attempt,
    dueAt: dice.pick([null, now, now + 5, now + 20, Math.max(0, now - 3)]),
    priority: dice.pick([null, 0, 2]),
    toQueue: dice.pick([null, null, ...QUEUES]),
    ...onRecord(dice),
  }
}

export function depthOf(world: World, job: string): number {
  return world.jobs.get(job)?.spec.caller?.depth ?? 0
}

/** The id is now and then one that was used before. */
export function replace(
  dice: Dice,
  { id, spec }: Pick<Job, 'id' | 'spec'>,
  now: number,
  count: number,
): Command {
  return {
    type: 'ReplaceJob',
    job: id,
    replacement: `r${dice.chance(70) ? count : dice.below(count + 1)}`,
    input: dice.chance(60) ? spec.input : dice.pick(['[3]', '{"list":[1]}', '"text"']),
    definitionVersion: 1 + dice.below(2),
    delayMs: dice.pick([0, 0, 3, 20]),
    dueAt: dice.pick([null, null, now + 5, Math.max(0, now - 3)]),
    ...onRecord(dice),
  }
}

function unknownJob(dice: Dice, now: number): Pick<Job, 'id' | 'spec'> {
  return { id: 'unknown', spec: randomSpec(dice, now) }
}

export function append(dice: Dice, lease: LeaseAddress, task: Task | undefined): Command {
  const name = dice.pick(['log', 'log', 'words'])
  const next = task?.streams.find((one) => one.name === name)?.next ?? 0
  const offset = Math.max(0, next + dice.pick([0, 0, 0, 0, -1, -2, 1]))
  const values = Array.from({ length: 1 + dice.below(3) }, () => `${dice.below(9)}`)
  return { type: 'AppendStream', ...lease, name, offset, values }
}

export function anyCommand(dice: Dice, world: World, now: number, request: number): Command {
  const at = anyAddress(dice, world)
  const task = findTask(world, at.job, at.stage, at.segment)
  const attempt = task?.attempt ?? 1
  const number = Math.max(0, dice.chance(70) ? attempt : attempt + dice.pick([-2, -1, 1]))
  const granted = task?.leases.find((one) => one.number === number)?.worker
  const worker = granted === undefined || dice.chance(10) ? dice.pick(WORKERS) : granted
  const lease = { ...at, lease: number, worker }
  const effect = dice.pick([0, 0, 1, 2])
  const choices: (() => Command)[] = [
    () => ({
      type: 'SubmitJob',
      job: dice.pick([...JOBS, 'a/0/0/0']),
      spec: randomSpec(dice, now),
    }),
    () => ({ type: 'ReleaseJob', job: at.job, ...onRecord(dice) }),
    () => ({ type: 'OpenStage', job: at.job, stage: dice.below(6) }),
    () => ({ type: 'CancelJob', job: at.job, ...whoCancels(dice, number), ...onRecord(dice) }),
    () => ({ type: 'EraseJob', job: at.job, ...onRecord(dice) }),
    () => ({ type: 'ForgetJob', job: at.job, endedBefore: Math.max(0, now - dice.below(20)) }),
    () => ({ type: 'GrantLease', ...at, worker, request, started: dice.chance(50), session: 's' }),
    () => ({ type: 'StartExecution', ...lease }),
    () => ({ type: 'ExtendLease', ...lease, extension: 1 + dice.below(3) }),
    () => ({ type: 'ReleaseLease', ...lease }),
    ...waitCommands(dice, { at: lease, depth: depthOf(world, at.job), count: request }, task, now),
    () => ({
      type: 'CommitExecution',
      ...lease,
      output: dice.pick(OUTPUTS),
      effects: randomPromises(dice, now),
    }),
    () => ({ type: 'FailTask', ...lease, error: randomFailure(dice), ...putOff(dice) }),
    () => ({ type: 'StartEffect', ...lease, effect }),
    () => ({ type: 'FinishEffect', ...lease, effect }),
    () => ({ type: 'FailEffect', ...lease, effect, ...failedEffect(dice) }),
    () => ({
      type: 'ResolveEffect',
      ...at,
      effect,
      start: number,
      outcome: dice.pick(['happened', 'again']),
      ...onRecord(dice),
    }),
    () => ({ type: 'ExpireLease', ...at, lease: number }),
    () => ({ type: 'RevokeLease', ...at, lease: number, ...seenSilent(dice), ...onRecord(dice) }),
    () => ({ type: 'StopTask', ...at }),
    () => ({
      type: 'RetryTask',
      ...at,
      attempt: number,
      input: dice.pick([null, '{"new":1}']),
      ...onRecord(dice),
    }),
    () => ({
      type: 'ForceTask',
      ...at,
      attempt: number,
      to: dice.pick(['COMPLETED', 'FAILED', 'WAITING', 'WAITING']),
      output: dice.pick([null, ...OUTPUTS]),
      ...onRecord(dice),
    }),
    () => reschedule(dice, at, number, now),
    () => replace(dice, world.jobs.get(at.job) ?? unknownJob(dice, now), now, request),
    () => append(dice, lease, task),
    () => ({
      type: 'FireSchedule',
      schedule: dice.pick([...SCHEDULES, 'unknown']),
      tick: now,
      skipped: dice.chance(70),
    }),
    () => queueCommand(dice),
    () => scheduleCommand(dice, world, now),
  ]
  return dice.pick(choices)()
}
