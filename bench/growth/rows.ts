/**
 * The rows of the growth bench, by name. A row that is added here is run, printed and held to the limit.
 */
import { backlog } from './backlog.ts'
import { groups } from './groups.ts'
import { idle } from './idle.ts'
import { inbox } from './inbox.ts'
import { inspection } from './inspection.ts'
import { opening } from './opening.ts'
import { outputs, segments } from './pipelines.ts'
import { queues } from './queues.ts'
import { reads } from './reads.ts'
import { retention } from './retention.ts'
import type { GrowthRow } from './row.ts'
import { schedules } from './schedules.ts'
import { steps } from './steps.ts'

export const ROWS: Readonly<Record<string, GrowthRow>> = {
  backlog,
  opening,
  inspection,
  inbox,
  reads,
  segments,
  outputs,
  schedules,
  steps,
  groups,
  queues,
  idle,
  retention,
}
