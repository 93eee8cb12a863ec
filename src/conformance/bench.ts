/**
 * One worker under examination, the engine behind it, and what a check does with them.
 */
import type { Duration } from '../definition/index.ts'
import { contract, typed } from '../definition/index.ts'
import { specOf } from '../definition/job-spec.ts'
import type { EngineAccess } from '../engine/engine-access.ts'
import type { Pawl } from '../engine/index.ts'
import { newJobId } from '../engine/random.ts'
import type { Entry, JobState, Task } from '../kernel/index.ts'
import { pause } from '../store/clock.ts'
import type { MeddlingProxy } from './meddling-proxy.ts'
import type { WorkerProcess } from './worker-process.ts'

/** What the worker must do, and did not. */
export class WorkerFault extends Error {}

const STEP_MS = 20
const MOST_ENTRIES = 1_000

interface BenchParts {
  readonly pawl: Pawl
  readonly access: EngineAccess
  readonly proxy: MeddlingProxy
  readonly worker: WorkerProcess
  /** How long the worker may take for what it is to do. */
  readonly patienceMs: number
}

export class ConformanceBench {
  readonly proxy: MeddlingProxy
  readonly worker: WorkerProcess
  readonly #pawl: Pawl
  readonly #access: EngineAccess
  readonly #patienceMs: number

  constructor({ pawl, access, proxy, worker, patienceMs }: BenchParts) {
    this.proxy = proxy
    this.worker = worker
    this.#pawl = pawl
    this.#access = access
    this.#patienceMs = patienceMs
  }

  /** `input`: as JSON text, digit by digit. Gives the id of the job. */
  async submit(type: string, input: string, lease: Duration = '30s'): Promise<string> {
    const definition = contract(type, {
      input: typed<unknown>(),
      lease,
      retry: { max: 3, delay: 0 },
    })
    const job = newJobId()
    const spec = specOf(definition, null, input, {})
    await this.#access.execute([{ type: 'SubmitJob', job, spec }])
    return job
  }

  cancel(job: string): Promise<void> {
    return this.#pawl.cancel(job, { by: 'conformance', reason: 'to see whether it stops' })
  }

  async stateOf(job: string): Promise<JobState | null> {
    return (await this.#access.store.query({ kind: 'outcome', job }))?.state ?? null
  }

  async taskOf(job: string): Promise<Task> {
    const task = await this.#access.store.query({ kind: 'task', job, stage: 0, segment: 0 })
    if (task === null) throw new WorkerFault(`job ${job} is gone`)
    return task
  }

  async entriesOf(job: string): Promise<Entry[]> {
    const history = { kind: 'history', job, limit: MOST_ENTRIES } as const
    return (await this.#access.store.query(history)).map(({ entry }) => entry)
  }

  /** Throws if it is not so in time, or the worker has ended. `what`: what it does not do. */
  async until(what: string, isSo: () => Promise<boolean> | boolean): Promise<void> {
    const ms = this.#patienceMs
    for (let left = ms; left > 0; left -= STEP_MS) {
      if (await isSo()) return
      if (this.worker.end !== null) break
      await pause(STEP_MS)
    }
    if (await isSo()) return
    const { end } = this.worker
    const why = end === null ? `within ${ms / 1_000} s` : `, and has ended with ${endText(end)}`
    throw new WorkerFault(`it ${what} ${why}`.replace(' ,', ','))
  }

  /** The output, as JSON text. */
  async outputOf(job: string): Promise<string> {
    await this.until('did not finish a job', async () => isOver(await this.stateOf(job)))
    const [state, { output, error }] = [await this.stateOf(job), await this.taskOf(job)]
    if (state === 'SUCCEEDED' && output !== null) return output
    throw new WorkerFault(`its job is ${state}: ${error?.message ?? 'nothing is said why'}`)
  }

  async untilLeased(job: string): Promise<void> {
    await this.until('did not claim a job', async () => (await this.taskOf(job)).lease !== null)
  }
}

function isOver(state: JobState | null): boolean {
  return state === 'SUCCEEDED' || state === 'FAILED' || state === 'QUARANTINED'
}

function endText({
  code,
  signal,
}: {
  readonly code: number | null
  readonly signal: string | null
}): string {
  return signal === null ? `the code ${String(code)}` : signal
}
