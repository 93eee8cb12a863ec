/**
 * Calls that the engine refuses itself, because of what it read, BEFORE it sends a command: counted by code
 * beside the refusals of the store, and told to the owner of the engine in the same way.
 *
 * What is wrong by itself, whatever the store has (`InvalidDefinition`), is a mistake in a program, and no refusal.
 */
import type { Command, PawlError, RejectionCode } from '../kernel/index.ts'

/** Codes of refusals that only the engine makes. */
export type EngineRefusalCode = 'QueueFull' | 'CopiesExist' | 'JobWasErased'

export type RefusalCode = RejectionCode | EngineRefusalCode

/** A command of a client, an operator, a worker or upkeep that was answered with a no. */
export interface RefusedCommand {
  /** If the engine refused it, what it would have sent. */
  readonly command: Command['type']
  /** Null: it is about a queue or a schedule. */
  readonly job: string | null
  readonly code: RefusalCode
  readonly message: string
}

export class Refusals {
  readonly #counts = new Map<RefusalCode, number>()
  /** Null: the owner does not want to know. */
  readonly onRefused: ((refused: RefusedCommand) => void) | null

  constructor(onRefused: ((refused: RefusedCommand) => void) | null) {
    this.onRefused = onRefused
  }

  /** The error, to be thrown. `commands`: how many are refused by it. */
  note<E extends PawlError>(
    command: Command['type'],
    job: string | null,
    error: E,
    commands = 1,
  ): E {
    const code = error.code as RefusalCode
    this.#counts.set(code, (this.#counts.get(code) ?? 0) + commands)
    this.onRefused?.({ command, job, code, message: error.message })
    return error
  }

  /** With those that the store counted. */
  countedWith(
    counts: Readonly<Partial<Record<RejectionCode, number>>>,
  ): Readonly<Partial<Record<RefusalCode, number>>> {
    const all: Partial<Record<RefusalCode, number>> = { ...counts }
    for (const [code, count] of this.#counts) all[code] = (all[code] ?? 0) + count
    return all
  }
}
