/**
 * Makes the folder of a store, or says why it cannot be one. A folder that holds the files of others is
 * refused BEFORE anything is written to it: the path is likely to be a mistake.
 */
import type { Disk } from '../../log/index.ts'
import { DirectoryNotUsable } from '../../log/index.ts'

/** What a file system says about the path, by its code. */
const WHY: Readonly<Record<string, string>> = {
  EEXIST:
    "it is a file, and a store in a directory needs a folder. Name another path, or write 'sqlite:…' before that of a SQLite file.",
  ENOTDIR:
    'a part of its path is a file, and not a folder. Name a path that leads through folders only.',
  EACCES:
    'this process may not make it, or not read and write there. Look at the owner and the rights of the folder, and of those above it.',
  EPERM:
    'the system does not let this process make it, or write there. Look at the owner and the rights of the folder, and of those above it.',
  EROFS: 'its file system is mounted read-only. Name a folder on one that takes writes.',
  ENOENT: 'it cannot be made there. Look at the path, and make the folder yourself.',
  ENAMETOOLONG: 'its name is too long for the file system. Name a shorter path.',
}

/** Files and folders that a store makes: by their names, or how these begin. */
const OWN =
  /^(?:LOCK|OWNER|MARK|COPYING|artifacts|spare)(?:\.|$)|^(?:log|checkpoint|finished|live)-[0-9a-f]{16}/
/** What systems and their tools leave in any folder. */
const OF_SYSTEM = /^\.|^lost\+found$|^(?:Thumbs\.db|desktop\.ini)$/i
const MOST_NAMED = 3

/** Throws `DirectoryNotUsable`. */
export async function makeUsableFolder(disk: Disk, folder: string): Promise<void> {
  let names: readonly string[]
  try {
    await disk.makeFolder(folder)
    names = await disk.list(folder)
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    const why = WHY[code]
    throw why === undefined ? error : new DirectoryNotUsable(folder, why, error)
  }
  const others = names.filter((name) => !OF_SYSTEM.test(name))
  if (others.length === 0 || others.some((name) => OWN.test(name))) return
  const named = others.slice(0, MOST_NAMED).join(', ')
  const more = others.length > MOST_NAMED ? `, and ${others.length - MOST_NAMED} more` : ''
  const why = `it holds other files (${named}${more}), and no store. Name an empty folder, or one that does not exist yet.`
  throw new DirectoryNotUsable(folder, why)
}
