/**
 * The files of this repository, as the rules want them.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { SourceFile } from './rules.ts'

export const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..')

const FOLDERS = ['src', 'test', 'bench', 'docs', 'scripts']
const FILES = ['package.json', 'README.md', 'CHANGELOG.md', 'vitest.config.ts']
const READ = /\.(?:tsx?|mjs|md)$/

export function readTree(): SourceFile[] {
  const inFolders = FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .map((path) => `${folder}/${path.replaceAll('\\', '/')}`)
      .filter((path) => READ.test(path) && !path.includes('/node_modules/')),
  )
  return [...inFolders, ...FILES]
    .toSorted()
    .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }))
}
