/**
 * `pawl/conformance`: examines workers in other languages.
 */
export type { CheckResult, ConformanceOptions, ConformanceReport } from './run-conformance.ts'
export { runConformance } from './run-conformance.ts'
