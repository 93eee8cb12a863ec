/**
 * What vitest does before and after a whole run: it gives the PostgreSQL of the run a folder, and
 * ends it. Nobody has started it yet: the first test that asks for it does, in `postgres.ts`.
 */
import { endServer, newFolder, sweepServers } from './postgres-server.ts'

export const FOLDER_OF_RUN = 'PAWL_TEST_POSTGRES'

export async function setup(): Promise<() => Promise<void>> {
  await sweepServers()
  const folder = newFolder()
  // The processes that run the tests get it from here.
  process.env[FOLDER_OF_RUN] = folder
  return () => endServer(folder)
}
