/** What operators and the orchestrator do to a task, in the naive model. */
import type { CommandOf } from '../../../src/kernel/index.ts'
import { isEnding, isOpen, readStages, stageState } from './naive-derive.ts'
import type { Histories, JobHistory, TaskHistory } from './naive-history.ts'
import { findTask } from './naive-history.ts'
import type { Opinion } from './naive-opinion.ts'
import { known, refused, unless } from './naive-opinion.ts'
import type { TaskReading } from './naive-task.ts'
import { interventionName, readTask, startBy } from './naive-task.ts'

export function answerOperator(
  histories: Histories,
  command: CommandOf<'StopTask' | 'RetryTask' | 'ForceTask' | 'ResolveEffect'>,
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
  const tooLate = task.leases.length === 0 && now >= startBy(job, history)
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
    TaskNotDead: command.type === 'RetryTask' && task.state !== 'DEAD',
    TaskChanged: command.attempt !== task.leases.length,
    StartByPassed: again && task.leases.length === 0 && now >= startBy(job, history),
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
