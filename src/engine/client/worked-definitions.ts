/** What `work` is given: what is no definition with a handler is refused, with what to write. */
import type { AnyJob } from '../../definition/index.ts'
import {
  InvalidDefinition,
  isDefinition,
  isPipeline,
  noHandler,
  shown,
} from '../../definition/index.ts'

export function assertDefinitions(given: unknown): void {
  if (!Array.isArray(given)) {
    const write = isDefinition(given) ? ` Write work([${(given as AnyJob).name}]).` : ''
    throw new InvalidDefinition(`work() takes a list of definitions, not ${shown(given)}.${write}`)
  }
  const wrong = given.findIndex((one) => !isDefinition(one))
  if (wrong !== -1) {
    throw new InvalidDefinition(
      `work() takes definitions, such as job('…', { run }) gives, and number ${wrong + 1} is ${shown(given[wrong])}.`,
    )
  }
  for (const one of given as AnyJob[]) {
    if (!isPipeline(one) && one.isContract) throw new InvalidDefinition(noHandler(one.name))
  }
}
