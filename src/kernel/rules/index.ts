/**
 * The rules of every command, and how a test leaves a guard out.
 */
import type { CommandOf, CommandType } from '../commands.ts'
import type { Guard } from '../guards.ts'
import { failEffect, finishEffect, resolveEffect, startEffect } from './effect.ts'
import { appendStream, commitExecution, failTask, recordStep, startExecution } from './execution.ts'
import {
  cancelJob,
  eraseJob,
  forgetJob,
  openStage,
  releaseJob,
  replaceJob,
  submitJob,
} from './job.ts'
import { expireLease, extendLease, grantLease, releaseLease, revokeLease } from './lease.ts'
import { forceTask, rescheduleTask, retryTask, stopTask } from './operator.ts'
import { configureQueue, pauseQueue, resumeQueue } from './queue.ts'
import type { Rule } from './rule.ts'
import { fireSchedule, removeSchedule, setSchedule } from './schedule.ts'
import { answerCall, sendMessage } from './message.ts'
import { continueExecution, endWait, suspendExecution } from './waiting.ts'

export type RuleTable = { readonly [T in CommandType]: Rule<CommandOf<T>> }

export interface Rules {
  readonly table: RuleTable
  /** An entry is never older than the one before it in the same aggregate. */
  readonly clock: boolean
  /** An entry that locks the job never takes it where the job's table does not allow. */
  readonly transition: boolean
}

export const RULES: Rules = {
  table: {
    SubmitJob: submitJob,
    ReleaseJob: releaseJob,
    ReplaceJob: replaceJob,
    OpenStage: openStage,
    GrantLease: grantLease,
    StartExecution: startExecution,
    ExtendLease: extendLease,
    ReleaseLease: releaseLease,
    RecordStep: recordStep,
    AppendStream: appendStream,
    EndWait: endWait,
    SuspendExecution: suspendExecution,
    ContinueExecution: continueExecution,
    CommitExecution: commitExecution,
    FailTask: failTask,
    StartEffect: startEffect,
    FinishEffect: finishEffect,
    FailEffect: failEffect,
    ResolveEffect: resolveEffect,
    ExpireLease: expireLease,
    RevokeLease: revokeLease,
    CancelJob: cancelJob,
    StopTask: stopTask,
    RetryTask: retryTask,
    ForceTask: forceTask,
    SendMessage: sendMessage,
    AnswerCall: answerCall,
    RescheduleTask: rescheduleTask,
    EraseJob: eraseJob,
    ForgetJob: forgetJob,
    ConfigureQueue: configureQueue,
    PauseQueue: pauseQueue,
    ResumeQueue: resumeQueue,
    SetSchedule: setSchedule,
    FireSchedule: fireSchedule,
    RemoveSchedule: removeSchedule,
  },
  clock: true,
  transition: true,
}

export interface GuardListing {
  /** `CommitExecution.lease-held`, or the bare name of a guard of every command. */
  readonly id: string
  readonly kind: Guard<never>['kind']
  readonly holds: string
}

/** The guards that apply to every command, whatever its rule says. */
const COMMON: readonly GuardListing[] = [
  { id: 'clock', kind: 'safety', holds: 'An entry is not older than the one before it.' },
  {
    id: 'transition',
    kind: 'safety',
    holds: "An entry that locks the job keeps to the table of the job's transitions.",
  },
]

export function listGuards(): readonly GuardListing[] {
  const listed = Object.entries(RULES.table).flatMap(([command, rule]) =>
    (rule.guards as readonly Guard<never>[]).map(({ name, kind, holds }) => ({
      id: `${command}.${name}`,
      kind,
      holds,
    })),
  )
  return [...listed, ...COMMON]
}

/** The rules with one guard left out: for tests that show what it is good for. */
export function rulesWithout(id: string): Rules {
  if (!listGuards().some((guard) => guard.id === id)) {
    throw new RangeError(`There is no guard ${id}; see docs/model.md for the list.`)
  }
  if (id === 'clock') return { ...RULES, clock: false }
  if (id === 'transition') return { ...RULES, transition: false }
  const [command, name] = id.split('.') as [CommandType, string]
  const rule = RULES.table[command] as Rule<never>
  const guards = rule.guards.filter((guard) => guard.name !== name)
  return { ...RULES, table: { ...RULES.table, [command]: { ...rule, guards } } }
}
