/**
 * A backup: the log of a directory, and the artifacts that its jobs refer to.
 *
 * Files are copied, never linked: a copy that shares its bytes with what it is a copy of is lost
 * with it.
 */
import { join } from 'node:path'
import type { ArtifactPlace } from '../../definition/index.ts'
import { folderPlace, rootOf } from '../../worker/index.ts'
import { copyArtifacts } from './artifact-copies.ts'
import type { ArtifactSweep } from './artifact-sweep.ts'

export interface BackupOptions {
  /**
   * Whether files that handlers wrote are copied, to the folder `artifacts` of the copy. Default:
   * yes if they are in a folder of this machine, no if they are in a place of your own.
   */
  readonly artifacts?: boolean | undefined
}

export interface Backup {
  /** Of the log and its checkpoints. */
  readonly files: number
  /** Everything before this position is in it. */
  readonly position: number
  /** Files that handlers wrote, and those that say whose they are. */
  readonly artifacts: number
}

/** `also` is called once the position is fixed, and the copy opens only AFTER it. */
export type BackUpStore = (
  to: string,
  also?: () => Promise<void>,
) => Promise<Omit<Backup, 'artifacts'>>

export interface BackupParts {
  readonly backup: BackUpStore
  readonly place: ArtifactPlace
  /** The id of the store: others may have files in the same place. */
  readonly store: string | null
  readonly sweep: ArtifactSweep
}

export async function backUp(
  { backup, place, store, sweep }: BackupParts,
  to: string,
  options: BackupOptions,
): Promise<Backup> {
  const isWanted = options.artifacts ?? rootOf(place) !== null
  if (!isWanted) return { ...(await backup(to)), artifacts: 0 }
  let artifacts = 0
  const also = async (): Promise<void> => {
    artifacts = await copyArtifacts(place, folderPlace(join(to, 'artifacts')), store)
  }
  // A job may be forgotten while its files are copied: until the end they stay.
  const done = await sweep.held(() => backup(to, also))
  return { ...done, artifacts }
}
