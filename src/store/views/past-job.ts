/**
 * A job of the past: folded from its entries up to a moment, and shown as queries show a job of now.
 */
import type { Job } from '../../kernel/index.ts'
import { createWorld, fold } from '../../kernel/index.ts'
import type { JobRecord } from '../../log/index.ts'
import { recordTallies } from '../../log/index.ts'
import { BadRequest } from '../errors.ts'
import type { JobSummary } from '../read-model.ts'
import type { PastJob, PositionedEntry, Queries, Query, SnapshotFilter } from '../store.ts'
import { activityOf } from './job-activity.ts'
import { listing, summaryIf } from './job-pages.ts'
import { jobOverview, outcomeOf, outputsPage, segmentsPage, tasksIn } from './job-views.ts'

/**
 * What these entries of one job lead to; null: it was forgotten, or was not there yet. `start`: what the
 * entries before them led to. An id may be used again once its job was forgotten: a submit begins anew.
 */
export function foldJob(
  start: JobRecord | null,
  entries: Iterable<PositionedEntry>,
): JobRecord | null {
  const world = createWorld()
  let job: Job | undefined = start?.job
  if (start !== null) {
    world.jobs.set(start.job.id, start.job)
    if (start.stages !== null) world.tasks.set(start.job.id, start.stages)
  }
  for (const { entry, position } of entries) {
    fold(world, entry)
    if (!('job' in entry)) continue
    job = world.jobs.get(entry.job)
    if (job === undefined) continue
    if (entry.type === 'JobSubmitted') job.firstPosition = position
    job.lastPosition = position
  }
  return job === undefined ? null : { job, stages: world.tasks.get(job.id) ?? null }
}

/**
 * On a database, entries of different aggregates may be a little earlier than one before them: a job is
 * never shown as of a time before its own newest entry.
 */
function timeFor({ job, stages }: JobRecord, time: number): number {
  return Math.max(time, activityOf(job, stages).updatedAt)
}

/** Null: the filter does not let it through. */
export function pastSummary(
  record: JobRecord,
  time: number,
  filter: SnapshotFilter,
): JobSummary | null {
  const tallies = recordTallies(record)
  return summaryIf(listing(record.job, tallies, timeFor(record, time)), filter)
}

/** Answers what is asked about a job to show all of it. */
export function pastQueries({ record, entries }: PastJob, moment: number): Queries {
  const time = timeFor(record, moment)
  const tallies = recordTallies(record)
  const answer = (query: Query): unknown => {
    switch (query.kind) {
      case 'overview':
        return jobOverview(record, tallies, time)
      case 'outcome':
        return outcomeOf(record, tallies, time)
      case 'outputs':
        return outputsPage(tasksIn(record, query.stage), query.after, query.limit)
      case 'segments':
        return segmentsPage(record, query)
      case 'history': {
        const { after = 0, limit, newest = false } = query
        const behind = entries.filter(({ position }) => position > after)
        return newest ? behind.slice(-limit) : behind.slice(0, limit)
      }
      default:
        throw new BadRequest(`The past has no answer to the query '${query.kind}'.`)
    }
  }
  return { query: async (query) => answer(query) as never }
}
