/** What operators and the orchestrator do to a task, in the naive model. */
import type { CommandOf } from '../../../src/kernel/index.ts'
import { isEnding, isOpen, readStages, stageState } from './naive-derive.ts'
import type { Histories, JobHistory, TaskHistory } from './naive-history.ts'
import { findTask } from './naive-history.ts'
import type { Opinion } from './naive-opinion.ts'
import { known, refused, unless } from './naive-opinion.ts'
import type { TaskReading } from './naive-task.ts'
import { interventionName, readTask } from './naive-task.ts'

export function answerOperator(
  histories: Histories,
  command: CommandOf<'StopTask' | 'RetryTask' | 'ForceTask' | 'RescheduleTask' | 'ResolveEffect'>,
  now: number,
): Opinion {
  const job = histories.jobs.get(command.job)
  const history = job === undefined ? undefined : findTask(job, command.stage, command.segment)
  if (job === undefined || history === undefined) return refused('UnknownJob', 'UnknownTask')
  const task = readTask(job, history)
  switch (command.type) {
    case 'StopTask':
      return answerStop(job, history, task, now)
    case 'ResolveEffect':
      return answerResolve(task, command)
    case 'RescheduleTask':
      return answerReschedule(job, task, command, now)
    case 'RetryTask':
    case 'ForceTask':
      return answerIntervention(job, history, task, command, now)
  }
}

function answerStop(
  job: JobHistory,
  history: TaskHistory,
  task: TaskReading,
  now: number,
): Opinion {
  // There is nothing to tell one end from another by: it is stopped already.
  if (task.state === 'FAILED') return known()
  const stages = readStages(job)
  const swept = isEnding(job, stages) && stages[history.stage]?.onFailure === false
  const tooLate = task.leases.length === 0 && now >= task.startBy
  return unless({
    TaskNotOpen: !isOpen(task),
    TaskFinal: task.state === 'COMPLETED',
    AlreadyCommitted: task.committedBy !== null,
    NothingToStop: !swept && !tooLate,
  })
}

function answerIntervention(
  job: JobHistory,
  history: TaskHistory,
  task: TaskReading,
  command: CommandOf<'RetryTask' | 'ForceTask'>,
  now: number,
): Opinion {
  const asked = interventionName(command)
  if (task.interventions.includes(asked)) return known()
  const stages = readStages(job)
  const stage = stages[history.stage]
  const again = command.type === 'RetryTask' || command.to === 'WAITING'
  return unless({
    JobEnding: isEnding(job, stages),
    StageDone: stage !== undefined && stageState(stage) === 'DONE',
    TaskFinal: task.state === 'COMPLETED' || task.state === 'FAILED',
    AlreadyCommitted: task.committedBy !== null,
    TaskSuspended: again && task.suspended !== null,
    TaskNotDead: command.type === 'RetryTask' && task.state !== 'DEAD',
    TaskChanged: command.attempt !== task.leases.length,
    StartByPassed: again && task.leases.length === 0 && now >= task.startBy,
  })
}

function answerReschedule(
  job: JobHistory,
  task: TaskReading,
  command: CommandOf<'RescheduleTask'>,
  now: number,
): Opinion {
  const wanted = { dueAt: command.dueAt, priority: command.priority, queue: command.toQueue }
  const differs = (Object.keys(wanted) as (keyof typeof wanted)[]).some(
    (field) => wanted[field] !== null && wanted[field] !== task[field],
  )
  const isSeen = command.attempt === task.leases.length
  const suspended = task.suspended !== null
  if (task.state === 'WAITING' && !suspended && isSeen && !differs) return known()
  return unless({
    TaskChanged: !isSeen,
    TaskNotWaiting: task.state !== 'WAITING',
    TaskSuspended: suspended,
    AlreadyCommitted: task.committedBy !== null,
    JobEnding: isEnding(job, readStages(job)),
    StartByPassed: task.leases.length === 0 && now >= task.startBy,
  })
}

function answerResolve(task: TaskReading, command: CommandOf<'ResolveEffect'>): Opinion {
  if (task.committedBy === null) return refused('NotCommitted')
  const effect = task.effects[command.effect]
  if (effect === undefined) return refused('UnknownEffect')
  const done = effect.resolved.some(
    (one) => one.start === command.start && one.outcome === command.outcome,
  )
  if (done) return known()
  return unless({
    EffectFinished: effect.state === 'FINISHED',
    EffectNotUnresolved:
      (effect.state !== 'HELD' && effect.state !== 'UNKNOWN') ||
      effect.starts.at(-1) !== command.start,
  })
}
