/** The example as it is run: killed, and every document counted once. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildExamples, removeBuilt } from '../../../support/built.ts'

interface Ran {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

const folder = mkdtempSync(join(tmpdir(), 'pawl-documents-'))
let built: string
beforeAll(async () => {
  built = await buildExamples()
})
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true })
  await removeBuilt(built)
})

/** `before`: what is done before the interruption. */
function run(
  args: readonly string[],
  interruptAt: RegExp | null = null,
  before: (said: string) => Promise<void> = async () => undefined,
): Promise<Ran> {
  return new Promise((done) => {
    const child = execFile(
      process.execPath,
      [join(built, 'examples/documents/main.js'), ...args],
      { cwd: folder },
      (error, stdout, stderr) => done({ code: Number(error?.code ?? 0), stdout, stderr }),
    )
    let said = ''
    child.stdout?.on('data', (text: string) => {
      const seen = said
      said += text
      if (interruptAt?.test(said) !== true || interruptAt.test(seen)) return
      void before(said).finally(() => child.kill('SIGINT'))
    })
  })
}

/** A run of a few seconds: most of it is processes that start. */
const SHORT = ['--seconds', '3', '--documents', '9', '--seed', '3'] as const

describe.concurrent('documents', () => {
  it('are counted exactly once, whoever is killed', async () => {
    const args = [...SHORT, '--once', '--collections', '2', '--kills', '2', '--data', 'kept']
    const { code, stdout, stderr } = await run(args)
    expect(stdout).toMatch(/^ .*KILL 1: process \d+, which read /m)
    expect(stdout).toMatch(/^ .*KILL 2: the engine, while .* was read$/m)
    expect(stdout).toMatch(/^ .*the engine is back, after /m)
    expect(stdout).toContain('collections: 2; 2 reports, 0 given up, with a note\n')
    expect(stdout).toContain('documents: 18; 14 counted, 4 named as unusable, ')
    expect(stdout).toContain('lost: 0, counted twice: 0\n')
    expect(stdout).toMatch(/^words: (\d+) in the reports, \1 in the files$/m)
    expect(stdout).toMatch(/^sentences: (\d+) in the reports, \1 in the files$/m)
    expect(stdout).toMatch(/^kills: 2 .* \(1 of the engine, 1 of its processes\)$/m)
    expect(stdout).toMatch(/^run more than once: [1-9]\d* of 18 segments; committed twice: 0$/m)
    expect(stdout).toMatch(/^verified: \d+ entries, \d+ checkpoints, 0 problems$/m)
    expect(stdout).toMatch(/^It holds: every document was counted exactly once\.\nkept: .*kept$/m)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  })

  it('go on until a person interrupts, with a page that shows them: what has come is finished', async () => {
    const args = [...SHORT, '--collections', '2', '--kills', '0', '--port', '0']
    let counted: unknown = null
    let paid: unknown = null
    const { code, stdout } = await run(args, /harbour-1\/report: written/, async (said) => {
      const address = /http:\/\/127\.0\.0\.1:\d+/.exec(said)?.[0]
      counted = await (await fetch(`${address}/v1/counts`)).json()
      const answer = { name: 'decision', value: { pay: true, cents: 5, cause: 'arrived late' } }
      const to = `${address}/v1/jobs/refund-1`
      const asked = await fetch(`${to}/answers`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ ...answer, by: 'a reader of the page' }),
      })
      expect(await asked.json()).toEqual({})
      paid = await (await fetch(`${to}/result?waitMs=20000`)).json()
    })
    expect(counted).toMatchObject({ total: expect.any(Number), states: { FAILED: 0 } })
    expect(paid).toMatchObject({ state: 'SUCCEEDED', result: { paid: 5 } })
    expect(stdout).toContain('refund-1: a reader of the page answered')
    expect(stdout).toMatch(
      /^refunds: 3; 1 paid, 0 not paid, 2 not decided yet; paid twice: 0\nanswers: 0 of .*, 1 of others$/m,
    )
    expect(stdout).toContain('finishing what has come; Ctrl-C once more: stop at once')
    expect(stdout).toMatch(/^lost: 0, counted twice: 0$/m)
    expect(stdout).toMatch(/It holds: every document was counted exactly once\.\n$/)
    expect(code).toBe(0)
  })

  it('are not mixed with other files: a folder that has something in it is refused', async () => {
    writeFileSync(join(folder, 'mine'), '')
    const { code, stderr } = await run(['--data', '.'])
    expect(stderr).toBe("--data must be an empty folder, or none yet, and '.' is not.\n")
    expect(code).toBe(2)
  })
})
