/**
 * What must hold of a job together with its tasks.
 */
import type { Tallies, Tally } from '../derive.ts'
import { isEnding, isHeldBack, jobState, openableStages, stageIsDone, tallyOf } from '../derive.ts'
import { sameContent } from '../equal.ts'
import { calleeId, childId, tickId } from '../ids.ts'
import type { Job, StageSpec, Task } from '../model.ts'
import { NOT_OPENED, segmentsOf, stageIndex, stagesOf } from '../model.ts'
import { isFinal } from '../transitions.ts'
import type { World } from '../world.ts'
import { findTask, tasksOf } from '../world.ts'
import type { Violation } from './invariant.ts'
import { Findings } from './invariant.ts'
import { taskViolations } from './task.ts'
import { checkKeptMessages } from './waits.ts'

/** `tallies` are those the store keeps; they are counted again here. */
export function jobViolations(world: World, job: Job, tallies: Tallies, now: number): Violation[] {
  const found = new Findings(() => job.id)
  const tasks = tasksOf(world, job)
  const state = jobState(job, tallies, now)
  if (isFinal(state)) {
    found.expect(!tasks.some(isOpen), 4, () => `${state} with a task that is not over`)
  } else {
    found.expect(hasFuture(job, tallies), 7, () => `${state} and nothing will ever happen`)
  }
  found.expect(
    !isHeldBack(job) || tasks.every((task) => task.attempt === 0),
    9,
    'held, but a task was granted',
  )
  checkOrigin(world, job, found)
  checkKeptMessages(job, found)
  if (job.task === null) checkPipeline(world, job, tallies, found)
  else checkPlain(job, job.task, found)
  return [...found.violations, ...tasks.flatMap(taskViolations)]
}

function isOpen(task: Task): boolean {
  return task.state === 'WAITING' || task.state === 'LEASED'
}

/**
 * A due task, a timer, a lease, a stage to open, a human, a message or a callee to wait for. Of a pipeline the tallies
 * say it, so it costs the same for any size.
 */
export function hasFuture(job: Job, tallies: Tallies): boolean {
  if (isHeldBack(job)) return true
  if (job.task !== null) return isOpen(job.task) || job.task.state === 'DEAD'
  if (tallies.some(({ waiting, leased, dead }) => waiting + leased + dead > 0)) return true
  return openableStages(job, tallies).length > 0
}

/** A promise or a tick is carried out once, because its job has one possible id. */
function checkOrigin(world: World, job: Job, found: Findings): void {
  const { parent, schedule, caller } = job.spec
  found.expect(
    caller === null || job.id === calleeId(caller),
    3,
    'a callee whose id is not derived from its caller',
  )
  if (parent !== null) {
    found.expect(job.id === childId(parent), 3, 'a child whose id is not derived from its parent')
    const promiser = findTask(world, parent.job, parent.stage, parent.segment)
    const promised = promiser?.commit?.effects[parent.effect]?.promise.child
    // A parent that is younger than the child is another life of the same id.
    const since = world.jobs.get(parent.job)?.submittedAt ?? Infinity
    found.expect(since >= job.submittedAt || promised != null, 3, 'a child that nobody promised')
  }
  if (schedule !== null) {
    found.expect(
      job.id === tickId(schedule.id, schedule.tick),
      3,
      'an id that is not derived from its tick',
    )
  }
}

function checkPlain(job: Job, task: Task, found: Findings): void {
  found.expect(
    job.cancelled === null || task.state === 'FAILED',
    6,
    () => `cancelled, but its task is ${task.state}`,
  )
  found.expect(
    job.cancelled === null || task.endedAt === job.cancelled.at,
    4,
    'cancelled at another time than its task ended',
  )
}

function checkPipeline(world: World, job: Job, tallies: Tallies, found: Findings): void {
  const stages = stagesOf(job)
  stages.forEach((stage, i) => {
    const tasks = world.tasks.get(job.id)?.[i] ?? []
    const segments = segmentsOf(job, i)
    found.expect(
      Math.max(segments, 0) === tasks.length,
      6,
      () => `stage ${stage.name} has ${tasks.length} tasks`,
    )
    found.expect(
      sameContent(counted(tallies[i] as Tally), counted(tallyOf(tasks))),
      6,
      () => `the tally of ${stage.name} is off`,
    )
    if (segments === NOT_OPENED) return
    if (stage.onFailure) checkOnFailure(world, job, tallies, stage, found)
    else checkOpened(job, tallies, stage, found)
  })
}

/** `retryAt` is computed when it is asked for, so it is not part of what a store keeps. */
function counted(tally: Tally): Tally {
  return { ...tally, retryAt: 0, endedAt: 0 }
}

function checkOpened(job: Job, tallies: Tallies, stage: StageSpec, found: Findings): void {
  found.expect(!isHeldBack(job), 10, () => `held, but stage ${stage.name} is open`)
  for (const before of stage.after) {
    const index = stageIndex(job, before)
    found.expect(
      stageIsDone(job, tallies, index),
      10,
      () => `stage ${stage.name} is open, but ${before} is not DONE`,
    )
  }
}

function checkOnFailure(
  world: World,
  job: Job,
  tallies: Tallies,
  stage: StageSpec,
  found: Findings,
): void {
  found.expect(
    isEnding(job, tallies),
    10,
    () => `on-failure stage ${stage.name} is open, but the job is not ending`,
  )
  stagesOf(job).forEach((other, i) => {
    if (other.onFailure) return
    const open = (world.tasks.get(job.id)?.[i] ?? []).some(
      (task) => isOpen(task) || (task.state === 'DEAD' && task.commit !== null),
    )
    found.expect(
      !open,
      10,
      () => `on-failure stage ${stage.name} is open, but ${other.name} is not over`,
    )
  })
}
