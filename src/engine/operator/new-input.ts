/**
 * An input that an operator gives a job in place of the one it was submitted with.
 *
 * It is of the version that the job was submitted under, as the one it replaces: that version is
 * on record, and a worker brings the input from there to the newest one. So it goes through the
 * same upgrades and the same schema here, BEFORE it goes on record.
 */
import type { AnyJob } from '../../definition/index.ts'
import { fromJson, inputFor, toJson } from '../../definition/index.ts'
import type { Payload } from '../../kernel/index.ts'

/** The definition of a job type, if this process knows it. */
export type DefinitionOf = (type: string) => AnyJob | null

export async function newInput(
  definition: AnyJob | null,
  version: number,
  given: unknown,
  job: string,
): Promise<Payload> {
  const text = toJson(given, `The new input of job ${job}`, 'input')
  if (definition !== null) await inputFor(definition, version, fromJson(text))
  return text
}
