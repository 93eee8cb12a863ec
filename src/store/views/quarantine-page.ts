/**
 * A page of jobs in quarantine, each with the tasks that were given up and why.
 */
import type { Job, Tallies, Task } from '../../kernel/index.ts'
import { stageIsDone, tasksOf } from '../../kernel/index.ts'
import type { Ledger } from '../state/ledger.ts'
import type { DeadTask, QuarantinedJob, QuarantinePage, QueryOf } from '../store.ts'
import { matches } from './job-views.ts'

/** Between two looks at the event loop: a filter may let none of them through. */
const STEP = 200

export async function quarantinePage(
  ledger: Ledger,
  query: QueryOf<'quarantine'>,
  breathe: () => Promise<void>,
): Promise<QuarantinePage> {
  const { now } = ledger
  const jobs: QuarantinedJob[] = []
  let looked = 0
  const { quarantined } = ledger
  const named = query.jobs?.flatMap((id) => quarantined.find(id))
  for (const job of named ?? quarantined.after(query.after ?? 0)) {
    looked += 1
    if (looked % STEP === 0) await breathe()
    // Once: it may have to be read.
    const { spec } = job
    if (!matches(spec, query)) continue
    const tasks = deadTasks(ledger, job)
    // It left while this page took its time.
    if (tasks.length === 0) continue
    jobs.push(described(job, tasks))
    if (jobs.length === query.limit) return { jobs, next: job.firstPosition, now }
  }
  return { jobs, next: null, now }
}

function deadTasks(ledger: Ledger, job: Job): Task[] {
  return deadAmong(job, tasksOf(ledger.world, job), ledger.tallies(job))
}

/** A stage that is done without them waits for nobody. */
function deadAmong(job: Job, tasks: readonly Task[], tallies: Tallies): Task[] {
  const dead = tasks.filter(({ state }) => state === 'DEAD')
  return job.task === null ? dead.filter(({ stage }) => !stageIsDone(job, tallies, stage)) : dead
}

/** Of a job in quarantine, with all of its tasks. */
export function quarantinedJob(job: Job, tasks: readonly Task[], tallies: Tallies): QuarantinedJob {
  return described(job, deadAmong(job, tasks, tallies))
}

function described({ id, spec, submittedAt }: Job, tasks: readonly Task[]): QuarantinedJob {
  const { type, version, policy, group, tags, stages } = spec
  return {
    id,
    type,
    version,
    queue: policy?.queue ?? null,
    group,
    tags: [...tags],
    submittedAt,
    tasks: tasks.map((task) => deadTask(task, stages?.[task.stage]?.name ?? null)),
  }
}

function deadTask(task: Task, stageName: string | null): DeadTask {
  const { stage, segment, attempt, endedAt, error, leases, commit } = task
  const held = (commit?.effects ?? []).filter(({ state }) => state === 'HELD')
  return {
    stage,
    stageName,
    segment,
    attempt,
    since: endedAt ?? 0,
    error,
    endedBy: leases.at(-1)?.endedBy ?? null,
    held: held.map((effect) => ({ name: effect.promise.name, error: effect.error })),
  }
}
