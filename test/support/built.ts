/**
 * Files of this repository compiled to plain JavaScript, as in the built package, for threads and
 * processes that a test starts. One that must read TypeScript takes five times as long to start.
 */
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, transform } from 'esbuild'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** What a process that runs jobs of its own begins with, and a thread that does. */
export const CHILDREN: Readonly<Record<string, string>> = {
  'child-main': 'src/worker/isolation/child-main.ts',
}

/** What a thread that Pawl starts begins with. They stand beside whatever starts them. */
export const THREADS: Readonly<Record<string, string>> = {
  thread: 'src/store/sql/sqlite/thread.ts',
  'checkpoint-thread': 'src/log/checkpoint/checkpoint-thread.ts',
}

/**
 * A new folder with a file for each of these names, such as `jobs.js` for `jobs`, and what they
 * share in files of its own: in one process there are no two of the same class.
 */
export async function buildFiles(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await newFolder()
  await buildInto(folder, files)
  return folder
}

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'pawl-built-'))
  // For children that give up their rights, too.
  await chmod(folder, 0o755)
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
  return folder
}

/** Where a file names another one, to import it or to start it. */
const NAMED_FILE = /(['"])(\.\.?\/[\w./-]+)\.ts\1/g

/**
 * A new folder with the sources and the examples, each file compiled by itself and under its own
 * name: a program that finds others beside it finds them there, too.
 */
export async function buildExamples(): Promise<string> {
  const folder = await newFolder()
  for (const tree of ['src', 'examples']) {
    const names = await readdir(join(ROOT, tree), { recursive: true })
    const sources = names.filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    await Promise.all(sources.map((name) => compile(join(tree, name), folder)))
  }
  return folder
}

async function compile(path: string, folder: string): Promise<void> {
  const { code } = await transform(await readFile(join(ROOT, path), 'utf8'), {
    loader: 'ts',
    format: 'esm',
    target: 'es2023',
  })
  const compiled = join(folder, path.replace(/\.ts$/, '.js'))
  await mkdir(dirname(compiled), { recursive: true })
  await writeFile(compiled, code.replaceAll(NAMED_FILE, '$1$2.js$1'))
}

export async function buildInto(
  folder: string,
  files: Readonly<Record<string, string>>,
): Promise<void> {
  const places = Object.entries(files).map(([name, path]) => [name, join(ROOT, path)] as const)
  await build({
    entryPoints: Object.fromEntries(places),
    outdir: folder,
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
  })
}

export function removeBuilt(folder: string): Promise<void> {
  return rm(folder, { recursive: true, force: true })
}
