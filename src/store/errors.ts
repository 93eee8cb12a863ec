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

/** A call of more commands than one transaction holds failed, AFTER some of them were committed. */
export class PartlyDone extends PawlError {
  constructor(
    {
      answers,
      commands,
    }: { readonly answers: readonly unknown[]; readonly commands: readonly unknown[] },
    cause: unknown,
  ) {
    const done = answers.length
    const of = commands.length
    const why = cause instanceof Error ? cause.message : String(cause)
    super(
      'PartlyDone',
      'unknown_outcome',
      `The first ${done} of the ${of} commands of this call were done, and then it failed: ${why} Repeat the call: each command is safe to repeat.`,
      { done, of },
      cause,
    )
  }
}

/** What jobs held that were erased may still be in files of the store. */
export class CompactionIncomplete extends PawlError {
  constructor(where: string, why: string, cause?: unknown) {
    super(
      'CompactionIncomplete',
      'retryable',
      `${where} was not compacted: ${why} What erased jobs held may still be in its files: call \`compact\` again.`,
      { where },
      cause,
    )
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
