/**
 * A commit together with writes of the user's: where it is possible, and how it is sent.
 */
import type { CommitWrites } from '../../definition/index.ts'
import type { Command } from '../../kernel/index.ts'
import type { Answer, Store } from '../../store/index.ts'
import { WritesFailed } from '../../store/index.ts'
import type { CommandBatcher } from '../../store/command-batcher.ts'
import type { HeldLease, LeaseKeeper } from './lease-keeper.ts'

/** In a child: the transaction is elsewhere. */
export const NO_WRITES_IN_CHILD =
  'commit(…).with() does not work in a thread or a process of its own: the transaction is in the process that holds the lease. Run this job without isolation, or write in an effect.'

const NO_WRITES_IN_STORE =
  'commit(…).with() needs a database: this store has no transaction that you could write in. Open SQLite or PostgreSQL, or write in an effect.'

/** Why nothing of the user's can be written with a commit; null: it can. */
export function whyNoWrites(store: Store): string | null {
  return store.executeWith === undefined ? NO_WRITES_IN_STORE : null
}

/** What the writes failed by. */
export interface WritesFailedBy {
  readonly failed: unknown
}

export async function commitWriting(
  { batcher, keeper }: { readonly batcher: CommandBatcher; readonly keeper: LeaseKeeper },
  held: HeldLease,
  report: Command,
  writes: CommitWrites,
): Promise<Answer | WritesFailedBy> {
  // The task is locked meanwhile. Who asks for its lease waits, and is refused on record in the end.
  keeper.rest(held)
  try {
    return await batcher.sendWith(report, writes)
  } catch (error) {
    if (error instanceof WritesFailed) return { failed: error.cause }
    throw error
  } finally {
    keeper.goOn(held)
  }
}
