/**
 * A rule: everything there is to know about one command.
 *
 * `decide` reads it from top to bottom: has the log already got it? does every guard hold?
 * then this is the entry.
 */
import type { Decision } from '../answers.ts'
import type { Entry } from '../entries.ts'
import type { Guard, Reads } from '../guards.ts'

export interface Rule<C> {
  /** The answer of a command that was carried out before; null if it was not. */
  readonly repeat: (command: C, reads: Reads, now: number) => Decision | null
  readonly guards: readonly Guard<C>[]
  /** Called when every guard holds. */
  readonly entry: (command: C, reads: Reads, now: number) => Entry
  /** What the answer carries beside the verdict. */
  readonly value?: (command: C, reads: Reads) => string | number | null
  /** The aggregate whose version and time the entry carries on. */
  readonly head: (reads: Reads) => { readonly version: number; readonly time: number } | null
  /** The entry locks the job, so the job's own transition is checked before it is written. */
  readonly locksJob: boolean
}

export function taskHead(reads: Reads): Reads['task'] {
  return reads.task
}
