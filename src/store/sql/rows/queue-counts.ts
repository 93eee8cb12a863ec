/**
 * How many tasks of each queue wait, are leased and are dead, as the store keeps it beside the rows, so
 * that no caller that asks for it makes the database count rows.
 *
 * Each transaction writes what it changed, one row a queue, however many tasks it is about. Only queries
 * read the counts: nothing is decided by them. Verify compares them with the rows, repair puts them right.
 *
 * A task counts as one of these, or not at all:
 * - later: it is listed and has no turn: it waits for its time, or for the first claim after it;
 * - ready: it is listed and has a turn, parked or not;
 * - leased;
 * - dead: a plain job that waits for a person. Of a pipeline several segments may, and it is one job.
 */
import type { Job, Task } from '../../../kernel/index.ts'
import { isListed } from '../../state/task-snapshot.ts'
import type { Row } from '../connection.ts'
import { QUEUE_COUNTS } from '../statements.ts'

export type CountedAs = (typeof QUEUE_COUNTS)[number]

/** Null: it is not counted. A pipeline's own row has no task. */
export function countedAs(job: Job, task: Task | null, turn: number | null): CountedAs | null {
  if (task === null) return null
  if (task.lease !== null) return 'leased'
  if (isListed(job, task)) return turn === null ? 'later' : 'ready'
  return task.state === 'DEAD' && job.task !== null ? 'dead' : null
}

type Counts = Record<CountedAs, number>

/** Counts by queue, or how they change. */
export class QueueCounts {
  readonly #byQueue = new Map<string, Counts>()

  get queues(): Iterable<string> {
    return this.#byQueue.keys()
  }

  /** `by`: 1 or -1 for each task. */
  add(queue: string, as: CountedAs | null, by: number): void {
    if (as !== null) this.#of(queue)[as] += by
  }

  addRow([queue, ...counts]: Row): void {
    const own = this.#of(queue as string)
    for (const [i, as] of QUEUE_COUNTS.entries()) own[as] += counts[i] as number
  }

  /** `rows (queue, QUEUE_COUNTS)`, without queues of which nothing is counted. */
  get rows(): Row[] {
    return [...this.#byQueue.keys()].map((queue) => this.rowOf(queue)).filter(isNotZero)
  }

  rowOf(queue: string): Row {
    const counts = this.#byQueue.get(queue)
    return [queue, ...QUEUE_COUNTS.map((as) => counts?.[as] ?? 0)]
  }

  #of(queue: string): Counts {
    let counts = this.#byQueue.get(queue)
    if (counts === undefined) {
      counts = { later: 0, ready: 0, leased: 0, dead: 0 }
      this.#byQueue.set(queue, counts)
    }
    return counts
  }
}

export function isNotZero([, ...counts]: Row): boolean {
  return counts.some((count) => count !== 0)
}
