/**
 * Every start of every effect in a test, read from the log.
 */
import type { AnyEffect } from '../definition/index.ts'
import { fromJson } from '../definition/index.ts'
import type { EffectPromise, Entry } from '../kernel/index.ts'
import { effectKey } from '../kernel/index.ts'

/** One start of an effect: it ran, unless its worker died in that very moment. */
export interface EffectStart {
  readonly job: string
  /** The same for every start of one promise. */
  readonly key: string
  readonly input: unknown
  /** The lease it ran under: its `fence`. */
  readonly lease: number
  readonly at: Date
}

export class EffectCalls {
  readonly #promises = new Map<string, EffectPromise>()
  readonly #starts = new Map<string, EffectStart[]>()

  /** Oldest first. What was reconciled as 'happened' was not started again. */
  calls(effect: AnyEffect | string): readonly EffectStart[] {
    const name = typeof effect === 'string' ? effect : effect.effectName
    return [...(this.#starts.get(name) ?? [])]
  }

  note(entry: Entry): void {
    if (entry.type === 'ExecutionCommitted') {
      const { job, stage, segment, effects } = entry
      effects.forEach((promise, i) => {
        this.#promises.set(effectKey(job, stage, segment, i), promise)
      })
    }
    if (entry.type === 'EffectStarted') this.#started(entry)
  }

  #started({ job, stage, segment, effect, lease, at }: Entry & { type: 'EffectStarted' }): void {
    const key = effectKey(job, stage, segment, effect)
    const promise = this.#promises.get(key)
    // A child is submitted, not run.
    if (promise === undefined || promise.child !== null) return
    const starts = this.#starts.get(promise.name) ?? []
    this.#starts.set(promise.name, starts)
    starts.push({ job, key, input: fromJson(promise.input), lease, at: new Date(at) })
  }
}
