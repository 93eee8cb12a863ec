/**
 * Runs handlers and effects inside the functions that the user gives for that.
 *
 * These see that it begins and how it ends, and change neither what it is given nor what it gives. With isolation
 * they run in the worker's thread, around the child.
 */
import { fromJson, InvalidDefinition, shown } from '../../definition/index.ts'
import type { AbortHandle } from '../abort-handle.ts'
import type { HandlerRun, HandlerRunEnd, Middleware } from '../middleware.ts'
import type { Died, EffectOutcome, Executor } from './executor.ts'
import { childDied, failureOf, failureReport } from './failure.ts'
import type { HandlerOutcome } from './handler.ts'

type RunOutcome = HandlerOutcome | EffectOutcome | Died
type FailureOutcome = Extract<HandlerOutcome, { readonly kind: 'failure' }>

export function withMiddleware(
  executor: Executor,
  middleware: readonly Middleware[] | undefined,
  onError: (error: Error) => void,
): Executor {
  if (middleware === undefined) return executor
  assertFunctions(middleware)
  const around = <O extends RunOutcome>(
    run: HandlerRun,
    begin: () => Promise<O>,
  ): Promise<O | FailureOutcome> => runAround(middleware, run, begin, onError)
  return {
    endsWhatItStops: executor.endsWhatItStops,
    runJob: (definition, request, port, abortHandle) => {
      const { id, type, attempt, metadata } = request.job
      const { stage } = definition
      const run = { job: { id, type }, stage, effect: null, attempt, metadata }
      return around(withSignal(run, abortHandle), () =>
        Promise.race([
          executor.runJob(definition, request, port, abortHandle),
          suspensionOf(abortHandle),
        ]),
      )
    },
    runEffect: (definition, request, artifacts, abortHandle) => {
      const { job, stage, name: effect } = request
      const metadata = request.metadata === null ? undefined : fromJson(request.metadata)
      const run = { job, stage, effect, attempt: null, metadata }
      return around(withSignal(run, abortHandle), () =>
        executor.runEffect(definition, request, artifacts, abortHandle),
      )
    },
    close: () => executor.close(),
  }
}

function assertFunctions(given: unknown): void {
  if (Array.isArray(given) && given.every((one) => typeof one === 'function')) return
  throw new InvalidDefinition(
    `\`use\` of a worker is a list of functions, not ${shown(given)}. Write use: [(run, next) => next()].`,
  )
}

function withSignal(run: Omit<HandlerRun, 'signal'>, { signal }: AbortHandle): HandlerRun {
  return { ...run, signal }
}

async function runAround<O extends RunOutcome>(
  middleware: readonly Middleware[],
  run: HandlerRun,
  begin: () => Promise<O>,
  onError: (error: Error) => void,
): Promise<O | FailureOutcome> {
  let begun: Promise<O> | null = null
  const runFrom = async (place: number): Promise<HandlerRunEnd> => {
    const next = middleware[place]
    if (next === undefined) return endOf(await (begun ??= begin()))
    await next(run, () => runFrom(place + 1))
    if (begun === null) throw new InvalidDefinition(NO_NEXT)
    return endOf(await begun)
  }
  try {
    await runFrom(0)
  } catch (error) {
    if (begun === null) return { kind: 'failure', ...failureReport(error) }
    onError(error as Error)
  }
  return begun as unknown as Promise<O>
}

const NO_NEXT =
  'A function of `use` returned and never called `next`: call it, or throw an error to fail the attempt.'

function endOf(outcome: RunOutcome): HandlerRunEnd {
  const isSuspended = outcome.kind === 'suspended'
  const end = { isDone: false, isSuspended, isSnoozed: false, error: null }
  if (outcome.kind === 'died') return { ...end, error: failureOf(childDied(outcome)) }
  if (outcome.kind !== 'failure') return { ...end, isDone: !isSuspended }
  return { ...end, isSnoozed: outcome.retryAfter?.free === true, error: outcome.failure }
}

/** The promise of a handler that is suspended never settles: what is around it goes on all the same. */
function suspensionOf(abortHandle: AbortHandle): Promise<HandlerOutcome> {
  return new Promise((resolve) => {
    const { signal } = abortHandle
    const stopped = (): void => {
      if (abortHandle.reason === 'suspended') resolve({ kind: 'suspended' })
    }
    signal.addEventListener('abort', stopped, { once: true })
  })
}
