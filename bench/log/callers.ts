/**
 * Callers of a store: loops side by side, each of which submits a batch, claims as many jobs
 * and commits them, and waits for each answer before it goes on.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { EffectPromise } from '../../src/kernel/index.ts'
import type { Claimed, Store } from '../../src/store/index.ts'
import { idsFrom, payload, specOf } from '../lives.ts'
import { processNs, threadNs } from '../thread-time.ts'
import { collections } from './collections.ts'
import { logTraffic } from './log-traffic.ts'

const CHANNELS = [{ queue: 'default', type: 'invoice', stage: null }]
const OUTPUT = '{"ok":true}'
const NO_EFFECTS: readonly EffectPromise[] = []
const FILL_BATCH = 1_024
const FILLERS = 8
const UPKEEP_BATCH = 1_024
const UPKEEP_PAUSE_MS = 10

/** Made beforehand: making a payload is the clients' work, and not what is measured. */
const PAYLOADS = Array.from({ length: 1_024 }, (_, i) => payload(`p-${i}`, 200))

export interface Load {
  /** Jobs of one call. */
  readonly batch: number
  /** Loops side by side. */
  readonly callers: number
  /** Whether jobs that the store keeps no longer are forgotten meanwhile. */
  readonly forgets?: boolean
  /** Lives per second of all callers together, as far as the store bears them. Default: all it bears. */
  readonly perSecond?: number
}

/** How far everything was at one moment; two of them make a rate. */
export interface Reading {
  readonly atMs: number
  readonly cpuNs: number
  /** Of all threads of the process. */
  readonly processNs: number
  readonly gcMs: number
  readonly lives: number
  readonly groups: number
  readonly bytes: number
}

export interface LifeRate {
  readonly perSecond: number
  /** Of the thread that runs the store and its callers. */
  readonly cpuNsPerLife: number
  /** Of all threads: with garbage collection, checkpoints and writing. */
  readonly processNsPerLife: number
  readonly wallNsPerLife: number
  /** Pauses for garbage collection, in wall time. */
  readonly gcNsPerLife: number
  readonly bytesPerLife: number
  readonly bytesPerGroup: number
  readonly bytesPerSecond: number
}

export function rateBetween(from: Reading, to: Reading): LifeRate {
  const ms = to.atMs - from.atMs
  const lives = Math.max(1, to.lives - from.lives)
  const bytes = to.bytes - from.bytes
  return {
    perSecond: (lives / ms) * 1e3,
    cpuNsPerLife: (to.cpuNs - from.cpuNs) / lives,
    processNsPerLife: (to.processNs - from.processNs) / lives,
    wallNsPerLife: (ms * 1e6) / lives,
    gcNsPerLife: ((to.gcMs - from.gcMs) * 1e6) / lives,
    bytesPerLife: bytes / lives,
    bytesPerGroup: bytes / Math.max(1, to.groups - from.groups),
    bytesPerSecond: (bytes / ms) * 1e3,
  }
}

export class Callers {
  readonly #store: Store
  #submitted: number
  #request = 0
  /** A worker's requests are counted once and for all: another run must be other workers. */
  readonly #name = `w-${process.pid}-${Date.now()}`
  #lives = 0
  #stops = false

  /** `first`: the number of the first job, where there are some already. */
  constructor(store: Store, first = 0) {
    this.#store = store
    this.#submitted = first
  }

  /** Runs for so long, and tells what there was at the end of each stretch. */
  async run(load: Load, stretchesMs: readonly number[]): Promise<Reading[]> {
    this.#stops = false
    collections()
    const loops = Array.from({ length: load.callers }, (_, i) => this.#loop(load, i))
    if (load.forgets === true) loops.push(this.#tidy())
    const all = Promise.all(loops)
    const readings: Reading[] = []
    for (const ms of stretchesMs) {
      // If a loop fails, this is where it shows.
      await Promise.race([delay(ms), all])
      readings.push(this.#read())
    }
    this.#stops = true
    await all
    return readings
  }

  /** Lives per second after a warm-up. */
  async measure(load: Load, warmUpMs: number, forMs: number): Promise<LifeRate> {
    const [from, to] = await this.run(load, [warmUpMs, forMs])
    return rateBetween(from as Reading, to as Reading)
  }

  /** Jobs that wait, each with a payload of its own: shared ones would take no memory. */
  async fill(jobs: number): Promise<void> {
    const end = this.#submitted + jobs
    const one = async (): Promise<void> => {
      while (this.#submitted < end) {
        const count = Math.min(FILL_BATCH, end - this.#submitted)
        await this.#submit(count, (id) => payload(id, 200))
      }
    }
    await Promise.all(Array.from({ length: FILLERS }, one))
  }

  async #loop(load: Load, caller: number): Promise<void> {
    const { batch, callers, perSecond = Infinity } = load
    const worker = `${this.#name}-${caller}`
    const everyMs = (batch * callers * 1e3) / perSecond
    // Not all in step: each has its own place in the time that is between two.
    let nextMs = performance.now() + (everyMs * caller) / callers
    while (!this.#stops) {
      const waitMs = nextMs - performance.now()
      if (waitMs > 0) await delay(waitMs)
      nextMs += everyMs
      await this.#submit(batch, (_, i) => PAYLOADS[i % PAYLOADS.length] as string)
      this.#request += 1
      const request = this.#request
      const claim = { worker, request, channels: CHANNELS, max: batch, started: true }
      const claimed = await this.#store.claim(claim)
      if (claimed.length < batch) throw new Error(`Only ${claimed.length} jobs were there.`)
      await this.#commit(claimed, worker)
      this.#lives += batch
    }
  }

  /** What whoever runs the store does beside: sends what upkeep asks for. */
  async #tidy(): Promise<void> {
    while (!this.#stops) {
      const commands = await this.#store.query({ kind: 'upkeep', limit: UPKEEP_BATCH })
      if (commands.length === 0) await delay(UPKEEP_PAUSE_MS)
      else await this.#store.execute(commands)
    }
  }

  async #submit(count: number, input: (id: string, i: number) => string): Promise<void> {
    const ids = idsFrom(this.#submitted, count)
    this.#submitted += count
    const answers = await this.#store.execute(
      ids.map((job, i) => ({ type: 'SubmitJob', job, spec: specOf(input(job, i)) }) as const),
    )
    for (const { verdict } of answers) if (verdict !== 'committed') throw new Error(verdict)
  }

  async #commit(claimed: readonly Claimed[], worker: string): Promise<void> {
    const answers = await this.#store.execute(
      claimed.map(
        ({ job, stage, segment, lease }) =>
          ({
            type: 'CommitExecution',
            job,
            stage,
            segment,
            lease,
            worker,
            output: OUTPUT,
            effects: NO_EFFECTS,
          }) as const,
      ),
    )
    for (const { verdict } of answers) if (verdict !== 'committed') throw new Error(verdict)
  }

  #read(): Reading {
    const { groups, bytes } = logTraffic()
    return {
      atMs: performance.now(),
      cpuNs: threadNs(),
      processNs: processNs(),
      gcMs: collections().ms,
      lives: this.#lives,
      groups,
      bytes,
    }
  }
}
