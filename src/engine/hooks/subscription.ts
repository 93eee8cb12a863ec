/** Listeners for what happens to jobs: `pawl.on`. */
import { InvalidDefinition, KnownOptions, shown } from '../../definition/index.ts'
import type { Store } from '../../store/index.ts'
import type { StalledInfo } from '../inspect/health.ts'
import type { EventFilter, JobEvent, JobEventName } from './job-events.ts'
import { JOB_EVENTS, EventReplay } from './job-events.ts'

export interface ListenOptions {
  /** Only jobs of this type, or of these. Default: all. */
  readonly type?: string | readonly string[]
  /** Events behind this position, as an earlier event had it. Default, and null: from now on. */
  readonly from?: number | null
}

export type JobListener = (event: JobEvent) => unknown

const LISTEN_OPTIONS = new KnownOptions<ListenOptions>({ type: true, from: true })

interface ListenTerms extends EventFilter {
  /** Null: from now on. */
  readonly from: number | null
}

/** What was given, checked. */
export function listenTerms(
  events: unknown,
  listener: unknown,
  options: ListenOptions,
): ListenTerms {
  const names: readonly unknown[] = Array.isArray(events) ? events : [events]
  for (const name of names) {
    if (JOB_EVENTS.includes(name as JobEventName)) continue
    throw new InvalidDefinition(
      `There is no event ${shown(name)}: there are ${JOB_EVENTS.map((one) => `'${one}'`).join(', ')}.`,
    )
  }
  if (typeof listener !== 'function') {
    throw new InvalidDefinition(
      `on() takes a function that is called with each event, not ${shown(listener)}. Write on('failed', ({ job, error }) => …).`,
    )
  }
  LISTEN_OPTIONS.assert(options, 'on()', `on('failed', listener, { type: 'mail' })`)
  const { type, from } = options
  if (from !== undefined && from !== null && !(Number.isSafeInteger(from) && from >= 0)) {
    throw new InvalidDefinition(
      `\`from\` of on() is the position of an event, a whole number from 0, not ${shown(from)}.`,
    )
  }
  const types = type === undefined ? null : new Set(typeof type === 'string' ? [type] : type)
  return { events: new Set(names as JobEventName[]), types, from: from ?? null }
}

/** Where stalled tasks are told of, whichever process runs them. */
export class StalledTasks {
  readonly #listeners = new Set<(task: StalledInfo) => void>()

  get hasListeners(): boolean {
    return this.#listeners.size > 0
  }

  /** Gives what stops it. */
  listen(listener: (task: StalledInfo) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  tell(task: StalledInfo): void {
    for (const listener of this.#listeners) listener(task)
  }
}

function noop(): void {}

function stalledEvent({ job, type, since }: StalledInfo): JobEvent {
  return { event: 'stalled', job, type, at: since, position: null, error: null }
}

interface ListenParts {
  readonly store: Store
  readonly stalled: StalledTasks
  readonly onError: (error: Error) => void
}

/** Calls the listener until it is stopped, or the store is closed. Gives what stops it. */
export async function listen(
  { store, stalled, onError }: ListenParts,
  terms: ListenTerms,
  listener: JobListener,
): Promise<() => Promise<void>> {
  const { from } = terms
  const watched = from === null ? await store.watchNew() : store.watch(from)
  const entries = watched[Symbol.asyncIterator]()
  const replay = new EventReplay(store, terms)
  let isStopped = false
  const call = async (event: JobEvent): Promise<void> => {
    try {
      await listener(event)
    } catch (error) {
      onError(error as Error)
    }
  }
  const run = async (): Promise<void> => {
    for (;;) {
      const { done, value } = await entries.next()
      if (done === true) return
      const event = await replay.next(value)
      if (isStopped) return
      if (event !== null) await call(event)
    }
  }
  const tellStalled = (task: StalledInfo): void => {
    if (terms.types?.has(task.type) ?? true) void call(stalledEvent(task))
  }
  const stopStalled = terms.events.has('stalled') ? stalled.listen(tellStalled) : noop
  void run()
    .catch((error: unknown) => {
      if (!isStopped) onError(error as Error)
    })
    .finally(stopStalled)
  return async () => {
    isStopped = true
    stopStalled()
    await entries.return?.()
  }
}
