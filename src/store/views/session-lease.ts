/**
 * A lease as presence needs it: whose it is, and what was heard of it last.
 */
import type { Task } from '../../kernel/index.ts'
import type { SessionLease } from '../store.ts'

/** Null: the task holds no lease, or one of a process without a session. */
export function sessionLease({ job, stage, segment, lease }: Task): SessionLease | null {
  if (lease === null || lease.session === '') return null
  const { number, session, extension } = lease
  return { job, stage, segment, lease: number, session, extension }
}
