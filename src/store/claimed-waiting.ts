/**
 * What the record of a claimed task says of its waits: the handler that runs again is answered from it.
 */
import type { Message, Task, Wait } from '../kernel/index.ts'

export interface ClaimedWaiting {
  /** In the order in which they were recorded, ended ones and those that are still open. */
  readonly waits: readonly Readonly<Wait>[]
  /** Those that nothing took yet, in the order in which they were sent. */
  readonly messages: readonly Readonly<Message>[]
}

/** Null: it never waited, and nothing was sent to it. */
export function claimedWaiting({ waiting }: Task): ClaimedWaiting | null {
  if (waiting === null) return null
  return {
    waits: waiting.waits.map(copied),
    messages: waiting.messages.filter(({ state }) => state === 'KEPT').map(copied),
  }
}

function copied<T extends object>(record: T): T {
  return { ...record }
}
