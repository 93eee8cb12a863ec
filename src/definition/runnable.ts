/**
 * What a worker runs: a job, or one stage of a pipeline. And what every definition says about
 * its inputs: their schema, and how they grew from version to version.
 */
import type { BatchHandler, RunContext } from './job-definition.ts'
import type { AnyEffect } from './effect-definition.ts'
import { InvalidDefinition } from './errors.ts'
import type { StalledRule } from './stalled.ts'
import type { MaybeSchema } from './standard-schema.ts'

export type Upgrades = Readonly<Record<number, (input: unknown) => unknown>>

/** What is said about the input of a job or a pipeline. */
export interface InputTerms {
  /** Of the job, or of the pipeline. */
  readonly name: string
  readonly version: number
  readonly input: MaybeSchema
  readonly upgrades: Upgrades
}

export interface Runnable extends InputTerms {
  /** The name of the stage; null: a plain job. */
  readonly stage: string | null
  readonly output: MaybeSchema
  /** Not stored with the job: it is the worker who looks. */
  readonly stalled: StalledRule
  readonly effects: ReadonlyMap<string, AnyEffect>
  readonly classify: ((error: unknown) => 'terminal' | 'retryable' | undefined) | null
  readonly run: (context: RunContext<never, readonly AnyEffect[]>) => unknown
  /** Runs many at once: see `batchJob`. */
  readonly batch: BatchHandler | null
}

/** For messages. */
export function nameOf({ name, stage }: Pick<Runnable, 'name' | 'stage'>): string {
  return stage === null ? `job '${name}'` : `stage '${stage}' of pipeline '${name}'`
}

/** Every step from an old version to the current one must be there. */
export function checkedVersion(
  what: string,
  version: number | undefined = 1,
  upgrades: Upgrades = {},
): number {
  if (!Number.isSafeInteger(version) || version < 1) {
    throw new InvalidDefinition(`The version of ${what} must be a whole number from 1.`)
  }
  for (let from = 1; from < version; from++) {
    if (typeof upgrades[from] === 'function') continue
    throw new InvalidDefinition(
      `${what.charAt(0).toUpperCase()}${what.slice(1)} is of version ${version} and has no \`upgrades[${from}]\`: inputs of version ${from} may still wait. If nothing changed, give (input) => input.`,
    )
  }
  return version
}

/** By their names, which are their own. */
export function effectsByName(
  what: string,
  effects: readonly AnyEffect[] = [],
): ReadonlyMap<string, AnyEffect> {
  const byName = new Map<string, AnyEffect>()
  for (const one of effects) {
    if (byName.has(one.effectName)) {
      throw new InvalidDefinition(
        `${what.charAt(0).toUpperCase()}${what.slice(1)} has two effects named '${one.effectName}': rename one.`,
      )
    }
    byName.set(one.effectName, one)
  }
  return byName
}
