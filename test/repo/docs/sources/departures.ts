/** Where the source documents disagree with each other, or Pawl departs from one. */
import type { Departure } from './source-document.ts'

export const DEPARTURES: readonly Departure[] = [
  [
    'FAILED may retry (001); FAILED is final (002)',
    'FAILED is final. Waiting to retry is RETRYING, given up is QUARANTINED. A FAILED job is run again as a new job that names it.',
    'One meaning per word.',
    ['retriedThreeTimes', 'overIsOver', 'ranAgainAsNewJob'],
  ],
  [
    'RUNNING never returns to QUEUED (002); an expiry returns to PENDING (000)',
    'It returns by expiry, revocation, release, force, or a retry without delay.',
    'An expiry is a retry.',
    ['aborted', 'movesWalked', 'silentHandler'],
  ],
  [
    'Jobs move only by executions (000)',
    'Also by a cancel and by an operator, as entries.',
    'People must be able to stop work.',
    ['whoAndWhy', 'historyByPeople'],
  ],
  [
    'TaskCompleted, TaskCancelled, TaskCreated (004)',
    '`ExecutionCommitted` and its last effect; `ReportRefused`; `JobSubmitted` and `StageOpened`.',
    'One boundary. Cancel means what users mean by it.',
    ['life', 'commitsOnce', 'stageStates'],
  ],
  [
    'Replay from the beginning; no reconciliation, no repair (004)',
    'Replay from the newest checkpoint that checks. Expiry is a command like any other. Repair exists, and only a person starts it.',
    'A log of years must open in seconds.',
    ['checkpointLost', 'checkpointDamaged', 'openedAgain', 'repaired', 'rowsRepaired'],
  ],
  [
    'Only workers complete work (003)',
    'Also an operator, by force, on record.',
    'Sometimes a person knows better, and it must not be hidden.',
    ['movesWalked', 'whoAndWhy'],
  ],
  [
    'RUNNING has an active worker (001)',
    'RUNNING has a current lease, or is between tasks. A silent worker loses its lease by time, a dead one within seconds.',
    'Workers are soft state.',
    ['aborted', 'killedElsewhere', 'killedOwner'],
  ],
  [
    'Every transition is recorded (001)',
    'A move that only time makes, such as a due time, has no entry. The history shows it among the others, marked.',
    'Time needs no witness.',
    ['history', 'historyByPeople'],
  ],
  [
    'A TaskCancelled for each late completion (004)',
    'Each is answered cancelled; at most one `ReportRefused` for a lease is written.',
    'A stale worker must not be able to fill the log.',
    ['commitsOnce', 'brokenSteps'],
  ],
  [
    'The path of an artifact is made of job, segment and stage version (003)',
    'And of the attempt, the time of the submit, and the store.',
    'An attempt that lost its lease may still be writing: two writers, one name.',
    ['artifactFound', 'artifactPlaces', 'artifactOfLoser'],
  ],
  [
    'State snapshots for rollback (001)',
    'Nothing is rolled back. Any moment that is kept can be looked at, and a job is run again as a new one, from a recorded step if that is wanted.',
    'The log is append-only.',
    ['pastMoments', 'timeTravel', 'fromAStep', 'ranAgainAsNewJob'],
  ],
]
