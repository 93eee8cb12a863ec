/**
 * Spans and durations by OpenTelemetry's conventions for messaging: a job is a message, and its type is where it goes.
 *
 * - send: the submit, a PRODUCER, within the trace of the submitter.
 * - process: each run of a handler or an effect, a CONSUMER. By default it begins a trace of its own, with a link to the
 *   submitter's: a job may run days later, and more than once. With `parent` it is a child of the submit.
 *
 * A run that is suspended or snoozed is no error. Without an SDK all of this does nothing.
 */
import type { Attributes, Context, Histogram, Meter, Span, Tracer } from '@opentelemetry/api'
import { context, metrics, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import type { AnyJob, OutcomeOf, SubmitArguments } from '../../definition/index.ts'
import { InvalidDefinition, KnownOptions, shown } from '../../definition/index.ts'
import type { Handle, Pawl, SubmitOptions } from '../../engine/index.ts'
import { nowUs } from '../../store/clock.ts'
import type { HandlerRun, HandlerRunEnd, Middleware } from '../../worker/index.ts'
import { traceOf, withTrace, withTraceFrom } from './trace-carrier.ts'

export interface TelemetryOptions {
  /** Whether a run is a child of the submit. Default false: it has a link to it. */
  readonly parent?: boolean
  /** Default: of the global provider. */
  readonly tracer?: Tracer
  /** Default: of the global provider. */
  readonly meter?: Meter
}

export interface Telemetry {
  /** For `work(…, { use: [telemetry.middleware] })`. */
  readonly middleware: Middleware
  /** As `pawl.submit`, within a span, which the job carries in its metadata. */
  submit<J extends AnyJob>(
    pawl: Pawl,
    definition: J,
    ...args: SubmitArguments<J, SubmitOptions>
  ): Promise<Handle<OutcomeOf<J>>>
  /** Metadata with the active trace, for submits that are made otherwise: of many, of children, of schedules. */
  carry(metadata?: unknown): unknown
}

const TELEMETRY_OPTIONS = new KnownOptions<TelemetryOptions>({
  parent: true,
  tracer: true,
  meter: true,
})
const SCOPE = 'pawl'
/** In seconds, as the conventions advise. */
const BOUNDARIES = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
const US_PER_S = 1_000_000

export function telemetry(options: TelemetryOptions = {}): Telemetry {
  TELEMETRY_OPTIONS.assert(options, 'telemetry()', 'telemetry({ parent: true })')
  const {
    parent = false,
    tracer = trace.getTracer(SCOPE),
    meter = metrics.getMeter(SCOPE),
  } = options
  if (typeof parent !== 'boolean') {
    throw new InvalidDefinition(`\`parent\` is true or false, not ${shown(parent)}.`)
  }
  const sent = histogram(meter, 'messaging.client.operation.duration', 'Of submits.')
  const processed = histogram(
    meter,
    'messaging.process.duration',
    'Of runs of handlers and effects.',
  )
  return {
    middleware: (run, next) => processWithin(tracer, processed, parent, run, next),
    submit: (pawl, definition, ...[input, given]) =>
      sendWithin(tracer, sent, pawl, definition, input, given ?? {}),
    carry: (metadata) => withTrace(metadata),
  }
}

function histogram(meter: Meter, name: string, description: string): Histogram {
  return meter.createHistogram(name, {
    description,
    unit: 's',
    advice: { explicitBucketBoundaries: BOUNDARIES },
  })
}

async function sendWithin<J extends AnyJob>(
  tracer: Tracer,
  durations: Histogram,
  pawl: Pawl,
  definition: J,
  input: unknown,
  options: SubmitOptions,
): Promise<Handle<OutcomeOf<J>>> {
  const attributes = attributesOf('send', definition.name)
  const span = tracer.startSpan(`send ${definition.name}`, { kind: SpanKind.PRODUCER, attributes })
  const within = trace.setSpan(context.active(), span)
  const startedUs = nowUs()
  let failed: Attributes = {}
  try {
    const handle = await context.with(within, () => submitTraced(pawl, definition, input, options))
    span.setAttribute('messaging.message.id', handle.id)
    return handle
  } catch (error) {
    failed = fail(span, codeOf(error), (error as Error).message)
    throw error
  } finally {
    durations.record((nowUs() - startedUs) / US_PER_S, { ...attributes, ...failed })
    span.end()
  }
}

/**
 * An id that is given again must come with the same content. In another trace the same submit has other metadata: then it
 * is made with the trace that the job carries, and whatever else differs is refused.
 */
async function submitTraced<J extends AnyJob>(
  pawl: Pawl,
  definition: J,
  input: unknown,
  options: SubmitOptions,
): Promise<Handle<OutcomeOf<J>>> {
  const submit = (metadata: unknown): Promise<Handle<OutcomeOf<J>>> => {
    const traced = metadata === undefined ? options : { ...options, metadata }
    return pawl.submit(
      definition,
      ...([input, traced] as unknown as SubmitArguments<J, SubmitOptions>),
    )
  }
  try {
    return await submit(withTrace(options.metadata))
  } catch (error) {
    const { id } = options
    const first = id !== undefined && codeOf(error) === 'IdReused' ? await pawl.get(id) : null
    if (first === null) throw error
    return submit(withTraceFrom(options.metadata, first.metadata))
  }
}

async function processWithin(
  tracer: Tracer,
  durations: Histogram,
  isParent: boolean,
  run: HandlerRun,
  next: () => Promise<HandlerRunEnd>,
): Promise<void> {
  const { job, stage, effect, attempt } = run
  const sender = traceOf(run.metadata)
  const attributes = attributesOf('process', job.type)
  const span = tracer.startSpan(
    `process ${job.type}`,
    {
      kind: SpanKind.CONSUMER,
      attributes: {
        ...attributes,
        'messaging.message.id': job.id,
        ...(stage === null ? {} : { 'pawl.stage': stage }),
        ...(effect === null ? {} : { 'pawl.effect': effect }),
        ...(attempt === null ? {} : { 'pawl.attempt': attempt }),
      },
      links: isParent ? [] : linksTo(sender),
    },
    isParent ? sender : ROOT_CONTEXT,
  )
  const startedUs = nowUs()
  const end = await context.with(trace.setSpan(context.active(), span), next)
  const failed = noteEnd(span, end)
  durations.record((nowUs() - startedUs) / US_PER_S, { ...attributes, ...failed })
  span.end()
}

function linksTo(
  sender: Context,
): { context: NonNullable<ReturnType<typeof trace.getSpanContext>> }[] {
  const known = trace.getSpanContext(sender)
  return known === undefined ? [] : [{ context: known }]
}

/** What the durations say of it, too. */
function noteEnd(span: Span, { isSuspended, isSnoozed, error }: HandlerRunEnd): Attributes {
  if (isSuspended || isSnoozed) {
    span.setAttribute('pawl.outcome', isSuspended ? 'suspended' : 'snoozed')
    return {}
  }
  if (error === null) {
    span.setAttribute('pawl.outcome', 'done')
    return {}
  }
  span.setAttribute('pawl.outcome', 'failed')
  return fail(span, error.code, error.message)
}

function fail(span: Span, code: string, message: string): Attributes {
  const attributes = { 'error.type': code }
  span.setAttributes(attributes)
  span.setStatus({ code: SpanStatusCode.ERROR, message })
  return attributes
}

function codeOf(error: unknown): string {
  const { code, name } = error as { readonly code?: unknown; readonly name?: unknown }
  return typeof code === 'string' ? code : String(name)
}

function attributesOf(operation: 'send' | 'process', destination: string): Attributes {
  return {
    'messaging.system': 'pawl',
    'messaging.operation.name': operation,
    'messaging.operation.type': operation,
    'messaging.destination.name': destination,
  }
}
