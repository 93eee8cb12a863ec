/**
 * SQLite files for tests, in a folder that is removed when the tests of a file are over: see
 * `after-each-file.ts`.
 */
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

let folder: Promise<string> | null = null

/** A path at which there is nothing yet. */
export async function freshFile(): Promise<string> {
  folder ??= mkdtemp(join(tmpdir(), 'pawl-sqlite-'))
  return join(await folder, `${randomUUID()}.db`)
}

/** The next file of tests in this process begins with another one. */
export async function removeFiles(): Promise<void> {
  const made = await folder
  folder = null
  if (made !== null) await rm(made, { recursive: true, force: true })
}
