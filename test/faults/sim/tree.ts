/**
 * The names on the simulated disk: which file each one stands for, which folders there are, and
 * which changes of names a power loss may still undo.
 *
 * A change survives or not as one, a rename with both its names. It survives only with all
 * earlier changes of the same names: no system forgets that a file went to another name and
 * keeps that something new took its place, for then the file would be nowhere.
 *
 * Folders are durable at once. Only one that was being made when the power went may be missing.
 */
import type { Hash } from 'node:crypto'
import type { Inode } from './inode.ts'
import type { Doubts } from './outcomes.ts'

interface Change {
  /** The file that each name stands for from now on, if any. */
  readonly names: ReadonlyMap<string, Inode | null>
  /** Those that were not synced since. */
  readonly folders: Set<string>
  /** Whether the next sync writes it: not after one that failed. */
  dirty: boolean
}

export class Tree {
  readonly #names = new Map<string, Inode>()
  readonly #durable = new Map<string, Inode>()
  readonly #folders = new Set<string>(['/'])
  #changes: Change[] = []
  /** What a makeFolder that never returned was making, the outermost first. */
  #unmade: readonly string[] = []

  get(path: string): Inode | undefined {
    return this.#names.get(path)
  }

  isFolder(path: string): boolean {
    return this.#folders.has(path)
  }

  paths(): string[] {
    return [...this.#names.keys()].toSorted()
  }

  /** Every name and what it stands for, as the running system sees it. */
  addTo(hash: Hash): void {
    hash.update([...this.#folders].toSorted().join('\n'))
    for (const path of this.paths()) {
      hash.update(`\n${path} `)
      this.#names.get(path)?.addTo(hash)
    }
  }

  /** The files that have a name. */
  files(): Set<Inode> {
    return new Set(this.#names.values())
  }

  list(folder: string): string[] {
    return [...this.#names.keys(), ...this.#folders]
      .filter((path) => path !== '/' && folderOf(path) === folder)
      .map((path) => path.slice(path.lastIndexOf('/') + 1))
      .toSorted()
  }

  makeFolder(path: string): void {
    for (const folder of withParents(path)) this.#folders.add(folder)
  }

  failToMakeFolder(path: string): void {
    this.#unmade = withParents(path).filter((folder) => !this.#folders.has(folder))
  }

  create(path: string, inode: Inode): void {
    this.#change(new Map([[path, inode]]))
  }

  remove(path: string): void {
    this.#change(new Map([[path, null]]))
  }

  rename(from: string, to: string, inode: Inode): void {
    this.#change(
      new Map([
        [from, null],
        [to, inode],
      ]),
    )
  }

  sync(folder: string): void {
    for (const { folders, dirty } of this.#changes) if (dirty) folders.delete(folder)
    this.#settle(({ folders }) => folders.size === 0)
  }

  failSync(folder: string): void {
    for (const change of this.#changes) if (change.folders.has(folder)) change.dirty = false
  }

  /** Durable at once. */
  put(path: string, inode: Inode): void {
    this.makeFolder(folderOf(path))
    this.#settle(({ names }) => names.has(path))
    this.#names.set(path, inode)
    this.#durable.set(path, inode)
  }

  /** As it is now, and durable. */
  clone(): Tree {
    return this.#copy(this.#names, this.#folders, (inode) => inode.clone())
  }

  /** The folders come first, then the changes of names, then the files. */
  doubts(): Doubts<Tree> {
    const changes = this.#changes
    const toMake = this.#unmade.length > 0 ? [this.#unmade.length + 1] : []
    const start = toMake.length
    const counts = toMake.concat(changes.map(() => 2))
    const files = this.#reachable().map((inode) => {
      const doubts = inode.doubts()
      const from = counts.length
      for (const count of doubts.counts) counts.push(count)
      return { inode, doubts, from, to: counts.length }
    })
    const namesOf = (choices: readonly number[]) =>
      namesLeft(this.#durable, changes, choices.slice(start, start + changes.length))

    const settle = (choices: readonly number[]): Tree => {
      const made = start === 0 ? [] : this.#unmade.slice(0, choices[0])
      const left = new Map<Inode, Inode>()
      for (const { inode, doubts, from, to } of files) {
        left.set(inode, doubts.settle(choices.slice(from, to)))
      }
      const copyOf = (inode: Inode) => left.get(inode) as Inode
      return this.#copy(namesOf(choices).names, [...this.#folders, ...made], copyOf)
    }

    const isRedundant = (choices: readonly number[]): boolean => {
      const { names, isInVain } = namesOf(choices)
      const named = new Set(names.values())
      const hasChoice = (from: number, to: number) => choices.slice(from, to).some((one) => one > 0)
      return (
        isInVain || files.some((file) => !named.has(file.inode) && hasChoice(file.from, file.to))
      )
    }
    return { counts, settle, isRedundant }
  }

  #change(names: ReadonlyMap<string, Inode | null>): void {
    apply(names, this.#names)
    this.#changes.push({ names, folders: new Set([...names.keys()].map(folderOf)), dirty: true })
  }

  /** With a change all those are settled without which it could not have survived. */
  #settle(isSettled: (change: Change) => boolean): void {
    const settled = new Set<Change>()
    const needed = new Set<string>()
    for (const change of this.#changes.toReversed()) {
      const paths = [...change.names.keys()]
      if (!isSettled(change) && !paths.some((path) => needed.has(path))) continue
      settled.add(change)
      for (const path of paths) needed.add(path)
    }
    for (const change of this.#changes) if (settled.has(change)) apply(change.names, this.#durable)
    this.#changes = this.#changes.filter((change) => !settled.has(change))
  }

  /** The files that may have a name after a power loss. */
  #reachable(): Inode[] {
    const pending = this.#changes.flatMap(({ names }) => [...names.values()])
    return [...new Set([...this.#durable.values(), ...pending])].filter((inode) => inode !== null)
  }

  #copy(
    names: ReadonlyMap<string, Inode>,
    folders: Iterable<string>,
    copyOf: (inode: Inode) => Inode,
  ): Tree {
    const copy = new Tree()
    for (const folder of folders) copy.#folders.add(folder)
    for (const [path, inode] of names) {
      const file = copyOf(inode)
      copy.#names.set(path, file)
      copy.#durable.set(path, file)
    }
    return copy
  }
}

export function folderOf(path: string): string {
  return path.slice(0, Math.max(1, path.lastIndexOf('/')))
}

/** The outermost first, without the root. */
export function withParents(path: string): string[] {
  return path === '/' ? [] : [...withParents(folderOf(path)), path]
}

function apply(changed: ReadonlyMap<string, Inode | null>, names: Map<string, Inode>): void {
  for (const [path, inode] of changed) {
    if (inode === null) names.delete(path)
    else names.set(path, inode)
  }
}

/** A change is chosen in vain if an earlier one of the same names did not survive. */
function namesLeft(
  durable: ReadonlyMap<string, Inode>,
  changes: readonly Change[],
  choices: readonly number[],
): { names: Map<string, Inode>; isInVain: boolean } {
  const names = new Map(durable)
  const undone = new Set<string>()
  let isInVain = false
  for (const [i, change] of changes.entries()) {
    const paths = [...change.names.keys()]
    const isPossible = !paths.some((path) => undone.has(path))
    if (choices[i] === 1 && isPossible) {
      apply(change.names, names)
      continue
    }
    isInVain ||= choices[i] === 1
    for (const path of paths) undone.add(path)
  }
  return { names, isInVain }
}
