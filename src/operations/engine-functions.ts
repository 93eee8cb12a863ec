/**
 * What the operations on queues, schedules, workers, and many jobs at once do.
 */
import { InvalidDefinition } from '../definition/index.ts'
import type { BulkOptions, BulkReport, Pawl, RedriveOptions, Snapshot } from '../engine/index.ts'
import { untilAborted } from '../engine/client/handle.ts'
import { UnknownJob } from '../engine/index.ts'
import type { OperationInput, OperationName } from '../protocol/index.ts'
import type {
  EventFunctions,
  OperationContext,
  OperationEvent,
  OperationFunctions,
} from './operation-context.ts'
import { actorOf, definitionFor, done, engineOf, optionsOf } from './operation-context.ts'

type OfEngine =
  | Extract<
      OperationName,
      | `past.${string}`
      | `queues.${string}`
      | `limits.${string}`
      | `schedules.${string}`
      | `workers.${string}`
      | `quarantine.${'list' | 'groups' | 'redrive' | 'discard'}`
    >
  | 'counts'
  | 'bulk.preview'
  | 'bulk.run'
  | 'health'
  | 'metrics'
  | 'store.compact'

const DEFAULT_PAGE = 100
const DEFAULT_TIMES = 5

interface GivenMoment {
  readonly time?: number
  readonly position?: number
}

/** Undefined is as good as left out, where options are read one by one. */
function given<T extends object>(options: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const entries = Object.entries(options).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as { [K in keyof T]?: Exclude<T[K], undefined> }
}

function snapshotAt(pawl: Pawl, { time, position }: GivenMoment): Snapshot {
  if ((time === undefined) === (position === undefined)) {
    throw new InvalidDefinition('Say which moment is meant: by `time` or by `position`.')
  }
  return pawl.at(time === undefined ? (position as number) : new Date(time))
}

async function pastJob(
  { pawl }: OperationContext,
  { job, ...moment }: OperationInput<'past.show'>,
): Promise<unknown> {
  const info = await snapshotAt(pawl, moment).get(job)
  if (info === null) throw new UnknownJob(job)
  return info
}

async function pastJobs(
  { pawl, signal }: OperationContext,
  { time, position, after = 0, limit = DEFAULT_PAGE, ...filter }: OperationInput<'past.list'>,
): Promise<unknown> {
  const jobs: unknown[] = []
  let place = 0
  for await (const one of snapshotAt(pawl, given({ time, position })).list(filter)) {
    if (signal.aborted) break
    if (place++ < after) continue
    if (jobs.length === limit) return { jobs, next: after + limit }
    jobs.push(one)
  }
  return { jobs, next: null }
}

/** With the moment itself: a reader goes on from there, entry by entry. */
async function pastCounts(
  { pawl }: OperationContext,
  { time, position, ...filter }: OperationInput<'past.counts'>,
): Promise<unknown> {
  const counts = await snapshotAt(pawl, given({ time, position })).counts(filter)
  const moment = time === undefined ? { position: position as number } : { time }
  const snapshot = await engineOf(pawl).store.at(moment)
  return { position: await snapshot.position(), time: new Date(snapshot.time), ...counts }
}

/** Names of what an entry is of, the most telling first. */
const NAMED = ['by', 'worker', 'queue', 'schedule'] as const

/** Without what jobs were given and made, which may be large. */
async function pastEntries(
  { pawl }: OperationContext,
  {
    after = 0,
    through = Number.MAX_SAFE_INTEGER,
    limit = DEFAULT_PAGE,
    newest = false,
  }: OperationInput<'past.entries'>,
): Promise<unknown> {
  const { store } = engineOf(pawl)
  const found = await store.query({ kind: 'entries', after, through, limit, newest })
  const entries = found.map(({ position, entry }) => {
    const named = entry as Partial<Record<(typeof NAMED)[number], string>>
    const by = NAMED.map((one) => named[one]).find((one) => one !== undefined) ?? null
    const job = 'job' in entry ? entry.job : null
    return { position, at: new Date(entry.at), type: entry.type, job, by }
  })
  const next = (newest ? (found[0]?.position ?? 0) - 1 : found.at(-1)?.position) ?? 0
  const isMore = found.length === limit && next > 0 && (newest ? next > after : next < through)
  return { entries, next: isMore ? next : null }
}

/** `queue` of a reschedule is another one than that of the filter. */
function bulk(
  context: OperationContext,
  input: Omit<OperationInput<'bulk.run'>, 'rate'> & Pick<OperationInput<'bulk.run'>, 'rate'>,
  isDry: boolean,
  onProgress = context.onProgress,
): Promise<BulkReport> {
  const { pawl, signal } = context
  const { action, all, by: _by, reason: _reason, rate, ...others } = input
  const { delay, at, priority, toQueue: queue, name, effects, ...filter } = others
  const terms = { rate, delay, at, priority, queue, name, effects, onProgress }
  return pawl.bulk(
    action,
    { ...filter, ...given({ all: all as true | undefined }) },
    {
      ...(given(terms) as BulkOptions),
      ...(isDry ? { dryRun: true } : actorOf(context, input)),
      signal,
    },
  )
}

/** Durations are checked by the engine. */
function selection(
  context: OperationContext,
  input: OperationInput<'quarantine.redrive'>,
): RedriveOptions {
  const all = input.all as true | undefined
  return {
    ...(optionsOf(context, input, 'all') as RedriveOptions),
    ...given({ all, onProgress: context.onProgress }),
    signal: context.signal,
  }
}

async function setSchedule(
  context: OperationContext,
  input: OperationInput<'schedules.set'>,
): Promise<unknown> {
  const { schedule, type: _type, by: _by, reason: _reason, input: value = null, ...terms } = input
  const { lease: _l, timeout: _t, retry: _r, version: _v, ...when } = terms
  const job = definitionFor(context, input)
  const options = { ...when, job, input: value } as Parameters<Pawl['schedule']>[1]
  return context.pawl.schedule(schedule, options, actorOf(context, input))
}

export const ENGINE_FUNCTIONS: OperationFunctions<OfEngine> = {
  counts: ({ pawl }, input) => pawl.counts(input),
  'past.show': pastJob,
  'past.list': pastJobs,
  'past.counts': pastCounts,
  'past.entries': pastEntries,
  'bulk.preview': (context, input) => bulk(context, input, true),
  'bulk.run': (context, input) => bulk(context, input, false),
  'queues.list': async ({ pawl }) => ({ queues: await pawl.queues() }),
  'queues.show': ({ pawl }, { queue }) => pawl.queue(queue),
  'queues.pause': done((context, input) =>
    context.pawl.pause(input.queue, actorOf(context, input)),
  ),
  'queues.resume': done((context, input) =>
    context.pawl.resume(input.queue, actorOf(context, input)),
  ),
  'queues.configure': done((context, input) => {
    const { queue, by: _b, reason: _r, ...options } = input
    const bounds = options as Parameters<Pawl['configure']>[1]
    return context.pawl.configure(queue, bounds, actorOf(context, input))
  }),
  'limits.list': ({ pawl }, input) => pawl.limits(input),
  'limits.show': ({ pawl }, { limit }) => engineOf(pawl).store.query({ kind: 'limit', key: limit }),
  'schedules.list': async ({ pawl }) => ({ schedules: await pawl.schedules() }),
  'schedules.show': async ({ pawl }, { schedule, times = DEFAULT_TIMES }) => {
    const handle = pawl.scheduleHandle(schedule)
    return { ...(await handle.info()), nextTimes: await handle.nextTimes(times) }
  },
  'schedules.set': done(setSchedule),
  'schedules.run': async (context, input) => {
    const handle = context.pawl.scheduleHandle(input.schedule)
    return { job: (await handle.run(optionsOf(context, input, 'schedule'))).id }
  },
  'schedules.remove': done((context, input) =>
    context.pawl.scheduleHandle(input.schedule).remove(actorOf(context, input)),
  ),
  'schedules.pause': done((context, input) =>
    context.pawl.scheduleHandle(input.schedule).pause(actorOf(context, input)),
  ),
  'schedules.resume': done((context, input) =>
    context.pawl.scheduleHandle(input.schedule).resume(actorOf(context, input)),
  ),
  'workers.list': async ({ pawl }) => ({ workers: await pawl.workers() }),
  'workers.drain': done((context, input) =>
    context.pawl.drainWorker(input.worker, actorOf(context, input)),
  ),
  'workers.resume': done((context, input) =>
    context.pawl.resumeWorker(input.worker, actorOf(context, input)),
  ),
  'quarantine.list': ({ pawl }, input) => pawl.quarantine.list(input),
  'quarantine.groups': async ({ pawl }, input) => ({ groups: await pawl.quarantine.groups(input) }),
  'quarantine.redrive': (context, input) =>
    context.pawl.quarantine.redrive(selection(context, input)),
  'quarantine.discard': (context, input) =>
    context.pawl.quarantine.discard(selection(context, input)),
  health: ({ pawl }) => pawl.health(),
  metrics: ({ pawl }) => pawl.metrics(),
  'store.compact': done(({ pawl }) => pawl.compact()),
}

export const ENGINE_EVENTS: EventFunctions<
  'bulk.events' | 'quarantine.redrive.events' | 'store.watch'
> = {
  'bulk.events': async (context, input) =>
    reports(context.signal, (signal, onProgress) =>
      bulk({ ...context, signal }, input, false, onProgress),
    ),
  'quarantine.redrive.events': async (context, input) =>
    reports(context.signal, (signal, onProgress) =>
      context.pawl.quarantine.redrive(selection({ ...context, signal, onProgress }, input)),
    ),
  'store.watch': async ({ pawl, signal }, { from, new: isNew }, last) => {
    const { store } = engineOf(pawl)
    if (isNew === true && from !== undefined) {
      throw new InvalidDefinition('`from` and `new` do not go together: write one.')
    }
    const isFromNow = isNew === true && last === null
    const entries = isFromNow ? await store.watchNew() : store.watch(last ?? from ?? 0)
    return entryEvents(untilAborted(entries, signal))
  },
}

async function* entryEvents(
  entries: AsyncIterable<{ readonly position: number; readonly entry: unknown }>,
): AsyncGenerator<OperationEvent, void> {
  for await (const { position, entry } of entries) yield { id: position, data: entry }
}

/** The newest report after each batch, if its reader is quick enough, and at the end the whole one, which says that it is. */
async function* reports(
  gone: AbortSignal,
  run: (signal: AbortSignal, onProgress: (report: BulkReport) => void) => Promise<BulkReport>,
): AsyncGenerator<OperationEvent, void> {
  const left = new AbortController()
  const latest = new LatestReport()
  const ended = run(AbortSignal.any([gone, left.signal]), (report) => latest.put(report))
  const last = ended.then((report) => ({ report, isLast: true }))
  try {
    for (let isOver = false; !isOver;) {
      const { report, isLast } = await Promise.race([last, latest.take()])
      yield { id: null, data: { ...report, isLast } }
      isOver = isLast
    }
  } finally {
    left.abort()
    last.catch(() => undefined)
  }
}

/** Between a run that reports and a reader that takes its time: only the newest is kept. */
class LatestReport {
  #report: BulkReport | null = null
  #wake: (() => void) | null = null

  put(report: BulkReport): void {
    this.#report = report
    this.#wake?.()
  }

  /** The next one that was not taken yet. */
  async take(): Promise<{ readonly report: BulkReport; readonly isLast: boolean }> {
    while (this.#report === null) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
    const report = this.#report
    this.#report = null
    return { report, isLast: false }
  }
}
