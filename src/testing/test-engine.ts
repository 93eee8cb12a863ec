/**
 * An engine for tests: everything that an engine has, in memory, with a clock that the test
 * moves, and workers that die when the test wants it.
 *
 * Nothing takes real time, and nothing begins by itself: jobs run while `runUntilIdle`,
 * `runOne`, `advance` or `advanceTo` does. The same test gives the same times, ids and names of
 * workers again. What is not faked: handlers and effects are the real ones, and so is every
 * decision.
 */
import type {
  AnyJob,
  Duration,
  OutcomeOf,
  SubmitArguments,
  SubmitItem,
} from '../definition/index.ts'
import { InvalidDefinition, toMs } from '../definition/index.ts'
import type {
  Actor,
  Handle,
  HistoryItem,
  JobInfo,
  RerunOptions,
  RunScheduleOptions,
  ScheduleHandle,
  ScheduleTerms,
  SubmitOptions,
  SubmitSummary,
} from '../engine/index.ts'
import { Pawl, UnknownJob } from '../engine/index.ts'
import type { Store } from '../store/index.ts'
import { MemoryStore } from '../store/index.ts'
import type { Worker, WorkerOptions } from '../worker/index.ts'
import { ReconcileFailed } from '../worker/index.ts'
import { neverFires, VirtualClock } from './clock.ts'
import { CrashingStore, CrashPoints } from './crashing-store.ts'
import { EffectCalls } from './effect-calls.ts'
import { NotSettled, PendingWork } from './pending-work.ts'
import type { TestTransaction } from './test-transaction.ts'
import { TestWorkers } from './test-workers.ts'
import { VirtualTimeSteps } from './virtual-time-steps.ts'

export interface TestEngineOptions {
  /** Jobs to run besides those that the test submits: children, above all. */
  readonly jobs?: readonly AnyJob[]
  /** What time it is at first. Default: 2025-01-01, midnight UTC. */
  readonly start?: Date | number
  /** Of the worker that runs the jobs. */
  readonly worker?: WorkerOptions
  /**
   * How long, in real time, a handler may be silent before `runUntilIdle` gives up. Default 2 s:
   * handlers may read a real file, and still a test that hangs is told why.
   */
  readonly patience?: Duration
  /** How many rounds a run may take before it counts as endless. Default 10,000. */
  readonly rounds?: number
  /**
   * What runs the writes of `commit(…).with(write)`: `(run) => run(client)` with a client that the test made up, or
   * `sqliteTransaction(database)`. Default: none, and such a commit fails.
   */
  readonly transaction?: TestTransaction
}

export interface RunOptions {
  /**
   * Moves the clock to whatever is due next (retries, delays, leases that run out, rates) until
   * every job is over, or waits for a person. Default false.
   */
  readonly skipWaiting?: boolean
}

/** A job that was run to its end. */
export interface Ran<Output> {
  readonly output: Output
  readonly info: JobInfo
  /** Every entry about it, oldest first. */
  readonly history: readonly HistoryItem[]
}

/** Lets workers die. */
export type Crash = Pick<
  CrashPoints,
  | 'beforeCommit'
  | 'afterCommit'
  | 'beforeSuspension'
  | 'afterSuspension'
  | 'duringEffect'
  | 'unreached'
>

const DEFAULT_START = Date.UTC(2025, 0, 1)
const DEFAULT_PATIENCE_MS = 2_000
const DEFAULT_ROUNDS = 10_000

export function testEngine(options: TestEngineOptions = {}): TestEngine {
  return new TestEngine(options)
}

export class TestEngine extends Pawl {
  /** Lets workers die: `crash.beforeCommit(invoice)`. */
  readonly crash: Crash
  /** What effects were started: `effects.calls(receipt)`. */
  readonly effects: Pick<EffectCalls, 'calls'>
  readonly #store: Store
  readonly #clock: VirtualClock
  readonly #pendingWork: PendingWork
  readonly #workers: TestWorkers
  readonly #steps: VirtualTimeSteps
  /** Ids that the test gave itself. */
  readonly #givenIds = new Set<string>()
  readonly #counts = new Map<string, number>()

  constructor(options: TestEngineOptions) {
    const clock = new VirtualClock(timeOf(options.start ?? DEFAULT_START, '`start`'))
    const store = new MemoryStore(clock)
    const points = new CrashPoints()
    const errors: Error[] = []
    super({
      store: new CrashingStore({
        store,
        points,
        turn: () => clock.turn(),
        mayClaim: (worker) => this.#workers.mayClaim(worker),
        onCrash: (worker, job) => this.#crashed(worker, job),
        transaction: options.transaction ?? null,
      }),
      timing: clock,
      upkeepTiming: neverFires,
      onError: (error) => {
        // An error of the user's code is no error of the engine.
        if (!(error instanceof ReconcileFailed)) errors.push(error)
      },
      backup: null,
      onClose: () => undefined,
      // They are counted: the same test has the same workers again.
      nameWorker: (called = 'worker') => called,
    })
    const calls = new EffectCalls()
    this.crash = points
    this.effects = calls
    this.#store = store
    this.#clock = clock
    this.#pendingWork = new PendingWork(store)
    this.#workers = new TestWorkers((jobs, its) => super.work(jobs, its), options.worker ?? {})
    this.#steps = new VirtualTimeSteps({
      clock,
      pendingWork: this.#pendingWork,
      workers: this.#workers,
      upkeep: () => this.upkeep(),
      nextScheduled: () => this.#nextScheduled(),
      throwErrors: () => {
        const [error] = errors.splice(0)
        if (error !== undefined) throw error
      },
      mostRounds: options.rounds ?? DEFAULT_ROUNDS,
      patienceMs: toMs(options.patience ?? DEFAULT_PATIENCE_MS, '`patience`'),
    })
    for (const definition of options.jobs ?? []) this.#workers.addDefinition(definition)
    void this.#pendingWork.follow((entry) => calls.note(entry))
  }

  /** What time it is for the engine: milliseconds since 1970. */
  get now(): number {
    return this.#clock.now()
  }

  /** Lets time pass. `advance(0)`: all that can run now runs, and handlers are not waited for. */
  advance(duration: Duration): Promise<void> {
    return this.#steps.advanceTo(this.now + toMs(duration, '`duration`'))
  }

  async advanceTo(date: Date | number): Promise<void> {
    const target = timeOf(date, '`date`')
    if (target < this.now) {
      throw new InvalidDefinition(
        `advanceTo(${shown(target)}): it is ${shown(this.now)} already, and time does not run backwards.`,
      )
    }
    await this.#steps.advanceTo(target)
  }

  /** Lets time pass until the lease that a worker holds on this job has just run out. */
  async advancePastLease(job: Handle | string): Promise<void> {
    const id = typeof job === 'string' ? job : job.id
    const view = await this.#store.query({ kind: 'job', job: id })
    if (view === null) throw new UnknownJob(id)
    const ends = view.stages.flatMap(({ tasks }) => tasks.map(({ lease }) => lease?.expiresAt ?? 0))
    const last = Math.max(...ends)
    if (last === 0) {
      throw new InvalidDefinition(`No worker holds a lease on job ${id}: it is ${view.state}.`, {
        id,
      })
    }
    await this.advanceTo(last + 1)
  }

  /**
   * Runs jobs until nothing can be run at this time and no handler is in flight. Throws
   * `NotSettled` if there is no end to it.
   */
  runUntilIdle({ skipWaiting = false }: RunOptions = {}): Promise<void> {
    return this.#steps.runUntilIdle(() => false, skipWaiting)
  }

  /**
   * Submits a job and runs it to its end, whatever it has to wait for. Throws what
   * `handle.result()` throws if there is no result.
   */
  async runOne<J extends AnyJob>(
    definition: J,
    ...given: SubmitArguments<J, SubmitOptions>
  ): Promise<Ran<OutcomeOf<J>>> {
    const handle = await this.submit(definition, ...given)
    const { id } = handle
    await this.#steps.runUntilIdle(() => this.#pendingWork.hasEnded(id), true)
    if (!this.#pendingWork.hasEnded(id)) {
      throw new NotSettled(
        `Job ${id} does not go on by itself: it is held, waits for a message, or its queue is paused or has no worker.`,
        this.#pendingWork.open,
      )
    }
    const output = await handle.result()
    const history = await this.history(id, { limit: Number.MAX_SAFE_INTEGER })
    return { output, info: await handle.info(), history }
  }

  /** Ids are counted: `invoice-1`, `invoice-2`. */
  override submit<J extends AnyJob>(
    definition: J,
    ...[input, options]: SubmitArguments<J, SubmitOptions>
  ): Promise<Handle<OutcomeOf<J>>> {
    const own = this.#prepared(definition, options)
    return super.submit(definition, ...([input, own] as SubmitArguments<J, SubmitOptions>))
  }

  override submitMany<J extends AnyJob>(
    definition: J,
    jobs: readonly SubmitItem<J, SubmitOptions>[],
  ): Promise<Handle<OutcomeOf<J>>[]>
  override submitMany<J extends AnyJob>(
    definition: J,
    jobs: Iterable<SubmitItem<J, SubmitOptions>> | AsyncIterable<SubmitItem<J, SubmitOptions>>,
  ): Promise<SubmitSummary>
  override submitMany<J extends AnyJob>(
    definition: J,
    jobs: Iterable<SubmitItem<J, SubmitOptions>> | AsyncIterable<SubmitItem<J, SubmitOptions>>,
  ): Promise<Handle<OutcomeOf<J>>[] | SubmitSummary> {
    const prepare = ({
      input,
      options,
    }: SubmitItem<J, SubmitOptions>): SubmitItem<J, SubmitOptions> => ({
      input,
      options: this.#prepared(definition, options),
    })
    return Array.isArray(jobs)
      ? super.submitMany(definition, jobs.map(prepare))
      : super.submitMany(definition, each(jobs, prepare))
  }

  override async schedule<J extends AnyJob>(
    id: string,
    terms: ScheduleTerms<J>,
    actor: Actor = {},
  ): Promise<ScheduleHandle> {
    const handle = await super.schedule(id, terms, actor)
    this.#workers.addDefinition(terms.job, terms.queue)
    return handle
  }

  protected override runSchedule(id: string, options: RunScheduleOptions): Promise<Handle> {
    return super.runSchedule(id, { ...options, id: options.id ?? this.#newId(`${id}-now`) })
  }

  override rerun(id: string, options: RerunOptions = {}): Promise<Handle> {
    return super.rerun(id, { ...options, id: options.id ?? this.#newId(`${id}-again`) })
  }

  /** A worker of the test's own: it claims jobs at once, and alone runs those it was given. */
  override work(definitions: readonly AnyJob[], options: WorkerOptions = {}): Worker {
    return this.#workers.start(definitions, options)
  }

  /** Handlers that still run are told to stop, and not waited for. */
  override async close(): Promise<void> {
    await this.#workers.killAll()
    await super.close()
  }

  #crashed(worker: string, job: string): void {
    this.#workers.kill(worker)
    // Its commit may have ended the job, and the answer was lost: this tells callers that wait for it.
    this.handle(job)
      .result()
      .catch(() => undefined)
  }

  async #nextScheduled(): Promise<number> {
    const schedules = await this.schedules()
    return Math.min(...schedules.map(({ nextTime }) => nextTime?.getTime() ?? Infinity))
  }

  #prepared(definition: AnyJob, options: SubmitOptions = {}): SubmitOptions {
    this.#workers.addDefinition(definition, options.queue)
    if (options.id === undefined) return { ...options, id: this.#newId(definition.name) }
    this.#givenIds.add(options.id)
    return options
  }

  /** The jitter of a retry is made from the id: with random ids, times would be random. */
  #newId(stem: string): string {
    let number = this.#counts.get(stem) ?? 0
    do number += 1
    while (this.#givenIds.has(`${stem}-${number}`))
    this.#counts.set(stem, number)
    return `${stem}-${number}`
  }
}

async function* each<T>(
  all: Iterable<T> | AsyncIterable<T>,
  prepare: (one: T) => T,
): AsyncIterable<T> {
  for await (const one of all) yield prepare(one)
}

function timeOf(date: Date | number, what: string): number {
  const ms = Number(date)
  if (Number.isFinite(ms) && ms >= 0) return ms
  throw new InvalidDefinition(`${what} must be a date, or milliseconds since 1970.`)
}

function shown(ms: number): string {
  return new Date(ms).toISOString()
}
