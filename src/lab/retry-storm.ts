/**
 * FM_007: a service that every task needs goes down, so all of them fail together. Then they all
 * come back.
 */
import type { RetryPolicy, Rules } from '../kernel/index.ts'
import { tasksOf } from '../kernel/index.ts'
import { Authority } from './authority.ts'
import { pipeline, plain, policy, retry, stage } from './specs.ts'
import { DeedLedger } from './deed-ledger.ts'
import { brokenInvariants } from './story.ts'
import { StoryWorker } from './story-worker.ts'

export const MANY = 1_000
export const SOME = 50

/**
 * Many jobs fail in the same millisecond. Returns when each of them is due again. No job's retry
 * time depends on another job, so each one may have an authority of its own, which is quicker.
 */
export function manyFailTogether(changes: Partial<RetryPolicy>): number[] {
  return Array.from({ length: MANY }, (_, index) => {
    const job = `job-${index}`
    const authority = new Authority()
    const worker = new StoryWorker('worker', authority, new DeedLedger())
    authority.must({ type: 'SubmitJob', job, spec: plain({}, { retry: retry(changes) }) })
    worker.take({ job })
    worker.fail()
    return authority.task(job).dueAt
  })
}

export interface StormOutage {
  readonly authority: Authority
  readonly ledger: DeedLedger
  /** How often the service was called, by time. */
  readonly callsAt: ReadonlyMap<number, number>
  readonly mostAtOnce: number
  readonly broken: readonly number[]
}

export interface Circumstances {
  readonly retry?: Partial<RetryPolicy>
  /** How many tasks may call the service at once. Default: any number. */
  readonly concurrency?: number
  /** From this time on the service is up again. Default: never. */
  readonly upFrom?: number
}

/** Some tasks need a service that is down. Their workers are as eager as the rules let them be. */
export function theServiceIsDown(rules: Rules, circumstances: Circumstances = {}): StormOutage {
  const authority = new Authority(rules)
  openTasks(authority, retry(circumstances.retry), circumstances.concurrency ?? null)
  return workUntilNothingIsDue(authority, circumstances.upFrom ?? Infinity)
}

/**
 * Every worker of a shift asks for its task, calls the service, and reports; when none may, time
 * passes. A second shift has other names: request numbers are counted per worker.
 */
export function workUntilNothingIsDue(
  authority: Authority,
  upFrom: number,
  shift = 'first',
): StormOutage {
  const ledger = new DeedLedger()
  const callsAt = new Map<number, number>()
  const tasks = [...authority.world.jobs.values()].flatMap((job) => tasksOf(authority.world, job))
  const workers = tasks.map(
    ({ segment }) => [segment, new StoryWorker(`${shift}-${segment}`, authority, ledger)] as const,
  )
  let mostAtOnce = 0
  for (;;) {
    const running = workers.filter(([segment, worker]) => worker.take({ segment }) === 'committed')
    if (running.length > 0) {
      mostAtOnce = Math.max(mostAtOnce, running.length)
      callsAt.set(authority.now, (callsAt.get(authority.now) ?? 0) + running.length)
      for (const [, worker] of running) {
        if (authority.now < upFrom) worker.fail()
        else worker.commit()
      }
      continue
    }
    const due = tasks.filter((task) => task.state === 'WAITING').map((task) => task.dueAt)
    if (due.length === 0) break
    authority.now = Math.min(...due)
  }
  return { authority, ledger, callsAt, mostAtOnce, broken: brokenInvariants(authority) }
}

function openTasks(authority: Authority, retries: RetryPolicy, concurrency: number | null): void {
  const limits = [{ key: 'service', concurrency, rate: null }]
  const stages = [stage('call', { each: 'input', policy: policy({ retry: retries, limits }) })]
  const input = JSON.stringify(Array.from({ length: SOME }, (_, index) => index))
  authority.must({ type: 'SubmitJob', spec: pipeline(stages, { input }) })
  authority.must({ type: 'OpenStage' })
}
