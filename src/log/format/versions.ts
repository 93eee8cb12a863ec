/**
 * Entries of older versions: a log that was written years ago is read as if it were new.
 *
 * When the bytes of an entry type change, the reader that it had moves here, together with a
 * small upcaster that makes the next version of what it reads. Version 1 of an entry whose
 * current version is 3 is read by its own reader, then goes through two upcasters.
 *
 * Until 0.1.0 is released every type is in version 1, whose bytes change in place.
 */
import type { Entry, EntryType } from '../../kernel/index.ts'
import { PawlError } from '../../kernel/index.ts'
import type { ByteReader } from './bytes.ts'
import { ENTRY_CODES, entryType, readEntry } from './entry-codec.ts'
import type { Interning } from './interning.ts'

/** An entry as some older version had it. */
export type OlderEntry = Readonly<Record<string, unknown>>

/** What is kept of a version that is no longer written. */
export interface OlderVersion {
  /** Says what changed: `lease-granted-gets-a-request`. */
  readonly name: string
  /** Reads the body as that version wrote it. */
  readonly read: (reader: ByteReader, interning: Interning) => OlderEntry
  /** Makes the next version of it. */
  readonly upcast: (entry: OlderEntry) => OlderEntry
}

/** The older versions of each type that has any, the first one first. */
export type History = { readonly [T in EntryType]?: readonly OlderVersion[] }

/** A type that is not named here is in version 1. */
export const HISTORY: History = {}

/** The version in which each type is written. */
export const CURRENT_VERSION: Readonly<Record<EntryType, number>> = currentVersions(HISTORY)

export function currentVersions(history: History): Record<EntryType, number> {
  const versions: Record<EntryType, number> = { ...ENTRY_CODES }
  for (const type of Object.keys(versions) as EntryType[]) {
    versions[type] = (history[type]?.length ?? 0) + 1
  }
  return versions
}

/** The log holds an entry in a version that this Pawl does not know. */
export class NewerEntry extends PawlError {
  constructor(type: string, found: number, known: number) {
    super(
      'NewerEntry',
      'rejected',
      `The log holds ${type} in version ${found}, and this version of Pawl knows versions up to ${known}: a newer Pawl wrote it, so open the log with that one.`,
      { type, found, known },
    )
  }
}

/** Reads the body of an entry of any version up to the current one, as the current one. */
export function upcast(
  reader: ByteReader,
  code: number,
  version: number,
  interning: Interning,
  history: History = HISTORY,
): Entry {
  const type = entryType(code)
  // The record checks, so its writer knew what this version does not.
  if (type === undefined) throw new NewerEntry(`an entry of type number ${code}`, version, 0)
  const older = history[type]
  const current = older === undefined ? 1 : older.length + 1
  if (version === current) return readEntry(reader, code, interning)
  if (version > current) throw new NewerEntry(type, version, current)
  const first = older?.[version - 1]
  if (older === undefined || first === undefined) {
    throw reader.malformed(`${type} never had a version ${version}`)
  }
  let entry = first.read(reader, interning)
  for (let i = version - 1; i < older.length; i++) entry = (older[i] as OlderVersion).upcast(entry)
  return entry as unknown as Entry
}
