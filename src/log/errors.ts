/**
 * What the log throws. Each says which file, where, and what to do; `docs/errors.md` lists them.
 */
import { PawlError } from '../kernel/index.ts'

/** Where something in the log does not check. */
export interface LogPlace {
  readonly file: string
  readonly offset: number
  /** Of the entry that should stand there; null where no entry could. */
  readonly position: number | null
}

/** Stored bytes do not check, and it is not a torn tail. */
export class CorruptLog extends PawlError {
  readonly place: LogPlace
  readonly #why: string

  /** `job`: whose record it is, if that is known. */
  constructor(place: LogPlace, why: string, job: string | null = null) {
    const { file, offset, position } = place
    const entry = position === null ? '' : ` (entry at position ${position})`
    const whose = job === null ? '' : ` (${job})`
    super(
      'CorruptLog',
      'corrupt',
      `${file} is damaged at byte ${offset}${entry}${whose}: ${why} Nothing was changed. Look at it with verifyDirectory, restore a backup, or give up what cannot be read with repairDirectory.`,
      { ...place, why, ...(job === null ? {} : { job }) },
    )
    this.place = place
    this.#why = why
  }

  /** The same, and which job it kept from being looked at. */
  about(job: string): CorruptLog {
    return new CorruptLog(this.place, this.#why, job)
  }
}

/** A bundler has put Pawl into a file of its own, and a thread or a child process has no file to begin with. */
export class PackageFileMissing extends PawlError {
  constructor(file: string) {
    super(
      'PackageFileMissing',
      'rejected',
      `A thread or a process of Pawl begins with its file ${file}, which is not there: a bundler has put Pawl into the file of your program. Mark 'pawl' as external (esbuild: external: ['pawl'], or packages: 'external'), and install it where the bundle runs.`,
      { file },
    )
  }
}

/** Written by a newer version than this one. */
export class NewerFormat extends PawlError {
  constructor(file: string, found: number, known: number) {
    super(
      'NewerFormat',
      'rejected',
      `${file} has format ${found}, and this version of Pawl knows formats up to ${known}: open it with the newer version that wrote it.`,
      { file, found, known },
    )
  }
}

/** What a system says when the disk, or what one may use of it, is full. */
export function isFull(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException
  return code === 'ENOSPC' || code === 'EDQUOT'
}

/** There is no room for what was asked. Nothing of it happened. */
export class DiskFull extends PawlError {
  constructor(folder: string, bytes: number, cause: unknown) {
    super(
      'DiskFull',
      'retryable',
      `There is no room for ${bytes} more bytes in ${folder}. Nothing of this call happened: make room on the disk and try again.`,
      { folder, bytes },
      cause,
    )
  }
}

/** The disk failed while this was being written: whether it is there shows when the store is opened again. */
export class UnknownOutcome extends PawlError {
  constructor(folder: string, cause: unknown, message: string | null = null) {
    super(
      'UnknownOutcome',
      'unknown_outcome',
      message ??
        `The disk failed while this was being written to ${folder}, so it may or may not have happened. Open the store again and repeat the command: it is safe to repeat.`,
      { folder },
      cause,
    )
  }
}

/** Something failed earlier, usually the disk, and the store takes no more work. */
export class StoreEnded extends PawlError {
  constructor(folder: string, cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause)
    super(
      'StoreEnded',
      'retryable',
      `The store in ${folder} has ended: ${why}. Nothing of this call happened: find out what is wrong, usually with the disk, then open the store again.`,
      { folder },
      cause,
    )
  }
}

/** A backup goes into a folder of its own. */
export class FolderNotEmpty extends PawlError {
  constructor(folder: string) {
    super(
      'FolderNotEmpty',
      'rejected',
      `${folder} is not empty: give a backup an empty folder, or one that does not exist yet.`,
      { folder },
    )
  }
}

/**
 * An archive belongs to one directory: its files are named by positions, each store begins at 0, and
 * a copy of a store goes on from the same position. `other`: whose file it is.
 */
export class ArchiveInUse extends PawlError {
  constructor(file: string, folder: string, storeId: string, other: string) {
    let whose = `of another store (${other}) than the one`
    if (other === storeId) whose = 'of another copy of this store, and differs from the one'
    super(
      'ArchiveInUse',
      'rejected',
      `${file} is ${whose} that is to be archived in ${folder} (${storeId}). Nothing was replaced: give each directory an \`archive\` of its own.`,
      { file, folder, storeId, other },
    )
  }
}

/** A watch was to go on behind an entry that does not stand there. */
export class NoSuchPosition extends PawlError {
  constructor(position: number) {
    super(
      'NoSuchPosition',
      'rejected',
      `No entry stands at position ${position}, or it is older than the history that is kept: go on from a position that a watch gave, or from 0.`,
      { position },
    )
  }
}
