/** Queues and schedules in the naive model. Asking for what is already so is no change. */
import type { QueueCommand, ScheduleCommand } from '../../../src/kernel/index.ts'
import { tickId } from '../../../src/kernel/index.ts'
import type { Histories } from './naive-history.ts'
import { readQueue, readSchedule } from './naive-history.ts'
import type { Opinion } from './naive-opinion.ts'
import { accepted, known, unless } from './naive-opinion.ts'

export function answerQueueCommand(histories: Histories, command: QueueCommand): Opinion {
  const queue = readQueue(histories, command.queue)
  switch (command.type) {
    case 'PauseQueue':
      return queue.paused ? known() : accepted()
    case 'ResumeQueue':
      return queue.paused ? accepted() : known()
    case 'ConfigureQueue': {
      const same =
        queue.concurrency === command.concurrency &&
        queue.ageingMs === command.ageingMs &&
        queue.rate?.count === command.rate?.count &&
        queue.rate?.perMs === command.rate?.perMs
      return same ? known() : accepted()
    }
  }
}

export function answerScheduleCommand(histories: Histories, command: ScheduleCommand): Opinion {
  const schedule = readSchedule(histories, command.schedule)
  switch (command.type) {
    case 'SetSchedule':
      if (schedule.definition === command.definition) return known()
      return unless({
        ScheduleChanged: command.seen !== null && command.seen !== schedule.changes,
      })
    case 'RemoveSchedule':
      return schedule.definition === null ? known() : accepted()
    case 'FireSchedule':
      if (command.tick <= schedule.firedTick) return known()
      return unless({
        UnknownSchedule: !schedule.known,
        TickNotSubmitted:
          !command.skipped && !tickSubmitted(histories, command.schedule, command.tick),
      })
  }
}

/** A job that only happens to have the id is not the one of the tick. */
function tickSubmitted(histories: Histories, schedule: string, tick: number): boolean {
  const origin = histories.jobs.get(tickId(schedule, tick))?.spec.schedule
  return origin?.id === schedule && origin.tick === tick
}
