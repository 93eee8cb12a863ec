/**
 * Queues: configured, paused and resumed. Asking for what is already so changes nothing.
 */
import { committed } from '../answers.ts'
import type { ConfigureQueue, PauseQueue, ResumeQueue } from '../commands.ts'
import { sameContent } from '../equal.ts'
import type { Reads } from '../guards.ts'
import type { Rule } from './rule.ts'

/** A queue that nobody configured has the defaults, at version 0. */
function nextVersion(reads: Reads): number {
  return (reads.queue?.version ?? 0) + 1
}

function queueHead(reads: Reads): Reads['queue'] {
  return reads.queue
}

export const configureQueue: Rule<ConfigureQueue> = {
  repeat: ({ concurrency, rate, ageingMs }, reads) =>
    concurrency === (reads.queue?.concurrency ?? null) &&
    ageingMs === (reads.queue?.ageingMs ?? null) &&
    sameContent(rate, reads.queue?.rate ?? null)
      ? committed(null, null)
      : null,
  guards: [],
  entry: ({ queue, concurrency, rate, ageingMs, by, reason }, reads, now) => ({
    type: 'QueueConfigured',
    at: now,
    version: nextVersion(reads),
    queue,
    concurrency,
    rate,
    ageingMs,
    by,
    reason,
  }),
  head: queueHead,
  locksJob: false,
}

export const pauseQueue: Rule<PauseQueue> = {
  repeat: (_command, reads) => (reads.queue?.paused === true ? committed(null, null) : null),
  guards: [],
  entry: ({ queue, by, reason }, reads, now) => ({
    type: 'QueuePaused',
    at: now,
    version: nextVersion(reads),
    queue,
    by,
    reason,
  }),
  head: queueHead,
  locksJob: false,
}

export const resumeQueue: Rule<ResumeQueue> = {
  repeat: (_command, reads) => (reads.queue?.paused === true ? null : committed(null, null)),
  guards: [],
  entry: ({ queue, by, reason }, reads, now) => ({
    type: 'QueueResumed',
    at: now,
    version: nextVersion(reads),
    queue,
    by,
    reason,
  }),
  head: queueHead,
  locksJob: false,
}
