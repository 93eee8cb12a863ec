/** Submitting, replacing, releasing, opening, cancelling, erasing and forgetting in the naive model. */
import type { CommandOf, JobCommand, JobSpec, ParentRef } from '../../../src/kernel/index.ts'
import { calleeId, childId, tickId } from '../../../src/kernel/index.ts'
import {
  isCancelled,
  isEnding,
  isFinal,
  isHeld,
  isHeldBack,
  isOpen,
  isSettled,
  jobEndedAt,
  jobState,
  readStages,
  stageState,
} from './naive-derive.ts'
import { hasValidFields, hasValidShape, isValidSpec } from './naive-form.ts'
import type { Histories, JobHistory } from './naive-history.ts'
import { facts, findTask, isPlain, jobDeadline, jobInput, readSchedule } from './naive-history.ts'
import type { Opinion } from './naive-opinion.ts'
import { accepted, known, refused, unless } from './naive-opinion.ts'
import { isAwaited, mayBeAskedFor } from './naive-calls.ts'
import { sameText } from './naive-text.ts'
import type { EffectReading } from './naive-task.ts'
import { readTask } from './naive-task.ts'

const INVALID = ['InvalidSpec', 'InvalidShape'] as const

/** Who submits it makes no other job of it, and neither does the order of the input's properties. */
function isSame(first: JobSpec, given: JobSpec): boolean {
  if (!hasValidFields(given)) return sameText(first, given)
  const other = { submittedBy: null, input: '' }
  return (
    sameText({ ...first, ...other }, { ...given, ...other }) && saysSame(first.input, given.input)
  )
}

function saysSame(first: string, given: string): boolean {
  return sameText(JSON.parse(first), JSON.parse(given))
}

/** The job that has this key now, if any. */
export function keyHolder(
  histories: Histories,
  type: string,
  key: string | null,
  now: number,
): JobHistory | undefined {
  if (key === null) return undefined
  return [...histories.jobs.values()].find(
    ({ id, spec }) =>
      spec.type === type &&
      spec.key === key &&
      !(spec.unique && isFinal(jobState(histories.jobs.get(id) as JobHistory, now))),
  )
}

export function findEffect(histories: Histories, at: ParentRef): EffectReading | undefined {
  const job = histories.jobs.get(at.job)
  const task = job === undefined ? undefined : findTask(job, at.stage, at.segment)
  return job === undefined || task === undefined
    ? undefined
    : readTask(job, task).effects[at.effect]
}

export function answerSubmit(
  histories: Histories,
  command: CommandOf<'SubmitJob'>,
  now: number,
): Opinion {
  const { job: id, spec } = command
  const there = histories.jobs.get(id)
  if (there !== undefined) {
    if (there.erased !== null || isSame(there.spec, spec)) return known(id)
    return refused('IdReused', ...(isValidSpec(spec) ? [] : INVALID))
  }
  if (!hasValidFields(spec)) return refused('InvalidSpec')
  // Not even a known key answers for what makes no sense.
  if (!hasValidShape(spec)) return refused('InvalidShape')
  const holder = keyHolder(histories, spec.type, spec.key, now)
  if (holder === undefined) return originOpinion(histories, id, spec)
  const same = spec.unique || holder.erased !== null || saysSame(jobInput(holder), spec.input)
  return same ? known(holder.id) : refused('KeyReused')
}

/** Whether the parent or the schedule that a job names wants it. */
function originOpinion(histories: Histories, id: string, spec: JobSpec): Opinion {
  const { parent, schedule } = spec
  if (parent !== null) {
    const effect = findEffect(histories, parent)
    const promised = effect?.promise.child ?? null
    const same = promised !== null && sameText({ ...promised, parent }, spec)
    if (!same || id !== childId(parent)) return refused('UnknownParent', 'InvalidSpec')
    return unless({ EffectFinished: effect?.state === 'FINISHED' }, accepted(id))
  }
  if (spec.caller !== null) {
    const isOther = id !== calleeId(spec.caller)
    return unless(
      { InvalidSpec: isOther, UnknownCaller: !isAwaited(histories, spec) },
      accepted(id),
    )
  }
  if (schedule === null) return accepted(id)
  const { definition, firedTick } = readSchedule(histories, schedule.id)
  return unless(
    {
      UnknownSchedule: definition === null,
      TickFired: schedule.tick <= firedTick,
      InvalidSpec: id !== tickId(schedule.id, schedule.tick),
    },
    accepted(id),
  )
}

export function answerJobCommand(histories: Histories, command: JobCommand, now: number): Opinion {
  const job = histories.jobs.get(command.job)
  if (job === undefined) return command.type === 'ForgetJob' ? known() : refused('UnknownJob')
  switch (command.type) {
    case 'ReleaseJob':
      return isHeld(job) ? unless({ JobEnding: isEnding(job, readStages(job)) }) : known()
    case 'ReplaceJob':
      return answerReplace(job, command, now)
    case 'OpenStage':
      return answerOpen(job, command.stage)
    case 'CancelJob':
      return answerCancel(job, now, command)
    case 'EraseJob':
      if (job.erased !== null) return known()
      return unless({ JobNotFinal: !isFinal(jobState(job, now)) })
    case 'ForgetJob':
      return unless({
        JobNotFinal: !isFinal(jobState(job, now)),
        JobTooYoung: jobEndedAt(job) >= command.endedBefore || command.endedBefore > now,
        OriginNotRecorded: !originRecorded(histories, job),
        CallerNotOver: mayBeAskedFor(histories, job.spec),
      })
  }
}

function answerReplace(job: JobHistory, command: CommandOf<'ReplaceJob'>, now: number): Opinion {
  const replaced = facts(job.facts, 'ReplaceJob').slice(-16)
  if (replaced.some((fact) => fact.command.replacement === command.replacement)) {
    return known(job.id)
  }
  const stages = readStages(job)
  const [only] = isPlain(job) ? (stages[0]?.tasks ?? []) : []
  const begun =
    only === undefined
      ? stages.some((stage) => stage.opened)
      : only.state !== 'WAITING' || only.leases.length > 0
  return unless(
    {
      JobEnding: isEnding(job, stages),
      JobBegun: begun,
      StartByPassed: only !== undefined && only.leases.length === 0 && now >= only.startBy,
      DeadlinePassed: now >= jobDeadline(job),
      InvalidShape: !hasValidShape({ ...job.spec, input: command.input }),
    },
    accepted(job.id),
  )
}

function originRecorded(histories: Histories, job: JobHistory): boolean {
  const { parent, schedule } = job.spec
  if (parent !== null) {
    const effect = findEffect(histories, parent)
    // The parent's id may be in use again: then its new effect in the same place must end first.
    return effect === undefined || effect.state === 'FINISHED'
  }
  if (schedule === null) return true
  const { firedTick } = readSchedule(histories, schedule.id)
  return schedule.tick <= firedTick
}

function answerOpen(job: JobHistory, index: number): Opinion {
  const stages = readStages(job)
  const stage = job.spec.stages === null ? undefined : stages[index]
  if (stage === undefined) return refused('UnknownStage')
  if (stage.opened) return known()
  const ending = isEnding(job, stages)
  if (stage.onFailure) {
    return unless({
      JobHeld: isHeldBack(job),
      JobNotEnding: !ending,
      JobNotSettled: !isSettled(stages),
    })
  }
  const missing = stage.after.some((name) => {
    const before = stages.find((other) => other.name === name)
    return before === undefined || stageState(before) !== 'DONE'
  })
  return unless({ JobHeld: isHeldBack(job), JobEnding: ending, PrerequisitesNotDone: missing })
}

function answerCancel(job: JobHistory, now: number, command: CommandOf<'CancelJob'>): Opinion {
  if (isCancelled(job) || jobState(job, now) === 'FAILED') return known()
  const stages = readStages(job)
  const stoppable = stages.some(
    (stage) =>
      (!stage.onFailure && !stage.opened) ||
      stage.tasks.some(
        (task) => (isOpen(task) || task.state === 'DEAD') && task.committedBy === null,
      ),
  )
  const final = isFinal(jobState(job, now))
  const [only] = job.spec.stages === null ? (stages[0]?.tasks ?? []) : []
  const seen = command.attempt ?? null
  return unless({
    DeadlineNotPassed: command.deadline === true && now < jobDeadline(job),
    // A discard is of what was seen in quarantine, and is there still.
    TaskChanged: seen !== null && only?.leases.length !== seen,
    TaskNotDead: seen !== null && only?.state !== 'DEAD',
    NothingToCancel: !stoppable || final,
    InvalidTransition: final,
  })
}
