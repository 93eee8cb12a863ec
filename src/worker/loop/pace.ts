/**
 * How many jobs a worker claims ahead of its free places, by its own pace: what it will begin within
 * a short time. So quick handlers get hundreds with one claim, and what is claimed by one worker
 * does not wait there while another worker has nothing to do.
 *
 * - unknown: nothing was measured yet, and nothing is claimed ahead.
 * - slow: it does not pass through all its places in that time. Nothing is claimed ahead: a claim takes
 *   no noticeable part of the time of such handlers.
 * - quick: a group is claimed when half of what it may have in hand is left, while it works on that
 *   half. Groups grow from small ones, and shrink where the store has, or may grant, fewer.
 */

/** What is claimed ahead is to begin within this time. */
const AHEAD_MS = 100
/** Whatever the pace is. */
const MOST_AHEAD = 1_000
/** A shorter time says little. */
const SHORTEST_MEASURED_MS = 5
const FIRST_GROUP = 16

export class Pace {
  #perMs = 0
  #ended = 0
  #since = 0
  /** At most so many are asked for next. */
  #group = FIRST_GROUP

  /** A handler ended. Not when it began: how long it takes is not known by then. */
  noteEnded(): void {
    this.#ended += 1
  }

  /** The worker had nothing to do until now: that time says nothing about its pace. */
  restart(now: number): void {
    this.#ended = 0
    this.#since = now
  }

  /** The worker had jobs all the time since the last measurement, or since it was restarted. */
  measure(now: number): void {
    const ms = now - this.#since
    if (ms < SHORTEST_MEASURED_MS) return
    const perMs = this.#ended / ms
    this.#perMs = this.#perMs === 0 ? perMs : (this.#perMs + perMs) / 2
    this.restart(now)
  }

  /** What was claimed ahead did not begin in time: the pace is another one now. */
  forget(now: number): void {
    this.#perMs = 0
    this.#group = FIRST_GROUP
    this.restart(now)
  }

  /** How many to claim ahead, of a worker that has so many places, and where so many wait already. */
  groupSize(waiting: number, places: number): number {
    const inTime = Math.floor(this.#perMs * AHEAD_MS)
    if (inTime < places) return 0
    const most = Math.min(inTime, MOST_AHEAD)
    return waiting > most / 2 ? 0 : Math.min(most - waiting, this.#group)
  }

  /** What came of a claim that asked for some ahead. */
  noteGranted(asked: number, granted: number): void {
    if (asked === 0) return
    this.#group = granted < asked ? Math.max(1, granted * 2) : Math.min(MOST_AHEAD, this.#group * 2)
  }
}
