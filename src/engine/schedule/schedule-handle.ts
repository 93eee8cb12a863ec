/**
 * A schedule in the hands of a client: when it is due, and how to stop it.
 */
import type { Actor } from '../actor.ts'
import type { ScheduleInfo } from './schedule-info.ts'
import type { Schedules } from './schedules.ts'

export class ScheduleHandle {
  readonly id: string
  readonly #schedules: Schedules

  constructor(schedules: Schedules, id: string) {
    this.id = id
    this.#schedules = schedules
  }

  info(): Promise<ScheduleInfo> {
    return this.#schedules.info(this.id)
  }

  /** The next times after now, at most so many. None of one that is paused. */
  nextTimes(count: number): Promise<Date[]> {
    return this.#schedules.nextTimes(this.id, count)
  }

  /** Nothing is due until it is resumed. Its jobs that are there already go on. */
  pause(actor: Actor = {}): Promise<void> {
    return this.#schedules.pause(this.id, actor)
  }

  /** Due again from now on. What passed meanwhile is not made up for. */
  resume(actor: Actor = {}): Promise<void> {
    return this.#schedules.resume(this.id, actor)
  }

  /** Its jobs that are there already go on. Removing it twice is fine. */
  remove(actor: Actor = {}): Promise<void> {
    return this.#schedules.remove(this.id, actor)
  }
}
