/**
 * The limits bench: what acquiring costs with ten thousand keys of limits, with ten thousand
 * groups, with both, and while all keys but one are used up; beside plain acquiring.
 *
 * In memory, the backlog is constant. In each round jobs are submitted, and as many are acquired,
 * 64 at once as a worker with 64 handlers does, and then committed. Acquiring is the claim alone;
 * what limits and groups cost elsewhere (in line, and when a lease ends) is in the whole life.
 * Variants are measured in turns, so that a busy machine blurs all of them alike. In a directory
 * a claim also writes its grants and makes them durable, eight claims at once.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Command, Task, TaskPolicy } from '../src/kernel/index.ts'
import { Ledger, openDirectory } from '../src/store/index.ts'
import { idsFrom, specOf } from './lives.ts'
import { table, whole } from './table.ts'
import { threadNs } from './thread-time.ts'

const WAITING = 100_000
const IN_DIRECTORY = 40_000
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
const BOTH: Variant = { name: 'both', keys: true, groups: true, blocked: false }
const VARIANTS: readonly Variant[] = [
  PLAIN,
  { name: '10,000 keys', keys: true, groups: false, blocked: false },
  { name: '10,000 groups', keys: false, groups: true, blocked: false },
  BOTH,
  { name: '9,999 of 10,000 keys blocked', keys: true, groups: false, blocked: true },
]

/** What is submitted. */
class Submissions {
  readonly #names = idsFrom(0, KEYS)
  /** One for each key: stores make equal ones one. */
  readonly #policies: readonly TaskPolicy[]
  readonly #variant: Variant
  #count = 0

  constructor(variant: Variant) {
    this.#variant = variant
    const policy = specOf('').policy as TaskPolicy
    this.#policies = this.#names.map((key, i) =>
      variant.keys
        ? { ...policy, limits: [{ key, concurrency: i === 0 ? KEYS : 1, rate: null }] }
        : policy,
    )
  }

  /** Of all keys in turn; while the others are blocked, of the one key that is not. */
  next(): Command {
    return this.of(this.#variant.blocked ? 0 : this.#count % KEYS)
  }

  of(key: number): Command {
    const [job] = idsFrom(this.#count, 1) as [string]
    this.#count += 1
    const { keys, groups } = this.#variant
    const spec = specOf('{"order":42}')
    if (!keys && !groups) return { type: 'SubmitJob', job, spec }
    const group = groups ? (this.#names[key] as string) : null
    const policy = this.#policies[key] as TaskPolicy
    return { type: 'SubmitJob', job, spec: { ...spec, group, policy } }
  }
}

function commitOf(job: string, lease: number): Command {
  const address = { job, stage: 0, segment: 0, lease, worker: 'worker-1' }
  return { type: 'CommitExecution', ...address, output: '1', effects: [] }
}

class InMemory {
  readonly variant: Variant
  readonly #ledger = new Ledger()
  readonly #submissions: Submissions
  #now = START
  #request = 0
  acquireNs = 0
  lifeNs = 0
  lives = 0

  constructor(variant: Variant) {
    this.variant = variant
    this.#submissions = new Submissions(variant)
    if (variant.blocked) {
      for (let key = 1; key < KEYS; key++) this.#perform(this.#submissions.of(key))
      this.#claim(KEYS - 1)
    }
    for (let i = 0; i < WAITING; i++) this.#perform(this.#submissions.next())
  }

  round(): void {
    const commands = Array.from({ length: BATCH }, () => this.#submissions.next())
    this.#now += 1
    const before = threadNs()
    for (const command of commands) this.#perform(command)
    const asked = threadNs()
    const tasks: Task[] = []
    for (let i = 0; i < BATCH; i += AT_ONCE) tasks.push(...this.#claim(AT_ONCE))
    this.acquireNs += threadNs() - asked
    for (const { job, attempt } of tasks) this.#perform(commitOf(job, attempt))
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

  #claim(max: number): readonly Task[] {
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

/** Microseconds of cpu time of the process that a claim in a directory takes for each job. */
async function acquireInDirectory(variant: Variant): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-bench-'))
  const store = await openDirectory(folder)
  const submissions = new Submissions(variant)
  for (let i = 0; i < IN_DIRECTORY; i += 1_000) {
    await store.execute(Array.from({ length: 1_000 }, () => submissions.next()))
  }
  let claimUs = 0
  let request = 0
  for (let done = 0; done < IN_DIRECTORY;) {
    const before = processUs()
    const claims = Array.from({ length: 8 }, () => {
      request += 1
      const asked = { worker: 'worker-1', request, channels: CHANNELS }
      return store.claim({ ...asked, max: AT_ONCE, started: true })
    })
    const leases = (await Promise.all(claims)).flat()
    claimUs += processUs() - before
    if (leases.length === 0) throw new Error(`${variant.name}: there is nothing to acquire.`)
    await store.execute(leases.map(({ job, lease }) => commitOf(job, lease)))
    done += leases.length
  }
  await store.close()
  rmSync(folder, { recursive: true })
  return claimUs / IN_DIRECTORY
}

function processUs(): number {
  const { user, system } = process.cpuUsage()
  return user + system
}

export async function* benchLimits(say: (line: string) => void): AsyncGenerator<string> {
  say(`filling: ${whole(WAITING)} jobs in line, five times …`)
  const all = VARIANTS.map((variant) => new InMemory(variant))
  say('warming up …')
  for (let i = 0; i < WARM_UP_ROUNDS; i++) for (const one of all) one.round()
  for (const one of all) one.reset()
  say('measuring …')
  const until = performance.now() + FOR_MS
  while (performance.now() < until) for (const one of all) one.round()
  const [plain] = all as [InMemory]
  yield ''
  yield `In memory, ${whole(WAITING)} waiting (cpu time of the thread)`
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
  say('in a directory …')
  const durable: [number, number] = [Infinity, Infinity]
  for (let i = 0; i < 3; i++) {
    durable[0] = Math.min(durable[0], await acquireInDirectory(PLAIN))
    durable[1] = Math.min(durable[1], await acquireInDirectory(BOTH))
  }
  const times = durable[1] / durable[0]
  yield ''
  yield `In a directory, best of three: ${durable[0].toFixed(1)} µs plain, ${durable[1].toFixed(1)} µs with 10,000 keys and groups.`
  yield `Acquiring with them costs ${times.toFixed(2)} times plain acquiring (aim: less than ${AIM.toFixed(2)}).`
}
