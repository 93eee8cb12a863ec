/**
 * Moves virtual time: lets everything run that can run at this moment, then moves the clock to the
 * next moment at which something may happen, and so on.
 *
 * Nothing happens between two such moments, so a day is as short as a second. It refuses to go on
 * for ever: after too many rounds, or too long a silence of a handler, it says which jobs are open.
 */
import type { VirtualClock } from './clock.ts'
import type { PendingWork } from './pending-work.ts'
import { NotSettled } from './pending-work.ts'
import type { TestWorkers } from './test-workers.ts'

interface VirtualTimeStepsParts {
  readonly clock: VirtualClock
  readonly pendingWork: PendingWork
  readonly workers: TestWorkers
  /** Sends the commands that are due. */
  readonly upkeep: () => Promise<number>
  /** When a schedule is due next; Infinity: never. */
  readonly nextScheduled: () => Promise<number>
  /** Throws an error of the engine that no caller waited for. */
  readonly throwErrors: () => void
  readonly mostRounds: number
  readonly patienceMs: number
}

/** Turns of the event loop in which nothing happens, until it is quiet. */
const QUIET_TURNS = 3
/** A handler may need some turns of its own, which cannot be seen. */
const QUIET_TURNS_OF_HANDLERS = 8

export class VirtualTimeSteps {
  readonly #parts: VirtualTimeStepsParts

  constructor(parts: VirtualTimeStepsParts) {
    this.#parts = parts
  }

  /** Everything that becomes due on the way happens at its own time, in order. */
  advanceTo(target: number): Promise<void> {
    const { clock, pendingWork, workers, nextScheduled } = this.#parts
    return workers.whileRunning(async () => {
      for (;;) {
        await this.#runThisMoment()
        const next = Math.min(
          clock.nextAt,
          await pendingWork.nextAt(clock.now()),
          await nextScheduled(),
        )
        if (next > target) break
        clock.moveTo(next)
      }
      clock.moveTo(target)
      await this.#runThisMoment()
    })
  }

  /**
   * Runs until no handler is in flight, or `isDone` is true. With `skipsWaiting`, it moves time as
   * long as that makes something happen; a schedule does not count, or it would never end.
   */
  runUntilIdle(isDone: () => boolean, skipsWaiting: boolean): Promise<void> {
    const { clock, pendingWork, workers, mostRounds } = this.#parts
    return workers.whileRunning(async () => {
      for (let round = 0; round < mostRounds; round++) {
        await this.#runHandlers(isDone)
        if (isDone() || !skipsWaiting) return
        const next = await pendingWork.nextAt(clock.now())
        if (next === Infinity) return
        await this.advanceTo(next)
      }
      throw await this.#tooManyRounds()
    })
  }

  async #runHandlers(isDone: () => boolean): Promise<void> {
    const { clock, pendingWork, workers, patienceMs } = this.#parts
    let seen = -1
    let since = 0
    for (;;) {
      await this.#runThisMoment()
      if (isDone() || workers.running === 0) return
      if (pendingWork.position !== seen) {
        seen = pendingWork.position
        since = clock.realNow()
      }
      if (clock.realNow() - since >= patienceMs) throw this.#handlerIsSilent()
      await clock.pause()
    }
  }

  async #runThisMoment(): Promise<void> {
    const { clock, pendingWork, workers, upkeep, throwErrors, mostRounds } = this.#parts
    let rounds = 0
    let quiet = 0
    while (quiet < (workers.running > 0 ? QUIET_TURNS_OF_HANDLERS : QUIET_TURNS)) {
      if (rounds > mostRounds) throw await this.#tooManyRounds()
      const before = pendingWork.position
      const hasFired = clock.fireOne()
      if (quiet === 0) {
        workers.startMissing()
        workers.wake()
        await upkeep()
      }
      await clock.turn()
      throwErrors()
      const isQuiet = !hasFired && !clock.hasImmediates && pendingWork.position === before
      if (!isQuiet) rounds += 1
      quiet = isQuiet ? quiet + 1 : 0
    }
    await pendingWork.refresh()
  }

  #handlerIsSilent(): NotSettled {
    const { pendingWork, workers, patienceMs } = this.#parts
    return new NotSettled(
      `A handler or an effect did not settle within ${patienceMs} ms of real time. If it waits for time to pass, use advance() instead.`,
      pendingWork.open.filter(({ worker }) => workers.isAlive(worker)),
    )
  }

  async #tooManyRounds(): Promise<NotSettled> {
    const { pendingWork, mostRounds } = this.#parts
    await pendingWork.refresh()
    return new NotSettled(`There is no end to it after ${mostRounds} rounds.`, pendingWork.open)
  }
}
