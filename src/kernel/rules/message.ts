/**
 * Messages: kept from the moment they are sent, or taken at once by the wait that they end. How a callee
 * ended comes to its caller the same way, but from its own record: no sender can say it for it.
 */
import { committed, reject } from '../answers.ts'
import type { AnswerCall, SendMessage } from '../commands.ts'
import { isEnding } from '../derive.ts'
import type { MessageKept, MessageSent } from '../entries.ts'
import { sameContent } from '../equal.ts'
import type { Guard, Reads } from '../guards.ts'
import { beforeCommit, nameOf, safety, taskKnown, theJob, theTask, validation } from '../guards.ts'
import { LIMITS } from '../limits.ts'
import type { Payload, PendingWait, Wait } from '../model.ts'
import { NOT_OPENED, segmentsOf, stagesOf } from '../model.ts'
import { isFinal } from '../transitions.ts'
import {
  calleeOf,
  findMessage,
  findWait,
  pendingCall,
  resumesAt,
  waitFor,
  waitsOfSuspension,
} from '../waits.ts'
import { jobHead } from './job.ts'
import type { Rule } from './rule.ts'
import { taskHead } from './rule.ts'

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
    reads.task === null
      ? messageKept(command, reads, now)
      : messageSent(command, waitFor(reads.task, command.name, now), reads, now),
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

type Content = Pick<
  MessageSent,
  'job' | 'stage' | 'segment' | 'id' | 'name' | 'value' | 'by' | 'reason'
>

/** `wait`: the one that it ends, if any. */
function messageSent(
  content: Content,
  wait: Wait | undefined,
  reads: Reads,
  now: number,
): MessageSent {
  const { job, stage, segment, id, name, value, by, reason } = content
  const task = theTask(reads)
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

/**
 * How the callee of the wait ended; null: it is not over, or the wait calls none. A pipeline's outputs are
 * with its tasks: it is kept as long as its caller may ask for them.
 */
export function answerOf(
  { callee, calleeState }: Reads,
  wait: PendingWait | undefined,
): Payload | null {
  if (callee === null || calleeState === null || !isFinal(calleeState)) return null
  // By who called it: what was submitted may read otherwise in a later version.
  if (!sameContent(wait?.callee?.caller, callee.spec.caller)) return null
  const { task, cancelled, erased } = callee
  // It has no output any more, which is not the same as having had none.
  if (erased !== null) return JSON.stringify({ state: calleeState, erased: true })
  if (calleeState === 'SUCCEEDED') {
    return task === null ? '{"state":"SUCCEEDED"}' : `{"state":"SUCCEEDED","output":${task.output}}`
  }
  return JSON.stringify({ state: 'FAILED', cancelled, error: task?.error ?? null })
}

const callPending: Guard<AnswerCall> = safety(
  'call-pending',
  'The caller waits for the end of its callee, and the time of that wait is not over.',
  (command, reads, now) =>
    pendingCall(theTask(reads), command.name, now) === undefined
      ? reject(
          'UnknownCall',
          `Task ${nameOf(command)} does not wait for a job under the name '${command.name}'.`,
          { name: command.name },
        )
      : null,
)

const calleeOver: Guard<AnswerCall> = safety(
  'callee-over',
  'The callee is over.',
  (command, reads) => {
    const wait = findWait(theTask(reads), command.name)
    return answerOf(reads, wait) === null
      ? reject(
          'CalleeNotOver',
          `Job ${calleeOf(wait)}, which wait '${command.name}' of task ${nameOf(command)} calls, is not over.`,
          { name: command.name, state: reads.calleeState },
        )
      : null
  },
)

export const answerCall: Rule<AnswerCall> = {
  // However it ended: once ended, it stays as it ended.
  repeat: ({ name }, { task }) => {
    const wait = task === null ? undefined : findWait(task, name)
    return wait !== undefined && wait.callee !== null && wait.endedAt !== null
      ? committed(null, null)
      : null
  },
  guards: [taskKnown, callPending, calleeOver],
  entry: (command, reads, now) => {
    const wait = findWait(theTask(reads), command.name)
    const id = calleeOf(wait) as string
    const value = answerOf(reads, wait) as Payload
    const { job, stage, segment } = command
    const reason = `Job ${id} is ${reads.calleeState}.`
    const content = { job, stage, segment, id, name: id, value, by: 'callee', reason }
    return messageSent(content, wait, reads, now)
  },
  head: taskHead,
  locksJob: false,
}
