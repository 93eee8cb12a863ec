/**
 * Runs jobs of a `batchJob` that were claimed together with one call of its handler.
 */
import type { EffectCall, Runnable } from '../../definition/index.ts'
import { effectCalls, InvalidDefinition, isFailed } from '../../definition/index.ts'
import type { AbortHandle } from '../abort-handle.ts'
import type { HandlerContext, HandlerPort, HandlerRequest } from './handler-context.ts'
import type { HandlerOutcome } from './handler.ts'
import { assertPromised, contextFor, failureOutcome, outcomeOf } from './handler.ts'

interface BatchItem {
  readonly request: HandlerRequest
  readonly port: HandlerPort
  readonly abortHandle: AbortHandle
  readonly resolve: (outcome: HandlerOutcome) => void
}

interface ReadyItem extends BatchItem {
  readonly context: HandlerContext
}

export class HandlerBatches {
  readonly #waiting = new Map<Runnable, BatchItem[]>()

  /** A batch has the jobs of one turn of the event loop: they were claimed together. */
  run(
    definition: Runnable,
    request: HandlerRequest,
    port: HandlerPort,
    abortHandle: AbortHandle,
  ): Promise<HandlerOutcome> {
    return new Promise((resolve) => {
      const item = { request, port, abortHandle, resolve }
      const waiting = this.#waiting.get(definition)
      if (waiting !== undefined) {
        waiting.push(item)
        return
      }
      this.#waiting.set(definition, [item])
      queueMicrotask(() => this.#runAll(definition))
    })
  }

  #runAll(definition: Runnable): void {
    const items = this.#waiting.get(definition) ?? []
    this.#waiting.delete(definition)
    const max = definition.batch?.max ?? 1
    for (let at = 0; at < items.length; at += max) {
      void runBatch(definition, items.slice(at, at + max))
    }
  }
}

async function runBatch(definition: Runnable, items: readonly BatchItem[]): Promise<void> {
  const ready: ReadyItem[] = []
  for (const item of withSharedReports(items)) {
    const { request, port, abortHandle, resolve } = item
    try {
      ready.push({ ...item, context: await contextFor(definition, request, port, abortHandle) })
    } catch (error) {
      resolve(failureOutcome(definition, error))
    }
  }
  if (ready.length === 0) return
  try {
    const calls = new Set<EffectCall>()
    const run = (): unknown => definition.batch?.run(ready.map(({ context }) => context as never))
    const answers: unknown = await (definition.effects.size === 0
      ? run()
      : effectCalls.run(calls, run))
    if (!Array.isArray(answers) || answers.length !== ready.length) {
      throw new InvalidDefinition(
        `Batch job '${definition.name}' was given ${ready.length} items and must return an answer for each, in order.`,
        { type: definition.name, items: ready.length },
      )
    }
    // Which item a call was for is not known: one that failed may have made it.
    if (!answers.some(isFailed)) assertPromised(`'${definition.name}'`, calls, ...answers)
    await Promise.all(ready.map((item, i) => resolveItem(definition, item, answers[i])))
  } catch (error) {
    for (const { resolve } of ready) resolve(failureOutcome(definition, error))
  }
}

/** A handler that goes from job to job is silent about most of them: what it says counts for all. */
function withSharedReports(items: readonly BatchItem[]): readonly BatchItem[] {
  if (items.length === 1) return items
  const heard = (): void => {
    for (const { port } of items) port.heard()
  }
  return items.map((item) => ({ ...item, port: reportingTo(item.port, heard) }))
}

function reportingTo(port: HandlerPort, heard: () => void): HandlerPort {
  return {
    heard: () => port.heard(),
    emit: (name, value) => {
      heard()
      return port.emit(name, value)
    },
    suspend: (request) => port.suspend(request),
    endWait: (request) => port.endWait(request),
    rest: (ms) => port.rest(ms),
    longestRestMs: port.longestRestMs,
    input: () => port.input(),
    outputs: (stage, after, job) => port.outputs(stage, after, job),
    callee: (job) => port.callee(job),
    shared: port.shared,
    artifacts: port.artifacts,
    noWrites: port.noWrites,
    record: async (name, value) => {
      const recorded = await port.record(name, value)
      heard()
      return recorded
    },
    progress: (value) => {
      port.progress(value)
      heard()
    },
    log: (line) => {
      port.log(line)
      heard()
    },
  }
}

async function resolveItem(definition: Runnable, item: ReadyItem, answer: unknown): Promise<void> {
  try {
    if (isFailed(answer)) throw answer.error
    item.resolve(await outcomeOf(definition, item.context, answer))
  } catch (error) {
    item.resolve(failureOutcome(definition, error))
  }
}
