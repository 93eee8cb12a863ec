/**
 * Random work on a store that others work on too: whatever a client, a worker or an operator does,
 * and what was acknowledged is told at once.
 */
import type { Command, LimitSpec, TaskAddress } from '../../../src/kernel/index.ts'
import type { Answer, ChannelName, Claimed, Store } from '../../../src/store/index.ts'
import { FIRST_SUBMIT_CLAIM } from '../../../src/store/index.ts'
import type { Dice } from '../../model/properties/dice.ts'
import {
  failure,
  onRecord,
  pipeline,
  plain,
  policy,
  promise,
  retry,
  stage,
} from '../../support/specs.ts'

const QUEUES = ['main', 'side'] as const
const TYPES = ['red', 'blue'] as const
const STAGES = ['split', 'join'] as const
const LEASE_MS = 400

const LIMITS: readonly LimitSpec[] = [
  { key: 'one', concurrency: 1, rate: null },
  { key: 'three', concurrency: 3, rate: null },
  { key: 'slow', concurrency: null, rate: { count: 10, perMs: 100 } },
  { key: 'both', concurrency: 2, rate: { count: 20, perMs: 200 } },
]

const CHANNELS: readonly ChannelName[] = QUEUES.flatMap((queue) =>
  TYPES.flatMap((type) => [null, ...STAGES].map((name) => ({ queue, type, stage: name }))),
)

/** What was acknowledged. */
export type Told =
  | { readonly kind: 'submitted'; readonly job: string }
  | { readonly kind: 'committed'; readonly at: TaskAddress; readonly lease: number }
  | { readonly kind: 'paused' | 'resumed'; readonly queue: string }

export function queueBounds(queue: string): Command {
  const rate = { count: 60, perMs: 300 }
  return queue === 'main'
    ? { type: 'ConfigureQueue', queue, concurrency: 6, rate, ageingMs: null, ...onRecord }
    : { type: 'ConfigureQueue', queue, concurrency: null, rate: null, ageingMs: 50, ...onRecord }
}

export const ALL_QUEUES: readonly string[] = QUEUES

export class Load {
  readonly #store: Store
  readonly #dice: Dice
  readonly #name: string
  readonly #tell: (told: Told) => void
  readonly #mine: string[] = []
  /** Taken with their submit, and not worked on yet. */
  readonly #taken: Claimed[] = []
  #withSubmit = FIRST_SUBMIT_CLAIM
  #request = 0

  /** `name`: of this process alone. */
  constructor(store: Store, dice: Dice, name: string, tell: (told: Told) => void) {
    this.#store = store
    this.#dice = dice
    this.#name = name
    this.#tell = tell
  }

  /** Now and then there is room for some that are about to be submitted. */
  async #submit(commands: readonly Command[]): Promise<readonly Answer[]> {
    const max = Math.min(commands.length, this.#dice.below(4))
    if (max === 0 || this.#store.submitAndClaim === undefined) return this.#store.execute(commands)
    const channels = QUEUES.flatMap((queue) => TYPES.map((type) => ({ queue, type, stage: null })))
    const request = {
      worker: this.#name,
      request: this.#withSubmit++,
      channels,
      max,
      started: true,
    }
    const { answers, claimed } = await this.#store.submitAndClaim(commands, [request])
    this.#taken.push(...claimed.flat())
    return answers
  }

  /** Something or other. */
  async step(): Promise<void> {
    const way = this.#dice.below(100)
    if (way < 30) return this.submit()
    if (way < 75) return void (await this.work())
    if (way < 90) return this.upkeep()
    if (way < 96) return this.#cancel()
    return this.#pause()
  }

  async submit(): Promise<void> {
    const dice = this.#dice
    const commands = Array.from({ length: 1 + dice.below(6) }, (): Command => {
      const job = `${this.#name}-${this.#mine.length}`
      this.#mine.push(job)
      return { type: 'SubmitJob', job, spec: this.#spec() }
    })
    const answers = await this.#submit(commands)
    for (const { verdict, value } of answers) {
      // With a key it may be another process's job.
      if (verdict === 'committed') this.#tell({ kind: 'submitted', job: value as string })
    }
  }

  #spec() {
    const dice = this.#dice
    const limits = LIMITS.filter(() => dice.chance(20))
    const task = {
      queue: dice.pick(QUEUES),
      leaseMs: LEASE_MS,
      limits,
      retry: retry({ max: 50, delayMs: dice.pick([0, 0, 20]) }),
    }
    const options = {
      type: dice.pick(TYPES),
      priority: dice.below(3),
      group: dice.pick([null, null, 'a', 'b']),
      delayMs: dice.chance(10) ? 30 : 0,
    }
    if (dice.chance(15)) {
      const each = stage('split', { each: 'input', policy: policy(task) })
      const join = stage('join', { after: ['split'], policy: policy(task) })
      return pipeline([each, join], { ...options, input: '[1,2,3]' })
    }
    const key = dice.chance(10) ? dice.pick(['k1', 'k2']) : null
    return plain({ ...options, key, unique: true }, task)
  }

  /** Takes a few and ends them, each in one way or another; one that is left alone runs out. */
  async work(): Promise<number> {
    const max = 1 + this.#dice.below(6)
    this.#request += 1
    const request = { worker: this.#name, request: this.#request, channels: CHANNELS }
    const claimed = await this.#store.claim({ ...request, max, started: true })
    const leases = [...this.#taken.splice(0), ...claimed]
    await Promise.all(leases.map((lease) => this.#end(lease)))
    return leases.length
  }

  async #end({ job, stage: place, segment, lease, commit: before }: Claimed): Promise<void> {
    const dice = this.#dice
    const at = { job, stage: place, segment }
    const under = { ...at, lease, worker: this.#name }
    const way = dice.below(100)
    // Committed before, and not finished.
    if (before !== null) return this.#finish(under)
    if (way < 5) return
    if (way < 12) {
      await this.#store.execute([{ type: 'FailTask', ...under, error: failure() }])
      return
    }
    if (way < 18) {
      await this.#store.execute([{ type: 'ReleaseLease', ...under }])
      return
    }
    const promised = way < 30 ? [promise({ idempotent: true })] : []
    const commit: Command = { type: 'CommitExecution', ...under, output: '1', effects: promised }
    const [answer] = await this.#store.execute([commit])
    if (answer?.verdict !== 'committed') return
    this.#tell({ kind: 'committed', at, lease })
    if (promised.length > 0) await this.#finish(under)
  }

  async #finish(under: TaskAddress & { lease: number; worker: string }): Promise<void> {
    await this.#store.execute([{ type: 'StartEffect', ...under, effect: 0 }])
    await this.#store.execute([{ type: 'FinishEffect', ...under, effect: 0 }])
  }

  async upkeep(): Promise<void> {
    const commands = await this.#store.query({ kind: 'upkeep', limit: 50 })
    await this.#store.execute(commands)
  }

  async #cancel(): Promise<void> {
    const job = this.#dice.pick(this.#mine)
    if (job === undefined) return
    await this.#store.execute([{ type: 'CancelJob', job, by: this.#name, reason: '' }])
  }

  /** For a moment only: what is paused is resumed, by whomever. */
  async #pause(): Promise<void> {
    const on = { queue: 'side', by: this.#name, reason: '' }
    await this.#store.execute([{ type: 'PauseQueue', ...on }])
    await this.#store.execute([{ type: 'ResumeQueue', ...on }])
  }
}
