/**
 * A share: what one group has ready in one channel, at one priority. Shares take turns.
 *
 * Idle: nothing is ready. Waiting: it stands behind every share that waited before, and goes
 * back there each time that it is served. So a group is served once in a round, however much it
 * has waiting; and since it joins at the end, a group that was idle has saved up nothing, and
 * groups that come and go pass nobody. Jobs without a group are one group.
 *
 * In a queue with ageing a share is of all priorities.
 */

import type { Bay } from './bay.ts'

/** How many turns were given so far; shared by all shares of an index. */
export interface Turns {
  given: number
}

export class Share {
  readonly priority: number
  /** The smallest is next. Meaningless while it is idle. */
  turn = 0
  /** Tasks that are ready, whether a limit stops them or not; the one on offer included. */
  ready = 0
  /** Its lanes that stand behind no gate. */
  free: Bay | null = null
  readonly #turns: Turns

  constructor(priority: number, turns: Turns) {
    this.priority = priority
    this.#turns = turns
  }

  came(): void {
    this.ready += 1
    if (this.ready === 1) this.#toTheEnd()
  }

  left(): void {
    this.ready -= 1
  }

  served(): void {
    if (this.ready > 0) this.#toTheEnd()
  }

  /** Tasks of a share that is no more. Of two, the turn that comes first counts. */
  takeIn(ready: number, turn: number): void {
    this.turn = this.ready === 0 ? turn : Math.min(this.turn, turn)
    this.ready += ready
  }

  #toTheEnd(): void {
    this.#turns.given += 1
    this.turn = this.#turns.given
  }
}
