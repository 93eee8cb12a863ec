/**
 * Files of this repository compiled to plain JavaScript, as in the built package, for threads and
 * processes that a test starts. One that must read TypeScript takes five times as long to start.
 */
import { chmod, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

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
  const folder = await mkdtemp(join(tmpdir(), 'pawl-built-'))
  // For children that give up their rights, too.
  await chmod(folder, 0o755)
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
  await buildInto(folder, files)
  return folder
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
