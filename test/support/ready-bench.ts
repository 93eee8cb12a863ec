/** A ledger in the hands of one worker, with a clock that a test moves. */
import type { Command, JobSpec, LimitSpec, Task } from '../../src/kernel/index.ts'
import { Ledger } from '../../src/store/index.ts'
import { plain, promise } from './specs.ts'

export const CHANNEL = { queue: 'default', type: 'test', stage: null }

export function limit(key: string, bounds: Partial<LimitSpec>): LimitSpec {
  return { key, concurrency: null, rate: null, ...bounds }
}

export class ReadyBench {
  readonly ledger = new Ledger()
  now = 0
  #request = 0

  submit(job: string, spec: JobSpec = plain()): void {
    this.must({ type: 'SubmitJob', job, spec })
  }

  must(command: Command): void {
    const { verdict, rejection } = this.ledger.perform(command, this.now)
    if (verdict !== 'committed')
      throw new Error(`${command.type}: ${rejection?.message ?? verdict}`)
  }

  /** The ids of the jobs that were granted, in order. */
  claim(max = 1, channels = [CHANNEL]): string[] {
    return this.claimTasks(max, channels).map((task) => task.job)
  }

  claimTasks(max = 1, channels = [CHANNEL]): readonly Task[] {
    this.#request += 1
    const request = { worker: 'w', request: this.#request, channels, max, started: true }
    return this.ledger.claim(request, this.now)
  }

  report(
    job: string,
    lease = 1,
  ): { job: string; stage: 0; segment: 0; lease: number; worker: 'w' } {
    return { job, stage: 0, segment: 0, lease, worker: 'w' }
  }

  commit(job: string, lease = 1): void {
    this.must({ type: 'CommitExecution', ...this.report(job, lease), output: '1', effects: [] })
  }

  /** Committed with an effect to carry out, and given back. */
  commitAndRelease(job: string, lease = 1): void {
    const report = this.report(job, lease)
    this.must({ type: 'CommitExecution', ...report, output: '1', effects: [promise()] })
    this.must({ type: 'ReleaseLease', ...report })
  }

  /** How many heap members were compared, and how many tasks were taken out, in the meantime. */
  effort(work: () => void): { comparisons: number; offers: number } {
    const { comparisons, offers } = this.ledger.ready.effort
    work()
    const after = this.ledger.ready.effort
    return { comparisons: after.comparisons - comparisons, offers: after.offers - offers }
  }
}
