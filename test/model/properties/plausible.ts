/** What somebody would do next, given the world: most of it is accepted. */
import type { Command, Effect, Job, Lease, Task, World } from '../../../src/kernel/index.ts'
import {
  childId,
  countTallies,
  isEnding,
  jobState,
  openableStages,
  tasksOf,
} from '../../../src/kernel/index.ts'
import {
  anyCommand,
  depthOf,
  append,
  failedEffect,
  onRecord,
  putOff,
  queueCommand,
  randomFailure,
  replace,
  reschedule,
  scheduleCommand,
  seenSilent,
} from './any-command.ts'
import type { Dice } from './dice.ts'
import {
  callStep,
  continueCommand,
  endWaitCommand,
  messageCommand,
  randomVersion,
  strayCallee,
  suspendCommand,
} from './random-waits.ts'
import { JOBS, OUTPUTS, randomPromises, randomSpec, STEPS, WORKERS } from './random-specs.ts'

/** More jobs than this are not added by clients; children and ticks may. */
const CROWDED = 5

export function plausibleCommand(dice: Dice, world: World, now: number, count: number): Command {
  const free = JOBS.filter((id) => !world.jobs.has(id))
  const few = world.jobs.size < CROWDED
  if (free.length > 0 && (world.jobs.size === 0 || (few && dice.chance(12)))) {
    return { type: 'SubmitJob', job: dice.pick(free), spec: randomSpec(dice, now) }
  }
  if (dice.chance(2)) return queueCommand(dice)
  if (few && dice.chance(3)) return scheduleCommand(dice, world, now)
  const jobs = [...world.jobs.values()]
  if (jobs.length === 0) return scheduleCommand(dice, world, now)
  return jobStep(dice, world, dice.pick(jobs), now, count)
}

function jobStep(dice: Dice, world: World, job: Job, now: number, count: number): Command {
  if (dice.chance(6)) return strayStep(dice, world, job)
  const tallies = countTallies(world, job)
  if (job.held && dice.chance(50)) return { type: 'ReleaseJob', job: job.id, ...onRecord(dice) }
  const state = jobState(job, tallies, now)
  if (state === 'SUCCEEDED' || state === 'FAILED') return finalStep(dice, job, now)
  if (dice.chance(1)) return { type: 'CancelJob', job: job.id, ...onRecord(dice) }
  if (job.task?.state === 'DEAD' && dice.chance(10)) {
    const attempt = Math.max(0, job.task.attempt - dice.pick([0, 0, 1]))
    return { type: 'CancelJob', job: job.id, attempt, ...onRecord(dice) }
  }
  const stages = job.spec.stages?.length ?? 0
  if (stages > 0 && dice.chance(3)) {
    const at = { job: job.id, stage: dice.below(stages), segment: dice.below(2) }
    return messageCommand(dice, at, count)
  }
  if (job.deadlineAt !== null && job.cancelled === null && dice.chance(8)) {
    return { type: 'CancelJob', job: job.id, deadline: true, ...onRecord(dice) }
  }
  const isNew = job.task === null ? job.opened?.every((one) => one < 0) : job.task.attempt === 0
  if (dice.chance(isNew === true ? 12 : 1)) return replace(dice, job, now, count)
  const openable = openableStages(job, tallies)
  if (openable.length > 0 && dice.chance(60)) {
    return { type: 'OpenStage', job: job.id, stage: dice.pick(openable) }
  }
  const tasks = tasksOf(world, job)
  if (tasks.length > 0 && dice.chance(2)) return forceStep(dice, dice.pick(tasks))
  const unsettled = tasks.filter((task) => task.state !== 'COMPLETED' && task.state !== 'FAILED')
  if (unsettled.length === 0) return anyCommand(dice, world, now, count)
  return taskStep(dice, world, dice.pick(unsettled), now, count)
}

/** Somebody who looked too long ago: a stage, a task or a lease whose time is not, or is over. */
function strayStep(dice: Dice, world: World, record: Job): Command {
  const job = record.id
  const tasks = tasksOf(world, record)
  const stages = record.spec.stages?.length ?? 0
  if (tasks.length === 0 || (stages > 0 && dice.chance(50))) {
    return { type: 'OpenStage', job, stage: dice.below(stages + 1) }
  }
  const task = dice.pick(tasks)
  const callee = strayCallee(task)
  if (callee !== null && dice.chance(50)) return callee
  const { stage, segment } = task
  const lease = dice.pick(task.leases)
  if (lease === undefined || dice.chance(30)) return { type: 'StopTask', job, stage, segment }
  const at = { job, stage, segment, lease: lease.number, worker: lease.worker }
  const effect = dice.below(2)
  return dice.pick<Command>([
    { type: 'StartExecution', ...at },
    { type: 'StartExecution', ...at },
    { type: 'StartEffect', ...at, effect },
    { type: 'FinishEffect', ...at, effect },
    { type: 'FailEffect', ...at, effect, ...failedEffect(dice) },
    forceStep(dice, task),
  ])
}

/** A child is forgotten only after its parent's effect is finished, so that comes first. */
function finalStep(dice: Dice, job: Job, now: number): Command {
  const { schedule } = job.spec
  if (schedule !== null && dice.chance(50)) {
    return { type: 'FireSchedule', schedule: schedule.id, tick: schedule.tick, skipped: false }
  }
  if (dice.chance(30)) return { type: 'EraseJob', job: job.id, ...onRecord(dice) }
  return {
    type: 'ForgetJob',
    job: job.id,
    endedBefore: Math.max(0, now + dice.pick([-5, 0, 0, 0, 0, 1])),
  }
}

function taskStep(dice: Dice, world: World, task: Task, now: number, count: number): Command {
  const { job, stage, segment, attempt, lease } = task
  const at = { job, stage, segment }
  const record = world.jobs.get(job) as Job
  const rescue = record.spec.stages?.[stage]?.onFailure === true
  const swept = !rescue && isEnding(record, countTallies(world, record))
  const tooLate = attempt === 0 && task.startBy !== null && now >= task.startBy
  const open = task.state !== 'DEAD' && task.commit === null
  if (dice.chance(open && (swept || tooLate) ? 70 : 1)) return { type: 'StopTask', ...at }
  if (lease !== null) {
    if (now >= lease.expiresAt && dice.chance(70)) {
      return { type: 'ExpireLease', ...at, lease: lease.number }
    }
    return task.commit === null
      ? prepareStep(dice, depthOf(world, job), task, lease, now, count)
      : finishStep(dice, world, task, lease, now)
  }
  if (task.commit !== null && dice.chance(task.state === 'DEAD' ? 80 : 15)) {
    return resolveStep(dice, task)
  }
  if (dice.chance(task.state === 'DEAD' ? 60 : task.waiting?.suspended != null ? 3 : 0)) {
    const input = dice.pick([null, null, '{"new":1}'])
    return { type: 'RetryTask', ...at, attempt, input, ...onRecord(dice) }
  }
  if (dice.chance(task.state === 'DEAD' ? 90 : 4)) {
    return forceStep(dice, task)
  }
  const { queue } = task.policy
  if (world.queues.get(queue)?.paused === true && dice.chance(40)) {
    return { type: 'ResumeQueue', queue, ...onRecord(dice) }
  }
  const called = dice.chance(30) ? callStep(dice, world, task) : null
  if (called !== null) return called
  if (task.waiting?.suspended != null && dice.chance(50)) return messageCommand(dice, at, count)
  if (dice.chance(6)) return reschedule(dice, task, attempt, now)
  const worker = dice.pick(WORKERS)
  return { type: 'GrantLease', ...at, worker, request: count, started: dice.chance(60) }
}

function forceStep(dice: Dice, { job, stage, segment, attempt }: Task): Command {
  const to = dice.pick(['COMPLETED', 'FAILED', 'WAITING'] as const)
  const output = dice.pick(OUTPUTS)
  return { type: 'ForceTask', job, stage, segment, attempt, to, output, ...onRecord(dice) }
}

function revokeStep(dice: Dice, { job, stage, segment }: Task, held: Lease): Command {
  const seen = seenSilent(dice, held.extension)
  const lease = held.number
  return { type: 'RevokeLease', job, stage, segment, lease, ...seen, ...onRecord(dice) }
}

/** Before the commit. */
function prepareStep(
  dice: Dice,
  depth: number,
  task: Task,
  held: Lease,
  now: number,
  count: number,
): Command {
  const { job, stage, segment } = task
  const lease = { job, stage, segment, lease: held.number, worker: held.worker }
  const calling = { at: lease, depth, count }
  const way = dice.below(100)
  if (way < 10) {
    const definitionVersion = randomVersion(dice, task)
    const name = dice.pick(STEPS)
    return { type: 'RecordStep', ...lease, name, value: `${count}`, definitionVersion }
  }
  if (way < 12) return messageCommand(dice, { job, stage, segment }, count)
  if (way < 18)
    return { type: 'ExtendLease', ...lease, extension: held.extension + 1 + dice.below(2) }
  if (way < 22) return { type: 'ReleaseLease', ...lease }
  if (way < 26) return revokeStep(dice, task, held)
  if (way < 45) return { type: 'FailTask', ...lease, error: randomFailure(dice), ...putOff(dice) }
  if (way < 55) return suspendCommand(dice, calling, task, now)
  if (way < 60) return endWaitCommand(dice, calling, task, now)
  if (way < 62) return continueCommand(dice, lease, task, count)
  if (way < 69) return append(dice, lease, task)
  if (held.startedAt === null) return { type: 'StartExecution', ...lease }
  const output = dice.pick(OUTPUTS)
  return { type: 'CommitExecution', ...lease, output, effects: randomPromises(dice, now) }
}

/** After the commit: carry out what was promised. */
function finishStep(dice: Dice, world: World, task: Task, held: Lease, now: number): Command {
  const { job, stage, segment } = task
  const at = { job, stage, segment }
  const lease = { ...at, lease: held.number, worker: held.worker }
  const way = dice.below(100)
  if (way < 6) return revokeStep(dice, task, held)
  if (way < 10) return append(dice, lease, task)
  if (way < 12) return { type: 'ReleaseLease', ...lease }
  if (way < 16) return { type: 'ExtendLease', ...lease, extension: held.extension + 1 }
  const effects = task.commit?.effects ?? []
  const any = dice.below(effects.length)
  if (way < 20) return { type: 'StartEffect', ...lease, effect: any }
  if (way < 22) return { type: 'FailEffect', ...lease, effect: any, ...failedEffect(dice) }
  const unfinished = effects.flatMap((effect, index) =>
    effect.state === 'FINISHED' ? [] : [{ effect, index }],
  )
  const chosen = dice.pick(unfinished)
  if (chosen === undefined) return { type: 'ReleaseLease', ...lease }
  const { effect, index } = chosen
  if (effect.state === 'STARTED') {
    const child = childStep(dice, world, effect, { ...at, effect: index })
    if (child !== null) return child
    return dice.chance(60)
      ? { type: 'FinishEffect', ...lease, effect: index }
      : { type: 'FailEffect', ...lease, effect: index, ...failedEffect(dice) }
  }
  const startable = effect.state === 'PROMISED' || effect.promise.idempotent
  return startable && now < held.expiresAt
    ? { type: 'StartEffect', ...lease, effect: index }
    : resolveStep(dice, task)
}

function childStep(
  dice: Dice,
  world: World,
  effect: Effect,
  parent: { job: string; stage: number; segment: number; effect: number },
): Command | null {
  const { child } = effect.promise
  const id = childId(parent)
  if (child === null || world.jobs.has(id) || dice.chance(20)) return null
  return { type: 'SubmitJob', job: id, spec: { ...child, parent } }
}

/** A resolution of what is not known, or the late word of whoever started it. */
function resolveStep(dice: Dice, task: Task): Command {
  const { job, stage, segment } = task
  const at = { job, stage, segment }
  const effects = task.commit?.effects ?? []
  const open = effects.findIndex((effect) => effect.state === 'UNKNOWN' || effect.state === 'HELD')
  const index = open === -1 ? dice.below(2) : open
  const starts = effects[index]?.starts ?? []
  const start = starts.at(-1) ?? 0
  if (starts.length > 0 && dice.chance(20)) {
    const lease = dice.pick(starts)
    const worker = task.leases.find((one) => one.number === lease)?.worker ?? 'w1'
    return { type: 'FinishEffect', ...at, lease, worker, effect: index }
  }
  const outcome = dice.pick(['happened', 'again', 'again'] as const)
  return { type: 'ResolveEffect', ...at, effect: index, start, outcome, ...onRecord(dice) }
}
