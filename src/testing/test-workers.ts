/**
 * The workers of a test: the engine's own, and those that the test starts itself.
 *
 * - The engine's own runs every job that the test named or submitted, unless the test started a
 *   worker for it. It takes jobs only while the test runs them: between two calls nothing begins.
 * - A worker that the test starts takes jobs at once, as it does outside of tests.
 * - One that crashed is replaced by another of the same kind, under another name.
 *
 * None of them polls, or listens to signals, unless the test says so: whoever moves the clock
 * wakes them.
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

export class Crew {
  readonly #start: Start
  readonly #options: WorkerOptions
  readonly #members = new Map<string, TestWorker>()
  readonly #known = new Map<string, AnyJob>()
  readonly #queues = new Set<string>()
  /** Names of jobs that the test has a worker of its own for. */
  readonly #taken = new Set<string>()
  readonly #ownNames = new Set<string>()
  #own: TestWorker | null = null
  #isOutdated = false
  #started = 0
  #runs = 0

  /** `options`: of the engine's own worker. */
  constructor(start: Start, options: WorkerOptions) {
    this.#start = start
    this.#options = options
  }

  /** How many jobs are in hand. One that died has dropped everything. */
  get running(): number {
    let running = 0
    for (const { worker } of this.#members.values()) running += worker.running
    return running
  }

  isAlive(worker: string | null): boolean {
    return worker !== null && this.#members.get(worker)?.isDead === false
  }

  /** One that was replaced takes nothing more: it could only give it back. */
  mayClaim(worker: string): boolean {
    if (!this.#ownNames.has(worker)) return true
    return this.#runs > 0 && this.#own?.worker.name === worker
  }

  /** While it lasts, jobs are taken. */
  async during<T>(run: () => Promise<T>): Promise<T> {
    this.#runs += 1
    try {
      return await run()
    } finally {
      this.#runs -= 1
    }
  }

  /** A job that the engine's own worker is to run. */
  know(definition: AnyJob, queue?: string): void {
    const queues = queuesOf(definition)
    if (queue !== undefined) queues.push(queue)
    const isKnown = queues.every((one) => this.#queues.has(one))
    if (this.#known.get(definition.name) === definition && isKnown) return
    this.#known.set(definition.name, definition)
    for (const one of queues) this.#queues.add(one)
    this.#isOutdated = true
  }

  /** A worker that the test starts: its jobs are not run by the engine's own any more. */
  hire(definitions: readonly AnyJob[], options: WorkerOptions): Worker {
    for (const { name } of definitions) {
      if (this.#taken.has(name)) continue
      this.#taken.add(name)
      if (this.#known.has(name)) this.#isOutdated = true
    }
    return this.#begin(definitions, { ...options, name: options.name ?? this.#newName() }).worker
  }

  /** The worker drops everything at once. The next `fill` replaces it. */
  crashed(name: string): void {
    const member = this.#members.get(name)
    if (member === undefined) return
    member.isDead = true
    void member.worker.kill()
  }

  /** Makes good for those that crashed, and for jobs that nobody runs yet. */
  fill(): void {
    for (const [name, member] of this.#members) {
      if (!member.isDead) continue
      this.#members.delete(name)
      if (this.#own === member) this.#isOutdated = true
      else if (!this.#ownNames.has(name)) this.#begin(member.definitions, this.#renamed(member))
    }
    if (!this.#isOutdated) return
    this.#isOutdated = false
    this.#retire()
    const definitions = [...this.#known.values()].filter(({ name }) => !this.#taken.has(name))
    if (definitions.length === 0) return
    const name = this.#newName()
    this.#ownNames.add(name)
    const queues = [...this.#queues]
    this.#own = this.#begin(definitions, { queues, ...this.#options, name })
  }

  /** Time has passed, or something happened: there may be something to take. */
  wake(): void {
    for (const { worker, isDead } of this.#members.values()) if (!isDead) worker.wake()
  }

  async disband(): Promise<void> {
    await Promise.all([...this.#members.values()].map(({ worker }) => worker.kill()))
  }

  /** What it has in hand it finishes, however long that takes. */
  #retire(): void {
    if (this.#own !== null && !this.#own.isDead) void this.#own.worker.stop()
    this.#own = null
  }

  #begin(definitions: readonly AnyJob[], options: WorkerOptions): TestWorker {
    const patient = { poll: NEVER_MS, shutdown: NEVER_MS, signals: [], ...options }
    const worker = this.#start(definitions, patient)
    const member = { worker, definitions, options, isDead: false }
    this.#members.set(worker.name, member)
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
