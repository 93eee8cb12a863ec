/**
 * The code on the pages compiles, and what is a whole program runs and prints what the page says.
 */
import { execFile } from 'node:child_process'
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildFiles, CHILDREN, removeBuilt, THREADS } from '../../support/built.ts'
import { readTree, ROOT } from '../tidy/tree.ts'
import type { Program } from './snippets.ts'
import { ENTRANCES, folderOf, programsOf, runnerOf, writeProject } from './snippets.ts'

const PAGES = /^docs\/(?:guide\/.*|api|recipes|deployment|coming-from|support)\.md$/

const pages = readTree().filter(({ path }) => PAGES.test(path))
const programs = pages.flatMap(programsOf)

interface Ran {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

function run(cwd: string, ...args: readonly string[]): Promise<Ran> {
  return new Promise((done) => {
    execFile(process.execPath, args, { cwd }, (error, stdout, stderr) =>
      done({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr }),
    )
  })
}

const TSC = join(ROOT, 'node_modules/typescript/bin/tsc')
const TSX = join(ROOT, 'node_modules/tsx/dist/esm/index.mjs')

function project(): string {
  return realpathSync(mkdtempSync(join(tmpdir(), 'pawl-pages-')))
}

/** Pawl as users have it: a program that must read its sources takes four times as long. */
async function buildPawl(): Promise<string> {
  const entrances = Object.entries(ENTRANCES).map(([name, path]) => [fileOf(name), path])
  return buildFiles({ ...Object.fromEntries(entrances), ...CHILDREN, ...THREADS })
}

const fileOf = (entrance: string): string => entrance.replace('/', '-')

describe('the code on the pages', () => {
  const [folder, running] = [project(), project()]
  let pawl: string
  beforeAll(async () => {
    pawl = await buildPawl()
    writeProject(folder, programs)
    writeProject(running, programs, (entrance) => join(pawl, `${fileOf(entrance)}.js`))
  })
  afterAll(async () => {
    for (const one of [folder, running]) rmSync(one, { recursive: true, force: true })
    await removeBuilt(pawl)
  })

  it('is there', () => {
    expect(programs.length).toBeGreaterThan(20)
    expect(programs.filter(({ isRun }) => isRun).length).toBeGreaterThan(8)
  })

  it('compiles', async () => {
    const { code, stdout, stderr } = await run(folder, TSC, '--noEmit', '--project', folder)
    expect(`${stdout}${stderr}`).toBe('')
    expect(code).toBe(0)
  })

  const runnable = new Set(programs.filter(({ isRun }) => isRun).map(({ page }) => page))
  it.each([...runnable])('of %s prints what the page says', async (page) => {
    const own = programs.filter((one) => one.isRun && one.page === page)
    const runner = join(running, folderOf(page), 'run.mjs')
    writeFileSync(runner, runnerOf(running, own))
    const { code, stdout, stderr } = await run(running, '--import', TSX, runner)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const told = JSON.parse(stdout) as string[]
    const said = own.map(({ line, prints }, i) => ({ line, prints: prints ?? told[i] }))
    expect(own.map(({ line }, i) => ({ line, prints: told[i] }))).toEqual(said)
  })
})

describe('a block of code', () => {
  const text =
    '# A\n\n<!-- runs -->\n\n```ts\nconst a = 1\n```\n\nand then\n\n<!-- goes on -->\n\n```ts\n' +
    'console.log(a)\n```\n\n```text\n1\n```\n\n```ts\n// jobs.ts\nexport const b = 2\n```\n'

  it('may go on, run, print and have a name', () => {
    const page = 'docs/a.md'
    const first = { page, line: 5, file: 'line-5.ts', code: 'const a = 1\nconsole.log(a)\n' }
    const second = { page, line: 21, file: 'jobs.ts', code: '// jobs.ts\nexport const b = 2\n' }
    expect(programsOf({ path: page, text })).toEqual([
      { ...first, isRun: true, prints: '1\n' },
      { ...second, isRun: false, prints: null },
    ] satisfies Program[])
  })

  it('that goes on after nothing is refused', () => {
    const alone = '<!-- goes on -->\n\n```ts\na\n```\n'
    expect(() => programsOf({ path: 'docs/a.md', text: alone })).toThrow('docs/a.md:3 goes on')
  })

  it('that does not compile is noticed', async () => {
    const folder = project()
    const bad = `import { job } from 'pawl'\njob('a', { run: 1 })\n`
    writeProject(folder, programsOf({ path: 'docs/a.md', text: `\`\`\`ts\n${bad}\`\`\`\n` }))
    const { code, stdout } = await run(folder, TSC, '--noEmit', '--project', folder)
    expect(code).not.toBe(0)
    expect(stdout).toContain('docs-a/line-1.ts(2,12)')
    rmSync(folder, { recursive: true, force: true })
  })
})
