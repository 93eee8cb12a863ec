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

/** A file in a folder while a store is copied into it. */
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
