/**
 * A directory store on a simulated disk, driven by hand.
 */
import { expect } from 'vitest'
import type { Command } from '../../src/kernel/index.ts'
import type { DirectoryOptions, DirectoryStore, StoreNotice } from '../../src/store/index.ts'
import { openDirectory } from '../../src/store/index.ts'
import { SimDisk } from '../faults/sim/sim-disk.ts'
import { plain } from './specs.ts'

const CHANNEL = { queue: 'default', type: 'test', stage: null }

export class Bench {
  disk: SimDisk
  now = 1_000
  readonly notices: StoreNotice[] = []
  store!: DirectoryStore
  #request = 0
  #seen = 0

  constructor(disk = new SimDisk({ tracing: true })) {
    this.disk = disk
  }

  async open(options: Partial<DirectoryOptions> = {}): Promise<this> {
    this.store = await openDirectory('/store', {
      clock: { now: () => this.now },
      disk: this.disk,
      segmentBytes: 16 * 1_024,
      checkpointBytes: Infinity,
      onNotice: (notice) => this.notices.push(notice),
      own: async () => ({ release: async () => undefined }),
      ...options,
    })
    return this
  }

  async submit(...ids: string[]): Promise<void> {
    const input = JSON.stringify('x'.repeat(500))
    const commands = ids.map((job): Command => ({ type: 'SubmitJob', job, spec: plain({ input }) }))
    const answers = await this.store.execute(commands)
    expect(answers.map(({ verdict }) => verdict)).toEqual(ids.map(() => 'committed'))
  }

  /** Claims as many as there are, and commits them. */
  async finish(max: number): Promise<string[]> {
    this.#request += 1
    const claim = { worker: 'w', request: this.#request, channels: [CHANNEL], max, started: true }
    const leases = await this.store.claim(claim)
    await this.store.execute(
      leases.map(({ job, stage, segment, lease }) => ({
        type: 'CommitExecution',
        job,
        stage,
        segment,
        lease,
        worker: 'w',
        output: '"done"',
        effects: [],
      })),
    )
    return leases.map(({ job }) => job)
  }

  async upkeep(): Promise<string[]> {
    const commands = await this.store.query({ kind: 'upkeep', limit: 100 })
    await this.store.execute(commands)
    return commands.map((command) => (command.type === 'ForgetJob' ? command.job : command.type))
  }

  segments(): string[] {
    return this.disk.paths().filter((path) => path.includes('/log-'))
  }

  checkpoints(): string[] {
    return this.disk.paths().filter((path) => path.includes('/checkpoint-'))
  }

  /** Which files were read since the last call. */
  reads(): Set<string> {
    const reads = this.disk.trace.slice(this.#seen).filter((line) => line.startsWith('read'))
    this.#seen = this.disk.trace.length
    return new Set(reads.map((line) => (line.split(' ')[1] as string).replace(/-.*/, '')))
  }
}

export function range(count: number, name = 'job'): string[] {
  return Array.from({ length: count }, (_, i) => `${name} ${i}`)
}

/** Several segments, all of them older than `historyMs` allows. */
export async function grown(options: Partial<DirectoryOptions>): Promise<Bench> {
  const bench = await new Bench().open({ historyMs: 10, ...options })
  for (let i = 0; i < 120; i++) {
    await bench.submit(`job ${i}`)
    bench.now += 100
  }
  expect(bench.segments().length).toBeGreaterThan(3)
  return bench
}
