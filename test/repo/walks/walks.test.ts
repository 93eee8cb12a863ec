/**
 * The walks of docs/architecture.md: each function that one names stands in the file that it
 * names, is called by a real run of that operation, and is named by a file that comes before it.
 */
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freshSchema } from '../../support/postgres.ts'
import { codeOf } from '../tidy/scan.ts'
import { ROOT } from '../tidy/tree.ts'

type Walks = Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>

interface Step {
  readonly name: string
  readonly file: string
  /** Handed over as a function, so that the file before it calls it by another name. */
  readonly isCallback: boolean
}

const STORES = ['in a directory', 'on PostgreSQL'] as const
const WALKS = ['submit', 'claim to commit', 'expiry'] as const
/** How many files one operation passes through. Fewer is better: lower these, never raise them. */
const MOST_FILES = {
  'submit in a directory': 54,
  'submit on PostgreSQL': 57,
}

const PROGRAM = 'test/repo/walks/program.ts'
const run = promisify(execFile)
const called = new Map<string, Walks>()
let folder = ''

async function trace(location: string, ...schema: string[]): Promise<Walks> {
  const program = (mode: string): Promise<{ stdout: string }> =>
    run(process.execPath, ['--import', 'tsx', PROGRAM, location, mode, ...schema], { cwd: ROOT })
  await program('leave')
  return JSON.parse((await program('walk')).stdout) as Walks
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pawl-walks-'))
  const { url, schema } = await freshSchema()
  const [directory, postgres] = await Promise.all([trace(join(folder, 'data')), trace(url, schema)])
  called.set('in a directory', directory).set('on PostgreSQL', postgres)
}, 120_000)

afterAll(() => rm(folder, { recursive: true, force: true }))

/** The numbered steps under `### <Walk> <store>`: 1. `Class.method` (`src/file.ts`): … */
function stepsOf(page: string, title: string): Step[] {
  const heading = `### ${title[0]?.toUpperCase()}${title.slice(1)}\n`
  const section = page.slice(page.indexOf(heading) + heading.length).split(/^#/m)[0] as string
  return [...section.matchAll(/^\d+\. `([\w.#]+)` \(`(src\/[\w./-]+)`(, callback)?\)/gm)].map(
    (match) => ({
      name: match[1] as string,
      file: match[2] as string,
      isCallback: match[3] !== undefined,
    }),
  )
}

describe.each(STORES)('the walks %s', (store) => {
  it.each(WALKS)('%s: each function is there, and is called', async (walk) => {
    const page = await readFile(join(ROOT, 'docs', 'architecture.md'), 'utf8')
    const steps = stepsOf(page, `${walk} ${store}`)
    expect(steps.length).toBeGreaterThan(5)
    const functions = called.get(store)?.[walk] ?? {}
    let before = ''
    for (const { name, file, isCallback } of steps) {
      const last = (name.split('.').at(-1) as string).replace(/^#?/, '')
      const names = functions[file] ?? []
      expect({ file, names }, `${name} is not called by a ${walk} ${store}`).toEqual({
        file,
        names: expect.arrayContaining([expect.stringMatching(new RegExp(`^#?${last}$`))]),
      })
      const text = codeOf(await readFile(join(ROOT, file), 'utf8'))
      const [owner = ''] = name.split('.')
      if (owner !== name) expect(text, file).toMatch(new RegExp(`\\bclass ${owner}\\b`))
      if (before !== '' && !isCallback) {
        expect(before, `${name} is called by no step before it`).toMatch(
          new RegExp(`${last}(?:\\?\\.)?\\(`),
        )
      }
      before += text
    }
  })
})

/** What a timer of upkeep, or of news for other processes, calls: it may fall into the time of a submit. */
const BY_TIMER =
  /\/(?:engine\/upkeep\/(?!command-listeners)|engine\/inspect\/|directory\/retention\.|state\/held-leases\.|postgres\/(?:client|notifier)\.)/

it.each(Object.entries(MOST_FILES))('a %s passes through at most %i files', (title, most) => {
  const store = STORES.find((one) => title.endsWith(one)) as string
  const all = Object.keys(called.get(store)?.['submit'] ?? {})
  const files = all.filter((file) => !BY_TIMER.test(file))
  expect(files.length, files.join('\n')).toBeLessThanOrEqual(most)
  expect(files.length).toBeGreaterThan(10)
})
