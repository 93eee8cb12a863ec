/** Messages, and waits that begin or end under a lease, in the naive model. */
import type { CommandOf, WaitSpec } from '../../../src/kernel/index.ts'
import { endOfCall, isCallable } from './naive-calls.ts'
import { isEnding, readStages } from './naive-derive.ts'
import type { Histories, JobHistory } from './naive-history.ts'
import { facts, findTask } from './naive-history.ts'
import type { Opinion } from './naive-opinion.ts'
import { accepted, known, refused, unless } from './naive-opinion.ts'
import type { LeaseReading, MessageReading, TaskReading } from './naive-task.ts'
import { endedBy, readTask, timeOf } from './naive-task.ts'

const MOST_MESSAGES = 256

export function answerMessage(
  histories: Histories,
  command: CommandOf<'SendMessage'>,
  now: number,
): Opinion {
  const job = histories.jobs.get(command.job)
  if (job === undefined) return refused('UnknownJob')
  const history = findTask(job, command.stage, command.segment)
  if (history === undefined) return answerForLater(job, command)
  const task = readTask(job, history)
  if (task.messages.some(({ id }) => id === command.id)) return known()
  const wait = endedBy(task, command.name, now)
  const asked = wait?.schema ?? null
  return unless({
    TaskFinal: task.state === 'COMPLETED' || task.state === 'FAILED',
    AlreadyCommitted: task.committedBy !== null,
    LimitExceeded: task.messages.filter(isKept).length >= MOST_MESSAGES,
    MessageNotChecked: asked !== null && asked !== command.checked,
  })
}

function isKept({ state }: MessageReading): boolean {
  return state === 'KEPT'
}

/** To a stage that is not open. */
function answerForLater(job: JobHistory, command: CommandOf<'SendMessage'>): Opinion {
  const spec = job.spec.stages?.[command.stage]
  const stages = readStages(job)
  const opened = stages[command.stage]?.opened !== false
  const beyond = command.segment >= (spec?.each == null ? 1 : 200_000)
  if (spec === undefined || opened || beyond) return refused('UnknownTask')
  const kept = facts(job.facts, 'SendMessage')
    .map((fact) => fact.command)
    .filter(({ stage }) => stages[stage]?.opened === false)
  const same = kept.some(
    ({ id, stage, segment }) =>
      id === command.id && stage === command.stage && segment === command.segment,
  )
  if (same) return known()
  return unless({
    JobEnding: isEnding(job, stages),
    LimitExceeded: kept.length >= MOST_MESSAGES,
  })
}

function isSensible(task: TaskReading, specs: readonly WaitSpec[], now: number): boolean {
  const names = new Set(specs.map(({ name }) => name))
  if (specs.length === 0 || names.size !== specs.length) return false
  return specs.every(({ name, message, schema, ask, delayMs, dueAt, callee }) => {
    // A call stays a call, and is one thing or the other.
    if (callee === null ? task.waits.get(name)?.callee != null : message !== null) return false
    const isEndless = message === null && callee === null && delayMs === null && dueAt === null
    const isSpeechless = message === null && (schema !== null || ask !== null)
    const isFar = Math.max(now + (delayMs ?? 0), dueAt ?? 0) >= 8_640_000_000_000_000
    return !isEndless && !isSpeechless && !isFar
  })
}

export function answerWait(
  histories: Histories,
  task: TaskReading,
  lease: LeaseReading,
  command: CommandOf<'EndWait' | 'SuspendExecution'>,
  now: number,
): Opinion {
  const suspends = command.type === 'SuspendExecution'
  const specs = suspends ? command.waits : [command.wait]
  const { unfit } = command
  const kept = new Set(task.messages.filter(isKept).map(({ id }) => id))
  const first = (spec: WaitSpec): { readonly id: string; readonly value: string } | undefined =>
    spec.callee === null
      ? task.messages.find(
          (one) => isKept(one) && one.name === spec.message && !unfit.includes(one.id),
        )
      : suspends
        ? undefined
        : endOfCall(histories, task, spec.name, now)
  const late = (spec: WaitSpec): boolean => {
    const until = timeOf(task, spec, suspends ? now : lease.grantedAt)
    return until !== null && until <= now
  }
  const depth = (histories.jobs.get(command.job)?.spec.caller?.depth ?? 0) + 1
  const areCallable = specs.every(
    ({ name, callee }) => callee === null || isCallable(callee, command, name, depth),
  )
  const reasons = {
    AlreadyCommitted: task.committedBy !== null,
    NewerDefinition: command.definitionVersion < task.definitionVersion,
    InvalidWait: !isSensible(task, specs, now),
    InvalidSpec: !areCallable,
    InvalidShape: !areCallable,
    LimitExceeded: !areCallable,
    NameTaken: specs.some(({ name }) => task.steps.has(name)),
    WaitOver: specs.some(({ name }) => task.waits.get(name)?.end != null),
    MessageNotKept: !unfit.every((id) => kept.has(id)) || new Set(unfit).size !== unfit.length,
  }
  if (suspends) {
    return unless({ ...reasons, WaitSettled: specs.some((spec) => late(spec) || first(spec)) })
  }
  const message = first(command.wait)
  const isOther = command.message !== (message?.id ?? null)
  return unless(
    {
      ...reasons,
      MessageNotKept: reasons.MessageNotKept || (isOther && message === undefined),
      WaitSettled: isOther && message !== undefined,
      WaitNotSettled: command.message === null && message === undefined && !late(command.wait),
    },
    accepted(message?.value ?? null),
  )
}
