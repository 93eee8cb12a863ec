/**
 * A program that a bundler made: threads and child processes of Pawl begin with files of the package, which
 * the bundle must not take the place of.
 */
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { build } from 'esbuild'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { buildInto, CHILDREN, THREADS } from '../../support/built.ts'

const JOBS = `
import { job } from 'pawl'
export const double = job('double', { run: () => 2 })
`

const APP = `
import { pathToFileURL } from 'node:url'
import { open } from 'pawl'
import { double } from './jobs.mjs'

async function attempt(what) {
  try {
    console.log(await what())
  } catch (error) {
    console.log(error.code + ': ' + error.message)
  }
}

async function main() {
  for (const isolation of ['thread', 'process']) {
    await attempt(async () => {
      const pawl = await open('memory:')
      try {
        pawl.work([double], { isolation, modules: [pathToFileURL(process.argv[2])] })
        return await (await pawl.submit(double)).result()
      } finally {
        await pawl.close()
      }
    })
  }
  await attempt(async () => {
    const pawl = await open('sqlite:' + process.argv[3])
    await pawl.close()
    return 'opened'
  })
}

void main()
`

let folder: string

/** With Pawl installed, as its package is. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pawl-bundled-'))
  const pawl = join(folder, 'node_modules', 'pawl')
  await mkdir(pawl, { recursive: true })
  const manifest = { name: 'pawl', type: 'module', exports: './index.js' }
  await writeFile(join(pawl, 'package.json'), JSON.stringify(manifest))
  await buildInto(pawl, { index: 'src/index.ts', ...CHILDREN, ...THREADS })
  await symlink(resolve('node_modules'), join(pawl, 'node_modules'))
  await writeFile(join(folder, 'app.mjs'), APP)
  await writeFile(join(folder, 'jobs.mjs'), JOBS)
})

afterAll(() => rm(folder, { recursive: true, force: true }))

/** What it says, line by line. */
async function bundleAndRun(format: 'esm' | 'cjs', external: readonly string[]): Promise<string[]> {
  const name = `bundle-${external.length}.${format === 'esm' ? 'mjs' : 'cjs'}`
  // Native, or only installed with Pawl.
  const others = ['pg', '@photostructure/sqlite', 'pg-native']
  await build({
    entryPoints: [join(folder, 'app.mjs')],
    outfile: join(folder, name),
    bundle: true,
    platform: 'node',
    format,
    external: [...others, ...external],
    logLevel: 'error',
  })
  const args = [join(folder, name), join(folder, 'jobs.mjs'), join(folder, `${name}.db`)]
  return new Promise((done, fail) => {
    execFile(process.execPath, args, { timeout: 60_000 }, (error, stdout, stderr) => {
      if (error === null) done(stdout.trim().split('\n'))
      else fail(new Error(stdout + stderr))
    })
  })
}

it('a bundle that leaves Pawl outside starts threads and processes', async () => {
  expect(await bundleAndRun('esm', ['pawl'])).toEqual(['2', '2', 'opened'])
})

it.each(['esm', 'cjs'] as const)(
  'a bundle that has Pawl inside is told what to mark as external: %s',
  async (format) => {
    const said = await bundleAndRun(format, [])
    const why = /^PackageFileMissing: .*Mark 'pawl' as external/
    expect(said).toEqual([
      expect.stringMatching(why),
      expect.stringMatching(why),
      expect.stringMatching(why),
    ])
  },
)
