/**
 * Where the documents lie: on a share that is slow, and does not always answer.
 *
 * Whether it answers is decided outside of the process, or else one that was killed would not
 * know: a document with a marker cannot be read, once, and then the marker is gone.
 */
import { readdir, readFile, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'

export interface Share {
  readonly folder: string
  readonly flaky: string
}

const ANSWER_MS = 100
const PER_BYTE_MS = 0.05

export async function namesOn({ folder }: Share): Promise<string[]> {
  return (await readdir(folder)).toSorted()
}

export async function readFrom(share: Share, name: string, signal: AbortSignal): Promise<Buffer> {
  const file = await readFile(join(share.folder, name))
  await wait(ANSWER_MS + file.length * PER_BYTE_MS, undefined, { signal })
  if (await hadMarker(share, name)) throw new Error(`The share did not answer: '${name}'.`)
  return file
}

async function hadMarker({ flaky }: Share, name: string): Promise<boolean> {
  try {
    await unlink(join(flaky, name))
    return true
  } catch {
    return false
  }
}
