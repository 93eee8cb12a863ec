/**
 * In which state a segment is, in the words that jobs have: the kernel's own, as if it were a job.
 */
import type { JobState } from '../../../kernel/index.ts'
import { plainState } from '../../../kernel/index.ts'
import type { AnswerOf } from '../api.ts'

export type ShownSegment = AnswerOf<'jobs.segments'>['segments'][number]

export function stateOf(
  {
    state,
    isSuspended,
    attempt,
    dueAt,
  }: Pick<ShownSegment, 'state' | 'isSuspended' | 'attempt' | 'dueAt'>,
  now: number,
): JobState {
  const waiting = isSuspended ? { suspended: 'all' as const } : null
  return plainState({ held: false }, { state, attempt, dueAt: Date.parse(dueAt), waiting }, now)
}
