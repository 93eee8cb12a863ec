/**
 * No place for artifacts: an engine that several machines may share has no folder that all of them
 * see, so it keeps none until it is told where.
 */
import type { ArtifactPlace } from '../../definition/index.ts'
import { InvalidDefinition } from '../../definition/index.ts'
import { ArtifactMissing } from './errors.ts'

/** Writing is refused with this. */
export function noPlace(why: string): ArtifactPlace {
  return {
    write: () => Promise.reject(new InvalidDefinition(why)),
    size: () => Promise.resolve(null),
    // oxlint-disable-next-line require-yield
    async *read(path) {
      throw new ArtifactMissing(path)
    },
    remove: () => Promise.resolve(),
    list: () => Promise.resolve([]),
  }
}
