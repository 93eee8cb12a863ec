/**
 * The definitions that a child knows: what the modules of the user export.
 *
 * A module is asked for its exports, and for what is in arrays that it exports. A job is found
 * by its name; one that is not there, or there twice, is refused with the names of the modules.
 */
import type { AnyJob, Runnable } from '../../definition/index.ts'
import { InvalidDefinition, runnableFor } from '../../definition/index.ts'

export class ExportedDefinitions {
  readonly #modules: readonly string[]
  readonly #found = new Map<string, Set<AnyJob>>()

  private constructor(modules: readonly string[], exported: readonly unknown[]) {
    this.#modules = modules
    for (const value of exported) {
      if (!isDefinition(value)) continue
      const known = this.#found.get(value.name) ?? new Set()
      this.#found.set(value.name, known.add(value))
    }
  }

  static async from(modules: readonly string[]): Promise<ExportedDefinitions> {
    const exported: unknown[] = []
    for (const href of modules) {
      const namespace = (await imported(href)) as Readonly<Record<string, unknown>>
      exported.push(...Object.values(namespace).flat())
    }
    return new ExportedDefinitions(modules, exported)
  }

  /** `stage`: null for a plain job. */
  get(name: string, stage: string | null = null): Runnable {
    const [first, second] = this.#found.get(name) ?? []
    const modules = this.#modules
    if (first === undefined) {
      throw new InvalidDefinition(
        `Job '${name}' is to run in a child, and none of the worker's \`modules\` exports it: ${modules.join(', ')}. Export it, or add the module that does.`,
        { type: name, modules },
      )
    }
    if (second !== undefined) {
      throw new InvalidDefinition(
        `The worker's \`modules\` export two different jobs named '${name}': ${modules.join(', ')}. Rename one.`,
        { type: name, modules },
      )
    }
    const runnable = runnableFor(first, stage)
    if (runnable !== null) return runnable
    throw new InvalidDefinition(
      `${stage === null ? `A job '${name}'` : `Stage '${stage}' of pipeline '${name}'`} is to run in a child, and what the worker's \`modules\` export under this name has none: ${modules.join(', ')}. The worker and its modules must have the same definitions.`,
      { type: name, stage, modules },
    )
  }
}

async function imported(href: string): Promise<unknown> {
  try {
    return await import(href)
  } catch (error) {
    const what = error instanceof Error ? error.message : String(error)
    const refused = new InvalidDefinition(
      `A child of the worker could not import ${href}, one of its \`modules\`: ${what}`,
      { module: href },
    )
    throw Object.assign(refused, { cause: error })
  }
}

/** By its looks: the module may have another copy of this package. A contract has nothing to run. */
function isDefinition(value: unknown): value is AnyJob {
  if (typeof value !== 'object' || value === null) return false
  const { name, run, effects, stages, isContract } = value as Readonly<Record<string, unknown>>
  const isPlain = typeof run === 'function' && effects instanceof Map && isContract !== true
  return typeof name === 'string' && (isPlain || Array.isArray(stages))
}
