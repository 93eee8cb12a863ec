/**
 * Which of two tasks is offered first: priority, then due time, then submission.
 *
 * The kernel only says the order; which task is offered, and to whom, is the store's matter.
 */
export interface Place {
  readonly priority: number
  readonly dueAt: number
  /** Grows with every task; given by the store. */
  readonly submission: number
}

/** Negative when `a` comes first. */
export function compareOrder(a: Place, b: Place): number {
  return b.priority - a.priority || a.dueAt - b.dueAt || a.submission - b.submission
}
