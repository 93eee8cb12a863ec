/**
 * The rows of the growth bench, by name. A row that is added here is run, printed and held to the limit.
 */
import { backlog } from './backlog.ts'
import { inspection } from './inspection.ts'
import { outputs, segments } from './pipelines.ts'
import type { GrowthRow } from './row.ts'
import { schedules } from './schedules.ts'
import { steps } from './steps.ts'

export const ROWS: Readonly<Record<string, GrowthRow>> = {
  backlog,
  inspection,
  segments,
  outputs,
  schedules,
  steps,
}
