/**
 * `pawl/metrics`: what an engine is measured by, as data and as Prometheus text.
 */
export type { EngineMeter, MeterOptions } from './engine-meter.ts'
export { observe } from './engine-meter.ts'
export type { MetricDistribution, MetricFamily, MetricSample, MetricType } from './metric-family.ts'
export { METRIC_NAMES } from './metric-names.ts'
export { PROMETHEUS_TYPE, prometheusText } from './prometheus-text.ts'
