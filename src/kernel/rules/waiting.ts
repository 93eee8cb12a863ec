/**
 * Waiting: an execution that suspends until its waits end, waits that end in place, and an execution that
 * begins anew with another input, without them.
 *
 * A message is kept from the moment it is sent, whether or not something waits for it, and a
 * suspension is refused while something that it would wait for is there already. So none is lost
 * between a worker that looks and the suspension that it asks for: the worker is told what is
 * there, ends the wait in place, and goes on.
 */
import type { Rejection } from '../answers.ts'
import { committed, reject } from '../answers.ts'
import { findLease } from '../apply.ts'
import type { ContinueExecution, EndWait, SuspendExecution, TaskAddress } from '../commands.ts'
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
import type { Lease, Payload, PendingWait, Wait, WaitSpec } from '../model.ts'
import { invalidCallee } from '../spec.ts'
import { calleeOf, findMessage, findWait, pending, resumesAt, untaken } from '../waits.ts'
import { freshBudget } from './aftermath.ts'
import { answerOf } from './message.ts'
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
  'Each wait has a name of its own, and a message, a callee or a time that can come.',
  (command, reads, now) => {
    const names = new Set<string>()
    for (const wait of waitsOf(command)) {
      const { name, message, schema, ask, delayMs, dueAt, callee } = wait
      if (names.has(name)) {
        return invalidWait(name, `Two waits are named '${name}': give each its own name.`)
      }
      names.add(name)
      const wrong = invalidCall(wait, command, reads)
      if (wrong !== null) return wrong
      if (message === null && callee === null && delayMs === null && dueAt === null) {
        return invalidWait(
          name,
          `Wait '${name}' has neither a message nor a callee nor a time: it would not end.`,
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

/** What is wrong with the callee of a wait, or null. */
function invalidCall(wait: WaitSpec, command: WaitReport, reads: Reads): Rejection | null {
  const { name, message, callee } = wait
  if (callee === null) {
    return findWait(theTask(reads), name)?.callee == null
      ? null
      : invalidWait(name, `Wait '${name}' calls a job: give what is waited for now another name.`)
  }
  if (message !== null) {
    return invalidWait(name, `Wait '${name}' has a message and a callee: wait for one of them.`)
  }
  const { job, stage, segment } = command
  const depth = (theJob(reads).spec.caller?.depth ?? 0) + 1
  return invalidCallee(callee, { job, stage, segment, name, depth })
}

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
      (sum, { schema, ask, callee }) =>
        sum + (schema?.length ?? 0) + (ask?.length ?? 0) + (callee?.input.length ?? 0),
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

/** What settles it: the first message that is kept for it and is not skipped, or its callee, which is over. */
function settledBy(
  wait: PendingWait,
  command: WaitReport,
  reads: Reads,
): { readonly id: string; readonly value: Payload } | null {
  const { message } = wait
  const answer = answerOf(reads, wait)
  if (answer !== null) return { id: calleeOf(wait) as string, value: answer }
  const kept =
    message === null ? undefined : untaken(theTask(reads).waiting, message, command.unfit)
  return kept === undefined ? null : { id: kept.id, value: kept.value as Payload }
}

/** In the order in which they came; and what came is not passed over because it is also late. */
const waitSettled: Guard<EndWait> = safety(
  'wait-settled',
  'The wait ends by the first message that is kept for it, by its callee, which is over, or, if there is neither, by its time, which is.',
  (command, reads, now) => {
    const wait = pendingOf(command.wait, command, reads, now)
    const settled = settledBy(wait, command, reads)
    if (command.message !== (settled?.id ?? null)) {
      return settled === null
        ? messageNotKept(command, command.message as string)
        : alreadySettled(command, wait, settled)
    }
    if (settled !== null) return null
    const { until } = wait
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
  { name, callee }: PendingWait,
  message: { readonly id: string; readonly value: Payload } | null,
): Rejection {
  const there =
    callee === null ? `message '${message?.id}' is kept for it` : `job ${message?.id} is over`
  return reject(
    'WaitSettled',
    `Wait '${name}' of task ${nameOf(command)} is settled: ${message === null ? 'its time is over' : there}. End it in place.`,
    { name, message },
  )
}

const outcomeOpen: Guard<SuspendExecution> = safety(
  'outcome-open',
  'No wait of the suspension is settled: no message is kept for one, and no time is over.',
  (command, reads, now) => {
    for (const spec of command.waits) {
      const wait = pendingOf(spec, command, reads, now)
      const { until } = wait
      const settled = settledBy(wait, command, reads)
      if (settled !== null || (until !== null && until <= now)) {
        return alreadySettled(command, wait, settled)
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
    if (wait === undefined || wait.endedAt === null) return null
    // What a lease suspended for ended when that lease was over.
    const isHeard = wait.suspends ? wait.lease < lease.number : wait.lease <= lease.number
    return isHeard ? committed(null, wait.value) : null
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
      answer: message === null ? null : answerOf(reads, findWait(theTask(reads), wait.name)),
      unfit,
      definitionVersion,
    }
  },
  value: ({ message, wait }, reads) =>
    message === null
      ? null
      : (answerOf(reads, findWait(theTask(reads), wait.name)) ??
        findMessage(theTask(reads), message)?.value ??
        null),
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

export const continueExecution: Rule<ContinueExecution> = {
  repeat: (command, reads) =>
    reportedLease(command, reads)?.endedBy === 'ExecutionContinued' ? committed(null, null) : null,
  guards: [...CURRENT_LEASE, beforeCommit, definitionNotOlder],
  entry: ({ job, stage, segment, lease, input, definitionVersion }, reads, now) => {
    const task = theTask(reads)
    return {
      type: 'ExecutionContinued',
      at: now,
      version: task.version + 1,
      job,
      stage,
      segment,
      lease,
      input,
      budget: freshBudget(task),
      definitionVersion,
    }
  },
  head: taskHead,
  locksJob: false,
}
