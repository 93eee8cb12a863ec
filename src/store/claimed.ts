/**
 * What a worker is handed with a lease.
 *
 * Everything is copied or never changes, so the worker sees the moment of the grant. Payloads
 * are text and shared.
 */
import type { Commit, Job, Lease, Task } from '../kernel/index.ts'
import { effectKey } from '../kernel/index.ts'
import type { Claimed, ResumedCommit, UnfinishedEffect } from './store.ts'

export function claimed(job: Job, task: Task, lease: Lease, now: number): Claimed {
  const { job: id, stage, segment, policy } = task
  // Once: it may have to be read.
  const { spec } = job
  const stageSpec = spec.stages?.[stage]
  return {
    job: id,
    stage,
    segment,
    type: spec.type,
    version: spec.version,
    stageName: stageSpec?.name ?? null,
    queue: policy.queue,
    lease: lease.number,
    leaseMs: Math.max(0, lease.expiresAt - now),
    timeoutMs: policy.timeoutMs,
    attempt: lease.number,
    priority: spec.priority,
    schedule: spec.schedule === null ? null : { ...spec.schedule },
    input: task.input ?? spec.input,
    each:
      stageSpec?.each == null
        ? null
        : { source: stageSpec.each, segments: job.opened?.[stage] ?? 0 },
    steps: [...task.steps],
    commit: task.commit === null ? null : resumed(task, task.commit),
  }
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
