/**
 * Copies the artifacts of one store from place to place.
 *
 * What a job refers to is in its place BEFORE that is on record. So whoever copies a log up to a
 * position first, and then all files of its store, has every file that the log refers to, and
 * perhaps some more. That holds as long as nobody removes any meanwhile: see `ArtifactSweep.held`.
 */
import type { ArtifactPlace } from '../../definition/index.ts'
import { ownerOf, SHARD } from './artifact-owner.ts'

/** Names of one list. */
const PAGE = 1_000
/** Jobs whose files are copied at the same time: each file waits for a disk. */
const AT_ONCE = 8

/** How many files there were. Those of other stores in the same place stay where they are. */
export async function copyArtifacts(
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
