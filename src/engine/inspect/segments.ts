/**
 * The segments of a stage, page by page, however many it has: what each does, how often it was tried, and what went wrong.
 */
import { InvalidDefinition } from '../../definition/index.ts'
import type { Job, TaskState } from '../../kernel/index.ts'
import { stagesOf } from '../../kernel/index.ts'
import type { SegmentSummary, Store } from '../../store/index.ts'
import { UnknownJob } from '../errors.ts'

export interface SegmentListItem {
  /** From 0; of a stage that runs once, 0. */
  readonly segment: number
  readonly state: TaskState
  /** It is WAITING for a time, a message or another job that its handler waits for. */
  readonly isSuspended: boolean
  /** Counts its leases. */
  readonly attempt: number
  readonly dueAt: Date
  /** That has it, or had it last; null: none did. */
  readonly worker: string | null
  /** When that worker was given it. */
  readonly leasedAt: Date | null
  /** When it was COMPLETED, FAILED or DEAD; null: it is none of these. */
  readonly endedAt: Date | null
  /** The newest failure, without its stack. */
  readonly error: SegmentSummary['error']
  readonly effects: SegmentSummary['effects']
  /** Its streams, and how many values each has: `handle.stream(name, { stage, segment })` reads one. */
  readonly streams: SegmentSummary['streams']
}

export interface SegmentsFilter {
  /** The name of the stage. */
  readonly stage: string
  readonly state?: TaskState | undefined
  /** The last segment of the page before. */
  readonly after?: number | undefined
  /** Default 100. */
  readonly limit?: number | undefined
}

export interface SegmentList {
  /** In order. None, if the stage is not open. */
  readonly segments: readonly SegmentListItem[]
  /** Give it as `after` to go on; null: there is no more. */
  readonly next: number | null
}

export async function listSegments(
  store: Store,
  id: string,
  { stage, after = -1, limit = 100, state }: SegmentsFilter,
): Promise<SegmentList> {
  const only = state === undefined ? {} : { state }
  const asked = { kind: 'segments', job: id, stage, after, limit, ...only } as const
  const page = await store.query(asked)
  if (page === null) throw await whyNone(store, id, stage)
  return { segments: page.segments.map(listItem), next: page.next }
}

async function whyNone(store: Store, id: string, stage: string): Promise<Error> {
  const view = await store.query({ kind: 'overview', job: id })
  return view === null ? new UnknownJob(id) : noStage(view.job, stage)
}

export function noStage(job: Job, stage: string): InvalidDefinition {
  const names = stagesOf(job).map(({ name }) => `'${name}'`)
  return new InvalidDefinition(
    `Job ${job.id} has no stage '${stage}': ${names.length === 0 ? 'it is a plain job' : `its stages are ${names.join(', ')}`}.`,
    { job: job.id, stage },
  )
}

function listItem({ grantedAt, dueAt, endedAt, ...rest }: SegmentSummary): SegmentListItem {
  return {
    ...rest,
    dueAt: new Date(dueAt),
    leasedAt: grantedAt === null ? null : new Date(grantedAt),
    endedAt: endedAt === null ? null : new Date(endedAt),
  }
}
