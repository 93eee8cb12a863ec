/**
 * How often jobs went from one state to another, since this process opened the store: of plain jobs, and of segments of
 * pipelines, each as if it were a plain job. What a pipeline does follows from its segments, and is not counted.
 *
 * Entries make moves, and so does time: a delay, a pause before a retry or a sleep ends, and nothing is written. Such a move is
 * counted with the next entry of the task, which mostly is the grant that it was waiting for.
 */
import type { Job, JobState, JobSubmitted, Task } from '../../kernel/index.ts'
import { plainState } from '../../kernel/index.ts'
import type { StateMove } from '../store.ts'
import { COUNTED_STATES } from './job-counts.ts'

const STATES = COUNTED_STATES.length
const NUMBER_OF = Object.fromEntries(COUNTED_STATES.map((state, i) => [state, i])) as Readonly<
  Record<JobState, number>
>

/** Three states in one number: after its last entry, BEFORE this one, and AFTER it. Most entries need no object. */
export type StatesAround = number

/** BEFORE an entry changes the task: the first two. */
export function statesBefore(job: Job, task: Task, now: number): number {
  const last = plainState(job, task, Math.min(task.time, now))
  return NUMBER_OF[last] * STATES + NUMBER_OF[plainState(job, task, now)]
}

/** AFTER it did. */
export function statesAround(before: number, job: Job, task: Task, now: number): StatesAround {
  return before * STATES + NUMBER_OF[plainState(job, task, now)]
}

export class StateMoves {
  readonly #jobs = new Float64Array(STATES * STATES)
  readonly #segments = new Float64Array(STATES * STATES)
  /** By the state that they began in. */
  readonly #submitted = new Float64Array(STATES)

  /** `count`: of submits that are alike. */
  submitted({ spec, dueAt, at }: JobSubmitted, count: number): void {
    if (spec.policy === null) return
    const first = NUMBER_OF[spec.held || dueAt > at ? 'CREATED' : 'QUEUED']
    this.#submitted[first] = (this.#submitted[first] as number) + count
  }

  changed(isSegment: boolean, states: StatesAround): void {
    const [last, before] = [
      Math.floor(states / STATES / STATES),
      Math.floor(states / STATES) % STATES,
    ]
    const counts = isSegment ? this.#segments : this.#jobs
    const [byTime, byEntry] = [last * STATES + before, before * STATES + (states % STATES)]
    if (last !== before) counts[byTime] = (counts[byTime] as number) + 1
    if (before !== states % STATES) counts[byEntry] = (counts[byEntry] as number) + 1
  }

  /** Those that were made. */
  get moves(): readonly StateMove[] {
    const moves: StateMove[] = []
    this.#submitted.forEach((count, to) => {
      if (count > 0) moves.push({ of: 'job', from: null, to: stateOf(to), count })
    })
    for (const [of, counts] of [
      ['job', this.#jobs],
      ['segment', this.#segments],
    ] as const) {
      counts.forEach((count, i) => {
        const [from, to] = [stateOf(Math.floor(i / STATES)), stateOf(i % STATES)]
        if (count > 0) moves.push({ of, from, to, count })
      })
    }
    return moves
  }
}

function stateOf(number: number): JobState {
  return COUNTED_STATES[number] as JobState
}
