/**
 * How fast upkeep forgets jobs beside other work.
 *
 * - alone: nothing was asked of the engine since the last batch, and there was no news. It does not rest.
 * - beside others: after each batch it rests four times as long as the batch took, so that forgetting takes a
 *   fifth of the time. It rests no longer than until as many jobs have ended here as it forgot: it keeps up.
 */

/** What went on beside forgetting, counted from the beginning. */
export interface EngineTraffic {
  /** Commands that did not forget a job, and news. */
  others: number
  /** Commands after which a job may be over. */
  ends: number
}

const REST_FACTOR = 4

export class ForgetPace {
  readonly #traffic: Readonly<EngineTraffic>
  /** As it was at the end of the last batch. */
  #before: EngineTraffic = { others: 0, ends: 0 }
  #forgotten = 0
  #restUntil = -Infinity

  constructor(traffic: Readonly<EngineTraffic>) {
    this.#traffic = traffic
  }

  /** 0: the next batch may begin. */
  restMs(now: number): number {
    const { others, ends } = this.#traffic
    if (others === this.#before.others || ends - this.#before.ends >= this.#forgotten) return 0
    return Math.max(0, this.#restUntil - now)
  }

  forgot(jobs: number, tookMs: number, now: number): void {
    this.#before = { ...this.#traffic }
    this.#forgotten = jobs
    this.#restUntil = now + REST_FACTOR * tookMs
  }
}
