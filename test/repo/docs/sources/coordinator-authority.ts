/**
 * The names of Coordinator State & Authority Model, what they are here, and what the document asks for.
 */
import type { SourceDocument } from './source-document.ts'

export const coordinator: SourceDocument = {
  number: '004',
  title: 'Coordinator State & Authority Model',
  names: [
    [
      'Coordinator',
      'entity',
      '`decide`',
      'Here called the authority: it decides, appends, applies and only then answers.',
    ],
    [
      'WAL',
      'entity',
      '`Entry`',
      'Here called the log: files of a directory, or a table of events.',
    ],
    ['Task', 'entity', '`Task`'],
    ['task_id', 'field', '`Task.job`, `Task.stage`, `Task.segment`'],
    ['payload', 'field', '`JobSpec.input`, `Task.input`'],
    ['state', 'field', '`Task.state`'],
    ['attempt', 'field', '`Task.attempt`'],
    ['current_lease_id', 'field', '`Task.lease`'],
    ['WAITING', 'state', '`WAITING`'],
    ['LEASED', 'state', '`LEASED`'],
    ['COMPLETED', 'state', '`COMPLETED`'],
    ['FAILED', 'state', '`FAILED`'],
    ['DEAD', 'state', '`DEAD`'],
    ['Lease', 'entity', '`Lease`'],
    [
      'lease_id',
      'field',
      '`Lease.number`',
      'Numbered per task; task and number together are the identity.',
    ],
    ['worker_id', 'field', '`Lease.worker`'],
    ['expiry_timestamp', 'field', '`Lease.expiresAt`'],
    [
      'waiting_tasks, leased_tasks, completed_tasks',
      'entity',
      '`Tally`, `Indexes`',
      'Indexes belong to the stores and can be computed again.',
    ],
    [
      'WorkerState, last_heartbeat, active_leases',
      'entity',
      '`WorkerInfo`, `WorkerInfo.heardAt`, `WorkerInfo.holds`',
      'A registry of all processes, outside the kernel, which is lost without harm. What keeps a lease is `ExtendLease`.',
    ],
    ['TaskCreated, created_at', 'event', '`JobSubmitted`, `StageOpened`'],
    ['LeaseGranted', 'event', '`LeaseGranted`'],
    ['LeaseExtended', 'event', '`LeaseExtended`'],
    ['new_expiry_timestamp', 'field', '`LeaseExtended.expiresAt`'],
    [
      'LeaseExpired',
      'event',
      '`LeaseExpired`',
      'A lease is over when its time is, written or not; the entry says what follows.',
    ],
    [
      'TaskCompleted',
      'event',
      '`ExecutionCommitted`, `EffectFinished`',
      'One boundary: the commit, and after it the last effect.',
    ],
    ['TaskCancelled', 'event', '`ReportRefused`', 'Cancel means what users mean by it.'],
    ['TaskFailed', 'event', '`TaskFailed`'],
    ['reason', 'field', '`TaskFailed.error`, `JobInfo.lastError`'],
    ['single-record atomicity', 'rule', '`fold`', 'One entry changes one aggregate.'],
    ['WAL is always first', 'rule', '`decide`', 'Append, make durable, apply, then answer.'],
    [
      'replay from the beginning',
      'operation',
      '`replay`',
      'A directory begins at the newest checkpoint that checks: a log of years must open in seconds.',
    ],
    [
      'expire leases on restart',
      'operation',
      '`ExpireLease`',
      'The same command as at any other time. Leases of a dead owner are revoked at once.',
    ],
    [
      'no reconciliation, no repair jobs',
      'rule',
      '`repairDirectory`, `repairDatabase`',
      'Nothing is reconciled by itself. Repair exists, and only a person starts it.',
    ],
    ['invariants of section 7', 'rule', 'Invariants 1, 2 and 4'],
    ['time revokes ownership', 'rule', '`CommitExecution.lease-unexpired`'],
    ['coordinator never guesses', 'rule', '`OutcomeUnknown`'],
  ],
  demands: {
    '1. Design Principle': [
      [
        'What is not represented in the log is not allowed.',
        ['byItsEntries', 'guardsNeeded', 'tracesOnStores'],
      ],
      [
        'Every decision about ownership or state is serialized through one log.',
        ['anythingAtOnce', 'storiesRetold', 'directoryInStep', 'databasesInStep', 'watched'],
        'Entries of one aggregate are in one order; those of different ones need none.',
      ],
      [
        'There is one authority, backed by an append-only log.',
        ['oneOwner', 'eventsAppended', 'plantedBugs'],
        'On a database many processes decide, each on rows that it has locked.',
      ],
      [
        'State in memory comes from the log, or is safe to lose.',
        ['openedAgain', 'checkpointLost', 'rebuiltLedger', 'databasesInStep'],
      ],
    ],
    '2. Authoritative State': [
      [
        'It is rebuilt only by replaying the log.',
        ['foldedAgain', 'prefixes', 'watched', 'timeTravel'],
        'On a database, rows are kept with the events, and checked against them.',
      ],
      [
        'A task has an id, a payload, a state, an attempt and at most one lease.',
        ['snapshot', 'life', 'brokenRecords', 'handedOver'],
      ],
      ['Replay is deterministic.', ['prefixes', 'sameSeed', 'storiesRetold', 'watched']],
      ['A lease has an id, a task, a worker and an expiry.', ['life', 'attempts']],
      ['No lease exists without its task.', ['brokenRecords', 'holderOnly']],
      [
        'A lease is valid only if it is the one that the task holds.',
        ['commitsOnce', 'holderOnly', 'guardsNeeded'],
      ],
    ],
    '3. Derived / In-Memory State': [
      [
        'Indexes are rebuilt, and never written by themselves.',
        ['rebuiltLedger', 'ledgerInvariants', 'rowsRepaired'],
        'On a database they are columns, which follow from the records.',
      ],
      [
        'A registry has the workers, when they were heard, and what they hold.',
        ['workersListed', 'workersElsewhere'],
      ],
      [
        'It is advisory: it never decides about a task.',
        ['extensionSeen', 'withoutPresence'],
        'A process that is known to be dead has its leases revoked, by an entry that the kernel checks.',
      ],
      [
        'After a restart it is empty, until workers speak again.',
        ['workersListed', 'presenceBegunAnew', 'workersElsewhere'],
      ],
    ],
    '4. WAL Event Types': [
      ['Every meaningful change is exactly one entry.', ['history', 'watched', 'life']],
      [
        'TaskCreated: WAITING, attempt 0.',
        ['life', 'snapshot'],
        '`JobSubmitted`, or `StageOpened`.',
      ],
      [
        'LeaseGranted: only of a WAITING task; the attempt goes up.',
        ['life', 'oneOfMany', 'guardsNeeded', 'tracesOnStores'],
      ],
      [
        'It is the only way to own a task.',
        ['byItsEntries', 'worlds', 'anythingAtOnce', 'holderOnly'],
      ],
      [
        'LeaseExtended: of a lease that is there and not expired; the task stays as it is.',
        ['extended'],
      ],
      [
        'LeaseExpired, written or not: WAITING, without a lease.',
        ['aborted', 'commitsOnce', 'openedAgain'],
        'DEAD or FAILED, if the retries are used up; after the commit it stays COMMITTED.',
      ],
      ['Expiry is a fact of time.', ['commitsOnce', 'upkeepNames', 'openedAgain']],
      [
        'TaskCompleted needs LEASED, the current lease, and time left.',
        ['commitsOnce', 'holderOnly', 'overIsOver'],
        '`ExecutionCommitted`, and its last effect.',
      ],
      ['It makes the task COMPLETED, and ends the lease.', ['life']],
      [
        'TaskCancelled: a late completion changes nothing, and its worker is told.',
        ['commitsOnce', 'fm1Prevented', 'stoppedProcess'],
        '`ReportRefused`, at most one for a lease.',
      ],
      ['That is no failure.', ['commitsOnce', 'silentWorker']],
      [
        'TaskFailed: WAITING or FAILED, by the retry policy; the lease is over.',
        ['retriedThreeTimes', 'failedAtOnce'],
        'Or DEAD: it waits for a person.',
      ],
    ],
    '5. Atomicity Rules': [
      ['An entry is atomic.', ['faults', 'powerLoss', 'connectionsLost', 'processesKilled']],
      [
        'State changes after the append has succeeded.',
        ['plantedBugs', 'powerLoss', 'killedUnderLoad', 'processesKilled'],
      ],
      [
        'If the append fails, the operation did not happen.',
        ['fullDisk', 'faults', 'fullDatabase', 'connectionsLost'],
      ],
      [
        'A grant has no state in between that can be seen.',
        ['claimRepeated', 'connectionsLost', 'plantedBugs'],
      ],
    ],
    '6. Crash Recovery Semantics': [
      [
        'The log is read from its beginning.',
        ['checkpointLost', 'checkpointDamaged', 'directoryInStep'],
        'From the newest checkpoint that checks. A database has rows.',
      ],
      [
        'Tasks, leases and indexes are rebuilt by replay, in order.',
        ['openedAgain', 'rebuiltLedger', 'databasesInStep', 'directoryInStep'],
      ],
      ['Leases are expired by the current time.', ['openedAgain', 'killedOwner']],
      ['Then requests are accepted.', ['openedAgain', 'oneOwner']],
      [
        'No background reconciliation, no repair jobs.',
        ['flippedBits', 'damagedOnOpen', 'repaired'],
        'A person may start a repair; it names what it gives up.',
      ],
    ],
    '7. Invariants': [
      [
        'A task has at most one active lease.',
        ['worlds', 'brokenSteps', 'doubleGrantFound', 'oneOfMany', 'claimsAtOnce'],
      ],
      ['A lease refers to exactly one task.', ['brokenRecords', 'holderOnly']],
      ['WAITING has no lease.', ['brokenRecords', 'aborted']],
      ['LEASED has exactly one.', ['brokenRecords', 'contradictionFound', 'life']],
      ['COMPLETED never changes again.', ['worlds', 'overIsOver']],
    ],
    '8. Mental Model Summary': [
      ['The log is the system of record.', ['watched', 'foldedAgain', 'rowsRepaired']],
      ['Time revokes ownership.', ['commitsOnce', 'aborted']],
      ['Workers are unreliable narrators.', ['holderOnly', 'commitsOnce', 'whateverIsSent']],
      ['A lease grants permission, not success.', ['finishedByNext', 'commitsOnce']],
      [
        'The coordinator never guesses.',
        ['unknownHeld', 'tracesOnStores', 'flippedBits', 'damagedOnOpen'],
        'An effect whose outcome is unknown is held, reconciled, or run again if that is declared safe.',
      ],
    ],
  },
}
