/** Spans and durations of real jobs, as a real SDK exports them. */
import { context, propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import type { HistogramMetricData, MetricData } from '@opentelemetry/sdk-metrics'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import type { ReadableSpan } from '@opentelemetry/sdk-trace-node'
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-node'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { temporaryFolder } from '../../../test/support/engines.ts'
import { effect, job, open, RetryAfter, typed } from '../../index.ts'
import type { Pawl } from '../../index.ts'
import { telemetry } from './index.ts'

const spans = new InMemorySpanExporter()
const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] })
const durations = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
const reader = new PeriodicExportingMetricReader({ exporter: durations, exportIntervalMillis: 3e8 })
const meters = new MeterProvider({ readers: [reader] })
const meter = meters.getMeter('test')

beforeAll(() => provider.register())
beforeEach(() => spans.reset())
afterAll(async () => {
  await meters.shutdown()
  await provider.shutdown()
  trace.disable()
  context.disable()
  propagation.disable()
})

async function inMemory(): Promise<Pawl> {
  const pawl = await open('memory:', { onError: () => undefined })
  onTestFinished(() => pawl.close())
  return pawl
}

function named(name: string): ReadableSpan[] {
  return spans.getFinishedSpans().filter((one) => one.name === name)
}

async function ended(name: string, count: number): Promise<ReadableSpan[]> {
  await expect.poll(() => named(name).length).toBe(count)
  return named(name)
}

describe('a job that is observed', () => {
  it('has a span where it is sent, and one for each run, linked to it over retries', async () => {
    const pawl = await inMemory()
    const observed = telemetry({ meter })
    const told = effect('told', { input: typed<string>(), run: () => undefined })
    const mail = job('mail', {
      input: typed<{ to: string }>(),
      effects: [told],
      retry: { max: 1, delay: 0 },
      run: ({ job: { attempt }, commit }) => {
        if (attempt === 1) throw Object.assign(new Error('no answer'), { code: 'ESILENT' })
        return commit('sent', [told('ada')])
      },
    })
    pawl.work([mail], { signals: [], use: [observed.middleware] })
    const tracer = trace.getTracer('shop')
    const handle = await tracer.startActiveSpan('order', async (order) => {
      const submitted = await observed.submit(pawl, mail, { to: 'ada' }, { metadata: { shop: 7 } })
      order.end()
      return submitted
    })
    expect(await handle.result()).toBe('sent')
    const runs = await ended('process mail', 3)
    const [order, send] = [named('order')[0], named('send mail')[0]]
    expect(send?.kind).toBe(SpanKind.PRODUCER)
    expect(send?.parentSpanContext?.spanId).toBe(order?.spanContext().spanId)
    expect(send?.attributes).toMatchObject({
      'messaging.system': 'pawl',
      'messaging.operation.type': 'send',
      'messaging.destination.name': 'mail',
      'messaging.message.id': handle.id,
    })
    for (const run of runs) {
      expect(run.kind).toBe(SpanKind.CONSUMER)
      expect(run.parentSpanContext).toBe(undefined)
      expect(run.links.map(({ context: { spanId } }) => spanId)).toEqual([
        send?.spanContext().spanId,
      ])
      expect(run.spanContext().traceId).not.toBe(order?.spanContext().traceId)
    }
    expect(runs.map(({ attributes }) => attributes['pawl.attempt'])).toEqual([1, 2, undefined])
    expect(runs[2]?.attributes['pawl.effect']).toBe('told')
    expect(runs[0]?.status).toEqual({ code: SpanStatusCode.ERROR, message: 'no answer' })
    expect(runs[0]?.attributes['error.type']).toBe('ESILENT')
    expect(runs.slice(1).map(({ status }) => status.code)).toEqual([0, 0])
    expect((await pawl.get(handle.id))?.metadata).toMatchObject({
      shop: 7,
      traceparent: expect.stringContaining(send?.spanContext().traceId ?? 'none'),
    })
  })

  it('keeps its trace over a wait, and neither a suspension nor a snooze is an error', async () => {
    const folder = await temporaryFolder()
    const observed = telemetry({ meter })
    const waits = job('waits', { run: ({ sleep }) => sleep('night', '1s') })
    const snoozes = job('snoozes', {
      run: ({ job: { attempt } }) => {
        if (attempt === 1) throw new RetryAfter(0, { free: true })
      },
    })
    const first = await open(folder)
    const ids = [
      (await observed.submit(first, waits)).id,
      (await observed.submit(first, snoozes)).id,
    ]
    first.work([waits, snoozes], { signals: [], use: [observed.middleware] })
    await ended('process snoozes', 2)
    await ended('process waits', 1)
    await first.close()
    const second = await open(folder)
    onTestFinished(() => second.close())
    second.work([waits, snoozes], { signals: [], use: [observed.middleware] })
    for (const id of ids) await second.handle(id).result()
    const [waited, snoozed] = [await ended('process waits', 2), named('process snoozes')]
    const outcomes = [...waited, ...snoozed].map(({ attributes }) => attributes['pawl.outcome'])
    expect(outcomes).toEqual(['suspended', 'done', 'snoozed', 'done'])
    for (const { status, links } of [...waited, ...snoozed]) {
      expect(status.code).toBe(SpanStatusCode.UNSET)
      expect(links).toHaveLength(1)
    }
    const [send] = named('send waits')
    expect(waited[1]?.links[0]?.context.spanId).toBe(send?.spanContext().spanId)
  })

  it('is a child of its submit if that is asked for; what a handler does is within its span', async () => {
    const pawl = await inMemory()
    const observed = telemetry({ meter, parent: true })
    const inner = job('inner', { run: () => trace.getActiveSpan()?.spanContext().spanId })
    const outer = job('outer', {
      run: async () => {
        const { id } = await pawl.submit(inner, undefined, { metadata: observed.carry() })
        return [trace.getActiveSpan()?.spanContext().spanId, id] as const
      },
    })
    pawl.work([inner, outer], { signals: [], use: [observed.middleware] })
    const handle = await observed.submit(pawl, outer)
    const [span, id] = await handle.result()
    const [[send], [run]] = [named('send outer'), await ended('process outer', 1)]
    expect(run?.spanContext().spanId).toBe(span)
    expect(run?.parentSpanContext?.spanId).toBe(send?.spanContext().spanId)
    await pawl.handle(id).result()
    const [child] = await ended('process inner', 1)
    expect(child?.parentSpanContext?.spanId).toBe(span)
    expect(child?.spanContext().traceId).toBe(send?.spanContext().traceId)
  })

  it('is the same job if it is submitted again under its id, in another trace', async () => {
    const pawl = await inMemory()
    const observed = telemetry({ meter })
    const one = job('again', { input: typed<number>(), run: () => null })
    const options = { id: 'a', metadata: { shop: 7 } }
    const first = await observed.submit(pawl, one, 1, options)
    const before = await pawl.get('a')
    expect((await observed.submit(pawl, one, 1, options)).id).toBe(first.id)
    expect((await pawl.get('a'))?.metadata).toEqual(before?.metadata)
    const other = { id: 'a', metadata: { shop: 8 } }
    await expect(observed.submit(pawl, one, 1, other)).rejects.toThrow('IdReused')
  })

  it('that is refused ends its span with why, and gives the error on', async () => {
    const pawl = await inMemory()
    const observed = telemetry({ meter })
    const one = job('one', { input: typed<number>(), run: () => null })
    await observed.submit(pawl, one, 1, { id: 'a' })
    await expect(observed.submit(pawl, one, 2, { id: 'a' })).rejects.toThrow()
    const [, refused] = named('send one')
    expect(refused?.status.code).toBe(SpanStatusCode.ERROR)
    expect(refused?.attributes['error.type']).toBe('IdReused')
  })
})

describe('durations', () => {
  it('are histograms in seconds, by type and error', async () => {
    const pawl = await inMemory()
    const observed = telemetry({ meter })
    const timed = job('timed', {
      retry: { max: 1, delay: 0 },
      run: ({ job: { attempt } }) => {
        if (attempt === 1) throw Object.assign(new Error('no'), { code: 'ENO' })
      },
    })
    pawl.work([timed], { signals: [], use: [observed.middleware] })
    await (await observed.submit(pawl, timed)).result()
    await ended('process timed', 2)
    await reader.forceFlush()
    const all =
      durations
        .getMetrics()
        .at(-1)
        ?.scopeMetrics.flatMap((scope) => scope.metrics) ?? []
    const of = (name: string): MetricData | undefined =>
      all.find((one) => one.descriptor.name === name)
    const processed = of('messaging.process.duration') as HistogramMetricData
    expect(processed.descriptor).toMatchObject({ unit: 's', type: 'HISTOGRAM' })
    const points = processed.dataPoints.filter(
      ({ attributes }) => attributes['messaging.destination.name'] === 'timed',
    )
    expect(points.map(({ attributes }) => attributes['error.type'] ?? null)).toEqual(['ENO', null])
    expect(points.map(({ value }) => value.count)).toEqual([1, 1])
    expect(points[0]?.value.buckets.boundaries).toContain(0.005)
    expect(of('messaging.client.operation.duration')).toBeDefined()
  })
})

describe('telemetry()', () => {
  it('refuses options that do not exist, and leaves metadata alone that are no object', async () => {
    expect(() => telemetry({ parents: true } as never)).toThrow(/parent/)
    expect(() => telemetry({ parent: 'yes' } as never)).toThrow(/true or false/)
    expect(telemetry().carry('text')).toBe('text')
    expect(telemetry().carry({ a: 1 })).toEqual({ a: 1 })
    expect(telemetry().carry()).toBe(undefined)
  })
})
