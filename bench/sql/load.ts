/**
 * The same load on a store: jobs that are submitted, claimed and committed in batches, or one by one.
 */
import type { Command } from '../../src/kernel/index.ts'
import type { Answer, Claimed, Store } from '../../src/store/index.ts'
import { idsFrom, payload, specOf } from '../lives.ts'

const CHANNELS = [{ queue: 'default', type: 'invoice', stage: null }]

export class StoreLoad {
  readonly #store: Store
  readonly #payload = payload('store', 200)
  #submitted = 0
  #workers = 0
  #requests = 0
  readonly #name = `p${process.pid}`

  constructor(store: Store) {
    this.#store = store
  }

  /** So many callers, each with a batch under way. */
  async submit(jobs: number, batch: number, callers: number): Promise<void> {
    let left = jobs
    await times(callers, async () => {
      while (left > 0) {
        const count = Math.min(left, batch)
        left -= count
        await this.#execute(this.#submits(count))
      }
    })
  }

  async drain(batch: number, callers: number): Promise<number> {
    let done = 0
    await times(callers, async () => {
      const worker = this.#worker()
      for (let request = 1; ; request++) {
        const leases = await this.claim(worker, request, batch)
        if (leases.length === 0) return
        await this.#execute(leases.map((lease) => commitOf(lease, worker)))
        // AFTER waiting it is read: others counted meanwhile.
        done += leases.length
      }
    })
    return done
  }

  /** One claim with its commits. How many it got. */
  async run(max: number): Promise<number> {
    this.#requests += 1
    const leases = await this.claim(this.#name, this.#requests, max)
    if (leases.length > 0) await this.#execute(leases.map((lease) => commitOf(lease, this.#name)))
    return leases.length
  }

  claim(worker: string, request: number, max: number): Promise<readonly Claimed[]> {
    return this.#store.claim({ worker, request, channels: CHANNELS, max, started: true })
  }

  #submits(count: number): Command[] {
    const ids = idsFrom(this.#submitted, count)
    this.#submitted += count
    return ids.map((job) => ({ type: 'SubmitJob', job, spec: specOf(this.#payload) }))
  }

  #worker(): string {
    this.#workers += 1
    return `w${this.#workers}`
  }

  async #execute(commands: readonly Command[]): Promise<void> {
    const answers = await this.#store.execute(commands)
    const wrong = answers.find(({ verdict }: Answer) => verdict !== 'committed')
    if (wrong !== undefined) throw new Error(wrong.rejection?.message ?? wrong.verdict)
  }
}

function commitOf({ job, stage, segment, lease }: Claimed, worker: string): Command {
  const address = { job, stage, segment, lease, worker }
  return { type: 'CommitExecution', ...address, output: '{"ok":true}', effects: [] }
}

async function times(count: number, work: () => Promise<void>): Promise<void> {
  await Promise.all(Array.from({ length: count }, work))
}
