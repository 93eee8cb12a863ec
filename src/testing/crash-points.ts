/**
 * Where workers are to die: what a test asks for, and whether it came to that.
 *
 * A point is used up by being reached. It knows nothing of workers: the store that they use
 * asks here, and lets them die.
 */
import type { AnyEffect, AnyJob } from '../definition/index.ts'
import { InvalidDefinition } from '../definition/index.ts'

export type CrashMoment = 'before-commit' | 'after-commit' | 'during-effect'

export interface CrashOptions {
  /** How many executions in a row lose their worker. Default 1. */
  readonly times?: number
}

/** A crash that was asked for and has not happened yet. */
export interface CrashPoint {
  readonly moment: CrashMoment
  /** The name of the job, or of the effect. */
  readonly name: string
  readonly left: number
}

export class CrashPoints {
  readonly #points: { moment: CrashMoment; name: string; left: number }[] = []

  /** The handler ran, and its worker is gone BEFORE the commit is durable: it will run again. */
  beforeCommit(job: AnyJob | string, options: CrashOptions = {}): void {
    this.#add('before-commit', typeof job === 'string' ? job : job.name, options)
  }

  /** The worker is gone right AFTER the commit became durable: another one finishes its effects. */
  afterCommit(job: AnyJob | string, options: CrashOptions = {}): void {
    this.#add('after-commit', typeof job === 'string' ? job : job.name, options)
  }

  /** The effect was started and has run, and its worker is gone BEFORE it said so. */
  duringEffect(effect: AnyEffect | string, options: CrashOptions = {}): void {
    this.#add('during-effect', typeof effect === 'string' ? effect : effect.effectName, options)
  }

  /** Those that no execution has come to. A test that expects none notices a name misspelt. */
  get unreached(): readonly CrashPoint[] {
    return this.#points
      .filter(({ left }) => left > 0)
      .map(({ moment, name, left }) => ({ moment, name, left }))
  }

  /** Whether a worker dies here and now. It uses up the point. */
  take(moment: CrashMoment, name: string | undefined): boolean {
    const point = this.#points.find(
      (one) => one.moment === moment && one.name === name && one.left > 0,
    )
    if (point === undefined) return false
    point.left -= 1
    return true
  }

  #add(moment: CrashMoment, name: string, { times = 1 }: CrashOptions): void {
    if (!Number.isSafeInteger(times) || times < 1) {
      throw new InvalidDefinition(`\`times\` of a crash must be a whole number from 1.`, { times })
    }
    this.#points.push({ moment, name, left: times })
  }
}
