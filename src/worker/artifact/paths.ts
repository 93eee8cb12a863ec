/**
 * Where the artifacts of a task stand: a path that follows from job, stage, version and segment,
 * and from the attempt.
 *
 * The attempt is part of it because an attempt that lost its lease may still write. It must not
 * touch what the next one has committed.
 */
import { createHash } from 'node:crypto'
import type { ArtifactPlace } from '../../definition/index.ts'
import { InvalidDefinition } from '../../definition/index.ts'

/**
 * An id may be used again once its job is forgotten: the time of the submit tells them apart. And
 * two stores may share a place: what the one does not know is not for it to remove.
 */
export interface JobOnFile {
  /** Null: one that is lost with its process. */
  readonly store: string | null
  readonly job: string
  readonly submittedAt: number
}

export interface TaskOnFile extends JobOnFile {
  /** Null: a plain job. */
  readonly stage: string | null
  /** Of the stage, or of the plain job. */
  readonly version: number
  readonly segment: number
  readonly attempt: number
}

/** In every folder of a job: which one it is. No other name there is like it, in any case. */
export const MARKER = 'owner.json'

const SAFE = /^[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9_-])?$/
const HEAD_CHARS = 40
const HASH_CHARS = 16

/** Folders of folders: one with a million entries is slow on many systems. */
export function folderOf({ store, job, submittedAt }: JobOnFile): string {
  const hash = hashOf(`${store ?? ''} ${submittedAt} ${job}`, 2 * HASH_CHARS)
  return `${hash.slice(0, 2)}/${headOf(job)}~${hash}`
}

/** What one version of a stage writes for one segment. */
export function versionFolderOf(task: TaskOnFile): string {
  const { stage, version, segment } = task
  const name = stage === null ? 'job' : `stage-${safe(stage)}`
  return `${folderOf(task)}/${name}/v${version}/${segment}`
}

export function taskFolderOf(task: TaskOnFile): string {
  return `${versionFolderOf(task)}/${task.attempt}`
}

const ARTIFACT = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,126}[A-Za-z0-9_-])?$/
/** Windows takes them for devices, whatever comes after the dot. */
const DEVICE = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i

export function assertArtifactName(name: unknown): void {
  if (typeof name === 'string' && ARTIFACT.test(name) && !DEVICE.test(name)) return
  throw new InvalidDefinition(
    `An artifact needs a name of at most 128 letters, digits, dots, dashes and underscores that begins with a letter or a digit, does not end with a dot, and is no device of Windows, such as 'report.pdf', not ${JSON.stringify(name)}.`,
  )
}

/** A name that any system takes as a file, and that no other text has. */
function safe(text: string): string {
  return SAFE.test(text) ? text : `${headOf(text)}~${hashOf(text, HASH_CHARS)}`
}

/** For people who look into the folder. */
function headOf(text: string): string {
  const plain = text.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')
  return plain.replace(/^-+/, '').slice(0, HEAD_CHARS)
}

function hashOf(text: string, chars: number): string {
  return createHash('sha256').update(text).digest('hex').slice(0, chars)
}

/** Folders of jobs stand in these; other folders are not of this engine. */
export const SHARD = /^[0-9a-f]{2}$/

/** The job that a folder was made for; null: that cannot be said, so it is to be left alone. */
export async function ownerOf(place: ArtifactPlace, folder: string): Promise<JobOnFile | null> {
  const path = `${folder}/${MARKER}`
  if ((await place.size(path)) === null) return null
  const parts: Uint8Array[] = []
  for await (const part of place.read(path)) parts.push(part)
  const owner = parseOwner(Buffer.concat(parts).toString())
  // The text was damaged, or the folder is a copy of another one.
  return owner !== null && folderOf(owner) === folder ? owner : null
}

function parseOwner(text: string): JobOnFile | null {
  try {
    const { store = null, job, submittedAt } = JSON.parse(text) as Partial<JobOnFile>
    if (typeof job === 'string' && typeof submittedAt === 'number') {
      return { store, job, submittedAt }
    }
  } catch {
    // Not ours.
  }
  return null
}
