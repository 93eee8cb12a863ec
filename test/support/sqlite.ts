/**
 * SQLite files for tests, in a folder that is removed when the tests of a file are over.
 */
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'

let folder: Promise<string> | null = null

/** A path at which there is nothing yet. */
export async function freshFile(): Promise<string> {
  folder ??= mkdtemp(join(tmpdir(), 'pawl-sqlite-'))
  return join(await folder, `${randomUUID()}.db`)
}

afterAll(async () => {
  if (folder !== null) await rm(await folder, { recursive: true, force: true })
})
