/**
 * The databases that the proofs go through: each gives a place for a store that any number of
 * openers, and of processes, share.
 */
import { freshSchema } from '../../support/postgres.ts'
import { freshFile } from '../../support/sqlite.ts'
import type { Address } from './addresses.ts'

export type DatabaseName = 'SQLite' | 'PostgreSQL'

export const DATABASE_NAMES: readonly DatabaseName[] = ['SQLite', 'PostgreSQL']

export async function freshAddress(name: DatabaseName): Promise<Address> {
  if (name === 'SQLite') return { kind: 'SQLite', path: await freshFile() }
  return { kind: 'PostgreSQL', ...(await freshSchema()) }
}
