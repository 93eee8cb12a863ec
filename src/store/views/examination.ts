/**
 * Examines the jobs in memory a few at a time, round after round: whether what must always hold
 * does hold, and which of them wait for long.
 *
 * It changes nothing. Each call is bounded in number and time, so that no command waits for long.
 */
import type { Job, Task, Violation, World } from '../../kernel/index.ts'
import {
  hasFuture,
  isFinal,
  isHeldBack,
  jobState,
  jobViolations,
  tasksOf,
  taskViolations,
} from '../../kernel/index.ts'
import { nowUs } from '../clock.ts'
import type { Ledger } from '../state/ledger.ts'
import type { Examined, QueryOf, WaitsLong } from '../store.ts'
import { isUnloaded, typeOf } from '../state/job-with-stored-spec.ts'
import { waitingSince } from '../state/task-snapshot.ts'

/** Of a job with more tasks than this only its own record is examined: counting takes too long. */
const MOST_TASKS = 200
/** No call takes longer, but for the job that it has begun. */
const LONGEST_US = 1_000

export class Examination {
  readonly #ledger: Ledger
  /** What is not in memory is not read to be examined. */
  readonly #world: World
  readonly #nowUs: () => number
  #round: Iterator<Job> | null = null
  /** A round has as many as were there when it began: jobs may come faster than they are examined. */
  #left = 0

  constructor(ledger: Ledger, stopwatchUs: () => number = nowUs) {
    this.#ledger = ledger
    this.#nowUs = stopwatchUs
    this.#world = { ...ledger.world, jobs: new InMemory(ledger) }
  }

  /** The next jobs of the round. */
  examineNext({ limit, waitedMs }: QueryOf<'examination'>): Examined {
    const { now } = this.#ledger
    const until = this.#nowUs() + LONGEST_US
    const round = (this.#round ??= this.#begin())
    const violations: Violation[] = []
    const waiting: WaitsLong[] = []
    let looked = 0
    while (looked < limit && this.#nowUs() < until) {
      const next = this.#left === 0 ? null : round.next()
      if (next === null || next.done === true) {
        this.#round = null
        break
      }
      looked += 1
      this.#left -= 1
      violations.push(...this.#violations(next.value, now))
      this.#noteWaiting(next.value, now - waitedMs, waiting)
    }
    return { looked, isRoundOver: this.#round === null, violations, waiting }
  }

  #begin(): Iterator<Job> {
    const { jobs } = this.#ledger.world
    this.#left = jobs.size
    return jobs.values()
  }

  #violations(job: Job, now: number): Violation[] {
    // What was submitted would have to be read, and nothing that it says can have changed.
    if (job.task !== null && isUnloaded(job)) return taskViolations(job.task)
    const tallies = this.#ledger.tallies(job)
    if (job.task === null && countTasks(job) > MOST_TASKS) {
      if (isFinal(jobState(job, tallies, now)) || hasFuture(job, tallies)) return []
      return [{ invariant: 7, what: `${job.id}: nothing will ever happen` }]
    }
    return jobViolations(this.#world, job, tallies, now)
  }

  /** Could have been taken since before this time, not held, and its queue is not paused. */
  #noteWaiting(job: Job, before: number, waiting: WaitsLong[]): void {
    if (isHeldBack(job)) return
    const tasks = job.task === null ? this.#someTasks(job) : [job.task]
    for (const task of tasks) {
      const since = waitingSince(task)
      if (task.state !== 'WAITING' || since > before) continue
      const { queue } = task.policy
      if (this.#ledger.world.queues.get(queue)?.paused === true) continue
      const name = job.task === null ? (job.spec.stages?.[task.stage]?.name ?? null) : null
      waiting.push({ queue, type: typeOf(job), stage: name, since })
    }
  }

  #someTasks(job: Job): readonly Task[] {
    return countTasks(job) > MOST_TASKS ? [] : tasksOf(this.#ledger.world, job)
  }
}

function countTasks({ opened }: Job): number {
  return (opened ?? []).reduce((sum, segments) => sum + Math.max(0, segments), 0)
}

/** The jobs in memory, and nothing else. */
class InMemory extends Map<string, Job> {
  readonly #ledger: Ledger

  constructor(ledger: Ledger) {
    super()
    this.#ledger = ledger
  }

  override get(id: string): Job | undefined {
    return this.#ledger.inMemory(id)
  }
}
