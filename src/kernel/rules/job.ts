/**
 * Jobs: submitted, replaced, released, opened stage by stage, cancelled, erased and, in the end, forgotten.
 */
import type { Rejection } from '../answers.ts'
import { committed, reject } from '../answers.ts'
import type {
  CancelJob,
  EraseJob,
  ForgetJob,
  OpenStage,
  ReleaseJob,
  ReplaceJob,
  SubmitJob,
} from '../commands.ts'
import {
  hasPassedDeadline,
  isEnding,
  isHeldBack,
  isSettled,
  isUndecided,
  jobEndedAt,
  jobState,
  missedStart,
  prerequisitesDone,
} from '../derive.ts'
import type { StageOpened } from '../entries.ts'
import { sameContent } from '../equal.ts'
import type { Guard, Reads } from '../guards.ts'
import { jobKnown, safety, theJob, validation } from '../guards.ts'
import { calleeId, childId, tickId } from '../ids.ts'
import { asksForSame, isSubmitOf, keepsKey } from '../keys.ts'
import type { Failure, Job, JobSpec, StageSpec } from '../model.ts'
import { headOf, NOT_OPENED, segmentsOf, stageIndex, stagesOf } from '../model.ts'
import { countElements, eachPath } from '../each.ts'
import { invalidFields, invalidShape } from '../spec.ts'
import { isFinal } from '../transitions.ts'
import { isCalled, isPending, waitOfCaller } from '../waits.ts'
import type { Rule } from './rule.ts'

export function jobHead(reads: Reads): ReturnType<typeof headOf> | null {
  return reads.job === null ? null : headOf(reads.job)
}

/** The other job that has the key. */
function holderOf(reads: Reads): Job | null {
  const holder = reads.keyHolder
  return holder !== null && keepsKey(holder, reads.keyHolderIsFinal) ? holder : null
}

const validFields: Guard<SubmitJob> = validation(
  'valid-fields',
  'Every field of the job is of its kind and within its limit.',
  (command) => invalidFields(command.spec),
)

const validShape: Guard<SubmitJob> = validation(
  'valid-shape',
  'The stages have distinct names, no cycle, nothing dangling, and at least one can run.',
  (command) => invalidShape(command.spec),
)

const idUnused: Guard<SubmitJob> = safety(
  'id-unused',
  'The id belongs to no other job.',
  (command, reads) =>
    reads.job === null
      ? null
      : reject('IdReused', `Job ${command.job} exists with other content: use a new id.`, {
          job: command.job,
        }),
)

const keyUnused: Guard<SubmitJob> = safety(
  'key-unused',
  'The key belongs to no other job of the type.',
  (command, reads) => {
    const holder = holderOf(reads)
    return holder === null
      ? null
      : reject(
          'KeyReused',
          `Key '${command.spec.key}' belongs to job ${holder.id}, which has other input: use another key.`,
          { job: holder.id, key: command.spec.key },
        )
  },
)

const derivedId: Guard<SubmitJob> = safety(
  'derived-id',
  "A child, a callee, and a schedule's job, has the id that follows from its origin.",
  ({ job, spec }) => {
    const expected = idByOrigin(spec) ?? job
    return job === expected
      ? null
      : reject('InvalidSpec', `This job must have the id ${expected}, derived from its origin.`, {
          expected,
        })
  },
)

function idByOrigin({ parent, schedule, caller }: JobSpec): string | null {
  if (parent !== null) return childId(parent)
  if (schedule !== null) return tickId(schedule.id, schedule.tick)
  return caller === null ? null : calleeId(caller)
}

const childPromised: Guard<SubmitJob> = safety(
  'child-promised',
  "The parent's commit promised this child, and it is not finished.",
  ({ spec }, reads) => {
    if (spec.parent === null) return null
    const effect = reads.parent?.commit?.effects[spec.parent.effect]
    const { child } = effect?.promise ?? { child: null }
    if (
      effect === undefined ||
      child === null ||
      !sameContent({ ...child, parent: spec.parent }, spec)
    ) {
      return reject('UnknownParent', `No commit of job ${spec.parent.job} promised this child.`)
    }
    return effect.state === 'FINISHED'
      ? reject(
          'EffectFinished',
          `The effect of job ${spec.parent.job} that stands for this child is finished.`,
        )
      : null
  },
)

const tickUnfired: Guard<SubmitJob> = safety(
  'tick-unfired',
  'The schedule is set and has not fired the tick.',
  ({ spec }, reads) => {
    if (spec.schedule === null) return null
    const { schedule } = reads
    if (schedule === null || schedule.definition === null) {
      return reject('UnknownSchedule', `Schedule ${spec.schedule.id} is not set.`)
    }
    return schedule.firedTick !== null && spec.schedule.tick <= schedule.firedTick
      ? reject('TickFired', `Schedule ${schedule.id} has fired tick ${spec.schedule.tick} already.`)
      : null
  },
)

/** AFTER the suspension that carries its spec, and not once its caller goes on without it. */
const calleePromised: Guard<SubmitJob> = safety(
  'callee-promised',
  'The caller waits for this callee.',
  ({ spec }, { caller: task }) => {
    if (spec.caller === null) return null
    const wait = task === null ? undefined : waitOfCaller(task, spec.caller)
    return task !== null &&
      wait !== undefined &&
      isPending(task, wait) &&
      sameContent(wait.callee, spec)
      ? null
      : reject('UnknownCaller', `No wait of job ${spec.caller.job} that is open calls this job.`)
  },
)

/** Who asks, and why, makes no other job of it: the first stays on record. */
function isSameJob(spec: JobSpec, known: Job): boolean {
  if (isSubmitOf(spec, known)) return true
  if (invalidFields(spec) !== null) return false
  const { asked, submittedBy } = spec
  return sameContent(spec, { ...known.spec, asked, submittedBy })
}

/** The later one of the two that were asked for. */
function dueTime({ delayMs, dueAt }: Pick<JobSpec, 'delayMs' | 'dueAt'>, now: number): number {
  return Math.max(now + delayMs, dueAt ?? 0)
}

export const submitJob: Rule<SubmitJob> = {
  repeat: (command, reads) => {
    if (reads.job !== null) {
      return isSameJob(command.spec, reads.job) ? committed(null, command.job) : null
    }
    const holder = holderOf(reads)
    return holder !== null && asksForSame(command.spec, holder) ? committed(null, holder.id) : null
  },
  guards: [
    validFields,
    validShape,
    idUnused,
    keyUnused,
    derivedId,
    childPromised,
    tickUnfired,
    calleePromised,
  ],
  entry: ({ job, spec }, _reads, now) => ({
    type: 'JobSubmitted',
    at: now,
    version: 1,
    job,
    spec,
    dueAt: dueTime(spec, now),
  }),
  value: (command) => command.job,
  head: () => null,
  locksJob: false,
}

const notEnding: Guard<{ readonly job: string }> = safety(
  'job-not-ending',
  'The job is not ending.',
  (command, reads) =>
    isEnding(theJob(reads), reads.tallies)
      ? reject(
          'JobEnding',
          `Job ${command.job} is ending: nothing new starts. Submit it again as a new job.`,
          {
            job: command.job,
          },
        )
      : null,
)

export const releaseJob: Rule<ReleaseJob> = {
  repeat: (_command, reads) => (reads.job?.held === false ? committed(null, null) : null),
  guards: [jobKnown, notEnding],
  entry: ({ job, by, reason }, reads, now) => ({
    type: 'JobReleased',
    at: now,
    version: headOf(theJob(reads)).version + 1,
    job,
    by,
    reason,
  }),
  head: jobHead,
  locksJob: true,
}

/**
 * An entry changes one aggregate, and a grant of a segment does not lock its job. So a pipeline can be
 * replaced only while it has no tasks: they would keep their due times, and one may be a worker's already.
 */
const notBegun: Guard<ReplaceJob> = safety(
  'job-not-begun',
  'A plain job was never granted and is not over; of a pipeline no stage is open.',
  ({ job: id }, reads) => {
    const job = theJob(reads)
    if (job.task !== null) {
      const { state, attempt } = job.task
      if (state === 'WAITING' && attempt === 0) return null
      const what = attempt === 0 ? state : `at attempt ${attempt}`
      return begun(`Job ${id} is ${what}: what it was submitted with stays. Submit a new job.`)
    }
    const open = stagesOf(job).find((_, stage) => segmentsOf(job, stage) !== NOT_OPENED)
    return open === undefined
      ? null
      : begun(`Stage '${open.name}' of job ${id} is open: its tasks are made. Submit a new job.`)
  },
)

function begun(message: string): Rejection {
  return reject('JobBegun', message)
}

/** It would be let start after all, although it was over for everybody who looked. */
const canStillStart: Guard<ReplaceJob> = safety(
  'start-by',
  'The start-by time has not passed.',
  ({ job }, reads, now) => {
    const { task } = theJob(reads)
    return task === null || !missedStart(task, now)
      ? null
      : reject(
          'StartByPassed',
          `Job ${job} was to start by ${task.startBy}: submit a new job instead.`,
          { startBy: task.startBy },
        )
  },
)

const canStillEnd: Guard<ReplaceJob> = safety(
  'deadline',
  'The deadline has not passed.',
  ({ job }, reads, now) => {
    const { deadlineAt } = theJob(reads)
    return hasPassedDeadline(theJob(reads), now)
      ? reject(
          'DeadlinePassed',
          `Job ${job} was to end by ${deadlineAt}: submit a new job instead.`,
          { deadlineAt },
        )
      : null
  },
)

/** An `each` may name the input. */
const inputFits: Guard<ReplaceJob> = validation(
  'valid-shape',
  'The stages can be opened with the new input.',
  ({ input }, reads) => invalidShape({ ...theJob(reads).spec, input }),
)

export const replaceJob: Rule<ReplaceJob> = {
  repeat: ({ job, replacement }, reads) =>
    reads.job?.replaced?.ids.includes(replacement) === true ? committed(null, job) : null,
  guards: [jobKnown, notEnding, notBegun, canStillStart, canStillEnd, inputFits],
  entry: (command, reads, now) => {
    const { job, replacement, input, definitionVersion, by, reason } = command
    return {
      type: 'JobReplaced',
      at: now,
      version: headOf(theJob(reads)).version + 1,
      job,
      replacement,
      input,
      definitionVersion,
      dueAt: dueTime(command, now),
      by,
      reason,
    }
  },
  value: ({ job }) => job,
  head: jobHead,
  locksJob: true,
}

function stageOf(command: OpenStage, reads: Reads): StageSpec | undefined {
  return reads.job?.spec.stages?.[command.stage]
}

const stageKnown: Guard<OpenStage> = validation(
  'stage-known',
  'The job has the stage.',
  (command, reads) =>
    stageOf(command, reads) === undefined
      ? reject('UnknownStage', `Job ${command.job} has no stage ${command.stage}.`, {
          stage: command.stage,
        })
      : null,
)

const notHeld: Guard<OpenStage> = safety('job-not-held', 'The job is not held.', (command, reads) =>
  isHeldBack(theJob(reads))
    ? reject('JobHeld', `Job ${command.job} is held: release it first.`, { job: command.job })
    : null,
)

const stageMayOpen: Guard<OpenStage> = safety(
  'job-not-ending',
  'The job is not ending, or the stage is an on-failure one.',
  (command, reads, now) =>
    stageOf(command, reads)?.onFailure === true ? null : notEnding.check(command, reads, now),
)

const prerequisites: Guard<OpenStage> = safety(
  'prerequisites-done',
  'Every stage before it is DONE.',
  (command, reads) =>
    prerequisitesDone(theJob(reads), reads.tallies, command.stage)
      ? null
      : reject(
          'PrerequisitesNotDone',
          `Stage '${stageOf(command, reads)?.name}' of job ${command.job} must wait for: ${stageOf(command, reads)?.after.join(', ')}.`,
        ),
)

const endingForOnFailure: Guard<OpenStage> = safety(
  'job-ending',
  'An on-failure stage opens only when the job is ending.',
  (command, reads) =>
    stageOf(command, reads)?.onFailure === true && !isEnding(theJob(reads), reads.tallies)
      ? reject(
          'JobNotEnding',
          `Job ${command.job} is not ending, so its on-failure stage stays closed.`,
        )
      : null,
)

const settledForOnFailure: Guard<OpenStage> = safety(
  'job-settled',
  'An on-failure stage opens only when nothing is open and no commit waits for a person.',
  (command, reads) =>
    stageOf(command, reads)?.onFailure === true && !isSettled(theJob(reads), reads.tallies)
      ? reject(
          'JobNotSettled',
          `Job ${command.job} has tasks that are not over: its on-failure stage must wait.`,
        )
      : null,
)

export const openStage: Rule<OpenStage> = {
  repeat: (command, reads) =>
    reads.job === null || segmentsOf(reads.job, command.stage) === NOT_OPENED
      ? null
      : committed(null, null),
  guards: [
    jobKnown,
    stageKnown,
    notHeld,
    stageMayOpen,
    prerequisites,
    endingForOnFailure,
    settledForOnFailure,
  ],
  entry: stageOpened,
  head: jobHead,
  locksJob: true,
}

function stageOpened(command: OpenStage, reads: Reads, now: number): StageOpened {
  const job = theJob(reads)
  const stage = stageOf(command, reads) as StageSpec
  const segments = stage.each === null ? 1 : countSegments(job, stage.each, reads)
  return {
    type: 'StageOpened',
    at: now,
    version: job.version + 1,
    job: job.id,
    stage: command.stage,
    segments: typeof segments === 'number' ? segments : 1,
    error: typeof segments === 'number' ? null : segments,
  }
}

/** How many segments a stage opens with, or why it cannot. */
function countSegments(job: Job, each: string, reads: Reads): number | Failure {
  const index = stageIndex(job, eachPath(each).source)
  // A stage that has segments itself hands each output to one segment of this one.
  if (index >= 0 && stagesOf(job)[index]?.each !== null) return segmentsOf(job, index)
  const counted = countElements(each, reads.eachSource)
  return typeof counted === 'number'
    ? counted
    : { type: 'TERMINAL', code: 'InvalidEach', message: counted, stack: null }
}

const deadlineOver: Guard<CancelJob> = safety(
  'deadline-passed',
  "Time cancels a job only once the job's deadline has passed.",
  (command, reads, now) =>
    command.deadline !== true || hasPassedDeadline(theJob(reads), now)
      ? null
      : reject('DeadlineNotPassed', `The deadline of job ${command.job} has not passed.`, {
          deadlineAt: theJob(reads).deadlineAt,
        }),
)

const somethingToCancel: Guard<CancelJob> = safety(
  'something-to-cancel',
  'Something is neither over nor committed, or a stage is still to open.',
  (command, reads, now) => {
    if (isUndecided(theJob(reads), reads.tallies)) return null
    const state = jobState(theJob(reads), reads.tallies, now)
    return reject(
      'NothingToCancel',
      `Job ${command.job} is ${state}: everything in it is decided, so there is nothing to cancel.`,
      { job: command.job, state },
    )
  },
)

/** Another operator may have retried it, and a worker may have it: that one is not to be ended. */
const attemptSeen: Guard<CancelJob> = validation(
  'attempt-seen',
  'A discard finds the job at the attempt that was seen.',
  (command, reads) => {
    const seen = command.attempt ?? null
    const attempt = theJob(reads).task?.attempt ?? null
    return seen === null || seen === attempt
      ? null
      : reject(
          'TaskChanged',
          attempt === null
            ? `Job ${command.job} is a pipeline: each of its tasks has attempts of its own.`
            : `Job ${command.job} is at attempt ${attempt}, not ${seen}: look again first.`,
          { attempt },
        )
  },
)

const stillGivenUp: Guard<CancelJob> = validation(
  'task-dead',
  'A discard finds the job in quarantine.',
  (command, reads, now) => {
    if (command.attempt == null || theJob(reads).task?.state === 'DEAD') return null
    const state = jobState(theJob(reads), reads.tallies, now)
    return reject(
      'TaskNotDead',
      `Job ${command.job} is ${state}: only what is in quarantine is discarded.`,
      { job: command.job, state },
    )
  },
)

/** Same to same: a job that FAILED, however it did, is what a cancel would make of it. */
function isCancelledOrFailed(job: Job, reads: Reads, now: number): boolean {
  return job.cancelled !== null || jobState(job, reads.tallies, now) === 'FAILED'
}

export const cancelJob: Rule<CancelJob> = {
  repeat: (_command, reads, now) =>
    reads.job !== null && isCancelledOrFailed(reads.job, reads, now) ? committed(null, null) : null,
  guards: [jobKnown, deadlineOver, attemptSeen, stillGivenUp, somethingToCancel],
  entry: ({ job, deadline = false, by, reason }, reads, now) => ({
    type: 'JobCancelled',
    at: now,
    version: headOf(theJob(reads)).version + 1,
    job,
    deadline,
    by,
    reason,
  }),
  head: jobHead,
  locksJob: true,
}

const jobFinal: Guard<{ readonly job: string }> = safety(
  'job-final',
  'The job is over.',
  (command, reads, now) => {
    const state = jobState(theJob(reads), reads.tallies, now)
    return isFinal(state)
      ? null
      : reject(
          'JobNotFinal',
          `Job ${command.job} is ${state}: only a job that is over can be erased or forgotten.`,
          {
            state,
          },
        )
  },
)

export const eraseJob: Rule<EraseJob> = {
  repeat: (_command, reads) =>
    reads.job !== null && reads.job.erased !== null ? committed(null, null) : null,
  guards: [jobKnown, jobFinal],
  entry: ({ job, by, reason }, reads, now) => ({
    type: 'JobErased',
    at: now,
    version: headOf(theJob(reads)).version + 1,
    job,
    by,
    reason,
  }),
  head: jobHead,
  locksJob: false,
}

const originRecorded: Guard<ForgetJob> = safety(
  'origin-recorded',
  'The effect or tick that the job came from is recorded, so nobody submits it again.',
  (command, reads) => {
    const { parent, schedule } = theJob(reads).spec
    const effect = parent === null ? undefined : reads.parent?.commit?.effects[parent.effect]
    const effectOpen = effect !== undefined && effect.state !== 'FINISHED'
    const tickOpen =
      schedule !== null &&
      reads.schedule !== null &&
      (reads.schedule.firedTick === null || reads.schedule.firedTick < schedule.tick)
    return effectOpen || tickOpen
      ? reject('OriginNotRecorded', `Job ${command.job} must be kept until its origin is recorded.`)
      : null
  },
)

/** Its id would be free, and the wait that is open would have it submitted again. */
const callerOver: Guard<ForgetJob> = safety(
  'caller-over',
  'The task that called it is over, or has begun anew since.',
  (command, reads) => {
    const { caller } = theJob(reads).spec
    return caller !== null && isCalled(reads.caller, caller)
      ? reject(
          'CallerNotOver',
          `Job ${command.job} must be kept until job ${caller.job}, which called it, is over.`,
        )
      : null
  },
)

const oldEnough: Guard<ForgetJob> = validation(
  'old-enough',
  'The job ended before the given time, which is not in the future.',
  (command, reads, now) => {
    const ended = jobEndedAt(theJob(reads), reads.tallies)
    // Not after now: a late copy of the command must not reach a later life of the id.
    return ended < command.endedBefore && command.endedBefore <= now
      ? null
      : reject(
          'JobTooYoung',
          `Job ${command.job} ended at ${ended}: ask with a time after that, and not after now.`,
          {
            endedAt: ended,
          },
        )
  },
)

export const forgetJob: Rule<ForgetJob> = {
  // Gone is gone: who asks again is told the same.
  repeat: (_command, reads) => (reads.job === null ? committed(null, null) : null),
  guards: [jobFinal, originRecorded, callerOver, oldEnough],
  entry: ({ job }, reads, now) => ({
    type: 'JobForgotten',
    at: now,
    version: headOf(theJob(reads)).version + 1,
    job,
  }),
  head: jobHead,
  locksJob: false,
}
