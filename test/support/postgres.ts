/**
 * The PostgreSQL that all tests of a run share. The first that asks for it starts it, and the
 * others wait for that; the end of the run ends it. A test that stops its server has one of its
 * own: `PostgresServer.start`.
 */
import { randomUUID } from 'node:crypto'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { FOLDER_OF_RUN } from './postgres-run.ts'
import { PostgresServer } from './postgres-server.ts'

const LOOK_EVERY_MS = 50
/** Many times what it takes: other tests use all cores meanwhile. */
const LONGEST_START_MS = 120_000

export interface Place {
  readonly url: string
  /** Nobody else has this name. It is not created yet. */
  readonly schema: string
}

async function startOnce(folder: string): Promise<string> {
  const said = join(folder, 'url')
  try {
    await mkdir(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    return urlIn(said)
  }
  const text = await PostgresServer.start({}, folder).then(
    (server) => server.url,
    (error: unknown) => `failed: ${String(error)}`,
  )
  await writeFile(`${said}.new`, text)
  await rename(`${said}.new`, said)
  return urlIn(said)
}

async function urlIn(path: string): Promise<string> {
  for (let waitedMs = 0; waitedMs < LONGEST_START_MS; waitedMs += LOOK_EVERY_MS) {
    const text = await readFile(path, 'utf8').catch(() => null)
    if (text?.startsWith('postgres:') === true) return text
    if (text !== null) throw new Error(`The PostgreSQL of this run did not start: ${text}`)
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
  }
  throw new Error(`No PostgreSQL came up in ${LONGEST_START_MS} ms. See server.log beside ${path}.`)
}

let started: Promise<string> | null = null

/** Where it is, as a user who may do everything. */
export function sharedPostgres(): Promise<string> {
  const folder = process.env[FOLDER_OF_RUN]
  if (folder === undefined) throw new Error('Only a run of vitest has a PostgreSQL to share.')
  return (started ??= startOnce(folder))
}

export async function freshSchema(): Promise<Place> {
  return { url: await sharedPostgres(), schema: `t_${randomUUID().replaceAll('-', '')}` }
}
