/**
 * What a worker gets with a lease. Everything is copied or never changes, so the worker sees the
 * moment of the grant.
 */
import type { Commit, Job, Lease, StageTasks, Tallies, Task } from '../../kernel/index.ts'
import {
  eachPath,
  effectKey,
  inputOf,
  inputVersionOf,
  isLastChance,
  isSuspect,
  segmentsOf,
  stageIndex,
} from '../../kernel/index.ts'
import { claimedRecord } from '../claimed-record.ts'
import type { Ledger } from '../state/ledger.ts'
import { priorStages, failureIn } from './job-views.ts'
import type { Claimed, ClaimedSegment, Ending, ResumedCommit, UnfinishedEffect } from '../store.ts'

/** Of a task that a ledger has just granted. */
export function claimedBy(ledger: Ledger, task: Task): Claimed {
  const { world, now } = ledger
  const job = world.jobs.get(task.job) as Job
  const stages = world.tasks.get(task.job) ?? null
  const isOnFailure = stages !== null && job.spec.stages?.[task.stage]?.onFailure === true
  const ending = isOnFailure ? endingOf(job, stages, ledger.tallies(job)) : null
  return claimed(job, stages, task, task.lease as Lease, now, ending)
}

export function endingOf(job: Job, stages: StageTasks, tallies: Tallies): Ending {
  const { error, at } = failureIn(job, stages, tallies, 'FAILED')
  return { error, at, cancelled: job.cancelled }
}

/** `stages`: the tasks of a pipeline. */
export function claimed(
  job: Job,
  stages: StageTasks | null,
  task: Task,
  lease: Lease,
  now: number,
  ending: Ending | null,
): Claimed {
  const { job: id, stage, segment, policy } = task
  // Once: it may be read from the disk.
  const { spec, replaced } = job
  const submitted = { spec, replaced }
  const stageSpec = spec.stages?.[stage]
  return {
    job: id,
    stage,
    segment,
    type: spec.type,
    version: inputVersionOf(submitted),
    submittedAt: job.submittedAt,
    stageName: stageSpec?.name ?? null,
    stageVersion: stageSpec?.version ?? null,
    queue: policy.queue,
    lease: lease.number,
    isStarted: lease.startedAt !== null,
    isSuspect: isSuspect(task),
    isLastChance: isLastChance(task),
    leaseMs: Math.max(0, lease.expiresAt - now),
    timeoutMs: policy.timeoutMs,
    attempt: lease.number,
    priority: task.priority,
    metadata: spec.metadata,
    schedule: spec.schedule === null ? null : { ...spec.schedule },
    caller: spec.caller === null ? null : { ...spec.caller },
    input: stageSpec?.each == null ? (task.input ?? inputOf(submitted)) : null,
    each: stageSpec?.each == null ? null : segmentOf(job, stages, task, stageSpec.each),
    prior: stageSpec === undefined ? NO_STAGES : priorStages(job, stageSpec),
    ending,
    steps: [...task.steps],
    ...claimedRecord(task),
    commit: task.commit === null ? null : resumed(task, task.commit),
  }
}

const NO_STAGES: Claimed['prior'] = []

function segmentOf(
  job: Job,
  stages: StageTasks | null,
  { stage, segment, input }: Task,
  each: string,
): ClaimedSegment {
  const from = stageIndex(job, eachPath(each).source)
  const isChained = job.spec.stages?.[from]?.each != null
  const other = isChained ? (stages?.[from]?.[segment]?.output ?? null) : null
  return { source: each, segments: segmentsOf(job, stage), element: input ?? other }
}

function resumed(task: Task, commit: Commit): ResumedCommit {
  const unfinished: UnfinishedEffect[] = []
  commit.effects.forEach(({ promise, state, starts, retries }, effect) => {
    if (state === 'FINISHED') return
    const key = effectKey(task.job, task.stage, task.segment, effect)
    unfinished.push({ effect, key, promise, state, starts: [...starts], retries })
  })
  return { lease: commit.lease, output: task.output ?? 'null', unfinished }
}
