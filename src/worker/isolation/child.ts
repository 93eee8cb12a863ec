/**
 * A child as the pool sees it, whatever it is: a thread or a process.
 *
 * It is there from the moment it is started (what is sent before it listens is kept for it)
 * until `gone` is called, once: after the last of its messages, and never before it is gone.
 */
import type { ToChild, ToParent } from './protocol.ts'

export interface Child {
  /** To one that is gone it says nothing. */
  send(message: ToChild): void
  /** At once, whatever it does. */
  kill(): void
}

export interface ChildEvents {
  message(message: ToParent): void
  /**
   * `why`: one sentence, which names the signal or the exit code. `wasTold`: by a signal that somebody
   * sends to all processes of a group, such as a terminal.
   */
  gone(why: string, wasTold?: boolean): void
}

/** `modules`: URLs of what it will import. */
export type StartChild = (modules: readonly string[], events: ChildEvents) => Child
