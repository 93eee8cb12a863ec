/** The names of Job Lifecycle Specification, what they are here, and what the document asks for. */
import type { SourceDocument } from './source-document.ts'

export const lifecycle: SourceDocument = {
  number: '002',
  title: 'Job Lifecycle Specification',
  names: [
    ['CREATED', 'state', '`CREATED`', 'Held, or not due yet.'],
    ['QUEUED', 'state', '`QUEUED`'],
    ['RUNNING', 'state', '`RUNNING`'],
    ['RETRYING', 'state', '`RETRYING`'],
    ['SUCCEEDED', 'state', '`SUCCEEDED`'],
    [
      'FAILED',
      'state',
      '`FAILED`',
      "Retries used up end in QUARANTINED, unless the policy's `quarantine` is 'never'.",
    ],
    [
      'submit()',
      'event',
      '`JobReleased`',
      'Or the due time, which needs no entry. `JobSubmitted` makes the job.',
    ],
    ['start_processing(), restart_processing()', 'event', '`LeaseGranted`'],
    ['success()', 'event', '`ExecutionCommitted`, `EffectFinished`'],
    ['transient_error()', 'event', '`TaskFailed`'],
    ['terminal_error()', 'event', '`TaskFailed`'],
    [
      'retry_eligible()',
      'event',
      '`readyAt`',
      'Only time: it needs no entry, and the history shows it.',
    ],
    [
      'RUNNING to QUEUED is invalid',
      'rule',
      '`PLAIN_JOB_TRANSITIONS`',
      'Allowed by expiry, revocation, release, force, or a retry without delay: an expiry is a retry.',
    ],
    [
      'CREATED to RUNNING is invalid',
      'rule',
      '`PLAIN_JOB_TRANSITIONS`',
      'Of a plain job, also here. A pipeline may: one that is cancelled while held is RUNNING until its on-failure stages are through.',
    ],
    [
      'reversions, transitions from terminal states',
      'rule',
      '`InvalidTransition`',
      'Nothing follows a final state. QUEUED goes back to CREATED only by `TaskRescheduled`, of a plain job that was never granted.',
    ],
    [
      'QUEUED to FAILED',
      'event',
      '`JobCancelled`, `TaskStopped`',
      'By a cancel, a deadline or a start-by time. A job that waits for a limit goes on waiting.',
    ],
    ['system cleanup', 'event', '`JobForgotten`'],
    ['jobId', 'field', '`Job.id`', 'Any text of bounded length, not only a UUID.'],
    ['state', 'field', '`jobState`'],
    ['createdAt', 'field', '`Job.submittedAt`, `JobInfo.submittedAt`'],
    [
      'startedAt',
      'field',
      '`JobInfo.startedAt`, `Lease.startedAt`',
      'Of each attempt; the first is that of the job.',
    ],
    ['completedAt', 'field', '`JobInfo.completedAt`, `Task.endedAt`'],
    ['retryCount', 'field', '`JobInfo.retryCount`, `Task.retries`'],
    [
      'maxRetries',
      'field',
      '`JobInfo.maxRetries`, `RetryPolicy.max`, `Task.budget`',
      'Three by default. An operator can give a fresh budget.',
    ],
    ['lastError', 'field', '`JobInfo.lastError`, `Task.error`', 'Null on success.'],
    ['errorType', 'field', '`JobInfo.errorType`, `Failure.type`', 'Null on success.'],
    [
      'error_is_retryable',
      'rule',
      '`Failure.type`',
      'The worker says it with the error, by its class or by `classify`.',
    ],
    ['RETRYABLE, TERMINAL', 'state', '`Failure.type`'],
    [
      'fixed one second backoff',
      'rule',
      '`DEFAULT_RETRY`',
      'Also exponential, capped, a list, and jitter.',
    ],
    ['schedule_retry_after', 'operation', '`retryDelayMs`, `Task.dueAt`'],
    ['cancellation', 'event', '`JobCancelled`', 'Modelled here, on record, with who and why.'],
    ['no duplicate processing', 'rule', 'Invariants 1 and 2'],
    ['bounded retries', 'rule', 'Invariant 5'],
    ['terminal finality', 'rule', 'Invariant 4'],
    ['no orphaned jobs', 'rule', 'Invariant 7'],
    [
      'payload-agnostic, processing-blind',
      'rule',
      '`Payload`',
      'Only `each` makes the kernel look inside.',
    ],
  ],
  demands: {
    'Job States': [
      [
        'CREATED: not yet submitted to the queue.',
        ['derivedStates', 'notGranted'],
        'Held, or not due yet.',
      ],
      ['QUEUED: waiting.', ['derivedStates', 'life']],
      ['RUNNING: being processed.', ['derivedStates', 'life']],
      ['SUCCEEDED: terminal.', ['derivedStates', 'overIsOver']],
      [
        'FAILED: terminal, by a non-retryable error or retries used up.',
        ['whyFailed', 'overIsOver', 'retriedThreeTimes', 'neverInQuarantine'],
        "Retries used up end in QUARANTINED, unless `quarantine` is 'never', which `open` can say for all.",
      ],
      ['RETRYING: scheduled for a retry.', ['derivedStates', 'retriedThreeTimes']],
    ],
    'Valid State Transitions': [
      [
        'CREATED to QUEUED: submission.',
        ['movesWalked', 'notGranted', 'history', 'movesOnStores'],
        'By a release, or by the due time.',
      ],
      ['QUEUED to RUNNING: processing begins.', ['movesWalked', 'life', 'movesOnStores']],
      ['RUNNING to SUCCEEDED.', ['movesWalked', 'life', 'movesOnStores']],
      [
        'RUNNING to FAILED: unrecoverable error, or retries exceeded.',
        ['failedAtOnce', 'retriedThreeTimes'],
        "Retries used up: to QUARANTINED, unless `quarantine` is 'never'.",
      ],
      [
        'RUNNING to RETRYING: retryable error, and retries remain.',
        ['retriedThreeTimes', 'history'],
      ],
      ['RETRYING to QUEUED: the delay elapsed.', ['retriedThreeTimes', 'history']],
      [
        'QUEUED to FAILED: cancelled, or resources exhausted.',
        ['failedAtOnce', 'lateByDeadline', 'pastDeadline', 'upkeepNames'],
        'By a cancel, a deadline, or a start-by time.',
      ],
    ],
    'Invalid Transitions': [
      [
        'No reversion, such as QUEUED to CREATED.',
        ['everyMove', 'pipelineNeverBack', 'rescheduled'],
        'A person may put off a plain job that was never granted.',
      ],
      ['No backward progression, such as SUCCEEDED to QUEUED.', ['finalStays', 'overIsOver']],
      [
        'Nothing leaves a terminal state, but for cleanup.',
        ['overIsOver', 'finalStays', 'forgottenByAge', 'forgottenRows', 'erasedJob'],
        'It can be erased: what it was given and made is gone, its state stays.',
      ],
      [
        'No RUNNING to QUEUED without a retry.',
        ['aborted', 'stopsInTime', 'movesOnStores'],
        'By expiry, revocation, release, force, or a retry without delay.',
      ],
      [
        'No CREATED to RUNNING.',
        ['notGranted', 'everyMove'],
        'A pipeline that is cancelled while it is held may.',
      ],
    ],
    'Retryable Failures': [
      [
        'A transient error may be retried.',
        ['retryableError', 'retriedThreeTimes', 'retryAfter', 'attempts'],
      ],
      [
        'So may a timeout or a deadline.',
        ['timeoutRetried', 'stepsKept', 'pastDeadline'],
        'A timeout of an attempt. A deadline is of the whole job, and ends it.',
      ],
      [
        'So may an overload of the queue.',
        ['queueFull', 'limitsExact', 'fullDisk', 'fullDatabase'],
        'What is beyond a limit waits. A queue that is full, or a disk, refuses the submit, which may be sent again.',
      ],
      ['So may a dependency that is not there for a while.', ['retryableError', 'attempts']],
      ['It goes to RETRYING, and to QUEUED after the delay.', ['retriedThreeTimes', 'history']],
    ],
    'Non-Retryable Failures': [
      [
        'Invalid input is not retried.',
        ['terminalError', 'failedAtOnce', 'badInput'],
        'What does not fit its schema is refused by the submit.',
      ],
      [
        'A job that does not validate is not retried.',
        ['inOrder', 'badInput'],
        'It is refused before it is stored.',
      ],
      [
        'A permanent timeout is not retried.',
        ['timeoutClassified', 'timeoutRetried'],
        'If `classify`, or the handler, says that it is permanent.',
      ],
      [
        'A configuration error is not retried.',
        ['badDefinition', 'classified', 'whyFailed'],
        'A definition that makes no sense is refused where it is written.',
      ],
      [
        'Exceeded resource limits are not retried.',
        ['classified', 'terminalError', 'whyFailed'],
        'If the handler or `classify` says so.',
      ],
      ['It goes directly to FAILED.', ['failedAtOnce', 'whyFailed']],
    ],
    'Retry Policy': [
      [
        'At most three retries, a fixed second apart.',
        ['defaultRetry', 'fixedDelay', 'retriedThreeTimes'],
        'The default: a definition may say otherwise.',
      ],
      [
        'Retried if the error is retryable and retries remain.',
        ['retriedThreeTimes', 'failedAtOnce'],
      ],
      [
        'A job has its count of retries, their maximum, and the last error.',
        ['attempts', 'openAttempts', 'lostLease'],
      ],
      [
        'The count goes up with each retry; at the maximum the job has failed.',
        ['retriedThreeTimes'],
        "In quarantine, unless `quarantine` is 'never'.",
      ],
    ],
    'Job Metadata': [
      [
        'jobId: a unique UUID that never changes.',
        ['uuids', 'inOrder'],
        'Any text of bounded length, if the caller gives one.',
      ],
      ['state.', ['snapshot', 'history']],
      [
        'createdAt never changes; startedAt is null until RUNNING; completedAt until the end.',
        ['attempts', 'openAttempts', 'listedAsSubmitted'],
      ],
      [
        'retryCount and maxRetries.',
        ['attempts', 'retriedThreeTimes'],
        'maxRetries is that of the definition.',
      ],
      ['lastError and errorType: null on success.', ['attempts', 'openAttempts', 'lostLease']],
    ],
    Guarantees: [
      [
        'A RUNNING job is assigned to no other worker until it fails and retries.',
        ['oneOfMany', 'commitsOnce', 'worlds', 'processesKilled'],
        'Or until its lease is over.',
      ],
      ['Retries are bounded.', ['retriedThreeTimes', 'worlds']],
      ['SUCCEEDED and FAILED are permanent.', ['overIsOver', 'worlds']],
      [
        'Every job reaches a terminal state or is cancelled.',
        ['processesKilled', 'orphanFound', 'worlds'],
        'Or waits for a person, in quarantine.',
      ],
      ['Jobs progress forward, except for a retry.', ['everyMove', 'history']],
      ['Transitions are atomic.', ['faults', 'connectionsLost', 'processesKilled']],
      ['The delay prevents a storm of retries.', ['retriedThreeTimes', 'stormPrevented']],
    ],
    Examples: [
      ['CREATED, QUEUED, RUNNING, SUCCEEDED.', ['history']],
      ['A failure, and a retry that succeeds.', ['history', 'attempts']],
      [
        'Retries that are used up.',
        ['retriedThreeTimes'],
        "In quarantine, unless `quarantine` is 'never'.",
      ],
      ['A non-retryable failure, without a retry.', ['failedAtOnce', 'whyFailed']],
    ],
    Notes: [
      [
        'Transitions do not depend on the payload.',
        ['naiveModel', 'eachElement'],
        'Only `each` looks into it, to count the segments.',
      ],
      ['No states for kinds of processing.', ['everyMove', 'movesOnStores']],
      ['A cancel leads to FAILED.', ['failedAtOnce', 'cancelReachesHandler', 'whyFailed']],
    ],
  },
}
