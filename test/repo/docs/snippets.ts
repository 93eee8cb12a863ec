/**
 * The code on the pages, as programs.
 *
 * Every block that is marked `ts` is a program of its own, or a part of one:
 * - `<!-- goes on -->` before a block: it goes on where the block before it on the page ends.
 * - `<!-- runs -->` before the first block of a program: it is a whole program, and it is run. A
 *   block marked `text` that follows is what it prints.
 * - A first line such as `// jobs.ts` names the file, so that others of the page can import it.
 *
 * Here blocks are found and written down; `snippets.test.ts` has them checked and run.
 */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { SourceFile } from '../tidy/rules.ts'
import { ROOT } from '../tidy/tree.ts'

export interface Program {
  /** The page, and the line of the first block. */
  readonly page: string
  readonly line: number
  /** Its file, without a folder. */
  readonly file: string
  readonly code: string
  readonly isRun: boolean
  /** What it prints; null: the page does not say. */
  readonly prints: string | null
}

interface Block {
  readonly mark: string
  readonly language: string
  readonly code: string
  readonly line: number
}

const BLOCK = /(?:^<!-- (runs|goes on) -->\n+)?^```(\w*)\n([\s\S]*?)^```$/gm
const FILE_NAME = /^\/\/ ([a-z0-9-]+\.ts)\n/

/** The names that users import, and where they are here. */
export const ENTRANCES: Readonly<Record<string, string>> = {
  pawl: 'src/index.ts',
  'pawl/kernel': 'src/kernel/index.ts',
  'pawl/push': 'src/push/index.ts',
  'pawl/conformance': 'src/conformance/index.ts',
  'pawl/opentelemetry': 'src/observe/opentelemetry/index.ts',
  'pawl/mcp': 'src/mcp/index.ts',
  'pawl/metrics': 'src/observe/metrics/index.ts',
  'pawl/server': 'src/server/index.ts',
  'pawl/store': 'src/store/index.ts',
  'pawl/testing': 'src/testing/index.ts',
}

/** Where each of these names is, by the name. */
export type Places = (entrance: string) => string

export const inSources: Places = (entrance) => join(ROOT, ENTRANCES[entrance] as string)

function blocksOf(text: string): Block[] {
  return [...text.matchAll(BLOCK)].map(
    ({ 0: whole, 1: mark = '', 2: language, 3: code, index }) => ({
      mark,
      language: language ?? '',
      code: code ?? '',
      line: text.slice(0, index + whole.indexOf('```')).split('\n').length,
    }),
  )
}

export function programsOf({ path: page, text }: SourceFile): Program[] {
  const programs: Program[] = []
  for (const { mark, language, code, line } of blocksOf(text)) {
    const last = programs.at(-1)
    if (language === 'text' && last?.isRun === true && last.prints === null) {
      programs.splice(-1, 1, { ...last, prints: code })
    }
    if (language !== 'ts') continue
    if (mark !== 'goes on') {
      const file = FILE_NAME.exec(code)?.[1] ?? `line-${line}.ts`
      programs.push({ page, line, file, code, isRun: mark === 'runs', prints: null })
      continue
    }
    if (last === undefined) throw new RangeError(`${page}:${line} goes on, and nothing is before.`)
    programs.splice(-1, 1, { ...last, code: `${last.code}${code}` })
  }
  return programs
}

/** A folder for each page: `docs/guide/1-first-job.md` is in `docs-guide-1-first-job`. */
export function folderOf(page: string): string {
  return page.replace(/\.md$/, '').replaceAll('/', '-')
}

/** Writes the programs down as a project of their own that finds what they import. */
export function writeProject(
  folder: string,
  programs: readonly Program[],
  places: Places = inSources,
): void {
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module' }))
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({
      extends: join(ROOT, 'tsconfig.json'),
      // A page may show a definition without using it.
      compilerOptions: { noUnusedLocals: false, noUnusedParameters: false, rootDir: '/' },
      include: ['*/*.ts'],
    }),
  )
  for (const { page, file, code } of programs) {
    mkdirSync(join(folder, folderOf(page)), { recursive: true })
    // With an export it is a module, even if it imports nothing.
    writeFileSync(join(folder, folderOf(page), file), `${withEntrances(code, places)}\nexport {}\n`)
  }
}

function withEntrances(code: string, places: Places): string {
  return code.replaceAll(/from '(pawl(?:\/\w+)?)'/g, (whole, name: string) =>
    name in ENTRANCES ? `from '${places(name)}'` : whole,
  )
}

/** Imports the programs one after the other, each in a folder of its own, and tells what they print. */
export function runnerOf(folder: string, programs: readonly Program[]): string {
  const all = programs.map(({ page, file }) => ({
    url: pathToFileURL(join(folder, folderOf(page), file)).href,
    place: join(folder, folderOf(page), `${file}-runs`),
  }))
  return `import { mkdirSync } from 'node:fs'
const told = []
let lines = []
const print = console.log
console.log = (...values) => lines.push(values.join(' '))
for (const { url, place } of ${JSON.stringify(all)}) {
  mkdirSync(place)
  process.chdir(place)
  lines = []
  await import(url)
  told.push(lines.map((line) => line + '\\n').join(''))
}
print(JSON.stringify(told))
`
}
