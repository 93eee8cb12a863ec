/**
 * The code in docs/testing.md compiles, and each test in it passes under the runner it is
 * written for: real children, so the kit is seen to work without the runner of this repository.
 */
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const MODULES = join(ROOT, 'node_modules')
const TSX = join(MODULES, 'tsx/dist/esm/index.mjs')
const ENTRANCES: Readonly<Record<string, string>> = {
  pawl: join(ROOT, 'src/index.ts'),
  'pawl/testing': join(ROOT, 'src/testing/index.ts'),
}

const folder = mkdtempSync(join(tmpdir(), 'pawl-testing-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** The blocks of the page, by the name in their first line. */
const snippets = new Map(
  [
    ...readFileSync(join(ROOT, 'docs/testing.md'), 'utf8').matchAll(/^```ts\n([\s\S]*?)^```$/gm),
  ].map(([, code = '']) => [/^\/\/ (\S+)\n/.exec(code)?.[1] ?? '', code]),
)

function write(name: string, code: string): string {
  const file = join(folder, name)
  writeFileSync(
    file,
    code.replaceAll(/from '(pawl(?:\/\w+)?)'/g, (_, from: string) => `from '${ENTRANCES[from]}'`),
  )
  return file
}

symlinkSync(MODULES, join(folder, 'node_modules'))
write('package.json', '{ "type": "module" }')
write(
  'tsconfig.json',
  JSON.stringify({
    extends: join(ROOT, 'tsconfig.json'),
    // Whether the sources are tidy is asked elsewhere.
    compilerOptions: { rootDir: '/', noUnusedLocals: false, noUnusedParameters: false },
    include: ['*.ts'],
  }),
)
for (const [name, code] of snippets) write(name, code)

/** Runs it in a process of its own, which must not think that it is part of this run. */
function run(...args: readonly string[]): Promise<{ readonly code: number; readonly out: string }> {
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(?:VITEST|NODE_TEST)/.test(name)),
  )
  return new Promise((resolve) => {
    const plain = { ...env, NO_COLOR: '1' }
    execFile(process.execPath, args, { cwd: folder, env: plain }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : 1, out: stdout + stderr })
    })
  })
}

function runByNode(file: string): ReturnType<typeof run> {
  return run('--import', TSX, '--test', '--test-reporter', 'tap', file)
}

describe('the code in docs/testing.md', () => {
  it('is there: a test for each runner', () => {
    expect([...snippets.keys()]).toEqual(['invoice.test.ts', 'transfer.test.ts'])
  })

  it('compiles', async () => {
    expect(await run(join(MODULES, 'typescript/bin/tsc'), '--project', folder)).toEqual({
      code: 0,
      out: '',
    })
  })

  it('passes under vitest', async () => {
    const vitest = join(MODULES, 'vitest/vitest.mjs')
    const { code, out } = await run(vitest, 'run', '--root', folder, 'invoice.test.ts')
    expect(out).toMatch(/Tests +2 passed/)
    expect(code).toBe(0)
  })

  it('passes under node --test', async () => {
    const { code, out } = await runByNode('transfer.test.ts')
    expect(out).toContain('# pass 2')
    expect(code).toBe(0)
  })

  it('would be noticed if it failed', async () => {
    const code = snippets.get('transfer.test.ts') as string
    write('wrong.ts', code.replace("(output, 'booked')", "(output, 'lost')"))
    const wrong = await runByNode('wrong.ts')
    expect(wrong.out).toContain('# fail 1')
    expect(wrong.code).toBe(1)
  })
})
