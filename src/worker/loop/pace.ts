/**
 * How many jobs a worker claims ahead of its free places, by its own pace: what it will begin within
 * a short time. So quick handlers get hundreds with one claim, and what is claimed by one worker
 * does not wait there while another worker has nothing to do.
 *
 * - unknown: nothing was measured yet, and nothing is claimed ahead.
 * - slow: it does not pass through all its places in that time. Nothing is claimed ahead: a claim takes
 *   no noticeable part of the time of such handlers.
 * - quick: it may have two groups in hand, those on their way included; when no more than one is left,
 *   the next one is claimed. Groups grow from small ones, and shrink where the store has, or may grant,
 *   fewer.
 */

/** One group is to begin within this time. */
const AHEAD_MS = 100
/** Whatever the pace is. */
const MOST_AHEAD = 1_000
/** Characters of inputs that may wait in a worker: what is claimed ahead takes memory there. */
export const MOST_WAITING_CHARS = 16 * 1_048_576
/** A shorter time says little. */
const SHORTEST_MEASURED_MS = 5
const FIRST_GROUP = 16

export class Pace {
  #perMs = 0
  #ended = 0
  #since = 0
  /** At most so many are asked for next. */
  #group = FIRST_GROUP
  /** Of the largest input that the last claim got. */
  #chars = 0

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

  /** How many to claim ahead, of a worker that has so many places and so many in hand already. */
  groupSize(inHand: number, places: number): number {
    const inTime = Math.floor(this.#perMs * AHEAD_MS)
    if (inTime < places) return 0
    const inChars = Math.floor(MOST_WAITING_CHARS / (this.#chars || 1))
    const half = Math.ceil(Math.min(2 * inTime, MOST_AHEAD, inChars) / 2)
    return inHand > half ? 0 : Math.min(half, this.#group)
  }

  /** How large the inputs are that a claim got, by the largest. The next ones are taken to be so, too. */
  noteChars(chars: number): void {
    this.#chars = chars
  }

  /** What came of a claim that asked for some ahead. */
  noteGranted(asked: number, granted: number): void {
    if (asked === 0) return
    const most = MOST_AHEAD / 2
    this.#group = granted < asked ? Math.max(1, granted * 2) : Math.min(most, this.#group * 2)
  }
}
