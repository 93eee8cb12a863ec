/** The names of State Machine and Leases, and what they are here. */
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
    ['orchestrator', 'entity', '`OpenStage`', 'It opens stages and never does work.'],
    ['NEW to READY', 'event', '`StageOpened`'],
    ['prerequisites', 'rule', '`StageSpec.after`, `OpenStage.prerequisites-done`'],
    ['worker', 'entity', '`Lease.worker`', 'A name. Workers never open stages.'],
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
      'The claim of a SQL store',
      'Not written yet. The kernel only says which of two comes first: `compareOrder`.',
    ],
    ['stage_lease_owner', 'field', '`Lease.worker`'],
    ['stage_lease_expires_at', 'field', '`Lease.expiresAt`'],
    [
      'completion is compare-and-set',
      'rule',
      '`CommitExecution.lease-held`, `CommitExecution.lease-holder`, `CommitExecution.lease-unexpired`',
      'By number and owner and time.',
    ],
    ['recovery loop', 'operation', '`ExpireLease`'],
    ['diagnostic message', 'field', '`LeaseExpired.diagnostic`'],
    [
      'deterministic artifact paths, checksums',
      'rule',
      'Artifacts',
      'Not written yet. `StageSpec.version` is kept for them.',
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
}
