/**
 * A schedule in the hands of a client: when it is due, how to stop it, and a job of it at once.
 */
import type { Actor } from '../actor.ts'
import type { Handle } from '../client/handle.ts'
import type { RunScheduleOptions } from './run-now.ts'
import type { ScheduleInfo } from './schedule-info.ts'
import type { Schedules } from './schedules.ts'

export class ScheduleHandle {
  readonly id: string
  readonly #schedules: Schedules
  readonly #run: (options: RunScheduleOptions) => Promise<Handle>

  constructor(
    schedules: Schedules,
    id: string,
    run: (options: RunScheduleOptions) => Promise<Handle>,
  ) {
    this.id = id
    this.#schedules = schedules
    this.#run = run
  }

  info(): Promise<ScheduleInfo> {
    return this.#schedules.info(this.id)
  }

  /** The next times after now, at most so many. None of one that is paused. */
  nextTimes(count: number): Promise<Date[]> {
    return this.#schedules.nextTimes(this.id, count)
  }

  /** Submits one job as the schedule would, now and paused or not. It stands for none of its times, which stay as they are. */
  run(options: RunScheduleOptions = {}): Promise<Handle> {
    return this.#run(options)
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
