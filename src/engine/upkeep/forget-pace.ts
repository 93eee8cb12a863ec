/**
 * How fast upkeep forgets jobs beside other work.
 *
 * - alone: nothing was asked of the engine since the last batch, and there was no news. It does not rest.
 * - beside others: after each batch it rests four times as long as the batch took, so that forgetting takes a
 *   fifth of the time. It rests no longer than until as many jobs have ended here as it forgot: it keeps up.
 */
import type { Command } from '../../kernel/index.ts'

const REST_FACTOR = 4

/** A job may be over after them. */
const ENDING: ReadonlySet<Command['type']> = new Set<Command['type']>([
  'CommitExecution',
  'FailTask',
  'FinishEffect',
  'CancelJob',
  'ForceTask',
])

export class ForgetPace {
  #isAlone = true
  #restUntil = -Infinity
  /** Jobs that must end before the rest does, if that is sooner. */
  #endsLeft = 0

  /** Commands that were answered, whatever sent them. */
  noteCommands(commands: readonly Command[]): void {
    for (const { type } of commands) {
      if (type === 'ForgetJob') continue
      this.#isAlone = false
      if (ENDING.has(type)) this.#endsLeft -= 1
    }
  }

  /** Other processes did something. */
  noteNews(): void {
    this.#isAlone = false
  }

  /** 0: the next batch may begin. */
  restMs(now: number): number {
    if (this.#isAlone || this.#endsLeft <= 0) return 0
    return Math.max(0, this.#restUntil - now)
  }

  forgot(jobs: number, tookMs: number, now: number): void {
    this.#isAlone = true
    this.#endsLeft = jobs
    this.#restUntil = now + REST_FACTOR * tookMs
  }
}
