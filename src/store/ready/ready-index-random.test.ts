/** The ready-index against the simplest thing that could be right. */
import { describe, expect, it } from 'vitest'
import { Dice } from '../../../test/model/properties/dice.ts'
import { NaiveOrder } from '../../../test/support/naive-order.ts'
import { failure, onRecord, plain, promise, retry } from '../../../test/support/specs.ts'
import type { Command, JobSpec, LimitSpec, Task } from '../../kernel/index.ts'
import { worldViolations } from '../../kernel/index.ts'
import { Ledger } from '../state/ledger.ts'
import type { ChannelName } from '../claim-request.ts'

const QUEUES = ['left', 'right']
const TYPES = ['red', 'blue']
const CHANNELS: readonly ChannelName[] = QUEUES.flatMap((queue) =>
  TYPES.map((type) => ({ queue, type, stage: null })),
)
/** Shared keys and own ones, by number and by rate, one of them with two bounds. */
const LIMITS: readonly LimitSpec[] = [
  { key: 'one', concurrency: 1, rate: null },
  { key: 'three', concurrency: 3, rate: null },
  { key: 'three', concurrency: 2, rate: null },
  { key: 'rate', concurrency: null, rate: { count: 2, perMs: 20 } },
  { key: 'both', concurrency: 2, rate: { count: 1, perMs: 7 } },
]

function randomSpec(dice: Dice, count: number, queues = QUEUES): JobSpec {
  const own = { key: `own ${dice.below(4)}`, concurrency: 1, rate: null }
  const limits = [...LIMITS, own].filter(() => dice.chance(30))
  const options = {
    type: dice.pick(TYPES),
    priority: dice.below(3),
    group: dice.pick([null, null, 'x', 'y', 'z']),
    delayMs: dice.pick([0, 0, 0, 5, 30]),
    startWithinMs: dice.pick([null, null, null, 20]),
    held: dice.chance(10),
  }
  const delayMs = dice.pick([0, 4, count % 20])
  return plain(options, {
    queue: dice.pick(queues),
    leaseMs: 25,
    limits,
    retry: retry({ delayMs }),
  })
}

/** Something that happens to a task, or to a queue. */
function randomCommand(dice: Dice, ledger: Ledger, count: number, queues = QUEUES): Command {
  const queue = dice.pick(queues)
  const way = dice.below(100)
  if (way < 4) return { type: 'PauseQueue', queue, ...onRecord }
  if (way < 12) return { type: 'ResumeQueue', queue, ...onRecord }
  if (way < 16) {
    const rate = dice.pick([null, null, { count: 2, perMs: 10 }])
    const concurrency = dice.pick([null, null, null, 0, 5])
    const ageingMs = dice.pick([null, 3, 20])
    return { type: 'ConfigureQueue', queue, concurrency, rate, ageingMs, ...onRecord }
  }
  const jobs = [...ledger.world.jobs.values()]
  const job = dice.pick(jobs)
  if (way < 45 || job?.task == null) {
    return { type: 'SubmitJob', job: `job ${count}`, spec: randomSpec(dice, count, queues) }
  }
  const { id, task } = job
  const at = { job: id, stage: 0, segment: 0 }
  if (way < 48) return { type: 'CancelJob', job: id, ...onRecord }
  if (way < 51) return { type: 'ReleaseJob', job: id, ...onRecord }
  if (way < 54) {
    const to = dice.pick(['WAITING', 'COMPLETED', 'FAILED'] as const)
    return { type: 'ForceTask', ...at, attempt: task.attempt, to, output: null, ...onRecord }
  }
  if (way < 58) {
    return { type: 'GrantLease', ...at, worker: 'direct', request: count, started: true }
  }
  const held = jobs.filter((one) => one.task?.lease != null)
  return reportOf(dice, dice.pick(held)?.task ?? task, way)
}

function reportOf(dice: Dice, task: Task, way: number): Command {
  const { job, stage, segment, attempt: lease } = task
  const at = { job, stage, segment, lease, worker: task.lease?.worker ?? 'w' }
  if (way < 64) return { type: 'FailTask', ...at, error: failure() }
  if (way < 70) return { type: 'ReleaseLease', ...at }
  if (way < 76) return { type: 'ExpireLease', job, stage, segment, lease }
  if (way < 80) return { type: 'ExtendLease', ...at, extension: way }
  if (way < 84) return { type: 'StopTask', job, stage, segment }
  if (way < 88) return { type: 'StartEffect', ...at, effect: 0 }
  if (way < 90) return { type: 'FinishEffect', ...at, effect: 0 }
  if (way < 93) return { type: 'ForgetJob', job, endedBefore: task.time + 1 }
  const effects = dice.chance(40) ? [promise({ idempotent: true })] : []
  return { type: 'CommitExecution', ...at, output: '1', effects }
}

/** Keys that were used once: their lists are empty, so that the index sweeps when it makes others. */
function useOnce(ledger: Ledger, keys: number): void {
  const channels = CHANNELS.filter(({ queue, type }) => queue === 'left' && type === 'red')
  for (let now = 0; now < keys; now++) {
    const limits = [{ key: `once ${now}`, concurrency: 1, rate: null }]
    const spec = plain({ type: 'red' }, { queue: 'left', limits })
    ledger.perform({ type: 'SubmitJob', job: 'once', spec }, now)
    const [task] = ledger.claim(
      { worker: 'once', request: now + 1, channels, max: 1, started: true },
      now,
    )
    const at = { job: 'once', stage: 0, segment: 0, lease: 1, worker: 'once' }
    ledger.perform({ type: 'CommitExecution', ...at, output: '1', effects: [] }, now)
    ledger.perform({ type: 'ForgetJob', job: 'once', endedBefore: now + 1 }, now + 1)
    expect([task?.job, ledger.world.jobs.size]).toEqual(['once', 0])
  }
}

/** What a checkpoint keeps, taken in by another ledger. */
function restarted(before: Ledger, now: number): Ledger {
  const ledger = new Ledger()
  before.tick(now)
  const marker = { now, ...before.ready.buckets(now) }
  ledger.restoreManifest({ marker, queues: [...before.world.queues.values()], schedules: [] })
  for (const job of before.world.jobs.values()) ledger.restore({ job, stages: null })
  return ledger
}

describe('the ready-index', () => {
  const seeds = Array.from({ length: 20 }, (_, i) => i + 1)

  it.each(seeds)('offers what looking at everything would offer (seed %i)', (seed) => {
    const dice = new Dice(seed)
    let ledger = new Ledger()
    let naive = new NaiveOrder(ledger)
    let now = 1_000
    let claims = 0
    useOnce(ledger, seed % 2 === 0 ? 990 : 0)
    for (let count = 1; count <= 1_500; count++) {
      if (count === 901) {
        // The keys that were used once are swept by now, with all that waits in its places.
        expect(ledger.usage.size).toBeLessThan(100)
        ledger = restarted(ledger, now)
        naive = new NaiveOrder(ledger)
        naive.after(now)
      } else if (dice.chance(30)) now += dice.below(6)
      naive.before(now)
      if (count === 901 || dice.chance(50)) {
        const channels = dice.chance(50) ? CHANNELS : [dice.pick(CHANNELS)]
        const suspects = dice.chance(70)
        const lastChances = dice.chance(70)
        const expected = naive.best(channels, now, suspects, lastChances)
        const wanted = { suspects, lastChances }
        const request = { worker: 'w', request: count, channels, max: 1, started: true, ...wanted }
        const [task] = ledger.claim(request, now)
        expect(task?.job ?? null, `step ${count}`).toBe(expected?.job ?? null)
        if (task !== undefined) claims += 1
      } else {
        ledger.perform(randomCommand(dice, ledger, count), now)
      }
      naive.after(now)
      if (count % 50 === 0) expect(worldViolations(ledger.world, ledger, now)).toEqual([])
    }
    expect(claims).toBeGreaterThan(50)
  })

  it.each(seeds)('offers several at once as it would one by one (seed %i)', (seed) => {
    const dice = new Dice(seed)
    const queues = Array.from({ length: 2 + dice.below(12) }, (_, i) => `queue ${i}`)
    const channels = queues.flatMap((queue) => TYPES.map((type) => ({ queue, type, stage: null })))
    const together = new Ledger()
    const oneByOne = new Ledger()
    let now = 1_000
    let claimed = 0
    let request = 0
    const claim = (ledger: Ledger, max: number): string[] => {
      request += 1
      const asked = { worker: 'w', request, channels, max, started: true, suspects: false }
      return ledger.claim(asked, now).map(({ job }) => job)
    }
    for (let count = 1; count <= 1_500; count++) {
      if (dice.chance(30)) now += dice.below(6)
      if (dice.chance(15)) {
        const most = 1 + dice.below(12)
        const all = claim(together, most)
        expect(Array.from({ length: most }, () => claim(oneByOne, 1)).flat()).toEqual(all)
        claimed += all.length
      } else {
        const commands: Command[] = [randomCommand(dice, together, count, queues)]
        for (let i = dice.pick([0, 0, 6]); i > 0; i--) {
          const job = `job ${count} ${i}`
          commands.push({ type: 'SubmitJob', job, spec: randomSpec(dice, count, queues) })
        }
        for (const command of commands) {
          together.perform(command, now)
          oneByOne.perform(command, now)
        }
      }
    }
    expect(claimed).toBeGreaterThan(50)
  })
})
