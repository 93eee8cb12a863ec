/**
 * A load with everything in it, on a store: many calls at once, for ever.
 *
 * Jobs with and without keys, plain ones and pipelines, short payloads and some that fill a
 * segment; work that is committed with effects and without, fails, is given back, is extended,
 * goes silent or is cancelled; and jobs that are forgotten.
 */
import type { Command, EffectPromise, JobSpec } from '../../../src/kernel/index.ts'
import { childId } from '../../../src/kernel/index.ts'
import type { Answer, Claimed, Store } from '../../../src/store/store.ts'
import type { ClaimRequest } from '../../../src/store/claim-request.ts'
import type { Dice } from '../../model/properties/dice.ts'
import {
  child,
  failure,
  onRecord,
  pipeline,
  plain,
  promise,
  retry,
  stage,
} from '../../support/specs.ts'
import type { LeaseName, Line } from './lines.ts'

/** How many rounds go on at once: with few, groups are small and many. */
const AT_ONCE = [2, 6, 24] as const
/** Of commands that room is reserved for amply: more in one call would need a larger segment. */
const FEW = 2
const TYPES = ['plain', 'keyed', 'unique', 'pipeline', 'child'] as const
const CHANNELS = TYPES.flatMap((type) =>
  (type === 'pipeline' ? ['first', 'second'] : [null]).map((name) => ({
    queue: 'default',
    type,
    stage: name,
  })),
)

export class Load {
  readonly #store: Store
  readonly #say: (line: Line) => void
  readonly #dice: Dice
  readonly #name: string
  #calls = 0
  #requests = 0
  #jobs = 0
  #rounds = 0
  /** The last claim got less than it asked for. */
  #isShort = false
  #over: string[] = []

  /** `name` is of this process alone: it is in every name that the load makes. */
  constructor(store: Store, say: (line: Line) => void, dice: Dice, name: string) {
    this.#store = store
    this.#say = say
    this.#dice = dice
    this.#name = name
  }

  /** Until the store fails. */
  async run(): Promise<void> {
    await Promise.all(Array.from({ length: this.#dice.pick(AT_ONCE) }, () => this.#rounding()))
  }

  async #rounding(): Promise<never> {
    // oxlint-disable-next-line no-await-in-loop -- one thing after the other, many times at once
    for (;;) await this.#round()
  }

  async #round(): Promise<void> {
    this.#rounds += 1
    if (this.#rounds % 30 === 1) await this.#upkeep()
    if (this.#rounds % 60 === 0) await this.#settings()
    if (this.#over.length > 20) await this.#forget()
    // What earlier processes left is worked off first, or it would grow from one to the next.
    if (this.#dice.chance(this.#isShort ? 60 : 20)) await this.#submit()
    else await this.#work()
  }

  async #send(...commands: Command[]): Promise<readonly Answer[]> {
    this.#calls += 1
    const call = this.#calls
    this.#say({ kind: '>', call, commands })
    const answers = await this.#store.execute(commands)
    this.#say({ kind: '<', call, answers: answers.map(({ verdict, value }) => [verdict, value]) })
    return answers
  }

  async #claim(claim: ClaimRequest): Promise<readonly Claimed[]> {
    this.#calls += 1
    const call = this.#calls
    this.#say({ kind: '>', call, claim })
    const leases = await this.#store.claim(claim)
    this.#say({ kind: '<', call, leases: leases.map(nameOf) })
    return leases
  }

  async #submit(): Promise<void> {
    const count = 1 + this.#dice.below(3)
    const commands = Array.from({ length: count }, (): Command => {
      this.#jobs += 1
      return { type: 'SubmitJob', job: `${this.#name}-${this.#jobs}`, spec: this.#spec() }
    })
    await this.#send(...commands)
    if (!this.#dice.chance(8)) return
    const job = `${this.#name}-${1 + this.#dice.below(this.#jobs)}`
    await this.#send({ type: 'CancelJob', job, by: this.#name, reason: 'for the test' })
  }

  #spec(): JobSpec {
    const task = {
      leaseMs: this.#dice.chance(70) ? 300 : 2_000,
      retry: retry({ max: 3, delayMs: this.#dice.below(10) }),
      quarantine: this.#dice.pick(['always', 'never'] as const),
    }
    const input = this.#payload('input')
    const priority = this.#dice.below(3)
    switch (this.#dice.below(10)) {
      case 0: {
        const second = stage('second', {
          after: ['first'],
          each: 'input',
          policy: plainPolicy(task),
        })
        const stages = [stage('first', { policy: plainPolicy(task) }), second]
        return pipeline(stages, { type: 'pipeline', input: '[1,2]', priority })
      }
      case 1: {
        const key = `k-${this.#dice.below(200)}`
        return plain({ type: 'keyed', key, input: JSON.stringify({ key }) }, task)
      }
      case 2:
        return plain(
          { type: 'unique', key: `u-${this.#dice.below(20)}`, unique: true, input },
          task,
        )
      default:
        return plain({ type: 'plain', input, priority, tags: ['load'] }, task)
    }
  }

  #payload(what: string): string {
    const roll = this.#dice.below(500)
    // A page is 4 KiB, and a segment of the test 64 KiB: some are larger than either.
    const chars = roll === 0 ? 90_000 : roll < 10 ? 9_000 : 10 + this.#dice.below(400)
    return JSON.stringify({ what, of: this.#name, fill: '.'.repeat(chars) })
  }

  async #work(): Promise<void> {
    this.#requests += 1
    const started = this.#dice.chance(80)
    const max = 1 + this.#dice.below(4)
    const worker = `worker-${this.#name}`
    const claim = { worker, request: this.#requests, channels: CHANNELS, max, started }
    const leases = await this.#claim(claim)
    this.#isShort = leases.length < max
    if (leases.length === 0) return this.#submit()
    await Promise.all(leases.map((lease) => this.#attempt(lease, started)))
  }

  async #attempt(lease: Claimed, isStarted: boolean): Promise<void> {
    const at = addressOf(lease, `worker-${this.#name}`)
    if (lease.commit !== null) {
      const promises = new Map(lease.commit.unfinished.map((one) => [one.effect, one.promise]))
      return this.#effects(at, promises)
    }
    if (!isStarted) await this.#send({ type: 'StartExecution', ...at })
    const roll = this.#dice.below(100)
    // Goes silent: the lease runs out, in this process or in a later one.
    if (roll < 4) return
    if (roll < 8) return void (await this.#send({ type: 'ReleaseLease', ...at }))
    if (roll < 24) {
      const type = this.#dice.chance(75) ? 'RETRYABLE' : 'TERMINAL'
      const error = failure({ type, message: this.#payload('failure') })
      return void (await this.#send({ type: 'FailTask', ...at, error }))
    }
    if (roll < 50) await this.#detour(at)
    await this.#commit(at)
  }

  async #detour(at: Address): Promise<void> {
    if (this.#dice.chance(40)) {
      for (const extension of [1, 2]) {
        // oxlint-disable-next-line no-await-in-loop -- extensions are counted
        await this.#send({ type: 'ExtendLease', ...at, extension })
      }
      return
    }
    const names = ['read', 'think', 'write'].slice(0, 1 + this.#dice.below(3))
    await Promise.all(
      names.map((name) =>
        this.#send({
          type: 'RecordStep',
          ...at,
          name,
          value: this.#payload(`step ${name}`),
          definitionVersion: 1,
        }),
      ),
    )
  }

  async #commit(at: Address): Promise<void> {
    const effects = this.#dice.chance(30) ? this.#promises() : []
    const command: Command = {
      type: 'CommitExecution',
      ...at,
      output: this.#payload('output'),
      effects,
    }
    const [answer] = await this.#send(command)
    // A worker that was not sure whether it was heard.
    if (this.#dice.chance(5)) await this.#send(command)
    if (answer?.verdict !== 'committed') return
    if (effects.length === 0) this.#over.push(at.job)
    else await this.#effects(at, new Map(effects.map((one, effect) => [effect, one])))
  }

  #promises(): EffectPromise[] {
    return Array.from({ length: 1 + this.#dice.below(3) }, (_, i) => {
      if (this.#dice.chance(25)) {
        const input = JSON.stringify({ child: this.#name, i })
        return child(plain({ type: 'child', input }, { leaseMs: 1_000 }))
      }
      const idempotent = this.#dice.chance(80)
      return promise({ name: `effect-${i}`, idempotent, input: this.#payload('effect') })
    })
  }

  async #effects(at: Address, promises: ReadonlyMap<number, EffectPromise>): Promise<void> {
    let isDone = true
    for (const [effect, { child: spec }] of promises) {
      const [started] = await this.#send({ type: 'StartEffect', ...at, effect })
      if (started?.verdict !== 'committed') return
      if (spec !== null) {
        const { job, stage: of, segment } = at
        const parent = { job, stage: of, segment, effect }
        await this.#send({
          type: 'SubmitJob',
          job: childId(parent),
          spec: { ...spec, parent },
        })
      }
      const fails = this.#dice.chance(5)
      const [ended] = fails
        ? await this.#send({ type: 'FailEffect', ...at, effect, error: failure() })
        : await this.#send({ type: 'FinishEffect', ...at, effect })
      isDone &&= ended?.verdict === 'committed' && !fails
      // A lease whose effect failed is over.
      if (fails) return
    }
    if (isDone) this.#over.push(at.job)
  }

  async #forget(): Promise<void> {
    const jobs = this.#over.splice(0, FEW)
    const endedBefore = Date.now()
    await this.#send(...jobs.map((job): Command => ({ type: 'ForgetJob', job, endedBefore })))
  }

  async #upkeep(): Promise<void> {
    const due = await this.#store.query({ kind: 'upkeep', limit: 40 })
    const calls: Promise<unknown>[] = []
    for (let i = 0; i < due.length; i += FEW) calls.push(this.#send(...due.slice(i, i + FEW)))
    await Promise.all(calls)
  }

  /** Each time another value, so that each is an entry of its own. */
  async #settings(): Promise<void> {
    const schedule = `s-${this.#dice.below(5)}`
    const definition = `${this.#name} ${this.#rounds}`
    await this.#send({ type: 'SetSchedule', schedule, definition, seen: null, ...onRecord })
  }
}

interface Address {
  readonly job: string
  readonly stage: number
  readonly segment: number
  readonly lease: number
  readonly worker: string
}

function addressOf({ job, stage: of, segment, lease }: Claimed, worker: string): Address {
  return { job, stage: of, segment, lease, worker }
}

function nameOf({ job, stage: of, segment, lease }: Claimed): LeaseName {
  return [job, of, segment, lease]
}

function plainPolicy(task: Parameters<typeof plain>[1]): NonNullable<JobSpec['policy']> {
  return plain({}, task).policy as NonNullable<JobSpec['policy']>
}
