/** The names of State Machine and Leases, what they are here, and what the document asks for. */
import type { SourceDocument } from './source-document.ts'

export const leases: SourceDocument = {
  number: '003',
  title: 'State Machine and Leases',
  names: [
    ['stage', 'entity', '`StageSpec`'],
    ['NEW', 'state', '`NEW`'],
    ['READY', 'state', '`READY`'],
    ['RUNNING', 'state', '`RUNNING`'],
    ['DONE', 'state', '`DONE`'],
    [
      'ERROR',
      'state',
      '`ERROR`',
      'A stage that tolerates failures is ERROR only beyond that number.',
    ],
    ['orchestrator', 'entity', '`OpenStage`, `UpkeepLoop`', 'It opens stages and never does work.'],
    ['NEW to READY', 'event', '`StageOpened`'],
    ['prerequisites', 'rule', '`StageSpec.after`, `OpenStage.prerequisites-done`'],
    [
      'worker',
      'entity',
      '`Lease.worker`, `WorkerInfo`',
      'A name in the log, and a row in the registry. Workers never open stages.',
    ],
    ['claim, READY to RUNNING', 'event', '`LeaseGranted`'],
    [
      'complete, RUNNING to DONE',
      'event',
      '`ExecutionCommitted`',
      'Also an operator, by `TaskForced`, on record.',
    ],
    ['RUNNING to ERROR', 'event', '`TaskFailed`'],
    [
      'FOR UPDATE SKIP LOCKED',
      'rule',
      '`SqlStore.claim`, `compareOrder`',
      'The store finds candidates so, on PostgreSQL; the kernel says whether one may be granted.',
    ],
    [
      'stage_lease_owner',
      'field',
      '`Lease.worker`, `Lease.session`',
      'The session is that of the process, by which it is known to be dead.',
    ],
    ['stage_lease_expires_at', 'field', '`Lease.expiresAt`'],
    [
      'completion is compare-and-set',
      'rule',
      '`CommitExecution.lease-held`, `CommitExecution.lease-holder`, `CommitExecution.lease-unexpired`',
      'By number and owner and time.',
    ],
    [
      'recovery loop',
      'operation',
      '`UpkeepLoop`, `ExpireLease`, `RevokeLease`',
      'By time, and at once for a process that is known to be dead.',
    ],
    ['diagnostic message', 'field', '`LeaseExpired.diagnostic`, `LeaseRevoked.reason`'],
    [
      'deterministic artifact paths, checksums',
      'rule',
      '`ArtifactRef`, `StageSpec.version`',
      'The path also has the attempt, the submit and the store; the SHA-256 is in the commit.',
    ],
    ['stage version', 'field', '`StageSpec.version`'],
    ['job_id', 'field', '`Job.id`'],
    ['segment_id', 'field', '`Task.segment`'],
    [
      'segment, segment-level lease',
      'entity',
      '`Task`',
      'One task per segment: only the failed one runs again.',
    ],
    ['commit actions last', 'rule', '`Commit.effects`'],
  ],
  demands: {
    'Stage statuses': [
      ['NEW: the stage exists, and is not available.', ['derivedStates', 'stageStates']],
      ['READY: it can be claimed.', ['derivedStates', 'stageStates']],
      ['RUNNING: a worker holds its lease.', ['derivedStates', 'stageStates']],
      ['DONE: it completed.', ['derivedStates', 'stageStates']],
      [
        'ERROR: it failed, and may be retried.',
        ['derivedStates', 'stageStates'],
        'Beyond what it tolerates. A retry that is still to come keeps it READY.',
      ],
    ],
    Orchestrator: [
      ['It makes a stage READY when its prerequisites are met.', ['stageStates', 'mayOpen']],
      [
        'It never marks work DONE.',
        ['stageStates', 'guardsNeeded'],
        'Only the commit of a worker, or an operator by force, does.',
      ],
      ['It does no heavy work.', ['upkeepNames', 'stageStates']],
    ],
    Workers: [
      ['They claim: READY to RUNNING, with a lease.', ['stageStates', 'claimRepeated']],
      [
        'They complete: RUNNING to DONE or ERROR.',
        ['stageStates'],
        'An operator may, too, by force and on record.',
      ],
      ['They never advance later stages.', ['stageStates']],
    ],
    'Concurrency-safe claiming (SKIP LOCKED)': [
      ['No two workers claim one row.', ['oneOfMany', 'claimsAtOnce', 'worlds']],
      [
        'Rows that others have locked are skipped.',
        ['skipsLocked', 'oneOfMany'],
        'On PostgreSQL. The other stores have one writer at a time.',
      ],
      [
        'One transaction locks, updates, writes the lease, and commits.',
        ['connectionsLost', 'processesKilled', 'claimsAtOnce'],
      ],
      ['The expensive work happens outside of it.', ['stepsKept', 'keptLease', 'extended']],
    ],
    'Per-stage leases': [
      [
        'A lease has an owner whose name is unique.',
        ['workersListed', 'holderOnly', 'uniqueNames'],
      ],
      ['It has a time after which the work is abandoned.', ['aborted', 'upkeepNames']],
      [
        'A completion counts only if the stage is RUNNING and the owner matches.',
        ['holderOnly', 'commitsOnce', 'guardsNeeded'],
        'And the number of the lease, and the time.',
      ],
      [
        'A stale worker overwrites nothing.',
        ['commitsOnce', 'fm3Prevented', 'stoppedProcess', 'silentWorker'],
      ],
    ],
    'Recovery loop': [
      ['It finds stages whose lease is expired.', ['upkeepNames', 'aborted']],
      ['It resets them to READY.', ['aborted', 'oneSegment']],
      ['It clears the lease.', ['aborted', 'brokenRecords']],
      ['It records a diagnostic for operators.', ['aborted', 'lostLease']],
      [
        'Work is safe from a crash.',
        ['killedProcess', 'killedElsewhere', 'killedOwner', 'stepsKept'],
      ],
      ['Work is safe from sleep.', ['stoppedProcess', 'sleepCostsNothing']],
      ['Work is safe from a restart.', ['openedAgain', 'directoryInStep', 'databasesInStep']],
    ],
    'Idempotency guidelines (practical)': [
      [
        'Artifacts have paths derived from job, segment and stage version.',
        ['artifactFound', 'artifactPlaces', 'artifactOfLoser'],
        'And from attempt, submit and store: an attempt that lost its lease may still be writing.',
      ],
      [
        'An output that is there and valid is not made again.',
        ['validReused', 'artifactFound', 'artifactHarmed', 'artifactCutShort'],
        "If the definition says `reuse: 'valid'`, or the handler asks for it with `reuse()`.",
      ],
      [
        'Commit actions come last.',
        ['life', 'effectAfterCommit', 'stepsKept'],
        'They are effects, which the commit promises.',
      ],
      ['Checksums of key outputs are recorded.', ['artifactFound', 'artifactHarmed']],
    ],
    'Planned: segment-level leases': [
      ['A segment is a smaller unit within a job.', ['eachElement', 'oneSegment']],
      ['Only the failed segment is queued again.', ['oneSegment', 'pipelineRetriesSegment']],
    ],
  },
}
