/**
 * Which checkpoints there are, which files belong to one, and which are nobody's.
 */
import type { Manifest } from './manifest.ts'
import { manifestName, manifestPosition, readManifest } from './manifest.ts'
import type { Disk } from '../disk/disk.ts'

const PART = /^(?:live|finishedFile)-[0-9a-f]{16}$|^checkpoint-[0-9a-f]{16}\.new$/

/** Newest first; those that do not check are left out, and counted. */
export async function listCheckpoints(
  disk: Disk,
  folder: string,
): Promise<{ manifests: Manifest[]; bad: number[] }> {
  const manifests: Manifest[] = []
  const bad: number[] = []
  for (const name of (await disk.list(folder)).toReversed()) {
    const position = manifestPosition(name)
    if (position === null) continue
    const manifest = await readManifest(disk, folder, position)
    if (manifest === null) bad.push(position)
    else manifests.push(manifest)
  }
  return { manifests, bad }
}

export function filesOf(manifest: Manifest): string[] {
  return [
    manifestName(manifest.position),
    manifest.live.name,
    ...manifest.finishedFiles.map(({ name }) => name),
  ]
}

/** Removes every checkpoint, and every part of one, that is not among those to keep. */
export async function removeOtherCheckpoints(
  disk: Disk,
  folder: string,
  keep: readonly Manifest[],
): Promise<void> {
  const kept = new Set(keep.flatMap(filesOf))
  const others = (await disk.list(folder)).filter(
    (name) => !kept.has(name) && (PART.test(name) || manifestPosition(name) !== null),
  )
  // Manifests first: one must never name a file that is gone.
  const manifests = others.filter((name) => manifestPosition(name) !== null)
  for (const name of manifests) await disk.remove(`${folder}/${name}`)
  if (manifests.length > 0) await disk.syncFolder(folder)
  for (const name of others) if (PART.test(name)) await disk.remove(`${folder}/${name}`)
}
