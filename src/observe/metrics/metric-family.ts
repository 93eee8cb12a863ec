/**
 * The port of the metrics: what an engine is measured by, as plain data. A writer makes Prometheus text of it
 * (`prometheus-text.ts`); another one may make what it likes.
 */

export type MetricType = 'counter' | 'gauge' | 'histogram'

export interface MetricSample {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** Of a histogram, one for each set of labels. */
export interface MetricDistribution {
  readonly labels: Readonly<Record<string, string>>
  readonly count: number
  /** In seconds. */
  readonly sum: number
  /** How many were at most so long, in seconds: the bounds grow, and so do the counts. */
  readonly buckets: readonly { readonly atMost: number; readonly count: number }[]
}

export interface MetricFamily {
  readonly name: string
  readonly type: MetricType
  readonly help: string
  /** None for a histogram. */
  readonly samples: readonly MetricSample[]
  /** None but for a histogram. */
  readonly distributions: readonly MetricDistribution[]
}
