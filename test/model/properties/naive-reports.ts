/**
 * What workers report, in the naive model: a repeat of what was accepted is committed, a report
 * without authority is cancelled, and what makes no sense is rejected.
 */
import type { CommandOf, Report } from '../../../src/kernel/index.ts'
import { childId } from '../../../src/kernel/index.ts'
import { isValidPromise } from './naive-form.ts'
import type { Histories } from './naive-history.ts'
import { findTask, jobInput } from './naive-history.ts'
import { keyHolder } from './naive-jobs.ts'
import type { Opinion } from './naive-opinion.ts'
import { accepted, known, lost, refused, unless } from './naive-opinion.ts'
import { answerWait } from './naive-messages.ts'
import { sameText } from './naive-text.ts'
import type { EffectReading, LeaseReading, TaskReading } from './naive-task.ts'
import { readTask } from './naive-task.ts'

export function answerReport(histories: Histories, command: Report, now: number): Opinion {
  const job = histories.jobs.get(command.job)
  const history = job === undefined ? undefined : findTask(job, command.stage, command.segment)
  if (job === undefined || history === undefined) return refused('UnknownJob', 'UnknownTask')
  const task = readTask(job, history)
  const lease = task.leases[command.lease - 1]
  if (lease === undefined) return refused('UnknownLease')
  if (lease.forgotten) return lost()
  if (lease.worker !== command.worker) return refused('NotLeaseHolder')

  const repeat = repeatOf(task, lease, command)
  if (repeat !== null) return repeat
  // Whoever started an effect may say for ever that it is finished.
  if (command.type === 'FinishEffect') return answerFinish(histories, task, lease, command, now)
  if (lease.endedBy !== null || now >= lease.expiresAt) return lost()
  return answerCurrent(histories, task, lease, command, now)
}

/** The answer to a report that was accepted before. */
function repeatOf(task: TaskReading, lease: LeaseReading, command: Report): Opinion | null {
  switch (command.type) {
    case 'StartExecution':
      return lease.started || lease.resumes ? known() : null
    case 'ExtendLease':
      return command.extension <= lease.extension ? known() : null
    case 'RecordStep': {
      const step = task.steps.get(command.name)
      return step !== undefined && step.lease <= command.lease ? known(step.value) : null
    }
    case 'AppendStream': {
      const stream = task.streams.get(command.name) ?? []
      const { offset, values } = command
      const there = stream.slice(offset, offset + values.length)
      // Which lease each value is of: what a later one appended makes it another stream's end.
      const isOwn = [...there, stream.at(-1)].every((one) => one === command.lease)
      return isOwn && there.length === values.length ? known(offset + values.length) : null
    }
    case 'CommitExecution':
      return task.committedBy === command.lease ? known() : null
    case 'EndWait': {
      const wait = task.waits.get(command.wait.name)
      if (wait?.end == null) return null
      const isHeard = wait.pending ? wait.lease < command.lease : wait.lease <= command.lease
      return isHeard ? known(wait.end.value) : null
    }
    case 'SuspendExecution':
    case 'ContinueExecution':
    case 'ReleaseLease':
    case 'FailTask':
      return lease.endedBy === command.type ? known() : null
    case 'StartEffect':
      // A permission to act: it is repeated only while it is still good for something.
      return null
    case 'FailEffect':
      return task.effects[command.effect]?.failedBy.includes(command.lease) ? known() : null
    case 'FinishEffect':
      return task.effects[command.effect]?.finishedBy.includes(command.lease) ? known() : null
  }
}

function answerFinish(
  histories: Histories,
  task: TaskReading,
  lease: LeaseReading,
  command: CommandOf<'FinishEffect'>,
  now: number,
): Opinion {
  const effect = task.effects[command.effect]
  const started = effect?.starts.includes(command.lease) === true
  // Who neither holds the task nor started the effect has nothing to say about it.
  if (!started && (lease.endedBy !== null || now >= lease.expiresAt)) return lost()
  if (task.committedBy === null) return refused('NotCommitted')
  if (effect === undefined) return refused('UnknownEffect')
  if (!started) return refused('EffectNotStarted')
  if (effect.state === 'FINISHED') return known()
  return unless({ ChildNotSubmitted: !childSubmitted(histories, effect, command, now) })
}

function childSubmitted(
  histories: Histories,
  effect: EffectReading,
  command: CommandOf<'FinishEffect'>,
  now: number,
): boolean {
  const { child } = effect.promise
  if (child === null) return true
  const { job, stage, segment, effect: index } = command
  const promised = { ...child, parent: { job, stage, segment, effect: index } }
  // A job that only has the id is not the child, and neither is one of an earlier life of the
  // parent, unless it is what was promised.
  const submitted = histories.jobs.get(childId(command))
  if (submitted != null && submitted.erased !== null) return true
  if (sameText(promised, submitted?.spec)) return true
  // With a known key it is the job that has the key, if that would answer for it.
  const holder = keyHolder(histories, child.type, child.key, now)
  return (
    holder !== undefined &&
    (child.unique || holder.erased !== null || child.input === jobInput(holder))
  )
}

function answerCurrent(
  histories: Histories,
  task: TaskReading,
  lease: LeaseReading,
  command: Exclude<Report, { type: 'FinishEffect' }>,
  now: number,
): Opinion {
  const committed = task.committedBy !== null
  switch (command.type) {
    case 'StartExecution':
    case 'ExtendLease':
    case 'ReleaseLease':
      return accepted()
    case 'RecordStep':
      return unless(
        {
          AlreadyCommitted: committed,
          NewerDefinition: command.definitionVersion < task.definitionVersion,
          NameTaken: task.waits.has(command.name),
        },
        accepted(command.value),
      )
    case 'AppendStream': {
      const length = task.streams.get(command.name)?.length ?? 0
      const next = command.offset + command.values.length
      return unless({ WrongOffset: command.offset !== length }, accepted(next))
    }
    case 'EndWait':
    case 'SuspendExecution':
      return answerWait(histories, task, lease, command, now)
    case 'ContinueExecution':
      return unless({
        AlreadyCommitted: committed,
        NewerDefinition: command.definitionVersion < task.definitionVersion,
      })
    case 'FailTask':
      return unless({ AlreadyCommitted: committed })
    case 'CommitExecution':
      return unless({
        AlreadyCommitted: committed,
        InvalidSpec: !command.effects.every(isValidPromise),
        InvalidShape: !command.effects.every(isValidPromise),
        LimitExceeded: carriedBy(command) > 8_388_608,
      })
    case 'StartEffect':
    case 'FailEffect':
      return answerEffect(task, command)
  }
}

/** How many characters a commit carries; what is no promise carries none. */
function carriedBy({ output, effects }: CommandOf<'CommitExecution'>): number {
  const texts = effects
    .filter(isValidPromise)
    .flatMap(({ input, child }) => [input, child?.input ?? ''])
  return [output, ...texts].join('').length
}

function answerEffect(
  task: TaskReading,
  command: CommandOf<'StartEffect' | 'FailEffect'>,
): Opinion {
  if (task.committedBy === null) return refused('NotCommitted')
  const effect = task.effects[command.effect]
  if (effect === undefined) return refused('UnknownEffect')
  if (command.type === 'FailEffect') {
    return unless({
      EffectNotStarted: effect.state !== 'STARTED',
      EffectFinished: effect.state === 'FINISHED',
    })
  }
  if (effect.state === 'STARTED' && effect.starts.includes(command.lease)) return known()
  const unknown = effect.state === 'UNKNOWN' && !effect.promise.idempotent
  return unless({
    EffectFinished: effect.state === 'FINISHED',
    EffectNotStartable: effect.state !== 'PROMISED' && effect.state !== 'UNKNOWN',
    OutcomeUnknown: unknown || effect.state === 'HELD',
  })
}
