/**
 * Entries and answers in words: the fields that tell the story, and no others.
 */
import type {
  Aftermath,
  Decision,
  Entry,
  EntryOf,
  Failure,
  JobSpec,
  PendingWait,
  Task,
} from '../../../src/kernel/index.ts'
import { NEVER_DUE } from '../../../src/kernel/index.ts'
import { readable } from './line.ts'
import type { Names } from './states.ts'

export function describeAnswer({ verdict, value, rejection }: Decision): string {
  if (rejection !== null) {
    return `${verdict} ${rejection.code} by ${rejection.check}: ${rejection.message}`
  }
  return value === null ? verdict : `${verdict} ${value}`
}

export function describeEntry(entry: Entry, names: Names): string {
  const fields = fieldsOf(entry, names).filter((field) => field !== '')
  return [`${entry.type} ${subject(entry, names)} v${entry.version}`, `at ${readable(entry.at)}`]
    .concat(fields)
    .join(' ')
}

function subject(entry: Entry, names: Names): string {
  if ('queue' in entry) return entry.queue
  if ('schedule' in entry) return entry.schedule
  if ('segment' in entry) return names.task(entry.job, entry.stage, entry.segment)
  return 'stage' in entry ? names.stage(entry.job, entry.stage) : entry.job
}

function fieldsOf(entry: Entry, names: Names): string[] {
  switch (entry.type) {
    case 'JobSubmitted':
      return [...submitted(entry.spec), entry.dueAt > entry.at ? time('due', entry.dueAt) : '']
    case 'StageOpened':
      return [`segments=${entry.segments}`, entry.error === null ? '' : error(entry.error)]
    case 'LeaseGranted':
      return [
        `lease=${entry.lease}`,
        `worker=${entry.worker}`,
        `request=${entry.request}`,
        time('expires', entry.expiresAt),
        flag('started', entry.started),
        entry.session === '' ? '' : `session=${entry.session}`,
        flag('timed-out', entry.timedOut),
      ]
    case 'LeaseExtended':
      return [
        `lease=${entry.lease}`,
        `extension=${entry.extension}`,
        time('expires', entry.expiresAt),
      ]
    case 'StreamAppended':
      return streamFields(entry)
    case 'StepRecorded':
      return [`lease=${entry.lease}`, `step=${entry.name}`, `value=${entry.value}`]
    case 'WaitEnded':
    case 'ExecutionSuspended':
    case 'ExecutionContinued':
    case 'MessageSent':
    case 'MessageKept':
      return waitingFields(entry)
    case 'ExecutionCommitted': {
      const effects = entry.effects.map((effect) => effect.name)
      return [
        `lease=${entry.lease}`,
        `output=${entry.output}`,
        effects.length === 0 ? '' : `effects=${effects.join(',')}`,
      ]
    }
    case 'JobReplaced':
      return [...replacedFields(entry), ...onRecord(entry)]
    case 'JobCancelled':
      return [flag('deadline', entry.deadline), ...onRecord(entry)]
    case 'JobReleased':
    case 'JobErased':
    case 'QueuePaused':
    case 'QueueResumed':
    case 'ScheduleRemoved':
      return onRecord(entry)
    case 'QueueConfigured':
      return [
        `concurrency=${entry.concurrency ?? 'none'}`,
        `rate=${entry.rate === null ? 'none' : `${entry.rate.count}/${readable(entry.rate.perMs)}`}`,
        entry.ageingMs === null ? '' : time('ageing', entry.ageingMs),
        ...onRecord(entry),
      ]
    case 'ScheduleSet':
      return [`definition='${entry.definition}'`, ...onRecord(entry)]
    case 'ScheduleFired':
      return [time('tick', entry.tick), flag('skipped', entry.skipped)]
    case 'JobForgotten':
      return []
    default:
      return taskFields(entry, names)
  }
}

function replacedFields(entry: EntryOf<'JobReplaced'>): string[] {
  const { replacement, input, definitionVersion, dueAt } = entry
  const version = definitionVersion === 1 ? '' : `definition-version=${definitionVersion}`
  return [`by-submit=${replacement}`, `input=${input}`, version, time('due', dueAt)]
}

function streamFields({ lease, name, offset, values }: EntryOf<'StreamAppended'>): string[] {
  return [`lease=${lease}`, `stream=${name}`, `offset=${offset}`, `values=${values.join(',')}`]
}

type Other = Exclude<
  Extract<Entry, { segment: number }>,
  {
    type:
      | 'LeaseGranted'
      | 'LeaseExtended'
      | 'StepRecorded'
      | 'StreamAppended'
      | 'WaitEnded'
      | 'ExecutionSuspended'
      | 'ExecutionContinued'
      | 'MessageSent'
      | 'ExecutionCommitted'
  }
>

function taskFields(entry: Other, names: Names): string[] {
  const lease = 'lease' in entry ? `lease=${entry.lease}` : ''
  const effect = 'effect' in entry ? `effect=${names.effect(entry, entry.effect)}` : ''
  switch (entry.type) {
    case 'ExecutionStarted':
    case 'EffectStarted':
      return [lease, effect]
    case 'EffectFinished':
      return [lease, effect, `next=${entry.next}`]
    case 'EffectFailed':
      return [
        lease,
        effect,
        error(entry.error),
        `to=${entry.to}`,
        `effect-retries=${entry.effectRetries}`,
        ...aftermath(entry, entry, names),
      ]
    case 'EffectResolved':
      return [
        effect,
        `start=${entry.start}`,
        `outcome=${entry.outcome}`,
        `next=${entry.next}`,
        `budget=${entry.budget}`,
        ...onRecord(entry),
      ]
    case 'TaskFailed':
      return [
        lease,
        error(entry.error),
        flag('free', entry.free),
        ...aftermath(entry, entry, names),
      ]
    case 'LeaseReleased':
      return [lease, ...aftermath(entry, entry, names)]
    case 'LeaseExpired':
      return [lease, ...aftermath(entry, entry, names), `diagnostic='${entry.diagnostic}'`]
    case 'LeaseRevoked':
      return [
        lease,
        entry.extension === null ? '' : `extension=${entry.extension}`,
        flag('presence', entry.presence),
        ...aftermath(entry, entry, names),
        ...onRecord(entry),
      ]
    case 'ReportRefused':
      return [lease, `report=${entry.report}`]
    case 'TaskStopped':
      return [`reason=${entry.reason}`]
    case 'TaskRetried':
      return [
        `attempt=${entry.attempt}`,
        `budget=${entry.budget}`,
        entry.input === null ? '' : `input=${entry.input}`,
        ...onRecord(entry),
      ]
    case 'TaskRescheduled':
      return [
        `attempt=${entry.attempt}`,
        time('due', entry.dueAt),
        entry.startBy === null ? '' : time('start-by', entry.startBy),
        `priority=${entry.priority}`,
        `queue=${entry.toQueue}`,
        ...onRecord(entry),
      ]
    case 'TaskForced':
      return [
        `attempt=${entry.attempt}`,
        `to=${entry.to}`,
        entry.output === null ? '' : `output=${entry.output}`,
        ...onRecord(entry),
      ]
  }
}

type WaitingEntry = EntryOf<
  'WaitEnded' | 'ExecutionSuspended' | 'ExecutionContinued' | 'MessageSent' | 'MessageKept'
>

function waitingFields(entry: WaitingEntry): string[] {
  switch (entry.type) {
    case 'WaitEnded':
      return [
        `lease=${entry.lease}`,
        pendingWait(entry.wait),
        entry.message === null ? 'by=time' : `by=${entry.message}`,
        entry.answer === null ? '' : `answer=${entry.answer}`,
        unfit(entry.unfit),
      ]
    case 'ExecutionSuspended':
      return [
        `lease=${entry.lease}`,
        `needs=${entry.needs}`,
        ...entry.waits.map(pendingWait),
        unfit(entry.unfit),
        due(entry.dueAt),
        `budget=${entry.budget}`,
      ]
    case 'ExecutionContinued':
      return [`lease=${entry.lease}`, `input=${entry.input}`, `budget=${entry.budget}`]
    case 'MessageSent':
      return [
        `id=${entry.id}`,
        `name=${entry.name}`,
        `value=${entry.value}`,
        entry.wait === null ? 'kept' : `ends=${entry.wait}`,
        due(entry.dueAt),
        ...onRecord(entry),
      ]
    case 'MessageKept': {
      const { stage, segment, id, name, value } = entry.message
      return [`for=${stage}/${segment}`, `id=${id}`, `name=${name}`, `value=${value}`]
    }
  }
}

function pendingWait({ name, message, until, callee }: PendingWait): string {
  const what = callee !== null ? `:@${callee.type}` : message === null ? '' : `:${message}`
  return `wait=${name}${what}${until === null ? '' : `:${readable(until)}`}`
}

function unfit(ids: readonly string[]): string {
  return ids.length === 0 ? '' : `unfit=${ids.join(',')}`
}

function due(at: number): string {
  return at === NEVER_DUE ? 'due=never' : time('due', at)
}

function submitted(spec: JobSpec): string[] {
  const { parent, schedule, stages } = spec
  return [
    stages === null ? '' : `stages=${stages.map((stage) => stage.name).join(',')}`,
    spec.input === '{}' ? '' : `input=${spec.input}`,
    spec.key === null ? '' : `key=${spec.key}`,
    flag('unique', spec.unique),
    flag('held', spec.held),
    spec.startWithinMs === null ? '' : time('start-within', spec.startWithinMs),
    spec.deadlineMs === null ? '' : time('deadline', spec.deadlineMs),
    spec.submittedBy === null ? '' : `submitted-by=${spec.submittedBy}`,
    spec.steps.length === 0 ? '' : `steps=${spec.steps.map(({ name }) => name).join(',')}`,
    parent === null ? '' : `parent=${parent.job}`,
    schedule === null ? '' : `schedule=${schedule.id}@${readable(schedule.tick)}`,
  ]
}

function aftermath(
  { next, dueAt, retries, settled }: Aftermath,
  at: { job: string; stage: number; segment: number },
  names: Names,
): string[] {
  return [
    `next=${next}`,
    next === 'WAITING' ? time('due', dueAt) : '',
    `retries=${retries}`,
    ...settled.map((one) => `settled=${names.effect(at, one.effect)}:${one.to}:${one.retries}`),
  ]
}

/** What a `show` line prints: the records of a task that no state tells. */
export function describeTask(task: Task): string {
  return [
    task.state,
    `attempt=${task.attempt}`,
    `retries=${task.retries}/${task.budget}`,
    `steps=${task.steps.map((step) => step.name).join(',') || 'none'}`,
    `input=${task.input ?? 'as submitted'}`,
    `output=${task.output ?? 'none'}`,
  ].join(' ')
}

function error({ type, message }: Failure): string {
  return `error=${type}:'${message}'`
}

function onRecord({ by, reason }: { by: string; reason: string }): string[] {
  return [`by=${by}`, `reason='${reason}'`]
}

function time(name: string, ms: number): string {
  return `${name}=${readable(ms)}`
}

function flag(name: string, set: boolean): string {
  return set ? name : ''
}
