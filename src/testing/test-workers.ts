/**
 * The workers of a test: the engine's own, and those that the test starts itself.
 *
 * - The engine's own runs every job that the test named or submitted, unless the test started a
 *   worker for it. It claims jobs only while the test runs them: between two calls nothing begins.
 * - A worker that the test starts claims jobs at once, as it does outside of tests.
 * - A worker that crashed is replaced by one with the same definitions, under another name.
 *
 * None of them polls, or listens to signals, unless the test says so: the steps of virtual time wake
 * them.
 */
import type { AnyJob } from '../definition/index.ts'
import { isPipeline } from '../definition/index.ts'
import type { Worker, WorkerOptions } from '../worker/index.ts'

type Start = (definitions: readonly AnyJob[], options: WorkerOptions) => Worker

interface TestWorker {
  readonly worker: Worker
  readonly definitions: readonly AnyJob[]
  readonly options: WorkerOptions
  isDead: boolean
}

/** Longer than any test lasts: a number of milliseconds that is never reached. */
const NEVER_MS = Number.MAX_SAFE_INTEGER

export class TestWorkers {
  readonly #startOne: Start
  readonly #options: WorkerOptions
  readonly #workers = new Map<string, TestWorker>()
  readonly #known = new Map<string, AnyJob>()
  readonly #queues = new Set<string>()
  /** Names of jobs that the test has a worker of its own for. */
  readonly #served = new Set<string>()
  readonly #ownNames = new Set<string>()
  #own: TestWorker | null = null
  #isOutdated = false
  #started = 0
  #runs = 0

  /** `options`: of the engine's own worker. */
  constructor(start: Start, options: WorkerOptions) {
    this.#startOne = start
    this.#options = options
  }

  /** How many jobs they run. A worker that died runs none. */
  get running(): number {
    let running = 0
    for (const { worker } of this.#workers.values()) running += worker.running
    return running
  }

  isAlive(worker: string | null): boolean {
    return worker !== null && this.#workers.get(worker)?.isDead === false
  }

  /** A worker that was replaced claims nothing more: it could only release it. */
  mayClaim(worker: string): boolean {
    if (!this.#ownNames.has(worker)) return true
    return this.#runs > 0 && this.#own?.worker.name === worker
  }

  /** While it lasts, the engine's own worker claims jobs. */
  async whileRunning<T>(run: () => Promise<T>): Promise<T> {
    this.#runs += 1
    try {
      return await run()
    } finally {
      this.#runs -= 1
    }
  }

  /** A job that the engine's own worker is to run. */
  addDefinition(definition: AnyJob, queue?: string): void {
    const queues = queuesOf(definition)
    if (queue !== undefined) queues.push(queue)
    const isKnown = queues.every((one) => this.#queues.has(one))
    if (this.#known.get(definition.name) === definition && isKnown) return
    this.#known.set(definition.name, definition)
    for (const one of queues) this.#queues.add(one)
    this.#isOutdated = true
  }

  /** A worker that the test starts: its jobs are not run by the engine's own any more. */
  start(definitions: readonly AnyJob[], options: WorkerOptions): Worker {
    for (const { name } of definitions) {
      if (this.#served.has(name)) continue
      this.#served.add(name)
      if (this.#known.has(name)) this.#isOutdated = true
    }
    return this.#startWorker(definitions, { ...options, name: options.name ?? this.#newName() })
      .worker
  }

  /** The worker drops everything at once. The next `startMissing` replaces it. */
  kill(name: string): void {
    const member = this.#workers.get(name)
    if (member === undefined) return
    member.isDead = true
    void member.worker.kill()
  }

  /** Replaces workers that crashed, and starts one for jobs that have none yet. */
  startMissing(): void {
    for (const [name, member] of this.#workers) {
      if (!member.isDead) continue
      this.#workers.delete(name)
      if (this.#own === member) this.#isOutdated = true
      else if (!this.#ownNames.has(name))
        this.#startWorker(member.definitions, this.#renamed(member))
    }
    if (!this.#isOutdated) return
    this.#isOutdated = false
    this.#stopOwn()
    const definitions = [...this.#known.values()].filter(({ name }) => !this.#served.has(name))
    if (definitions.length === 0) return
    const name = this.#newName()
    this.#ownNames.add(name)
    const queues = [...this.#queues]
    this.#own = this.#startWorker(definitions, { queues, ...this.#options, name })
  }

  /** Time has passed, or something happened: jobs may be ready. */
  wake(): void {
    for (const { worker, isDead } of this.#workers.values()) if (!isDead) worker.wake()
  }

  async killAll(): Promise<void> {
    await Promise.all([...this.#workers.values()].map(({ worker }) => worker.kill()))
  }

  /** It finishes what it runs, however long that takes. */
  #stopOwn(): void {
    if (this.#own !== null && !this.#own.isDead) void this.#own.worker.stop()
    this.#own = null
  }

  #startWorker(definitions: readonly AnyJob[], options: WorkerOptions): TestWorker {
    const quietOptions = { poll: NEVER_MS, shutdown: NEVER_MS, signals: [], ...options }
    const worker = this.#startOne(definitions, quietOptions)
    const member = { worker, definitions, options, isDead: false }
    this.#workers.set(worker.name, member)
    return member
  }

  #newName(): string {
    this.#started += 1
    return `worker-${this.#started}`
  }

  /** A name must never come again. */
  #renamed({ options }: TestWorker): WorkerOptions {
    const { name = '' } = options
    const [, stem = name, number] = /^(.*)-(\d+)$/.exec(name) ?? []
    if (stem === 'worker') return { ...options, name: this.#newName() }
    return { ...options, name: `${stem}-${Number(number ?? 1) + 1}` }
  }
}

function queuesOf(definition: AnyJob): string[] {
  if (!isPipeline(definition)) return [definition.policy.queue]
  return definition.stages.map(({ spec }) => spec.policy.queue)
}
