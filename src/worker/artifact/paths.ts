/**
 * Where the artifacts of a task stand: a path that follows from job, stage, version and segment,
 * and from the attempt.
 *
 * The attempt is part of it because an attempt that lost its lease may still write. It must not
 * touch what the next one has committed.
 */
import { createHash } from 'node:crypto'
import { InvalidDefinition } from '../../definition/index.ts'

/** An id may be used again once its job is forgotten: the time of the submit tells them apart. */
export interface JobOnFile {
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

/** In every folder of a job: which one it is. */
export const MARKER = 'JOB'

const SAFE = /^[a-z0-9][a-z0-9._-]{0,63}$/
const HEAD_CHARS = 40
const HASH_CHARS = 16

/** Folders of folders: one with a million entries is slow on many systems. */
export function folderOf({ job, submittedAt }: JobOnFile): string {
  const hash = hashOf(`${submittedAt} ${job}`, 2 * HASH_CHARS)
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

const ARTIFACT = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/

export function assertArtifactName(name: unknown): void {
  if (typeof name === 'string' && ARTIFACT.test(name)) return
  throw new InvalidDefinition(
    `An artifact needs a name of at most 128 letters, digits, dots, dashes and underscores that begins with a letter or a digit, such as 'report.pdf', not ${JSON.stringify(name)}.`,
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
