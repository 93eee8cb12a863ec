/**
 * The lab: failure modes as stories on the real kernel.
 */
export type { Experiment, FailureMode, LabRun, LabStep } from './experiments.ts'
export { FAILURE_MODES, invariantText, runExperiment } from './experiments.ts'
