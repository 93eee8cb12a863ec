/**
 * A deliberately naive second opinion on every command, written from the design and not from
 * the kernel: it keeps the accepted commands and works everything else out by reading them.
 *
 * It answers with a verdict, the value, and for a rejection every reason that would justify it.
 * It shares types with the kernel, and `childId`, `calleeId` and `tickId`, which are names and no decisions;
 * of a jittered delay, which is a hash, it checks the bounds.
 */
import type { Command, CommandType, JobState } from '../../../src/kernel/index.ts'
import { answerCall, answerIn } from './naive-calls.ts'
import { answerJobCommand, answerSubmit } from './naive-jobs.ts'
import { answerLeaseCommand } from './naive-leases.ts'
import { isFinal, jobState, mayMove, readStages, stageState } from './naive-derive.ts'
import { isKnownCommand, isWellFormed, listLength } from './naive-form.ts'
import type { JobHistory } from './naive-history.ts'
import { erasedHistory, facts, findTask, Histories, isPlain, jobInput } from './naive-history.ts'
import { answerMessage } from './naive-messages.ts'
import { answerOperator } from './naive-operator.ts'
import type { Opinion } from './naive-opinion.ts'
import { refused } from './naive-opinion.ts'
import { answerQueueCommand, answerScheduleCommand } from './naive-registers.ts'
import { answerReport } from './naive-reports.ts'
import type { TaskReading } from './naive-task.ts'
import { readTask } from './naive-task.ts'

/** What changes the job itself; everything of a plain job does. */
const LOCKS_JOB: ReadonlySet<CommandType> = new Set<CommandType>([
  'ReleaseJob',
  'ReplaceJob',
  'OpenStage',
  'CancelJob',
  'RetryTask',
  'ForceTask',
  'RescheduleTask',
  'ResolveEffect',
  'SendMessage',
])

export class NaiveModel {
  readonly histories = new Histories()

  answer(command: Command, now: number): Opinion {
    const raw = command as unknown as Record<string, unknown> | null
    if (typeof raw !== 'object' || raw === null) return refused('MalformedCommand')
    if (!isKnownCommand(raw['type'])) return refused('UnknownCommand')
    if (!isWellFormed(raw)) return refused('MalformedCommand')
    const opinion = this.#judge(command, now)
    if (!opinion.changes) return opinion
    return this.#remember(command, now) ? opinion : refused('InvalidTransition')
  }

  jobState(id: string, now: number): JobState | undefined {
    const job = this.histories.jobs.get(id)
    return job === undefined ? undefined : jobState(job, now)
  }

  jobInput(id: string): string | undefined {
    const job = this.histories.jobs.get(id)
    return job === undefined ? undefined : jobInput(job)
  }

  stageStates(id: string): readonly string[] {
    const job = this.histories.jobs.get(id)
    return job === undefined || isPlain(job) ? [] : readStages(job).map(stageState)
  }

  /** In order of stage and segment. */
  taskStates(id: string): readonly TaskReading[] {
    const job = this.histories.jobs.get(id)
    return job === undefined ? [] : readStages(job).flatMap((stage) => stage.tasks)
  }

  taskState(id: string, stage: number, segment: number): TaskReading | undefined {
    const job = this.histories.jobs.get(id)
    const task = job === undefined ? undefined : findTask(job, stage, segment)
    return job === undefined || task === undefined ? undefined : readTask(job, task)
  }

  #judge(command: Command, now: number): Opinion {
    switch (command.type) {
      case 'SubmitJob':
        return answerSubmit(this.histories, command, now)
      case 'ReleaseJob':
      case 'ReplaceJob':
      case 'OpenStage':
      case 'CancelJob':
      case 'EraseJob':
      case 'ForgetJob':
        return answerJobCommand(this.histories, command, now)
      case 'ConfigureQueue':
      case 'PauseQueue':
      case 'ResumeQueue':
        return answerQueueCommand(this.histories, command)
      case 'SetSchedule':
      case 'FireSchedule':
      case 'RemoveSchedule':
        return answerScheduleCommand(this.histories, command)
      case 'GrantLease':
      case 'ExpireLease':
      case 'RevokeLease':
        return answerLeaseCommand(this.histories, command, now)
      case 'StopTask':
      case 'RetryTask':
      case 'ForceTask':
      case 'RescheduleTask':
      case 'ResolveEffect':
        return answerOperator(this.histories, command, now)
      case 'SendMessage':
        return answerMessage(this.histories, command, now)
      case 'AnswerCall':
        return answerCall(this.histories, command, now)
      default:
        return answerReport(this.histories, command, now)
    }
  }

  /** False: the job may not move like that, and nothing was remembered. */
  #remember(command: Command, now: number): boolean {
    const { jobs, queues, schedules } = this.histories
    const fact = { at: now, command }
    switch (command.type) {
      case 'SubmitJob':
        jobs.set(command.job, newJob(command.job, command.spec, now))
        return true
      case 'EraseJob':
        jobs.set(command.job, erasedHistory(jobs.get(command.job) as JobHistory, fact))
        return true
      case 'ForgetJob':
        return jobs.delete(command.job)
      case 'ConfigureQueue':
      case 'PauseQueue':
      case 'ResumeQueue':
        queues.set(command.queue, [...(queues.get(command.queue) ?? []), fact])
        return true
      case 'SetSchedule':
      case 'FireSchedule':
      case 'RemoveSchedule':
        schedules.set(command.schedule, [...(schedules.get(command.schedule) ?? []), fact])
        return true
      default:
        return this.#rememberInJob(jobs.get(command.job) as JobHistory, command, now)
    }
  }

  #rememberInJob(
    job: JobHistory,
    command: Exclude<
      Command,
      { type: 'SubmitJob' | 'EraseJob' | 'ForgetJob' } | { queue: string } | { schedule: string }
    >,
    now: number,
  ): boolean {
    const locked = isPlain(job) || LOCKS_JOB.has(command.type)
    const from = locked ? jobState(job, now) : null
    const lists =
      (command.type === 'CancelJob' || command.type === 'ReplaceJob') && isPlain(job)
        ? [job.facts, ...job.tasks.map((task) => task.facts)]
        : [factsOf(job, command)]
    const answer = answerIn(this.histories, command, now)
    for (const list of lists) list.push({ at: now, command, answer })
    if (command.type === 'OpenStage') job.tasks.push(...this.#open(job, command.stage, now))
    job.changes += 1
    if (from === null || (!isFinal(from) && mayMove(job, from, jobState(job, now)))) return true
    for (const list of lists) list.pop()
    job.changes += 1
    if (command.type === 'OpenStage') {
      const before = job.tasks.filter((task) => task.stage !== command.stage)
      job.tasks.splice(0, job.tasks.length, ...before)
    }
    return false
  }

  #open(job: JobHistory, stage: number, now: number): JobHistory['tasks'] {
    const segments = countSegments(job, stage)
    const bornFailed = segments === null
    const sent = facts(job.facts, 'SendMessage').filter(({ command }) => command.stage === stage)
    return Array.from({ length: segments ?? 1 }, (_, segment) => ({
      stage,
      segment,
      openedAt: now,
      bornFailed,
      sentBefore: sent.filter(({ command }) => command.segment === segment),
      facts: [],
    }))
  }
}

function newJob(id: string, spec: JobHistory['spec'], now: number): JobHistory {
  const only = { stage: 0, segment: 0, openedAt: now, bornFailed: false, sentBefore: [], facts: [] }
  const tasks = spec.stages === null ? [only] : []
  return { id, spec, submittedAt: now, facts: [], tasks, erased: null, changes: 0 }
}

function factsOf(job: JobHistory, command: Command): JobHistory['facts'] {
  if (!('segment' in command)) return job.facts
  const { stage, segment } = command
  // Of a stage that is not open there is no task: what is sent to it is kept with the job.
  return findTask(job, stage, segment)?.facts ?? job.facts
}

/** How many tasks a stage has; null when its `each` names no list. */
function countSegments(job: JobHistory, index: number): number | null {
  const stages = job.spec.stages ?? []
  const each = stages[index]?.each
  if (each == null) return 1
  const [source, ...path] = each.split('.')
  let text: string | null = jobInput(job)
  if (source !== 'input') {
    const before = stages.findIndex((stage) => stage.name === source)
    const tasks = job.tasks.filter((task) => task.stage === before)
    if (stages[before]?.each !== null) return tasks.length
    text = tasks.map((task) => readTask(job, task).output)[0] ?? null
  }
  return listLength(text, path)
}
