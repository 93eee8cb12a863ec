/**
 * Jobs that were recorded by a newer definition than a worker has, as happens while a new version
 * is rolled out: an older worker cannot read their inputs, and must not use up their retries.
 *
 * The worker releases their leases, which costs no retry, so that a newer worker claims them. It
 * does not claim from that channel for a while, or it would get them again at once.
 */
import type { Runnable, StageDefinition } from '../../definition/index.ts'
import type { ChannelName, Claimed } from '../../store/index.ts'
import type { NewerJob } from '../worker-events.ts'

/** How long a worker does not claim from a channel of which it released a job. */
export const PAUSED_MS = 5_000

/** Null: the worker knows its version. */
export function newerJob(definition: Runnable, claimed: Claimed, worker: string): NewerJob | null {
  const { job, type, stageName: stage, queue, stageVersion } = claimed
  // What a newer definition recorded, an older one would take for something else.
  const version = Math.max(claimed.version, claimed.recordedBy)
  const of = { job, type, stage, queue, worker }
  if (version > definition.version) return { ...of, version, known: definition.version }
  if (stageVersion === null) return null
  const { version: known } = (definition as StageDefinition).spec
  return stageVersion > known ? { ...of, version: stageVersion, known } : null
}

/** Channels that a worker does not claim from, and until when. */
export class PausedChannels {
  readonly #until = new Map<string, number>()

  /** Whether it was not paused already. */
  pause({ queue, type, stage }: ChannelName, until: number): boolean {
    const name = JSON.stringify([queue, type, stage])
    const isNew = !this.#until.has(name)
    this.#until.set(name, until)
    return isNew
  }

  /** All but those that are paused now. */
  without(channels: readonly ChannelName[], now: number): readonly ChannelName[] {
    if (this.#until.size === 0) return channels
    for (const [name, until] of this.#until) if (until <= now) this.#until.delete(name)
    return channels.filter(({ queue, type, stage }) => {
      return !this.#until.has(JSON.stringify([queue, type, stage]))
    })
  }

  /** How long until the next pause ends; Infinity: no channel is paused. */
  leftMs(now: number): number {
    return Math.min(...[...this.#until.values()].map((until) => Math.max(0, until - now)), Infinity)
  }
}
