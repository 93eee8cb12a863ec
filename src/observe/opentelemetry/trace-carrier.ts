/**
 * The trace of the submitter, in the metadata of the job: as `traceparent` and `tracestate`, beside what else is there. The
 * metadata stay with the job, so every attempt finds them, however long it waited and wherever it runs.
 */
import type { Context } from '@opentelemetry/api'
import { context, propagation, ROOT_CONTEXT } from '@opentelemetry/api'

export type Metadata = Readonly<Record<string, unknown>>

/** The metadata with the active trace. They are given back as they are if there is none, or if they are no object. */
export function withTrace(metadata: unknown): unknown {
  const carrier: Metadata = {}
  propagation.inject(context.active(), carrier)
  return withFields(metadata, carrier)
}

/** The metadata with the trace that others carry. */
export function withTraceFrom(metadata: unknown, others: unknown): unknown {
  const carried = isObject(others) ? others : {}
  const fields = propagation.fields().filter((field) => Object.hasOwn(carried, field))
  return withFields(metadata, Object.fromEntries(fields.map((field) => [field, carried[field]])))
}

function withFields(metadata: unknown, carrier: Metadata): unknown {
  const isCarried = metadata === undefined || isObject(metadata)
  return isCarried && Object.keys(carrier).length > 0 ? { ...metadata, ...carrier } : metadata
}

/** The context that the metadata carry; the root, if they carry none. */
export function traceOf(metadata: unknown): Context {
  return isObject(metadata) ? propagation.extract(ROOT_CONTEXT, metadata) : ROOT_CONTEXT
}

function isObject(value: unknown): value is Metadata {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
