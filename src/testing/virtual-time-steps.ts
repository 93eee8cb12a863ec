/**
 * How a test goes on: it lets everything settle that can settle at this moment, then moves the
 * clock to the next moment at which something may happen, and so on.
 *
 * Between two such moments nothing is looked at, so a day is as short as a second. It refuses to
 * go on for ever: after too many rounds, or too long a silence of a handler, it says what is
 * still open.
 */
import type { Agenda } from './agenda.ts'
import type { FakeClock } from './clock.ts'
import type { Crew } from './test-workers.ts'
import { NotSettled } from './errors.ts'

interface PaceParts {
  readonly clock: FakeClock
  readonly agenda: Agenda
  readonly crew: Crew
  /** Sends what time asks for. */
  readonly upkeep: () => Promise<number>
  /** When a schedule is due next; Infinity: never. */
  readonly nextScheduled: () => Promise<number>
  /** Throws what went wrong while nobody waited for it. */
  readonly assertWell: () => void
  readonly mostRounds: number
  readonly patienceMs: number
}

/** Turns of the event loop in which nothing happens, until it is quiet. */
const QUIET_TURNS = 3
/** A handler may need some turns of its own, of which nobody is told. */
const QUIET_TURNS_OF_HANDLERS = 8

export class VirtualTimeSteps {
  readonly #parts: PaceParts

  constructor(parts: PaceParts) {
    this.#parts = parts
  }

  /** Everything that becomes due on the way happens at its own time, in order. */
  advanceTo(target: number): Promise<void> {
    const { clock, agenda, crew, nextScheduled } = this.#parts
    return crew.during(async () => {
      for (;;) {
        await this.#settle()
        const next = Math.min(clock.nextAt, await agenda.nextAt(clock.now()), await nextScheduled())
        if (next > target) break
        clock.moveTo(next)
      }
      clock.moveTo(target)
      await this.#settle()
    })
  }

  /**
   * Runs until no handler is in flight, or `isDone` says that it is enough. With
   * `skipsWaiting`, time is moved on as long as that makes something happen; a schedule does not
   * count, or there would be no end to it.
   */
  toRest(isDone: () => boolean, skipsWaiting: boolean): Promise<void> {
    const { clock, agenda, crew, mostRounds } = this.#parts
    return crew.during(async () => {
      for (let round = 0; round < mostRounds; round++) {
        await this.#handled(isDone)
        if (isDone() || !skipsWaiting) return
        const next = await agenda.nextAt(clock.now())
        if (next === Infinity) return
        await this.advanceTo(next)
      }
      throw await this.#tooMuch()
    })
  }

  async #handled(isDone: () => boolean): Promise<void> {
    const { clock, agenda, crew, patienceMs } = this.#parts
    let seen = -1
    let since = 0
    for (;;) {
      await this.#settle()
      if (isDone() || crew.running === 0) return
      if (agenda.position !== seen) {
        seen = agenda.position
        since = clock.realNow()
      }
      if (clock.realNow() - since >= patienceMs) throw this.#silent()
      await clock.nap()
    }
  }

  async #settle(): Promise<void> {
    const { clock, agenda, crew, upkeep, assertWell, mostRounds } = this.#parts
    let rounds = 0
    let quiet = 0
    while (quiet < (crew.running > 0 ? QUIET_TURNS_OF_HANDLERS : QUIET_TURNS)) {
      if (rounds > mostRounds) throw await this.#tooMuch()
      const before = agenda.position
      const hasFired = clock.fireOne()
      if (quiet === 0) {
        crew.fill()
        crew.wake()
        await upkeep()
      }
      await clock.turn()
      assertWell()
      const isQuiet = !hasFired && !clock.isStirring && agenda.position === before
      if (!isQuiet) rounds += 1
      quiet = isQuiet ? quiet + 1 : 0
    }
    await agenda.refresh()
  }

  #silent(): NotSettled {
    const { agenda, crew, patienceMs } = this.#parts
    return new NotSettled(
      `A handler or an effect did not settle within ${patienceMs} ms of real time. If it waits for time to pass, use advance() instead.`,
      agenda.open.filter(({ worker }) => crew.isAlive(worker)),
    )
  }

  async #tooMuch(): Promise<NotSettled> {
    const { agenda, mostRounds } = this.#parts
    await agenda.refresh()
    return new NotSettled(`There is no end to it after ${mostRounds} rounds.`, agenda.open)
  }
}
