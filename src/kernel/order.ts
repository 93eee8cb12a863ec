/**
 * Which of two tasks is offered first: priority, then whose turn it is, then due time, then
 * submission.
 *
 * The kernel only says the order; which task is offered, and to whom, is the store's matter.
 */
export interface Place {
  readonly priority: number
  /** Of the task's group, given by the store: it grows each time the group is served. */
  readonly turn: number
  readonly dueAt: number
  /** Grows with every task; given by the store. */
  readonly submission: number
}

/** Negative when `a` comes first. */
export function compareOrder(a: Place, b: Place): number {
  return (
    b.priority - a.priority || a.turn - b.turn || a.dueAt - b.dueAt || a.submission - b.submission
  )
}
