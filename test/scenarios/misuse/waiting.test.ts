/** A program that waits for a result and has no worker is told so, and does not end in the middle. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { buildFiles, removeBuilt, THREADS } from '../../support/built.ts'

const run = promisify(execFile)

it('a result that no worker can bring is refused, with what to do', async () => {
  const program = 'test/scenarios/misuse/waiting-program.ts'
  const built = await buildFiles({ program, ...THREADS })
  onTestFinished(() => removeBuilt(built))
  const { stdout, stderr } = await run(process.execPath, [join(built, 'program.js'), '12'])
  expect(stdout).toBe('NoWorker\ndone\n')
  // As many engines as one likes wait without a warning.
  expect(stderr).toBe('')
})
