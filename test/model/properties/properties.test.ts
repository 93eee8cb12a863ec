/**
 * What holds for every random run of the kernel by itself: replay, prefixes, determinism,
 * repeated delivery, and independence of aggregates.
 */
import { isDeepStrictEqual } from 'node:util'
import { describe, expect, it } from 'vitest'
import type { Entry, Violation, World } from '../../../src/kernel/index.ts'
import {
  copyJob,
  copyTask,
  countTallies,
  jobViolations,
  redactEntry,
  replay,
  scan,
  sharedViolations,
  stepViolations,
  worldViolations,
} from '../../../src/kernel/index.ts'
import { snapshot } from '../../support/authority.ts'
import { Authority } from './authority.ts'
import { Dice } from './dice.ts'
import type { Delivered } from './repeats.ts'
import { isOver, Lives } from './repeats.ts'
import { shuffled } from './shuffle.ts'
import type { Counter } from './steps.ts'
import { forRandomRuns, SHARES } from './steps.ts'

function run(numbers: readonly number[], counter: Counter): Authority {
  const authority = new Authority()
  for (const number of numbers) {
    authority.send(authority.next(number))
    counter.steps += 1
  }
  return authority
}

/** A world as it is now, with copies of those aggregates that an entry can change. */
function excerpt(world: World, entry: Entry): World {
  const copy = {
    jobs: new Map(world.jobs),
    tasks: new Map(world.tasks),
    queues: new Map(world.queues),
    schedules: new Map(world.schedules),
  }
  if ('job' in entry) {
    const job = world.jobs.get(entry.job)
    const tasks = world.tasks.get(entry.job)
    if (job !== undefined) copy.jobs.set(job.id, copyJob(job))
    if (tasks !== undefined) {
      copy.tasks.set(
        entry.job,
        tasks.map((stage) => stage?.map(copyTask) ?? null),
      )
    }
  }
  const queue = 'queue' in entry ? world.queues.get(entry.queue) : undefined
  if (queue !== undefined) copy.queues.set(queue.name, { ...queue })
  const schedule = 'schedule' in entry ? world.schedules.get(entry.schedule) : undefined
  if (schedule !== undefined) copy.schedules.set(schedule.id, { ...schedule })
  return copy
}

/** What is wrong with the aggregates that an entry touched, and between it and all others. */
function violationsAfter(authority: Authority, entry: Entry): Violation[] {
  const { world, now } = authority
  const job = 'job' in entry ? world.jobs.get(entry.job) : undefined
  const own = job === undefined ? [] : jobViolations(world, job, countTallies(world, job), now)
  return [...own, ...sharedViolations(world)]
}

function expectNone(violations: readonly Violation[], entry: Entry): void {
  if (violations.length === 0) return
  const list = violations.map((one) => `invariant ${one.invariant}: ${one.what}`).join('\n')
  throw new Error(`after ${JSON.stringify(entry)}\n${list}`)
}

/** Every so many entries the whole world is checked, and kept to be compared with a replay. */
const WHOLE_WORLD_EVERY = 50

describe('a random run', () => {
  it('replays to an equal state, and every prefix of its log is a valid state', () => {
    const steps = forRandomRuns(SHARES.prefixes, 1, (numbers, counter) => {
      const authority = new Authority()
      const { world, log } = authority
      const kept: { readonly length: number; readonly world: World }[] = []
      for (const number of numbers) {
        const command = authority.next(number)
        const { entry } = authority.decide(command)
        counter.steps += 1
        if (entry === null) continue
        const before = excerpt(world, entry)
        authority.append(entry)
        expectNone(stepViolations(before, entry, world), entry)
        expectNone(violationsAfter(authority, entry), entry)
        if (log.length % WHOLE_WORLD_EVERY !== 0) continue
        expectNone(worldViolations(world, scan(world), authority.now), entry)
        if (log.length % (4 * WHOLE_WORLD_EVERY) === 0) {
          kept.push({ length: log.length, world: snapshot(world) })
        }
      }
      // As it is read back from a disk.
      const stored = JSON.parse(JSON.stringify(log)) as Entry[]
      for (const { length, world: then } of [...kept, { length: log.length, world }]) {
        if (!isDeepStrictEqual(replay(stored.slice(0, length)), then)) {
          throw new Error(`the first ${length} entries replay to another state`)
        }
      }
    })
    expect(steps).toBeGreaterThanOrEqual(SHARES.prefixes)
  })

  it('gives the same events for the same seed', () => {
    const steps = forRandomRuns(SHARES.sameSeed, 2, (numbers, counter) => {
      const first = run(numbers, counter)
      const second = run(numbers, counter)
      if (!isDeepStrictEqual(first.log, second.log)) throw new Error('the logs differ')
    })
    expect(steps).toBeGreaterThanOrEqual(SHARES.sameSeed)
  })

  it('has the same state when the entries of different aggregates come in another order', () => {
    const steps = forRandomRuns(SHARES.commuting, 1, (numbers, counter) => {
      const { log, world } = run(numbers, counter)
      const order = shuffled(log, new Dice(numbers.length))
      expect(order.length).toBe(log.length)
      if (!isDeepStrictEqual(replay(order), world)) throw new Error('another order, another state')
    })
    expect(steps).toBeGreaterThanOrEqual(SHARES.commuting)
  })
})

describe('the log of a random run', () => {
  it('leads to the same state when what was said of jobs is redacted that were erased later', () => {
    let erased = 0
    const steps = forRandomRuns(SHARES.commuting, 1, (numbers, counter) => {
      const { log, world } = run(numbers, counter)
      const redacted = [...log]
      for (const [at, entry] of log.entries()) {
        if (entry.type !== 'JobErased') continue
        erased += 1
        for (let i = 0; i < at; i++) {
          const one = redacted[i] as Entry
          if ('job' in one && one.job === entry.job) redacted[i] = redactEntry(one)
        }
      }
      if (!isDeepStrictEqual(replay(redacted), world)) throw new Error('redacted, another state')
    })
    expect(steps).toBeGreaterThanOrEqual(SHARES.commuting)
    expect(erased).toBeGreaterThan(50)
  })
})

describe('a command that is delivered again', () => {
  it('gets the answer it got, at once and after other things happened', () => {
    const steps = forRandomRuns(SHARES.repeats, 2, (numbers, counter) => {
      const authority = new Authority()
      const lives = new Lives()
      const delivered: Delivered[] = []
      for (const number of numbers) {
        const command = authority.next(number)
        const decision = authority.decide(command)
        counter.steps += 1
        if (decision.entry !== null) {
          authority.append(decision.entry)
          lives.see(decision.entry)
        }
        if (decision.verdict === 'rejected') continue
        const now = { command, decision, subject: lives.subject(command, decision) }
        expectSame(authority, now, true)
        delivered.push(now)
        const earlier = new Dice(number ^ 0x5bd1_e995).pick(delivered)
        const same = lives.subject(earlier.command, earlier.decision) === earlier.subject
        if (same && !isOver(authority.world, earlier, authority.now)) {
          expectSame(authority, earlier, false)
        }
        counter.steps += 2
      }
    })
    expect(steps).toBeGreaterThanOrEqual(SHARES.repeats)
  })
})

function expectSame(authority: Authority, { command, decision }: Delivered, atOnce: boolean): void {
  const again = authority.decide(command)
  const same = again.verdict === decision.verdict && again.value === decision.value
  if (same && (!atOnce || again.entry === null)) return
  const first = `${decision.verdict} ${decision.value}`
  const second = `${again.verdict} ${again.value} ${again.rejection?.message ?? ''}`
  throw new Error(`${JSON.stringify(command)} was answered ${first}, then ${second}`)
}
