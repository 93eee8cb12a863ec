/**
 * Why a SQLite file could not be opened, by a look at its path: SQLite itself says only that it could not.
 */
import { closeSync, existsSync, openSync, readSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseDamaged, SqlFailed } from '../failures.ts'
import { markPath } from './acknowledged-mark.ts'

const HEADER = Buffer.from('SQLite format 3\0')
/** So many of its bytes are no accident: the others are damaged. */
const ENOUGH = 8

/** What opening it has thrown, or something that says more. */
export function pathFailure(path: string, error: unknown): unknown {
  if (error instanceof DatabaseDamaged) return isDatabase(path) ? error : notADatabase(path, error)
  if (!(error instanceof SqlFailed) || error.reason !== 'denied') return error
  const [reason, why] = whyDenied(path)
  return new SqlFailed(reason, `The SQLite file ${path}: ${why}`, error.cause)
}

function notADatabase(path: string, { cause }: DatabaseDamaged): SqlFailed {
  const why =
    'it is no SQLite database, and was never one of Pawl: it begins with other bytes. Nothing was changed. Name another file; one that does not exist yet is made.'
  return new SqlFailed('unusable', `The SQLite file ${path}: ${why}`, cause)
}

/** Whether it is one, or was: then it is damaged. */
function isDatabase(path: string): boolean {
  if (existsSync(markPath(path))) return true
  try {
    const file = openSync(path, 'r')
    const head = Buffer.alloc(HEADER.length)
    readSync(file, head, 0, head.length, 0)
    closeSync(file)
    return HEADER.filter((byte, at) => head[at] === byte).length >= ENOUGH
  } catch {
    return true
  }
}

function whyDenied(path: string): readonly ['unusable' | 'denied', string] {
  const folder = dirname(path)
  const code = codeOf(() => statSync(`${folder}/.`))
  if (code === 'ENOENT') {
    return [
      'unusable',
      `its folder ${folder} does not exist. Make it first: only the file is made.`,
    ]
  }
  if (code === 'ENOTDIR') {
    return ['unusable', `${folder} is no folder, or leads through a file. Name a path in a folder.`]
  }
  if (existsSync(path) && statSync(path).isDirectory()) {
    return [
      'unusable',
      `it is a folder. Name a file in it, such as 'sqlite:${path}/jobs.db'; for a store in a directory write the path alone, without 'sqlite:'.`,
    ]
  }
  return [
    'denied',
    'this process may not read and write it. Look at the owner and the rights of the file and of its folder: SQLite makes other files beside it.',
  ]
}

/** What the file system says; null: nothing is wrong. */
function codeOf(look: () => unknown): string | null {
  try {
    look()
    return null
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? ''
  }
}
