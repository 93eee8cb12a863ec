/**
 * What the record of a claimed task says of its waits and streams: the handler that runs again goes on from
 * there.
 */
import type { Message, Task, TaskStream, Wait } from '../kernel/index.ts'

export interface ClaimedWaiting {
  /** In the order in which they were recorded, ended ones and those that are still open. */
  readonly waits: readonly Readonly<Wait>[]
  /** Those that nothing took yet, in the order in which they were sent. */
  readonly messages: readonly Readonly<Message>[]
}

export interface ClaimedRecord {
  /** Null: it never waited, and nothing was sent to it. */
  readonly waiting: ClaimedWaiting | null
  /** How far its streams came. */
  readonly streams: readonly Readonly<TaskStream>[]
  /** The highest version of the definition that recorded a step or a wait; 0: none did. */
  readonly recordedBy: number
}

export function claimedRecord({ waiting, streams, definitionVersion }: Task): ClaimedRecord {
  return {
    waiting: waiting === null ? null : waitingOf(waiting),
    streams: streams.length === 0 ? NO_STREAMS : streams.map(copied),
    recordedBy: definitionVersion,
  }
}

const NO_STREAMS: readonly TaskStream[] = []

function waitingOf({ waits, messages }: NonNullable<Task['waiting']>): ClaimedWaiting {
  return {
    waits: waits.map(copied),
    messages: messages.filter(({ state }) => state === 'KEPT').map(copied),
  }
}

function copied<T extends object>(record: T): T {
  return { ...record }
}
