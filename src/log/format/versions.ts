/**
 * Entries of older versions: a log that was written years ago is read as if it were new.
 *
 * When the bytes of an entry type change, the reader that it had moves here, together with a
 * small upcaster that makes the next version of what it reads. Version 1 of an entry whose
 * current version is 3 is read by its own reader, then goes through two upcasters.
 */
import type { EffectPromise, Entry, EntryType, JobSpec } from '../../kernel/index.ts'
import { PawlError } from '../../kernel/index.ts'
import type { ByteReader } from './bytes.ts'
import { ENTRY_CODES, entryType, readEntry } from './entry-codec.ts'
import type { Interning } from './interning.ts'
import { BOUNDS_WITHOUT_AGEING, readBounds, readJobSubmitted } from './job-entries.ts'
import {
  MASKS_WITHOUT_ASKED,
  MASKS_WITHOUT_RETENTION,
  MASKS_WITHOUT_VERSION,
} from './spec-codec.ts'
import { readExecutionCommitted } from './task-entries.ts'

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

/** Types that are not named here are in their first version. */
export const HISTORY: History = {
  JobSubmitted: [
    {
      name: 'job-submitted-says-the-version-of-its-definition',
      read: (reader, interning) => ({
        ...readJobSubmitted(reader, interning, MASKS_WITHOUT_VERSION),
      }),
      upcast: (entry) => ({ ...entry, spec: firstVersion(entry['spec'] as JobSpec) }),
    },
    {
      name: 'job-submitted-says-how-long-it-is-kept',
      read: (reader, interning) => ({
        ...readJobSubmitted(reader, interning, MASKS_WITHOUT_RETENTION),
      }),
      upcast: (entry) => ({ ...entry, spec: keptAsOthers(entry['spec'] as JobSpec) }),
    },
    {
      name: 'job-submitted-says-who-had-it-run-again',
      read: (reader, interning) => ({
        ...readJobSubmitted(reader, interning, MASKS_WITHOUT_ASKED),
      }),
      upcast: (entry) => ({ ...entry, spec: nobodyAsked(entry['spec'] as JobSpec) }),
    },
  ],
  JobReleased: [
    {
      name: 'job-released-says-who-and-why',
      read: (reader) => ({ type: 'JobReleased', ...readStamp(reader), job: reader.text() }),
      upcast: nobodySaid,
    },
  ],
  QueueConfigured: [
    {
      name: 'queue-configured-says-how-its-tasks-age',
      read: (reader, interning) => readConfigured(reader, interning, BOUNDS_WITHOUT_AGEING),
      upcast: (entry) => ({ ...entry, ageingMs: null }),
    },
    {
      name: 'queue-configured-says-who-and-why',
      read: (reader, interning) => readConfigured(reader, interning),
      upcast: nobodySaid,
    },
  ],
  ScheduleSet: [
    {
      name: 'schedule-set-says-who-and-why',
      read: (reader, interning) => ({
        type: 'ScheduleSet',
        ...readStamp(reader),
        schedule: interning.read(reader),
        definition: reader.text(),
      }),
      upcast: nobodySaid,
    },
  ],
  ScheduleRemoved: [
    {
      name: 'schedule-removed-says-who-and-why',
      read: (reader, interning) => ({
        type: 'ScheduleRemoved',
        ...readStamp(reader),
        schedule: interning.read(reader),
      }),
      upcast: nobodySaid,
    },
  ],
  ExecutionCommitted: [
    {
      name: 'execution-committed-says-the-version-of-its-children',
      read: (reader, interning) => ({
        ...readExecutionCommitted(reader, interning, MASKS_WITHOUT_VERSION),
      }),
      upcast: (entry) => ({
        ...entry,
        effects: withChildren(entry['effects'] as EffectPromise[], firstVersion),
      }),
    },
    {
      name: 'execution-committed-says-how-long-its-children-are-kept',
      read: (reader, interning) => ({
        ...readExecutionCommitted(reader, interning, MASKS_WITHOUT_RETENTION),
      }),
      upcast: (entry) => ({
        ...entry,
        effects: withChildren(entry['effects'] as EffectPromise[], keptAsOthers),
      }),
    },
    {
      name: 'execution-committed-says-who-had-its-children-run-again',
      read: (reader, interning) => ({
        ...readExecutionCommitted(reader, interning, MASKS_WITHOUT_ASKED),
      }),
      upcast: (entry) => ({
        ...entry,
        effects: withChildren(entry['effects'] as EffectPromise[], nobodyAsked),
      }),
    },
  ],
}

/** What was submitted before definitions had versions is of the first one. */
function firstVersion(spec: Omit<JobSpec, 'version'>): JobSpec {
  return { ...spec, version: 1 }
}

/** What was submitted before it could say how long it is kept is kept as long as others are. */
function keptAsOthers(spec: Omit<JobSpec, 'retainMs'>): JobSpec {
  return { ...spec, retainMs: null }
}

/** What was run again before it could say so does not say by whom. */
function nobodyAsked(spec: Omit<JobSpec, 'asked'>): JobSpec {
  return { ...spec, asked: null }
}

/** Nobody can be called '' since there is a place for it: it stands for one who was not asked. */
function nobodySaid(entry: OlderEntry): OlderEntry {
  return { ...entry, by: '', reason: '' }
}

function readStamp(reader: ByteReader): { at: number; version: number } {
  return { at: reader.time(), version: reader.count() }
}

function readConfigured(reader: ByteReader, interning: Interning, known?: number): OlderEntry {
  const queue = { ...readStamp(reader), queue: interning.read(reader) }
  return { type: 'QueueConfigured', ...queue, ...readBounds(reader, known) }
}

function withChildren(
  promises: readonly EffectPromise[],
  change: (spec: JobSpec) => JobSpec,
): EffectPromise[] {
  return promises.map((promise) => {
    return promise.child === null ? promise : { ...promise, child: change(promise.child) }
  })
}

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
