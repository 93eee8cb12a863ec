/**
 * Every metric by its name: what it is, what it says, and which labels it has. The families, the page of the guide, the
 * board and the alert rules have these names and no others.
 */
import type { MetricType } from './metric-family.ts'

interface MetricTerms {
  readonly type: MetricType
  readonly help: string
  readonly labels: readonly string[]
}

function metric(type: MetricType, help: string, ...labels: readonly string[]): MetricTerms {
  return { type, help, labels }
}

export const METRIC_TERMS = {
  pawl_store_up: metric('gauge', '1: the store answers. 0: nothing else is known of it.'),
  pawl_counting_since_seconds: metric(
    'gauge',
    'When this process began to count, in seconds since 1970.',
  ),
  pawl_entries_total: metric(
    'counter',
    'Entries of the log that this process wrote: every transition.',
    'entry',
  ),
  pawl_refused_total: metric('counter', 'Commands that were refused, by why.', 'code'),
  pawl_jobs_submitted_total: metric(
    'counter',
    'Jobs that were submitted; a pipeline under the queue of its first stage.',
    'queue',
    'type',
  ),
  pawl_attempts_started_total: metric(
    'counter',
    'Leases that workers were granted.',
    'queue',
    'type',
  ),
  pawl_attempts_committed_total: metric('counter', 'Attempts that committed.', 'queue', 'type'),
  pawl_attempts_failed_total: metric(
    'counter',
    'Attempts that reported a failure.',
    'queue',
    'type',
  ),
  pawl_leases_lost_total: metric(
    'counter',
    'Leases that ran out, or were taken away.',
    'queue',
    'type',
  ),
  pawl_quarantined_total: metric(
    'counter',
    'Tasks that were given up and wait for a person.',
    'queue',
    'type',
  ),
  pawl_stale_reports_total: metric(
    'counter',
    'Leases of which a report came too late and was refused.',
  ),
  pawl_unknown_outcomes_total: metric(
    'counter',
    'Effects that were under way when their lease was lost.',
  ),
  pawl_suspensions_total: metric(
    'counter',
    'Waits that handlers were suspended for, by what ends them.',
    'kind',
  ),
  pawl_wait_seconds: metric(
    'histogram',
    'From when a task could be taken to when a worker had it.',
    'queue',
    'type',
  ),
  pawl_run_seconds: metric(
    'histogram',
    'From when a worker had a task to its commit or failure.',
    'queue',
    'type',
  ),
  pawl_sync_seconds: metric('histogram', 'From when a batch was decided to when it was durable.'),
  pawl_jobs: metric('gauge', 'Jobs in each state.', 'state'),
  pawl_queue_jobs: metric(
    'gauge',
    'Plain jobs of a queue that are not over, in each state.',
    'queue',
    'state',
  ),
  pawl_queue_waiting: metric(
    'gauge',
    'Tasks of a queue that are due and wait: jobs, and segments of pipelines.',
    'queue',
  ),
  pawl_queue_running: metric('gauge', 'Tasks of a queue that a worker has.', 'queue'),
  pawl_queue_oldest_seconds: metric(
    'gauge',
    'For how long the oldest task that waits has been due; 0: none waits.',
    'queue',
  ),
  pawl_queue_paused: metric('gauge', '1: the queue is paused.', 'queue'),
  pawl_leases: metric('gauge', 'Leases that are held.'),
  pawl_workers: metric('gauge', 'Workers on the store, of all processes.', 'state'),
  pawl_slots: metric('gauge', 'Places for handlers of all workers.', 'state'),
  pawl_quarantine_jobs: metric('gauge', 'Jobs in quarantine.'),
  pawl_quarantine_oldest_seconds: metric(
    'gauge',
    'For how long the oldest of them has been there: of the first 100 in order of submission.',
  ),
  pawl_held_effect_jobs: metric(
    'gauge',
    'Jobs with an effect whose outcome a person has to say: it may have happened, or not.',
  ),
  pawl_stalled_tasks: metric(
    'gauge',
    'Tasks whose handler says nothing while its worker holds the lease.',
  ),
  pawl_unserved_jobs: metric(
    'gauge',
    'Jobs that have been due for long and that no worker takes, as the last round found them.',
  ),
  pawl_invariant_violations: metric(
    'gauge',
    'What must always hold and does not, as the last round found it.',
  ),
  pawl_event_loop_delay_seconds: metric(
    'gauge',
    'How late the event loop of this process was since the last time this was asked; 1 is the most.',
    'quantile',
  ),
} as const satisfies Readonly<Record<string, MetricTerms>>

export type MetricName = keyof typeof METRIC_TERMS

export const METRIC_NAMES = Object.keys(METRIC_TERMS) as MetricName[]
