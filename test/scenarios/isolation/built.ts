/**
 * What a child starts with and the jobs of these tests, compiled once to plain JavaScript, as in
 * the built package. A child that must read TypeScript takes ten times as long to start.
 */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type * as childEntry from '../../../src/worker/isolation/child-entry.ts'
import { buildFiles, CHILDREN, removeBuilt as remove } from '../../support/built.ts'

let folder: string | null = null

/** Where the jobs are. One file has what both need, or a child would have two of each class. */
export async function buildJobs(jobs = 'test/scenarios/isolation/jobs.ts'): Promise<URL> {
  folder = await buildFiles({ jobs, ...CHILDREN })
  return pathToFileURL(join(folder, 'jobs.js'))
}

export async function removeBuilt(): Promise<void> {
  if (folder !== null) await remove(folder)
  folder = null
}

/** Children of modules that were built start with what was built, all others as ever. */
export function entriesFor(real: typeof childEntry): typeof childEntry {
  return {
    childMain: () => real.childMain(),
    threadEntry: (modules) => {
      const file = builtFor(modules)
      return file === null ? real.threadEntry(modules) : { url: pathToFileURL(file), execArgv: [] }
    },
    processEntry: (modules) => {
      const file = builtFor(modules)
      return file === null ? real.processEntry(modules) : { file, execArgv: [] }
    },
  }
}

function builtFor(modules: readonly string[]): string | null {
  if (folder === null) return null
  const place = pathToFileURL(folder).href
  return modules.every((href) => href.startsWith(place)) ? join(folder, 'child-main.js') : null
}
