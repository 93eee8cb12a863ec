/**
 * Those who wait for a job to end.
 *
 * Whenever a command about such a job was answered, the store is asked whether it is over.
 * Nobody else changes a job, so nothing is missed and nothing is polled.
 */
import type { AnyJob } from '../definition/index.ts'
import { fromJson, validated } from '../definition/index.ts'
import type { Command } from '../kernel/index.ts'
import type { JobView, Store } from '../store/index.ts'
import { JobCancelled, JobFailed, JobQuarantined, UnknownJob } from './errors.ts'

type Settle = (view: JobView | null) => void

export class Results {
  readonly #store: Store
  readonly #waiting = new Map<string, Set<Settle>>()

  constructor(store: Store) {
    this.#store = store
  }

  /** Settled when the job is over, or waits for a person. `null`: there is no such job. */
  ended(job: string): { readonly view: Promise<JobView | null>; readonly stop: () => void } {
    let settle: Settle = () => undefined
    const view = new Promise<JobView | null>((resolve) => {
      settle = resolve
    })
    const all = this.#waiting.get(job) ?? new Set()
    this.#waiting.set(job, all.add(settle))
    void this.#look(job)
    return { view, stop: () => this.#stop(job, settle) }
  }

  /** To be told of every command that was answered. */
  answered(commands: readonly Command[]): void {
    if (this.#waiting.size === 0) return
    for (const command of commands) {
      if ('job' in command && this.#waiting.has(command.job)) void this.#look(command.job)
    }
  }

  #stop(job: string, settle: Settle): void {
    const all = this.#waiting.get(job)
    all?.delete(settle)
    if (all?.size === 0) this.#waiting.delete(job)
  }

  async #look(job: string): Promise<void> {
    const view = await this.#store.query({ kind: 'job', job }).catch(() => undefined)
    if (view === undefined || (view !== null && !isThrough(view))) return
    const all = this.#waiting.get(job)
    this.#waiting.delete(job)
    for (const settle of all ?? []) settle(view)
  }
}

function isThrough({ state }: JobView): boolean {
  return state === 'SUCCEEDED' || state === 'FAILED' || state === 'QUARANTINED'
}

/** What the job resulted in, or the error that says why it did not. */
export async function resultOf(
  id: string,
  view: JobView | null,
  definition: AnyJob | null,
): Promise<unknown> {
  if (view === null) throw new UnknownJob(id)
  const { job, state, stages } = view
  const { type } = job.spec
  const task = stages[0]?.tasks[0]
  const failure = task?.error ?? null
  if (state === 'QUARANTINED') throw new JobQuarantined(id, type, failure)
  if (job.cancelled !== null) {
    throw new JobCancelled(id, type, job.cancelled.by, job.cancelled.reason)
  }
  if (state === 'FAILED') throw new JobFailed(id, type, failure)
  const output = fromJson(task?.output ?? 'null')
  if (definition?.output !== undefined) {
    return validated(definition.output, output, `The output of job ${id} ('${type}')`)
  }
  return output ?? undefined
}
