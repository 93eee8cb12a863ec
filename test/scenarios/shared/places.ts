/**
 * Databases that several engines share, and engines on them.
 */
import { onTestFinished } from 'vitest'
import type { OpenOptions, Pawl } from '../../../src/index.ts'
import { open } from '../../../src/index.ts'
import { freshSchema } from '../../support/postgres.ts'
import { freshFile } from '../../support/sqlite.ts'

export interface SharedPlace {
  readonly location: string
  readonly options: OpenOptions
}

/** Each time another one, with nothing in it. */
export const SHARED: Readonly<Record<string, () => Promise<SharedPlace>>> = {
  SQLite: async () => ({ location: `sqlite:${await freshFile()}`, options: {} }),
  PostgreSQL: async () => {
    const { url, schema } = await freshSchema()
    return { location: url, options: { schema } }
  },
}

/** What nobody should be told of. */
export interface Told {
  readonly errors: Error[]
}

/** Closed when the test is over. */
export async function engineAt(
  { location, options }: SharedPlace,
  more: OpenOptions = {},
): Promise<Pawl & Told> {
  const errors: Error[] = []
  const pawl = await open(location, {
    onError: (error) => errors.push(error),
    ...options,
    ...more,
  })
  onTestFinished(() => pawl.close())
  return Object.assign(pawl, { errors })
}

/** Two engines on one place: as two processes have them. */
export async function twoEngines(name: string): Promise<[Pawl & Told, Pawl & Told]> {
  const place = await (SHARED[name] as () => Promise<SharedPlace>)()
  return [await engineAt(place), await engineAt(place)]
}
