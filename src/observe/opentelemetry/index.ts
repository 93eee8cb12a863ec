/**
 * `pawl/opentelemetry`: spans and durations of jobs. It needs `@opentelemetry/api`.
 */
export type { Telemetry, TelemetryOptions } from './telemetry.ts'
export { telemetry } from './telemetry.ts'
