/**
 * Which jobs are listed.
 */
import type { JobState } from '../../kernel/index.ts'

export interface ListFilter {
  readonly type?: string
  readonly state?: JobState
  readonly queue?: string
  readonly tag?: string
  readonly group?: string
  readonly key?: string
  /** `next` of the page before. */
  readonly after?: number
  /** Default 100. */
  readonly limit?: number
}
