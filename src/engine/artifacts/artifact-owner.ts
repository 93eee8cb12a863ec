/**
 * Whose the folders are that stand in a place of artifacts.
 */
import type { ArtifactPlace } from '../../definition/index.ts'
import type { JobOnFile } from '../../worker/index.ts'
import { folderOf, MARKER } from '../../worker/index.ts'

/** Folders of jobs stand in these. Others are not ours. */
export const SHARD = /^[0-9a-f]{2}$/

/** The job that a folder was made for; null: that cannot be said, so it is to be left alone. */
export async function ownerOf(place: ArtifactPlace, folder: string): Promise<JobOnFile | null> {
  const path = `${folder}/${MARKER}`
  if ((await place.size(path)) === null) return null
  const parts: Uint8Array[] = []
  for await (const part of place.read(path)) parts.push(part)
  const owner = parsed(Buffer.concat(parts).toString())
  // The text was damaged, or the folder is a copy of another one.
  return owner !== null && folderOf(owner) === folder ? owner : null
}

function parsed(text: string): JobOnFile | null {
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
