/**
 * Which stores a test runs on, read from the test itself: from the `describe.each` that it stands in, else
 * from the folder of its file. So a page that names stores says what is so, and not what once was.
 */
import type { SourceFile } from '../tidy/rules.ts'

const KERNEL = 'kernel'
const STORES = ['memory', 'directory', 'SQLite', 'PostgreSQL'] as const

/** A store with this mark is only run on by `npm run test:long`. */
const LONG = '°'

export interface TestReference {
  readonly file: string
  readonly name: string
  /** The stores, where the test itself does not show them. */
  readonly on?: readonly string[]
}

const DATABASES = ['SQLite', 'PostgreSQL']

/** What a `describe.each` goes through; the first that fits. */
const EACH: readonly (readonly [RegExp, readonly string[]])[] = [
  [/\bEVERY_ENGINE\b/, STORES],
  [/\bOWN_ENGINES\b/, ['memory', 'directory']],
  [/\bENGINES\b/, ['memory', 'directory', ...DATABASES.map((name) => name + LONG)]],
  [/\bObject\.keys\(STORES\)/, STORES],
  [/\bDURABLE\b/, ['directory', ...DATABASES]],
  [/\b(?:SHARED|DATABASES|DATABASE_NAMES)\b/, DATABASES],
]

/** Where there is none: by the beginning of the path. */
const FOLDERS: readonly (readonly [string, readonly string[]])[] = [
  ['src/kernel/', [KERNEL]],
  ['test/model/', [KERNEL]],
  ['src/testing/', ['memory']],
  ['src/log/', ['directory']],
  ['src/store/directory/', ['directory']],
  ['test/faults/', ['directory']],
  ['test/golden-directories/', ['directory']],
  ['src/store/sql/sqlite/', ['SQLite']],
  ['test/sql/sqlite', ['SQLite']],
]

/** Throws if the file has no test with exactly this title, or if it cannot be seen what it runs on. */
export function storesOf(test: TestReference, tree: readonly SourceFile[]): readonly string[] {
  const { file, name, on } = test
  const text = tree.find(({ path }) => path === file)?.text
  if (text === undefined) throw new RangeError(`There is no ${file}.`)
  const at = ["'", '"', '`'].map((quote) => text.indexOf(quote + name + quote)).find((i) => i >= 0)
  if (at === undefined) throw new RangeError(`${file} has no test “${name}”.`)
  const found = on ?? byDescribe(text.slice(0, at)) ?? byFolder(file)
  if (found === null) throw new RangeError(`Say what ${file}: “${name}” runs on.`)
  return found
}

/** `before`: the file up to the title. Null: the test stands in no `describe.each` that is known here. */
function byDescribe(before: string): readonly string[] | null {
  const start = before.lastIndexOf('\ndescribe') + 1
  const inside = before.slice(start)
  if (!inside.startsWith('describe.each(') || /^\}\)/m.test(inside)) return null
  const [head = ''] = inside.split(')(')
  return EACH.find(([pattern]) => pattern.test(head))?.[1] ?? null
}

function byFolder(file: string): readonly string[] | null {
  return FOLDERS.find(([folder]) => file.startsWith(folder))?.[1] ?? null
}

/** `kernel, every store`; a store that some test runs on each time has no mark. None: `no store`. */
export function storesText(stores: Iterable<string>): string {
  const all = new Set(stores)
  const names = [KERNEL, ...STORES].flatMap((name) => {
    if (all.has(name)) return [name]
    return all.has(name + LONG) ? [name + LONG] : []
  })
  const isEvery = STORES.every((name) => all.has(name))
  if (!isEvery) return names.length === 0 ? 'no store' : names.join(', ')
  return all.has(KERNEL) ? `${KERNEL}, every store` : 'every store'
}
