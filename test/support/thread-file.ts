/**
 * In tests this stands in the place of `src/log/disk/thread-file.ts`: threads begin with what was
 * compiled for the run. Programs that tests start find their threads as those of users do.
 */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { THREADS_OF_RUN } from './threads-of-run.ts'

export function threadFile(name: string): URL {
  const folder = process.env[THREADS_OF_RUN]
  if (folder === undefined) throw new Error('This run has no threads: it was not set up.')
  return pathToFileURL(join(folder, `${name}.js`))
}
