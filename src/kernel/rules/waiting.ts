/**
 * Waiting: an execution that suspends until its waits end, waits that end in place, and messages.
 *
 * A message is kept from the moment it is sent, whether or not something waits for it, and a
 * suspension is refused while something that it would wait for is there already. So none is lost
 * between a worker that looks and the suspension that it asks for: the worker is told what is
 * there, ends the wait in place, and goes on.
 */
import type { Rejection } from '../answers.ts'
import { committed, reject } from '../answers.ts'
import { findLease } from '../apply.ts'
import type { EndWait, SendMessage, SuspendExecution, TaskAddress } from '../commands.ts'
import { isEnding } from '../derive.ts'
import type { MessageKept, MessageSent } from '../entries.ts'
import type { Guard, Reads } from '../guards.ts'
import {
  beforeCommit,
  CURRENT_LEASE,
  definitionNotOlder,
  nameOf,
  reportedLease,
  safety,
  theJob,
  theTask,
  validation,
} from '../guards.ts'
import { LATEST_TIME_MS, LIMITS } from '../limits.ts'
import type { Lease, PendingWait, Wait, WaitSpec } from '../model.ts'
import { segmentsOf, NOT_OPENED, stagesOf } from '../model.ts'
import {
  findMessage,
  findWait,
  pending,
  resumesAt,
  untaken,
  waitFor,
  waitsOfSuspension,
} from '../waits.ts'
import { freshBudget } from './aftermath.ts'
import { jobHead } from './job.ts'
import type { Rule } from './rule.ts'
import { taskHead } from './rule.ts'

type WaitReport = EndWait | SuspendExecution

function waitsOf(command: WaitReport): readonly WaitSpec[] {
  return command.type === 'EndWait' ? [command.wait] : command.waits
}

/** From when the time of a wait that is new counts: one in place began under its lease, at the earliest. */
function countsFrom(command: WaitReport, reads: Reads, now: number): number {
  if (command.type === 'SuspendExecution') return now
  return (findLease(theTask(reads), command.lease) as Lease).grantedAt
}

function pendingOf(spec: WaitSpec, command: WaitReport, reads: Reads, now: number): PendingWait {
  return pending(spec, findWait(theTask(reads), spec.name), countsFrom(command, reads, now))
}

const validWaits: Guard<WaitReport> = validation(
  'valid-waits',
  'Each wait has a name of its own, and a message or a time that can come.',
  (command, _reads, now) => {
    const names = new Set<string>()
    for (const { name, message, schema, ask, delayMs, dueAt } of waitsOf(command)) {
      if (names.has(name)) {
        return invalidWait(name, `Two waits are named '${name}': give each its own name.`)
      }
      names.add(name)
      if (message === null && delayMs === null && dueAt === null) {
        return invalidWait(
          name,
          `Wait '${name}' has neither a message nor a time: it would not end.`,
        )
      }
      if (message === null && (schema !== null || ask !== null)) {
        return invalidWait(name, `Wait '${name}' asks for something, but names no message.`)
      }
      if (now + (delayMs ?? 0) >= LATEST_TIME_MS || (dueAt ?? 0) >= LATEST_TIME_MS) {
        return invalidWait(name, `The time of wait '${name}' is too far ahead.`)
      }
    }
    return names.size > 0 ? null : invalidWait('', 'A suspension names at least one wait.')
  },
)

function invalidWait(name: string, message: string): Rejection {
  return reject('InvalidWait', message, { name })
}

const nameNoStep: Guard<WaitReport> = validation(
  'name-free',
  'No step of the task has the name of a wait.',
  (command, reads) => {
    const { steps } = theTask(reads)
    const taken = waitsOf(command).find(({ name }) => steps.some((step) => step.name === name))
    return taken === undefined
      ? null
      : reject(
          'NameTaken',
          `Task ${nameOf(command)} has a step '${taken.name}': give the wait another name.`,
          { name: taken.name },
        )
  },
)

const roomForWaits: Guard<WaitReport> = validation(
  'room-for-waits',
  `A task records at most ${LIMITS.waits} waits, and a suspension carries at most ${LIMITS.commitChars} characters.`,
  (command, reads) => {
    const task = theTask(reads)
    const waits = waitsOf(command)
    const added = waits.filter(({ name }) => findWait(task, name) === undefined).length
    if ((task.waiting?.waits.length ?? 0) + added > LIMITS.waits) {
      return reject(
        'LimitExceeded',
        `Task ${nameOf(command)} would have more than ${LIMITS.waits} waits: continue with a new input, which drops them.`,
        { limit: 'waits' },
      )
    }
    const chars = waits.reduce(
      (sum, { schema, ask }) => sum + (schema?.length ?? 0) + (ask?.length ?? 0),
      0,
    )
    return chars <= LIMITS.commitChars
      ? null
      : reject(
          'LimitExceeded',
          `The waits of task ${nameOf(command)} carry ${chars} characters, more than ${LIMITS.commitChars}: ask for less at once.`,
          { limit: 'commitChars', chars },
        )
  },
)

const waitsOpen: Guard<SuspendExecution> = safety(
  'waits-open',
  'None of the waits has ended: once ended, a wait stays as it ended.',
  (command, reads) => {
    const task = theTask(reads)
    const over = command.waits.find(({ name }) => isOver(findWait(task, name)))
    return over === undefined
      ? null
      : reject(
          'WaitOver',
          `Wait '${over.name}' of task ${nameOf(command)} has ended: its outcome is on record.`,
          { name: over.name },
        )
  },
)

function isOver(wait: Wait | undefined): boolean {
  return wait !== undefined && wait.endedAt !== null
}

const skippedKept: Guard<WaitReport> = safety(
  'skipped-kept',
  'Every message that is skipped is kept, and is skipped once.',
  (command, reads) => {
    const task = theTask(reads)
    const { unfit } = command
    const wrong = unfit.find(
      (id, i) => findMessage(task, id)?.state !== 'KEPT' || unfit.indexOf(id) !== i,
    )
    return wrong === undefined ? null : messageNotKept(command, wrong)
  },
)

function messageNotKept(command: TaskAddress, id: string): Rejection {
  return reject(
    'MessageNotKept',
    `Message '${id}' is not kept for task ${nameOf(command)}: it was taken or skipped, or never sent.`,
    { id },
  )
}

/** The first message that is kept for it, and is not skipped. */
function keptFor(
  spec: { message: string | null },
  command: WaitReport,
  reads: Reads,
): string | null {
  if (spec.message === null) return null
  return untaken(theTask(reads).waiting, spec.message, command.unfit)?.id ?? null
}

/** In the order in which they came; and what came is not passed over because it is also late. */
const waitSettled: Guard<EndWait> = safety(
  'wait-settled',
  'The wait ends by the first message that is kept for it or, if there is none, by its time, which is over.',
  (command, reads, now) => {
    const kept = keptFor(command.wait, command, reads)
    if (command.message !== kept) {
      return kept === null
        ? messageNotKept(command, command.message as string)
        : alreadySettled(command, command.wait.name, reads, kept)
    }
    if (kept !== null) return null
    const { until } = pendingOf(command.wait, command, reads, now)
    return until !== null && until <= now
      ? null
      : reject(
          'WaitNotSettled',
          `Wait '${command.wait.name}' of task ${nameOf(command)} is open: ${until === null ? 'its message has not come' : `it has ${until - now} ms left`}.`,
          { name: command.wait.name, until },
        )
  },
)

/** Tells the worker what is there, so that it can check whether it fits. */
function alreadySettled(
  command: TaskAddress,
  name: string,
  reads: Reads,
  id: string | null,
): Rejection {
  const message = id === null ? undefined : findMessage(theTask(reads), id)
  return reject(
    'WaitSettled',
    `Wait '${name}' of task ${nameOf(command)} is settled: ${message === undefined ? 'its time is over' : `message '${message.id}' is kept for it`}. End it in place.`,
    {
      name,
      message: message === undefined ? null : { id: message.id, value: message.value },
    },
  )
}

const outcomeOpen: Guard<SuspendExecution> = safety(
  'outcome-open',
  'No wait of the suspension is settled: no message is kept for one, and no time is over.',
  (command, reads, now) => {
    for (const spec of command.waits) {
      const kept = keptFor(spec, command, reads)
      const { until } = pendingOf(spec, command, reads, now)
      if (kept !== null || (until !== null && until <= now)) {
        return alreadySettled(command, spec.name, reads, kept)
      }
    }
    return null
  },
)

export const endWait: Rule<EndWait> = {
  // As for a step: the first outcome stands, and a lease that is over hears of nothing since.
  repeat: (command, reads) => {
    const lease = reportedLease(command, reads)
    if (lease === null || reads.task === null) return null
    const wait = findWait(reads.task, command.wait.name)
    return wait !== undefined && wait.endedAt !== null && wait.lease <= lease.number
      ? committed(null, wait.value)
      : null
  },
  guards: [
    ...CURRENT_LEASE,
    beforeCommit,
    definitionNotOlder,
    validWaits,
    nameNoStep,
    roomForWaits,
    skippedKept,
    waitSettled,
  ],
  entry: (command, reads, now) => {
    const { job, stage, segment, lease, wait, message, unfit, definitionVersion } = command
    return {
      type: 'WaitEnded',
      at: now,
      version: theTask(reads).version + 1,
      job,
      stage,
      segment,
      lease,
      wait: pendingOf(wait, command, reads, now),
      message,
      unfit,
      definitionVersion,
    }
  },
  value: ({ message }, reads) =>
    message === null ? null : (findMessage(theTask(reads), message)?.value ?? null),
  head: taskHead,
  locksJob: false,
}

export const suspendExecution: Rule<SuspendExecution> = {
  repeat: (command, reads) =>
    reportedLease(command, reads)?.endedBy === 'ExecutionSuspended' ? committed(null, null) : null,
  guards: [
    ...CURRENT_LEASE,
    beforeCommit,
    definitionNotOlder,
    validWaits,
    nameNoStep,
    roomForWaits,
    waitsOpen,
    skippedKept,
    outcomeOpen,
  ],
  entry: (command, reads, now) => {
    const { job, stage, segment, lease, needs, unfit, definitionVersion } = command
    const task = theTask(reads)
    const waits = command.waits.map((spec) => pendingOf(spec, command, reads, now))
    return {
      type: 'ExecutionSuspended',
      at: now,
      version: task.version + 1,
      job,
      stage,
      segment,
      lease,
      needs,
      waits,
      unfit,
      dueAt: resumesAt(
        needs,
        waits.map(({ until }) => ({ until, endedAt: null })),
      ),
      budget: freshBudget(task),
      definitionVersion,
    }
  },
  head: taskHead,
  locksJob: false,
}

/** A pipeline's stage that is not open yet: its job keeps the message. */
function isForLater({ stage }: SendMessage, reads: Reads): boolean {
  const { job } = reads
  if (job === null || job.task !== null) return false
  return stagesOf(job)[stage] !== undefined && segmentsOf(job, stage) === NOT_OPENED
}

const receiverKnown: Guard<SendMessage> = validation(
  'receiver-known',
  'There is such a task, or there will be when its stage is opened.',
  (command, reads) => {
    if (reads.task !== null) return null
    if (isForLater(command, reads)) {
      const stage = stagesOf(theJob(reads))[command.stage]
      const most = stage?.each == null ? 1 : LIMITS.segmentsPerStage
      if (command.segment < most) return null
    }
    return reject(
      reads.job === null ? 'UnknownJob' : 'UnknownTask',
      `There is no task ${nameOf(command)} to send a message to: check the job, the stage and the segment.`,
      { job: command.job, stage: command.stage, segment: command.segment },
    )
  },
)

const receiverOpen: Guard<SendMessage> = safety(
  'receiver-open',
  'The task is not over, or its job is not ending before its stage was opened.',
  (command, reads) => {
    const { task } = reads
    if (task !== null) {
      const { state } = task
      return state !== 'COMPLETED' && state !== 'FAILED'
        ? null
        : reject('TaskFinal', `Task ${nameOf(command)} is ${state}, which is final.`, { state })
    }
    return isEnding(theJob(reads), reads.tallies)
      ? reject('JobEnding', `Job ${command.job} is ending: it takes no messages any more.`)
      : null
  },
)

const notCommitted: Guard<SendMessage> = safety(
  'before-commit',
  'The execution is not committed.',
  (command, reads, now) => (reads.task === null ? null : beforeCommit.check(command, reads, now)),
)

const roomForMessage: Guard<SendMessage> = validation(
  'room-for-message',
  `At most ${LIMITS.messages} messages wait to be taken.`,
  (command, reads) => {
    const { task } = reads
    const kept =
      task === null
        ? theJob(reads).messages.length
        : (task.waiting?.messages.filter(({ state }) => state === 'KEPT').length ?? 0)
    return kept < LIMITS.messages
      ? null
      : reject(
          'LimitExceeded',
          `${LIMITS.messages} messages wait for ${task === null ? `job ${command.job}` : `task ${nameOf(command)}`}, which is the most: send it later.`,
          { limit: 'messages' },
        )
  },
)

/** What is asked for may have changed since the sender looked. */
const valueChecked: Guard<SendMessage> = validation(
  'value-checked',
  'The sender checked the value against what the wait asks for that it ends.',
  (command, reads, now) => {
    const wait = reads.task === null ? undefined : waitFor(reads.task, command.name, now)
    return wait === undefined || wait.schema === null || wait.schema === command.checked
      ? null
      : reject(
          'MessageNotChecked',
          `Wait '${wait.name}' of task ${nameOf(command)} asks for something else than the value was checked against: check it against this schema and send it again.`,
          { name: wait.name, schema: wait.schema },
        )
  },
)

export const sendMessage: Rule<SendMessage> = {
  repeat: ({ stage, segment, id }, { task, job }) => {
    const isKnown =
      task === null
        ? job?.messages.some(
            (one) => one.id === id && one.stage === stage && one.segment === segment,
          ) === true
        : findMessage(task, id) !== undefined
    return isKnown ? committed(null, null) : null
  },
  guards: [receiverKnown, receiverOpen, notCommitted, roomForMessage, valueChecked],
  entry: (command, reads, now) =>
    reads.task === null ? messageKept(command, reads, now) : messageSent(command, reads, now),
  head: (reads) => reads.task ?? jobHead(reads),
  locksJob: true,
}

function messageKept(command: SendMessage, reads: Reads, now: number): MessageKept {
  const { job, stage, segment, id, name, value, by, reason } = command
  return {
    type: 'MessageKept',
    at: now,
    version: theJob(reads).version + 1,
    job,
    message: { stage, segment, id, name, value, at: now, by, reason },
  }
}

function messageSent(command: SendMessage, reads: Reads, now: number): MessageSent {
  const { job, stage, segment, id, name, value, by, reason } = command
  const task = theTask(reads)
  const wait = waitFor(task, name, now)
  const ended = waitsOfSuspension(task).map((one) => ({
    until: one.until,
    endedAt: one === wait ? now : one.endedAt,
  }))
  const needs = task.waiting?.suspended ?? null
  return {
    type: 'MessageSent',
    at: now,
    version: task.version + 1,
    job,
    stage,
    segment,
    id,
    name,
    value,
    wait: wait?.name ?? null,
    dueAt: needs === null || wait === undefined ? task.dueAt : resumesAt(needs, ended),
    by,
    reason,
  }
}
