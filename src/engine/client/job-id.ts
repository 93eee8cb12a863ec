/**
 * What names a job, as it is given: an id that is none is told from one that nobody has.
 */
import { InvalidDefinition } from '../../definition/index.ts'

export function assertJobId(id: unknown): void {
  if (typeof id === 'string') return
  throw new InvalidDefinition(
    `The id of a job is a text, not ${String(id)}: give the \`id\` of its handle.`,
  )
}
