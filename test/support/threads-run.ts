/**
 * What vitest does before and after a whole run: it compiles what the threads of Pawl begin with.
 * Many are started, and each would have to read the same TypeScript.
 */
import type { TestProject } from 'vitest/node'
import { buildFiles, buildInto, removeBuilt, THREADS } from './built.ts'
import { THREADS_OF_RUN } from './threads-of-run.ts'

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await buildFiles(THREADS)
  // The processes that run the tests get it from here.
  process.env[THREADS_OF_RUN] = folder
  project.onTestsRerun(() => buildInto(folder, THREADS))
  return () => removeBuilt(folder)
}
