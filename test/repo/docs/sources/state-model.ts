/** The names of State Model, what they are here, and what the document asks for. */
import type { SourceDocument } from './source-document.ts'

export const stateModel: SourceDocument = {
  number: '000',
  title: 'State Model',
  names: [
    ['Job', 'entity', '`Job`'],
    [
      'job_id',
      'field',
      '`Job.id`, `Task.job`',
      'Chosen by the client, so that a submit can be sent again.',
    ],
    ['payload', 'field', '`JobSpec.input`', 'JSON text: decision 0001.'],
    ['state (job)', 'field', '`jobState`', 'Derived, never stored.'],
    ['attempt', 'field', '`Task.attempt`', 'Counts grants. Retries are counted apart.'],
    ['created_at', 'field', '`Job.submittedAt`, `JobInfo.submittedAt`'],
    [
      'updated_at',
      'field',
      '`Job.time`, `Task.time`, `JobInfo.updatedAt`',
      'The time of the newest entry.',
    ],
    [
      'Execution',
      'entity',
      '`Lease`, `executionStatus`',
      'One record per lease: decision 0003. Shown as `JobInfo.executions`.',
    ],
    ['exec_id', 'field', '`Task.job`, `Task.stage`, `Task.segment`, `Lease.number`'],
    ['attempt (execution)', 'field', '`Lease.number`'],
    ['lease_owner, worker_id', 'field', '`Lease.worker`, `ExecutionInfo.worker`'],
    ['lease_expires_at', 'field', '`Lease.expiresAt`, `ExecutionInfo.leaseExpiresAt`'],
    ['status', 'field', '`executionStatus`, `ExecutionInfo.status`', 'Also `SUSPENDED`.'],
    ['started_at', 'field', '`Lease.startedAt`, `ExecutionInfo.startedAt`'],
    ['finished_at', 'field', '`Lease.endedAt`, `ExecutionInfo.finishedAt`'],
    [
      'PENDING',
      'state',
      '`QUEUED`',
      '`CREATED` while held or not due; `RETRYING` while it waits for a retry time; `SUSPENDED` while it waits for a message or a time of its own.',
    ],
    ['RUNNING', 'state', '`RUNNING`'],
    ['SUCCEEDED', 'state', '`SUCCEEDED`'],
    ['FAILED', 'state', '`FAILED`'],
    ['LEASED', 'state', '`LEASED`'],
    ['IN_PROGRESS', 'state', '`IN_PROGRESS`'],
    ['COMMITTED', 'state', '`COMMITTED`'],
    [
      'DONE',
      'state',
      '`DONE`',
      'Derived: committed with every effect finished. Without effects the commit is both.',
    ],
    ['ABORTED', 'state', '`ABORTED`'],
    ['submit a job', 'operation', '`SubmitJob`'],
    ['lease acquired', 'event', '`LeaseGranted`'],
    ['start', 'event', '`ExecutionStarted`'],
    ['lease expires', 'event', '`LeaseExpired`'],
    [
      'timeout, crash',
      'event',
      '`TaskFailed`, `LeaseExpired`, `LeaseRevoked`',
      'A worker reports a timeout as a failure. A crash is seen by the lock of the process, which is free, or by a lease that runs out.',
    ],
    [
      'duplicate lease',
      'event',
      '`CommitExecution.lease-held`, `GrantLease.task-waiting`',
      'A second owner cannot arise; a late report is answered cancelled.',
    ],
    ['commit boundary', 'rule', '`ExecutionCommitted`'],
    [
      'logical effect, side effect',
      'entity',
      '`Effect`, `EffectPromise`',
      'Runs after the commit, at least once, and is recorded finished once.',
    ],
    ['commit_record, committed=true', 'field', '`Task.commit`'],
    ['job_effects', 'field', '`Commit.effects`'],
    [
      'prepare phase',
      'rule',
      '`RecordStep`',
      'Everything before the commit; steps save work between attempts.',
    ],
    ['commit phase', 'rule', '`CommitExecution`'],
    [
      'finalize, reconcile to DONE',
      'operation',
      '`LeaseGranted`, `EffectResolved`',
      'A grant after the commit resumes the same execution.',
    ],
    [
      'jobs have no direct transitions',
      'rule',
      '`jobState`',
      'A cancel and an operator also move a job, as entries: people must be able to stop work.',
    ],
    [
      'at-least-once delivery',
      'rule',
      '`decide`',
      'Each rule has a `repeat`, which answers as the first time.',
    ],
    ['INV_001 idempotent execution', 'rule', 'Invariant 3'],
    ['INV_002 partial execution', 'rule', 'Invariants 3 and 6'],
    ['INV_003 monotonic, explicit transitions', 'rule', 'Invariants 4 to 6'],
    ['INV_004 recovery restores correctness', 'rule', 'Invariants 7 and 8'],
    ['FM_001 duplicate retry', 'rule', 'docs/failure-modes.md'],
  ],
  demands: {
    'State Schematic': [
      ['A submitted job waits until a lease is acquired; then it is RUNNING.', ['life', 'history']],
      ['A leased execution has an id, an owner and an expiry.', ['life', 'attempts']],
      [
        'Side effects occur only at COMMITTED.',
        ['noEffectBefore', 'life', 'effectAfterCommit'],
        'At or after it: the commit promises effects, and they run when it is durable.',
      ],
      [
        'A timeout, a crash or an expired lease ABORTs the execution, and the job waits again.',
        ['aborted', 'stepsKept', 'timeoutRetried'],
      ],
      [
        'A duplicate lease while a COMMITTED exists has no effect of its own.',
        ['finishedByNext', 'fm2Prevented'],
      ],
      [
        'Job state is derived from durable records, never guessed.',
        ['derivedStates', 'directoryInStep', 'databasesInStep', 'movesOnStores'],
      ],
      [
        'Duplicate delivery is expected: at least once.',
        ['sentTwice', 'deliveredAgain', 'tracesOnStores'],
      ],
    ],
    Entities: [
      [
        'A job has a unique id, a payload, a state, an attempt that only grows, and two times.',
        ['inOrder', 'attempts', 'brokenSteps', 'handedOver', 'listedAsSubmitted'],
      ],
      [
        'An execution has an id, its job, its attempt, an owner, an expiry, a status and its times.',
        ['attempts', 'openAttempts'],
        'Its id is the task and the number of the lease.',
      ],
      [
        'Executions are durable records, for idempotency, crash consistency, audit and recovery.',
        ['openedAgain', 'killedUnderLoad', 'processesKilled'],
        'The record has the newest 1,000 leases; the history has the others, for as long as it is kept.',
      ],
    ],
    'Job States': [
      [
        'PENDING: created, not yet leased.',
        ['derivedStates', 'life'],
        'CREATED while held or not due, then QUEUED.',
      ],
      ['RUNNING: leased by some execution.', ['derivedStates', 'life']],
      ['SUCCEEDED: completed.', ['derivedStates', 'life']],
      ['FAILED: terminal.', ['failedAtOnce', 'overIsOver']],
      [
        'Job state is computed from the executions, never changed without an execution event.',
        ['derivedStates', 'history', 'whoAndWhy'],
        'A cancel and an operator move a job, too, each by an entry with who and why.',
      ],
    ],
    'Execution Status': [
      ['LEASED: a worker owns the lease until its expiry.', ['life', 'extended']],
      ['IN_PROGRESS: the worker started.', ['life', 'openAttempts']],
      ['COMMITTED: the logical effect is applied.', ['life', 'openAttempts']],
      ['DONE: finished after the commit.', ['life', 'attempts']],
      [
        'ABORTED: the lease expired, or the worker crashed, before the commit.',
        ['aborted', 'lostLease'],
      ],
      ['Side effects are allowed only at or after COMMITTED.', ['noEffectBefore', 'life']],
      [
        'Duplicate executions short-circuit if a COMMITTED record exists.',
        ['finishedByNext', 'commitsOnce'],
      ],
    ],
    'Relationship of the two state machines': [
      ['The execution machine is the durable record.', ['life', 'byItsEntries', 'openedAgain']],
      [
        'The job machine is a projection: a pure function of the executions.',
        ['derivedStates', 'worlds', 'databasesInStep', 'directoryInStep', 'movesOnStores'],
      ],
    ],
    'Allowed Transactions': [
      ['LEASED to IN_PROGRESS to COMMITTED to DONE.', ['life', 'byItsEntries']],
      [
        'LEASED, or IN_PROGRESS, to ABORTED before the commit.',
        ['aborted'],
        'Also to SUSPENDED: an execution may wait.',
      ],
      [
        'A worker may only progress an execution that it leases.',
        ['holderOnly', 'commitsOnce', 'guardsNeeded'],
      ],
      ['PENDING to RUNNING by a lease.', ['movesWalked', 'movesOnStores']],
      ['RUNNING to SUCCEEDED by DONE.', ['life', 'movesWalked', 'movesOnStores']],
      [
        'RUNNING to PENDING by an expiry without a commit.',
        ['aborted', 'movesWalked', 'movesOnStores'],
      ],
    ],
    'Idempotency rule (INV_001)': [
      [
        'At most one execution of a job reaches COMMITTED.',
        ['commitsOnce', 'worlds', 'processesKilled', 'killedUnderLoad'],
        'Of a task: a pipeline has several.',
      ],
      [
        'A later attempt detects the committed record and does nothing.',
        ['finishedByNext', 'effectsFinished'],
      ],
      [
        'It is held by a unique constraint, a compare-and-set, or a table of effects.',
        ['anythingAtOnce', 'brokenSteps', 'commitWithWrites'],
        'By the kernel, on a locked record whose version is checked.',
      ],
    ],
    'Crash consistency rule (INV_002)': [
      [
        'Prepare is safe to repeat: compute, validate, stage output.',
        ['stepsKept', 'stepsHandedOver'],
      ],
      [
        'Commit marks atomically, and applies the effect exactly once.',
        ['commitsOnce', 'faults', 'connectionsLost', 'commitWithWrites'],
        'An effect outside runs at least once, is recorded once, and has one key.',
      ],
      [
        'After a crash before COMMITTED the job is retried.',
        ['stepsKept', 'handlerSettledOnce', 'killedProcess', 'killedOwner'],
      ],
      [
        'After a crash between COMMITTED and DONE it is finished without a second effect.',
        ['effectsFinished', 'finishedByNext', 'resumed', 'fm2Prevented'],
      ],
    ],
    'How FM_001 happens in this model': [
      ['A single COMMITTED execution per job.', ['fm1Prevented', 'commitsOnce']],
      [
        'Duplicate executions are cut short at commit time.',
        ['fm1Prevented', 'commitsOnce', 'silentWorker'],
      ],
    ],
    'Minimal Implementation target (v0)': [
      ['Durable execution records.', ['openedAgain', 'powerLoss', 'serverCrashes']],
      ['Leasing with timeouts.', ['aborted', 'upkeepNames']],
      ['A committed marker.', ['life', 'resumed']],
      ['A worker that can be killed mid-job.', ['killedElsewhere', 'killedOwner', 'stepsKept']],
      [
        'Tests that reproduce FM_001 and prove the fix.',
        ['fm1Reproduced', 'fm1Prevented', 'commitsOnce'],
      ],
    ],
  },
}
