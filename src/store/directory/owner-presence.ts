/**
 * Presence in a directory: its owner's lock dies with its process, so a process that has opened the
 * directory knows that all former owners are gone. Their leases are revoked at once.
 *
 * Only sessions of owners are judged. A session behind a server that owns the directory is of a process
 * which may be alive, whatever became of that server.
 *
 * What is said stays in this process: there is no other.
 */
import type { DeadSessions, HeardProcess, JobReport, Presence } from '../presence.ts'
import { NOTHING_ASKED } from '../presence.ts'
import { newSessionName } from '../random.ts'

const OWNER = /^owner-/

export class OwnerPresence implements Presence {
  readonly name = newSessionName('owner')
  #areFormerBuried = false

  get session(): string {
    return this.name
  }

  get isMissed(): boolean {
    return false
  }

  async begin(): Promise<void> {
    // The directory was locked BEFORE it was opened.
  }

  async say(): Promise<void> {
    // The callers that could ask are in this process.
  }

  async heard(): Promise<readonly HeardProcess[]> {
    return []
  }

  async reportOf(): Promise<JobReport | null> {
    return null
  }

  async forgetReport(): Promise<void> {
    // Nothing was said.
  }

  get asked(): ReadonlyMap<string, string> {
    return NOTHING_ASKED
  }

  async ask(): Promise<boolean> {
    return false
  }

  async compact(): Promise<void> {
    // Nothing is in a file.
  }

  async dead(): Promise<DeadSessions | null> {
    if (this.#areFormerBuried) return null
    return {
      isDead: (session) => OWNER.test(session) && session !== this.name,
      bury: async () => {
        this.#areFormerBuried = true
      },
    }
  }

  async sayLast(): Promise<void> {
    // As before.
  }

  async close(): Promise<void> {
    // The lock goes with the directory.
  }
}
