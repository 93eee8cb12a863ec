/**
 * Jobs that were recorded by a newer definition than a worker has, as happens while a new version
 * is rolled out: an older worker cannot read their inputs, and must not use up their retries.
 *
 * They are given back, which costs nothing, and go to whoever knows them. So that the same worker
 * does not take them again at once, it does not ask for jobs of that kind for a while.
 */
import type { Runnable, StageDefinition } from '../../definition/index.ts'
import type { ChannelName, Claimed } from '../../store/index.ts'
import type { NewerJob } from '../worker-events.ts'

/** For so long a worker asks for no more jobs of a kind of which it gave one back. */
export const REST_MS = 5_000

/** Null: the worker knows its version. */
export function newerJob(definition: Runnable, claimed: Claimed, worker: string): NewerJob | null {
  const { job, type, stageName: stage, queue, version, stageVersion } = claimed
  const told = { job, type, stage, queue, worker }
  if (version > definition.version) return { ...told, version, known: definition.version }
  if (stageVersion === null) return null
  const { version: known } = (definition as StageDefinition).spec
  return stageVersion > known ? { ...told, version: stageVersion, known } : null
}

/** Which kinds of jobs are not asked for, and until when. */
export class Resting {
  readonly #until = new Map<string, number>()

  /** Whether it did not rest already. */
  rest({ queue, type, stage }: ChannelName, until: number): boolean {
    const name = JSON.stringify([queue, type, stage])
    const isNew = !this.#until.has(name)
    this.#until.set(name, until)
    return isNew
  }

  /** Those that are asked for now. */
  awake(channels: readonly ChannelName[], now: number): readonly ChannelName[] {
    if (this.#until.size === 0) return channels
    for (const [name, until] of this.#until) if (until <= now) this.#until.delete(name)
    return channels.filter(({ queue, type, stage }) => {
      return !this.#until.has(JSON.stringify([queue, type, stage]))
    })
  }

  /** How long until one of them is asked for again; Infinity: none rests. */
  leftMs(now: number): number {
    return Math.min(...[...this.#until.values()].map((until) => Math.max(0, until - now)), Infinity)
  }
}
