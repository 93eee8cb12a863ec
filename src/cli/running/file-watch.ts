/**
 * Tells when a source file below a folder has changed: its bytes, not that it was looked at. Folders of packages and
 * hidden ones are passed over. Changes that come close together are told once.
 */
import type { Dirent, FSWatcher } from 'node:fs'
import { readdirSync, statSync, watch } from 'node:fs'
import { extname, join, relative, resolve } from 'node:path'
import { afterMs } from '../../store/clock.ts'

const SOURCES = new Set(['.ts', '.mts', '.cts', '.js', '.mjs', '.cjs', '.json'])
const TOGETHER_MS = 80
/** More are not watched: the folder is none of sources. */
const MOST_FOLDERS = 2_000

export class FileWatch {
  readonly #root: string
  readonly #except: ReadonlySet<string>
  readonly #onChange: (path: string) => void
  readonly #watchers = new Map<string, FSWatcher>()
  /** When each file was written last, and how long it was. */
  readonly #known = new Map<string, string>()
  #told: (() => void) | null = null

  /** `except`: folders that are not looked at, such as that of the store. */
  constructor(root: string, except: readonly string[], onChange: (path: string) => void) {
    this.#root = resolve(root)
    this.#except = new Set(except.map((one) => resolve(one)))
    this.#onChange = onChange
    this.#add(this.#root)
  }

  close(): void {
    this.#told?.()
    for (const watcher of this.#watchers.values()) watcher.close()
    this.#watchers.clear()
  }

  #add(folder: string): void {
    if (this.#watchers.has(folder) || this.#watchers.size >= MOST_FOLDERS) return
    let entries: Dirent[]
    try {
      const watcher = watch(folder, (_, name) => this.#look(folder, name))
      // The folder is gone.
      watcher.on('error', () => this.#remove(folder))
      this.#watchers.set(folder, watcher)
      entries = readdirSync(folder, { withFileTypes: true })
    } catch {
      return this.#remove(folder)
    }
    for (const entry of entries) {
      const path = join(folder, entry.name)
      if (entry.isDirectory() && this.#isLookedAt(path, entry.name)) this.#add(path)
      else if (SOURCES.has(extname(entry.name))) this.#known.set(path, markOf(path))
    }
  }

  #remove(folder: string): void {
    this.#watchers.get(folder)?.close()
    this.#watchers.delete(folder)
  }

  #isLookedAt(path: string, name: string): boolean {
    return !name.startsWith('.') && name !== 'node_modules' && !this.#except.has(path)
  }

  #look(folder: string, name: string | null): void {
    if (name === null) return
    const path = join(folder, name)
    if (SOURCES.has(extname(name))) {
      const mark = markOf(path)
      if (this.#known.get(path) === mark) return
      this.#known.set(path, mark)
      return this.#tell(path)
    }
    if (this.#isLookedAt(path, name) && isFolder(path)) this.#add(path)
  }

  #tell(path: string): void {
    this.#told?.()
    this.#told = afterMs(TOGETHER_MS, () => this.#onChange(relative(this.#root, path)), true)
  }
}

function markOf(path: string): string {
  try {
    const { mtimeMs, size } = statSync(path)
    return `${mtimeMs} ${size}`
  } catch {
    return 'gone'
  }
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}
