/**
 * What every store throws, whatever it keeps its state in.
 */
import { PawlError } from '../kernel/index.ts'

/** The store was closed: open it again. */
export class StoreClosed extends PawlError {
  constructor() {
    super('StoreClosed', 'rejected', 'The store is closed: open it again before using it.')
  }
}

/** A claim or a query of the wrong form. */
export class BadRequest extends PawlError {
  constructor(message: string) {
    super('BadRequest', 'rejected', message)
  }
}

/** In a folder while a store is copied into it. */
export const COPYING_FILE = 'COPYING'

/** A copy into this place was cut short. */
export class CopyUnfinished extends PawlError {
  constructor(where: string) {
    super(
      'CopyUnfinished',
      'rejected',
      `A copy into ${where} was begun, and never finished: what is there is not whole. Remove it, and copy again into an empty place.`,
      { where },
    )
  }
}

/** A store is copied into a place of its own. */
export class NotEmpty extends PawlError {
  constructor(where: string) {
    super(
      'NotEmpty',
      'rejected',
      `There is something in ${where} already: give a copy a place of its own.`,
      { where },
    )
  }
}

/** A directory is copied by its backup. */
export class CopyByBackup extends PawlError {
  constructor(folder: string) {
    super(
      'CopyByBackup',
      'rejected',
      `${folder} is a directory, and so is the place for its copy: use its backup, which keeps all of it.`,
      { folder },
    )
  }
}

/** What was read from the store that is copied does not check. */
export class SourceDamaged extends PawlError {
  constructor(what: string) {
    super(
      'SourceDamaged',
      'corrupt',
      `The store that was to be copied is damaged: ${what}. It was not changed; verify it to see all that is wrong. The copy is not whole, and does not open.`,
    )
  }
}
