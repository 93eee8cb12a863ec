/**
 * A backup: the log of a directory, and the artifacts that its jobs refer to.
 *
 * Files are copied, never linked: a link shares its bytes with the original, and is lost with it.
 */
import { join } from 'node:path'
import type { ArtifactPlace } from '../../definition/index.ts'
import { InvalidDefinition } from '../../definition/index.ts'
import { ownerOf, SHARD } from '../../worker/artifact/paths.ts'
import { folderPlace, rootOf } from '../../worker/index.ts'
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

interface BackupParts {
  /** Null: an engine in memory. */
  readonly backup: BackUpStore | null
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
  if (backup === null) {
    throw new InvalidDefinition('An engine in memory has nothing to back up: open a directory.')
  }
  const isWanted = options.artifacts ?? rootOf(place) !== null
  if (!isWanted) return { ...(await backup(to)), artifacts: 0 }
  let artifacts = 0
  const also = async (): Promise<void> => {
    artifacts = await copyArtifacts(place, folderPlace(join(to, 'artifacts')), store)
  }
  // A job may be forgotten while its files are copied: until the end they stay.
  const done = await sweep.whilePaused(() => backup(to, also))
  return { ...done, artifacts }
}

/** Names of one list. */
const PAGE = 1_000
/** Jobs whose files are copied at the same time: each file waits for a disk. */
const AT_ONCE = 8

/**
 * Copies the artifacts of one store from place to place. How many files there were; those of other
 * stores in the same place stay where they are.
 *
 * What a job refers to is in its place BEFORE that is on record. So a copy of the log up to a
 * position, and then of all files of its store, has every file that the log refers to, and perhaps
 * some more, as long as no file is removed meanwhile: see `ArtifactSweep.whilePaused`.
 */
async function copyArtifacts(
  from: ArtifactPlace,
  to: ArtifactPlace,
  store: string | null,
): Promise<number> {
  let files = 0
  const copyJob = async (folder: string): Promise<void> => {
    const owner = await ownerOf(from, folder)
    if (owner === null || owner.store !== store) return
    for await (const path of filesIn(from, folder)) {
      await to.write(path, from.read(path))
      files += 1
    }
  }
  for await (const shard of namesIn(from, '')) {
    if (!SHARD.test(shard)) continue
    const folders: string[] = []
    for await (const name of namesIn(from, shard)) {
      folders.push(`${shard}/${name}`)
      if (folders.length === AT_ONCE) await Promise.all(folders.splice(0).map(copyJob))
    }
    await Promise.all(folders.map(copyJob))
  }
  return files
}

async function* namesIn(place: ArtifactPlace, folder: string): AsyncGenerator<string, void, void> {
  for (let after = ''; ;) {
    const names = await place.list(folder, after, PAGE)
    yield* names
    if (names.length < PAGE) return
    after = names.at(-1) as string
  }
}

async function* filesIn(place: ArtifactPlace, folder: string): AsyncGenerator<string, void, void> {
  for await (const name of namesIn(place, folder)) {
    const path = `${folder}/${name}`
    if ((await place.size(path)) === null) yield* filesIn(place, path)
    else yield path
  }
}
