/** The examination of workers: those in the examples pass it, and workers with faults do not. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { runConformance } from '../../../../src/conformance/index.ts'

const WORKERS = resolve('examples', 'workers')
const TIMEOUT = { timeout: 120_000 }

/** Not on this machine: it is said aloud, and not passed over in silence. */
function missing(...programs: readonly string[]): string | null {
  const absent = programs.filter((one) => spawnSync(one, ['--version']).status !== 0)
  if (absent.length === 0) return null
  console.warn(`SKIPPED: ${absent.join(' and ')} not on this machine, so a worker is not examined.`)
  return absent.join(', ')
}

const LANGUAGES = [
  ['Python', ['python3', join(WORKERS, 'conformance.py')], missing('python3')],
  ['a shell', ['bash', join(WORKERS, 'conformance.sh')], missing('bash', 'curl', 'jq')],
] as const

describe.concurrent('a worker in', () => {
  for (const [language, command, isMissing] of LANGUAGES) {
    it.skipIf(isMissing !== null)(`${language} passes every check`, TIMEOUT, async () => {
      const report = await runConformance(command)
      const faults = report.checks.filter(({ isOk }) => !isOk)
      expect({ faults, said: faults.length === 0 ? '' : report.said }).toEqual({
        faults: [],
        said: '',
      })
      expect(report.isOk).toBe(true)
      expect(report.checks).toHaveLength(11)
    })
  }
})

/** The worker in Python, with faults. */
const CARELESS = `
import os, signal, sys, threading
sys.path.insert(0, ${JSON.stringify(WORKERS)})
import pawl_worker

class Careless(pawl_worker.Job):
    def keep(self):
        pass

    def step(self, name, function):
        self.steps = {}
        return super().step(name, function)

    def wait(self, seconds):
        threading.Event().wait(min(seconds, 5) if self.attempt == 1 else 0)

def draw(job, input):
    drawn = job.step("draw", lambda: os.urandom(8).hex())
    if job.attempt == 1:
        raise ValueError("not yet")
    return {"drawn": drawn}

def fail(job, input):
    raise ValueError(input["message"])

pawl_worker.Job = Careless
pawl_worker.signal.signal = lambda *_: None
pawl_worker.run({
    "conformance-echo": lambda job, input: str(input).encode("ascii", "ignore").decode(),
    "conformance-draw": draw,
    "conformance-fail": fail,
    "conformance-nap": lambda job, input: job.wait(input["ms"] / 1000),
})
`

/** It takes the first silence for the end. */
const TIMID = `
import sys
sys.path.insert(0, ${JSON.stringify(WORKERS)})
import pawl_worker
post = pawl_worker.Server.post
pawl_worker.Server.post = lambda self, path, body, timeout=10, patience=0: post(self, path, body, timeout, 0)
exec(open(${JSON.stringify(join(WORKERS, 'conformance.py'))}).read())
`

const folder = mkdtempSync(join(tmpdir(), 'pawl-workers-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function examined(file: string, program: string): Promise<Map<string, string | null>> {
  const path = join(folder, file)
  await writeFile(path, program)
  const { isOk, checks } = await runConformance(['python3', path], { patienceMs: 8_000 })
  expect(isOk).toBe(false)
  return new Map(checks.map(({ name, why }) => [name, why]))
}

describe.concurrent('a worker with faults', () => {
  it.skipIf(missing('python3') !== null)('is told of each', TIMEOUT, async () => {
    const found = await examined('careless.py', CARELESS)
    const faults = [...found].filter(([, why]) => why !== null)
    expect(Object.fromEntries(faults)).toEqual({
      'claims jobs, and commits what their handlers put out':
        expect.stringContaining('it was given'),
      'changes no text on its way': expect.stringContaining('it was given "äöü'),
      'keeps whole numbers beyond 2 ** 53': expect.stringContaining('it was given'),
      'records a step, and does not do it again': expect.stringContaining(
        'reported the step 2 times',
      ),
      'reports a failure with its code, and the job is tried again': expect.stringContaining(
        "the code is 'ValueError'",
      ),
      'reports a failure that is not to be tried again': expect.stringContaining('did not fail'),
      'keeps its lease while a handler runs': expect.stringContaining('took 2 attempts'),
      'drops a job that was cancelled, and goes on':
        expect.stringContaining('it sent CommitExecution'),
      'gives back what it holds when it is told to stop':
        expect.stringContaining('give its lease back'),
    })
  })

  it.skipIf(missing('python3') !== null)(
    'is told when it has ended, and why',
    TIMEOUT,
    async () => {
      const found = await examined('timid.py', TIMID)
      expect([...found].at(-1)).toEqual([
        'says again what got no answer',
        expect.stringContaining('and has ended with the code 1'),
      ])
    },
  )

  it('that cannot be started is one', TIMEOUT, async () => {
    const { isOk, checks, said } = await runConformance(['/no/such/program'])
    expect([isOk, checks.length]).toEqual([false, 1])
    expect(said).toContain('ENOENT')
    await expect(runConformance([])).rejects.toThrow(/takes a command/)
  })
})
