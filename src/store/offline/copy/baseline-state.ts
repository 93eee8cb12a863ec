/**
 * What a store on a database begins with: the state that its baselines hold, which no event leads to.
 * It is as large as they are.
 */
import type { Entry, Queue, Schedule } from '../../../kernel/index.ts'
import type { JobRecord } from '../../../log/index.ts'
import type { Baseline, EventRow } from '../../sql/rows/event-rows.ts'
import { JobFold } from '../../sql/verify/job-fold.ts'
import type { Records } from '../../sql/rows/records.ts'
import { RegisterFold } from '../../sql/verify/register-fold.ts'
import { SourceDamaged } from '../../errors.ts'
import type { CopySource } from './copy-source.ts'

const nobody = { granted: ignore, submitted: ignore, recorded: ignore }

function ignore(): void {
  return
}

export class BaselineState {
  /** In the order in which they were submitted. */
  readonly jobs: readonly JobRecord[]
  readonly queues: readonly Queue[]
  readonly schedules: readonly Schedule[]
  /** The newest time in it. */
  readonly now: number
  readonly isEmpty: boolean
  /** What holds up to which position, by kind and name. */
  readonly #through: ReadonlyMap<string, number>

  private constructor(
    jobs: readonly JobRecord[],
    small: RegisterFold,
    through: ReadonlyMap<string, number>,
  ) {
    this.jobs = jobs
    this.queues = [...small.queues.values()]
    this.schedules = [...small.schedules.values()]
    this.#through = through
    this.isEmpty = through.size === 0
    const times = [...this.queues, ...this.schedules].map(({ time }) => time)
    this.now = [...times, ...jobs.map(latestIn)].reduce((a, b) => Math.max(a, b), 0)
  }

  static async of(source: CopySource, records: Records): Promise<BaselineState> {
    const small: Baseline[] = []
    const byJob = new Map<string, Baseline[]>()
    const through = new Map<string, number>()
    for await (const page of source.baselines()) {
      for (const one of page) {
        const isSmall = one.kind === 'queue' || one.kind === 'schedule'
        const name = isSmall ? `${one.kind}/${one.name}` : `job/${one.name}`
        through.set(name, Math.max(one.through, through.get(name) ?? 0))
        if (isSmall) small.push(one)
        else byJob.set(one.name, [...(byJob.get(one.name) ?? []), one])
      }
    }
    const folded = new RegisterFold(small, records, nobody)
    const [wrong] = folded.wrong
    if (wrong !== undefined) throw new SourceDamaged(wrong.what)
    const jobs = byJob.size === 0 ? [] : await jobsOf(source, byJob, through, records)
    return new BaselineState(jobs, folded, through)
  }

  /** The event of a job is counted in it. It need not be readable. */
  holdsOf({ job, position }: EventRow): boolean {
    return job !== null && position <= (this.#through.get(`job/${job}`) ?? -1)
  }

  /** The event of a queue or a schedule is counted in it. */
  holds(entry: Entry, position: number): boolean {
    if ('job' in entry) return false
    const name = 'queue' in entry ? `queue/${entry.queue}` : `schedule/${entry.schedule}`
    return position <= (this.#through.get(name) ?? -1)
  }
}

/** Jobs as their baselines say, with what they were submitted by. */
async function jobsOf(
  source: CopySource,
  baselines: ReadonlyMap<string, readonly Baseline[]>,
  through: ReadonlyMap<string, number>,
  records: Records,
): Promise<JobRecord[]> {
  const folds = new Map<string, JobFold>()
  for (const [id, own] of baselines) folds.set(id, new JobFold(id, own, records, nobody))
  for await (const { events } of source.events()) {
    for (const event of events) {
      if (event.type !== 'JobSubmitted' || event.job === null) continue
      if (event.position <= (through.get(`job/${event.job}`) ?? -1)) {
        folds.get(event.job)?.apply(event)
      }
    }
  }
  const jobs: JobRecord[] = []
  for (const fold of folds.values()) {
    fold.finish()
    const [wrong] = fold.wrong
    if (wrong !== undefined) throw new SourceDamaged(`job ${fold.id}: ${wrong.what}`)
    if (fold.record !== null) jobs.push(fold.record)
  }
  return jobs.toSorted((a, b) => a.job.firstPosition - b.job.firstPosition)
}

function latestIn({ job, stages }: JobRecord): number {
  const tasks = job.task === null ? (stages ?? []).flatMap((one) => one ?? []) : [job.task]
  return tasks.reduce((latest, { time }) => Math.max(latest, time), job.time)
}
