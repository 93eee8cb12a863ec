/** Jobs that call jobs, in the naive model. */
import type { CallerRef, Command, CommandOf, JobSpec } from '../../../src/kernel/index.ts'
import { calleeId } from '../../../src/kernel/index.ts'
import { isFinal, jobState } from './naive-derive.ts'
import { isValidSpec } from './naive-form.ts'
import type { Histories, JobHistory, TaskHistory } from './naive-history.ts'
import { facts, findTask, last } from './naive-history.ts'
import type { Opinion } from './naive-opinion.ts'
import { known, refused, unless } from './naive-opinion.ts'
import { sameText } from './naive-text.ts'
import type { TaskReading, WaitReading } from './naive-task.ts'
import { pendingWaits, readTask } from './naive-task.ts'

const MOST_CALLERS = 32

/** What a caller is told of how its callee ended; null: it is not over, or not there. */
function calleeEnd(histories: Histories, callee: JobSpec | null, now: number): string | null {
  if (callee === null) return null
  const job = histories.jobs.get(calleeId(callee.caller as CallerRef))
  if (job === undefined || !sameText(job.spec.caller, callee.caller)) return null
  const state = jobState(job, now)
  if (!isFinal(state)) return null
  if (job.erased !== null) return JSON.stringify({ state, erased: true })
  const only = job.spec.stages === null ? (job.tasks[0] as TaskHistory) : null
  if (state === 'SUCCEEDED') {
    const output = only === null ? '' : `,"output":${readTask(job, only).output}`
    return `{"state":"SUCCEEDED"${output}}`
  }
  const [cancel] = facts(job.facts, 'CancelJob')
  const cancelled =
    cancel === undefined
      ? null
      : {
          at: cancel.at,
          by: cancel.command.by,
          reason: cancel.command.reason,
          deadline: cancel.command.deadline ?? false,
        }
  const error = only === null ? null : (last(only.facts, 'FailTask')?.command.error ?? null)
  return JSON.stringify({ state, cancelled, error })
}

/** The end of the callee that the task's own record of the wait names. */
export function endOfCall(
  histories: Histories,
  task: TaskReading,
  name: string,
  now: number,
): { readonly id: string; readonly value: string } | undefined {
  const callee = task.waits.get(name)?.callee ?? null
  const value = calleeEnd(histories, callee, now)
  return value === null ? undefined : { id: calleeId(callee?.caller as CallerRef), value }
}

function readAt(histories: Histories, at: CallerRef | CommandOf<'AnswerCall'>): TaskReading | null {
  const job = histories.jobs.get(at.job)
  const task = job === undefined ? undefined : findTask(job, at.stage, at.segment)
  return job === undefined || task === undefined ? null : readTask(job, task)
}

export function answerCall(
  histories: Histories,
  command: CommandOf<'AnswerCall'>,
  now: number,
): Opinion {
  const task = readAt(histories, command)
  if (task === null) return refused('UnknownTask')
  const wait = task.waits.get(command.name)
  if (wait === undefined || wait.callee === null) return refused('UnknownCall')
  if (wait.end !== null) return known()
  const isLate = wait.until !== null && wait.until <= now
  return unless({
    UnknownCall: isLate || !pendingWaits(task).includes(wait),
    CalleeNotOver: calleeEnd(histories, wait.callee, now) === null,
  })
}

/** How the callee ended that a command tells the caller of; null: it tells of none. */
export function answerIn(histories: Histories, command: Command, now: number): string | null {
  if (command.type !== 'AnswerCall' && command.type !== 'EndWait') return null
  if (command.type === 'EndWait' && command.message === null) return null
  const job = histories.jobs.get(command.job) as JobHistory
  const task = findTask(job, command.stage, command.segment) as TaskHistory
  const name = command.type === 'EndWait' ? command.wait.name : command.name
  return endOfCall(histories, readTask(job, task), name, now)?.value ?? null
}

function waitOf(task: TaskReading | null, caller: CallerRef): WaitReading | undefined {
  const wait = task?.waits.get(caller.name)
  return wait?.callee?.caller?.run === caller.run ? wait : undefined
}

/** Its caller waits for it, as it is. */
export function isAwaited(histories: Histories, spec: JobSpec): boolean {
  const caller = spec.caller as CallerRef
  const task = readAt(histories, caller)
  const wait = waitOf(task, caller)
  if (task === null || wait === undefined) return false
  return pendingWaits(task).includes(wait) && sameText(wait.callee, spec)
}

/** Its caller is not over, and still has it on record. */
export function mayBeAskedFor(histories: Histories, { caller }: JobSpec): boolean {
  if (caller === null) return false
  const task = readAt(histories, caller)
  if (task === null || task.state === 'COMPLETED' || task.state === 'FAILED') return false
  return waitOf(task, caller) !== undefined
}

/** Could be called by that wait. */
export function isCallable(
  callee: JobSpec,
  command: CommandOf<'EndWait' | 'SuspendExecution'>,
  name: string,
  depth: number,
): boolean {
  if (!isValidSpec(callee) || depth > MOST_CALLERS) return false
  const { caller, key, parent, schedule } = callee
  const { job, stage, segment } = command
  const wanted = { ...caller, job, stage, segment, name, depth }
  return key === null && parent === null && schedule === null && sameText(caller, wanted)
}
