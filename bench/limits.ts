/**
 * The limits bench: what acquiring costs with ten thousand keys of limits, with ten thousand
 * groups, with both, and while all keys but one are used up; beside plain acquiring.
 *
 * The backlog is constant. In each round jobs are submitted, and as many are acquired, 64 at
 * once as a worker with 64 handlers does, and then committed. Acquiring is the claim alone; what
 * limits and groups cost elsewhere (in line, and when a lease ends) is in the whole life.
 * Variants are measured in turns, so that a busy machine blurs all of them alike.
 */
import type { Command, JobSpec, Task, TaskPolicy } from '../src/kernel/index.ts'
import { Ledger } from '../src/store/index.ts'
import { idsFrom, specOf } from './lives.ts'
import { table, whole } from './table.ts'
import { threadNs } from './thread-time.ts'

const WAITING = 100_000
const KEYS = 10_000
const BATCH = 5_120
const AT_ONCE = 64
const START = 1_700_000_000_000
const CHANNELS = [{ queue: 'default', type: 'invoice', stage: null }]
const WARM_UP_ROUNDS = 6
const FOR_MS = 15_000
const AIM = 1.5

interface Variant {
  readonly name: string
  readonly keys: boolean
  readonly groups: boolean
  /** All keys but the first are held by others. */
  readonly blocked: boolean
}

const PLAIN: Variant = { name: 'plain', keys: false, groups: false, blocked: false }
const VARIANTS: readonly Variant[] = [
  PLAIN,
  { name: '10,000 keys', keys: true, groups: false, blocked: false },
  { name: '10,000 groups', keys: false, groups: true, blocked: false },
  { name: 'both', keys: true, groups: true, blocked: false },
  { name: '9,999 of 10,000 keys blocked', keys: true, groups: false, blocked: true },
]

class Lives {
  readonly variant: Variant
  readonly #ledger = new Ledger()
  readonly #groups = idsFrom(0, KEYS)
  /** One for each key: stores make equal ones one. */
  readonly #policies: TaskPolicy[]
  #now = START
  #submitted = 0
  #request = 0
  acquireNs = 0
  lifeNs = 0
  lives = 0

  constructor(variant: Variant) {
    this.variant = variant
    const policy = specOf('').policy as TaskPolicy
    this.#policies = this.#groups.map((key, i) =>
      variant.keys
        ? { ...policy, limits: [{ key, concurrency: i === 0 ? KEYS : 1, rate: null }] }
        : policy,
    )
    if (variant.blocked) {
      for (let i = 1; i < KEYS; i++) this.#perform(this.#submission(i))
      this.#claim(KEYS - 1)
    }
    for (let i = 0; i < WAITING; i += BATCH) {
      for (const command of this.#commands(BATCH)) this.#perform(command)
    }
  }

  round(): void {
    const commands = this.#commands(BATCH)
    this.#now += 1
    const before = threadNs()
    for (const command of commands) this.#perform(command)
    const asked = threadNs()
    const tasks: Task[] = []
    for (let i = 0; i < BATCH; i += AT_ONCE) tasks.push(...this.#claim(AT_ONCE))
    this.acquireNs += threadNs() - asked
    for (const { job, attempt } of tasks) {
      const address = { job, stage: 0, segment: 0, lease: attempt, worker: 'worker-1' }
      this.#perform({ type: 'CommitExecution', ...address, output: '1', effects: [] })
    }
    this.lifeNs += threadNs() - before
    this.lives += BATCH
    this.#now += 1
    for (const { job } of tasks) {
      this.#perform({ type: 'ForgetJob', job, endedBefore: this.#now })
    }
  }

  reset(): void {
    this.acquireNs = 0
    this.lifeNs = 0
    this.lives = 0
  }

  #commands(count: number): Command[] {
    const { blocked } = this.variant
    // While the others are blocked, work for the one key that is not goes on.
    return Array.from({ length: count }, (_, i) => this.#submission(blocked ? 0 : i % KEYS))
  }

  #submission(at: number): Command {
    const number = this.#submitted
    this.#submitted += 1
    const [job] = idsFrom(number, 1) as [string]
    const key = this.variant.blocked ? at : number % KEYS
    return { type: 'SubmitJob', job, spec: this.#spec(key) }
  }

  #spec(key: number): JobSpec {
    const { keys, groups } = this.variant
    const plain = specOf('{"order":42}')
    if (!keys && !groups) return plain
    const group = groups ? (this.#groups[key] as string) : null
    return { ...plain, group, policy: this.#policies[key] as TaskPolicy }
  }

  #claim(max: number): ReturnType<Ledger['claim']> {
    this.#request += 1
    const asked = { worker: 'worker-1', request: this.#request, channels: CHANNELS }
    const tasks = this.#ledger.claim({ ...asked, max, started: true }, this.#now)
    if (tasks.length < max) throw new Error(`${this.variant.name}: there is nothing to acquire.`)
    return tasks
  }

  #perform(command: Command): void {
    const { verdict, rejection } = this.#ledger.perform(command, this.#now)
    if (verdict !== 'committed') throw new Error(rejection?.message ?? verdict)
  }
}

export function* benchLimits(say: (line: string) => void): Generator<string> {
  say(`filling: ${whole(WAITING)} jobs in line, five times …`)
  const all = VARIANTS.map((variant) => new Lives(variant))
  say('warming up …')
  for (let i = 0; i < WARM_UP_ROUNDS; i++) for (const one of all) one.round()
  for (const one of all) one.reset()
  say('measuring …')
  const until = performance.now() + FOR_MS
  while (performance.now() < until) for (const one of all) one.round()
  const [plain] = all as [Lives]
  yield ''
  yield `Acquiring and full lives, ${whole(WAITING)} waiting (cpu time of the thread)`
  yield* table(
    ['variant', 'acquire ns', 'times plain', 'life ns', 'times plain'],
    all.map((one) => [
      one.variant.name,
      whole(one.acquireNs / one.lives),
      (one.acquireNs / plain.acquireNs).toFixed(2),
      whole(one.lifeNs / one.lives),
      (one.lifeNs / plain.lifeNs).toFixed(2),
    ]),
  )
  const worst = Math.max(...all.map((one) => one.acquireNs / plain.acquireNs))
  yield ''
  yield `Acquiring costs at most ${worst.toFixed(2)} times plain acquiring (aim: less than ${AIM.toFixed(2)}).`
}
