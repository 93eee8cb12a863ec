/**
 * Full lives in memory: submit, grant with start, commit, through the ledger; claimed 64 at once,
 * as a worker with 64 handlers does.
 *
 * The backlog is constant: each life submits one job and finishes the oldest. Finished jobs
 * are forgotten between the timed batches, so that memory stays what the backlog needs; the
 * figure that includes making the commands and forgetting is given beside the other.
 */
import type { EffectPromise, JobSpec, SubmitJob, Task, TaskPolicy } from '../src/kernel/index.ts'
import { DEFAULT_RETRY } from '../src/kernel/index.ts'
import { Ledger } from '../src/store/index.ts'
import { threadNs } from './thread-time.ts'

const BATCH = 5_120
/** What a worker with 64 handlers claims at once. */
const AT_ONCE = 64
/** As large as real times are, because numbers of that size cost more than small ones. */
const START = 1_700_000_000_000
const CHANNELS = [{ queue: 'default', type: 'invoice', stage: null }]
const OUTPUT = payload('output', 200)

export interface Lives {
  readonly waiting: number
  readonly lives: number
  /** As `nsPerLife`, in time of this thread on a core: which a busy machine blurs less. */
  readonly cpuNsPerLife: number
  /** Submit, grant and commit alone. */
  readonly nsPerLife: number
  /** With the making of the commands and the forgetting of finished jobs. */
  readonly nsPerLifeAllIn: number
  /** Of the best batch. */
  readonly bestNsPerLife: number
  readonly heapBytesPerJob: number
}

/** Flat text, as it comes out of a parser; a concatenation would be built only when it is read. */
export function payload(name: string, chars: number): string {
  const text = JSON.stringify({ name, fill: '' })
  const whole = text.replace('"fill":"', `"fill":"${'.'.repeat(chars - text.length)}`)
  return Buffer.from(whole).toString('latin1')
}

/** Made once by a job's definition, and shared by all that are submitted from it. */
const POLICY: TaskPolicy = {
  queue: 'default',
  leaseMs: 30_000,
  timeoutMs: null,
  retry: DEFAULT_RETRY,
  quarantine: 'always',
  limits: [],
}
const NO_TAGS: readonly string[] = []
const NO_EFFECTS: readonly EffectPromise[] = []

/** What a client in the same process submits. */
export function spec(name: string): JobSpec {
  return specOf(payload(name, 200))
}

export function specOf(input: string): JobSpec {
  return {
    type: 'invoice',
    version: 1,
    input,
    priority: 0,
    delayMs: 0,
    dueAt: null,
    startWithinMs: null,
    deadlineMs: null,
    deadlineAt: null,
    key: null,
    unique: false,
    held: false,
    group: null,
    tags: NO_TAGS,
    parent: null,
    schedule: null,
    rerunOf: null,
    asked: null,
    submittedBy: null,
    metadata: null,
    caller: null,
    steps: [],
    retainMs: null,
    policy: POLICY,
    stages: null,
  }
}

/** Flat text each, as ids from outside are. */
export function idsFrom(first: number, count: number): string[] {
  return Array.from({ length: count }, (_, i) =>
    Buffer.from(`job-${(first + i).toString(36).padStart(12, '0')}`).toString('latin1'),
  )
}

export class Backlog {
  readonly ledger = new Ledger()
  now = START
  #submitted = 0
  #request = 0

  makeCommands(count: number): { type: 'SubmitJob'; job: string; spec: JobSpec }[] {
    const ids = idsFrom(this.#submitted, count)
    this.#submitted += count
    return ids.map((job) => ({ type: 'SubmitJob', job, spec: spec(job) }) as const)
  }

  fill(count: number): void {
    for (let left = count; left > 0; left -= BATCH) {
      for (const command of this.makeCommands(Math.min(left, BATCH))) {
        this.ledger.perform(command, this.now)
      }
      this.now += 1
    }
  }

  /** The ids of the jobs that were finished. Workers claim as many at once as they run. */
  live(commands: ReturnType<Backlog['makeCommands']>): string[] {
    const finished: string[] = []
    for (let from = 0; from < commands.length; from += AT_ONCE) {
      // About a thousand lives in each millisecond.
      if (from % 1_024 === 0) this.now += 1
      const to = Math.min(from + AT_ONCE, commands.length)
      for (let i = from; i < to; i++) {
        this.ledger.perform(commands[i] as SubmitJob, this.now)
      }
      for (const task of this.#claim(to - from)) {
        this.#commit(task)
        finished.push(task.job)
      }
    }
    return finished
  }

  #claim(max: number): readonly Task[] {
    this.#request += 1
    const request = {
      worker: 'worker-1',
      request: this.#request,
      channels: CHANNELS,
      max,
      started: true,
    }
    const tasks = this.ledger.claim(request, this.now)
    if (tasks.length < max) throw new Error('The backlog is empty.')
    return tasks
  }

  #commit({ job, stage, segment, attempt }: Task): void {
    const answer = this.ledger.perform(
      {
        type: 'CommitExecution',
        job,
        stage,
        segment,
        lease: attempt,
        worker: 'worker-1',
        output: OUTPUT,
        effects: NO_EFFECTS,
      },
      this.now,
    )
    if (answer.verdict !== 'committed') throw new Error(`The commit was ${answer.verdict}.`)
  }

  forget(jobs: readonly string[]): void {
    this.now += 1
    for (const job of jobs) {
      const answer = this.ledger.perform(
        { type: 'ForgetJob', job, endedBefore: this.now },
        this.now,
      )
      if (answer.verdict !== 'committed') throw new Error(answer.rejection?.message)
    }
  }
}

export function measureLives(waiting: number, forMs: number): Lives {
  const heapBefore = heapBytes()
  const backlog = new Backlog()
  backlog.fill(waiting)
  const heapBytesPerJob = (heapBytes() - heapBefore) / waiting
  // Once round: everything that the first lives of a size do for the first time.
  backlog.forget(backlog.live(backlog.makeCommands(BATCH)))
  let lives = 0
  let timedNs = 0
  let cpuNs = 0
  let best = Infinity
  const started = performance.now()
  do {
    const commands = backlog.makeCommands(BATCH)
    const cpuBefore = threadNs()
    const before = performance.now()
    const finished = backlog.live(commands)
    const ns = (performance.now() - before) * 1e6
    cpuNs += threadNs() - cpuBefore
    backlog.forget(finished)
    timedNs += ns
    best = Math.min(best, ns / BATCH)
    lives += BATCH
  } while (performance.now() - started < forMs)
  return {
    waiting,
    lives,
    nsPerLife: timedNs / lives,
    cpuNsPerLife: cpuNs / lives,
    nsPerLifeAllIn: ((performance.now() - started) * 1e6) / lives,
    bestNsPerLife: best,
    heapBytesPerJob,
  }
}

/** The least that a life could cost: one record in a map, in and out, and three small objects. */
export function measureRaw(waiting: number, forMs: number): number {
  const jobs = new Map<string, object>()
  const ids: string[] = []
  for (const id of idsFrom(0, waiting)) {
    ids.push(id)
    jobs.set(id, { id, at: START, state: 'WAITING' })
  }
  let lives = 0
  let timedNs = 0
  let seen = 0
  const started = performance.now()
  do {
    const fresh = idsFrom(waiting + lives, BATCH)
    for (const id of fresh) ids.push(id)
    const before = performance.now()
    for (let i = 0; i < BATCH; i++) {
      const id = fresh[i] as string
      jobs.set(id, { id, at: START + i, state: 'WAITING' })
      const oldest = ids[lives + i] as string
      const entry = { job: oldest, lease: 1, at: START + i }
      const answer = { verdict: 'committed', entry, job: jobs.get(oldest) }
      seen += answer.entry.lease
      jobs.delete(oldest)
    }
    timedNs += (performance.now() - before) * 1e6
    lives += BATCH
  } while (performance.now() - started < forMs)
  if (seen !== lives) throw new Error('The raw loop lost a life.')
  return timedNs / lives
}

function heapBytes(): number {
  globalThis.gc?.()
  return process.memoryUsage().heapUsed
}
