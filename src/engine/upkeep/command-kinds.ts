/**
 * What a command may mean for others: for those who wait for work, those who have a job in hand,
 * and those who open stages.
 */
import type { Command } from '../../kernel/index.ts'

/** They change nothing about what can be claimed. */
export const QUIET: ReadonlySet<Command['type']> = new Set<Command['type']>([
  'ExtendLease',
  'RecordStep',
  'StartExecution',
  'StartEffect',
  'ForgetJob',
])
/** After them, whoever has the job in hand should know. */
export const INTERRUPTING: ReadonlySet<Command['type']> = new Set<Command['type']>([
  'CancelJob',
  'RevokeLease',
  'ForceTask',
  'StopTask',
  'ExpireLease',
])

/** After them, a stage of the job may be opened, or its tasks stopped. */
const ORCHESTRATED: ReadonlySet<Command['type']> = new Set<Command['type']>([
  'ReleaseJob',
  'CancelJob',
  'ForceTask',
  'ResolveEffect',
  'RevokeLease',
])

/** Workers tell of their own reports. */
export function mayMoveStages(command: Command): boolean {
  return command.type === 'SubmitJob'
    ? command.spec.stages !== null
    : ORCHESTRATED.has(command.type)
}
