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
