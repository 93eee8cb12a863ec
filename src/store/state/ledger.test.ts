import { describe, expect, it } from 'vitest'
import { Dice } from '../../../test/model/properties/dice.ts'
import { plausibleCommand } from '../../../test/model/properties/plausible.ts'
import { onRecord, pipeline, plain, stage } from '../../../test/support/specs.ts'
import type { Command, Entry, Usage } from '../../kernel/index.ts'
import { countTallies, scan, tasksOf, worldViolations } from '../../kernel/index.ts'
import type { ClaimRequest, ChannelName } from '../claim-request.ts'
import { Ledger } from './ledger.ts'

const CHANNELS: readonly ChannelName[] = ['left', 'right'].flatMap((queue) =>
  ['red', 'blue'].flatMap((type) =>
    [
      null,
      'split',
      'work',
      'again',
      'many',
      'join',
      'rescue',
      'clean',
      'left',
      'right',
      'first',
      'second',
    ].map((name) => ({ queue, type, stage: name })),
  ),
)

function rebuilt(log: readonly Entry[]): Ledger {
  const ledger = new Ledger()
  for (const entry of log) ledger.apply(entry)
  return ledger
}

/** A key that is not in use is like an unknown one. */
function used(usage: ReadonlyMap<string, Usage>, now: number): [string, number, number][] {
  return [...usage]
    .map(([key, { held, fullAt }]): [string, number, number] => [key, held, Math.max(fullAt, now)])
    .filter(([, held, fullAt]) => held > 0 || fullAt > now)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
}

/** Everything that can be read from a ledger, its indexes included. */
function contents(ledger: Ledger): unknown {
  const { world, now } = ledger
  const jobs = [...world.jobs.values()]
  return {
    world,
    now,
    usage: used(ledger.usage, now),
    queues: [...world.queues.keys()].map((name) => ledger.queueUsage(name)),
    tallies: jobs.map((job) => ledger.tallies(job)),
    keys: jobs.map(({ spec }) =>
      spec.key === null ? null : ledger.keyHolder(spec.type, spec.key)?.id,
    ),
    requests: ['w1', 'w2', 'w3'].map((worker) =>
      jobs.flatMap((job) =>
        tasksOf(world, job).flatMap(({ lease }) =>
          lease === null ? [] : [ledger.leases.ofRequest(worker, lease.request)],
        ),
      ),
    ),
    leases: ledger.leases.count,
  }
}

function inAnyOrder(commands: readonly Command[]): string[] {
  return commands.map((command) => JSON.stringify(command)).toSorted()
}

describe('a ledger', () => {
  const seeds = Array.from({ length: 6 }, (_, i) => i + 1)

  it.each(seeds)('rebuilt from its log goes on as the one that lived (seed %i)', (seed) => {
    const dice = new Dice(seed)
    const log: Entry[] = []
    const live = new Ledger((entry) => log.push(entry))
    let twin = new Ledger()
    let now = 1_000
    let granted = 0
    for (let count = 1; count <= 2_000; count++) {
      if (dice.chance(30)) now += dice.below(12)
      if (count % 50 === 0) {
        twin = rebuilt(log)
      }
      if (dice.chance(20)) {
        const request: ClaimRequest = {
          worker: dice.pick(['w1', 'w2', 'w3']),
          request: count,
          channels: CHANNELS,
          max: 1 + dice.below(3),
          started: dice.chance(50),
        }
        const tasks = live.claim(request, now)
        expect(twin.claim(request, now)).toEqual(tasks)
        granted += tasks.length
      } else {
        const command = plausibleCommand(dice, live.world, now, count)
        const decision = live.perform(command, now)
        expect(twin.perform(command, now)).toEqual(decision)
      }
      if (count % 50 === 49) {
        expect(inAnyOrder(twin.upkeep(now, 1_000))).toEqual(inAnyOrder(live.upkeep(now, 1_000)))
        twin.tick(live.now)
        expect(contents(twin)).toEqual(contents(live))
      }
    }
    expect(granted).toBeGreaterThan(50)
  })

  it.each(seeds)('keeps every invariant, with its own indexes (seed %i)', (seed) => {
    const dice = new Dice(1_000 + seed)
    const ledger = new Ledger()
    let now = 1_000
    for (let count = 1; count <= 2_000; count++) {
      if (dice.chance(30)) now += dice.below(12)
      ledger.perform(plausibleCommand(dice, ledger.world, now, count), now)
      expect(worldViolations(ledger.world, ledger, now)).toEqual([])
      const scanned = scan(ledger.world)
      for (const job of ledger.world.jobs.values()) {
        const retryAts = ledger.tallies(job).map((tally) => tally.retryAt)
        const counted = countTallies(ledger.world, job).map((tally) => tally.retryAt)
        expect(retryAts).toEqual(counted)
      }
      for (const [key, { held }] of scanned.usage) {
        expect(ledger.usage.get(key)?.held ?? 0).toBe(held)
      }
      for (const queue of ['left', 'right']) {
        expect(ledger.queueUsage(queue)?.held ?? 0).toBe(scanned.queueUsage(queue)?.held)
      }
    }
  })

  it('takes a clock that runs backwards to stand still', () => {
    const ledger = new Ledger()
    ledger.perform({ type: 'SubmitJob', job: 'a', spec: plain() }, 100)
    const { entry } = ledger.perform({ type: 'SubmitJob', job: 'b', spec: plain() }, 40)
    expect(entry?.at).toBe(100)
    expect(ledger.now).toBe(100)
  })

  it('refuses an entry that names what it does not have', () => {
    const ledger = new Ledger()
    const job = { at: 0, version: 1, job: 'a' }
    const task = { ...job, stage: 0, segment: 0, lease: 1 }
    const released: Entry = { type: 'JobReleased', ...job, ...onRecord }
    expect(() => ledger.apply(released)).toThrow('there is no job a')
    expect(() => ledger.apply({ type: 'ExecutionStarted', ...task })).toThrow('no task a/0/0')
    const submitted: Entry = { type: 'JobSubmitted', ...job, spec: plain(), dueAt: 0 }
    ledger.apply(submitted)
    expect(() => ledger.apply(submitted)).toThrow('job a exists')
  })

  it('names upkeep within its limit, and nothing when nothing is due', () => {
    const ledger = new Ledger()
    const spec = pipeline([stage('many', { each: 'input' })], { input: '[1,2,3,4,5]' })
    ledger.perform({ type: 'SubmitJob', job: 'a', spec }, 0)
    expect(ledger.upkeep(0, 10)).toEqual([{ type: 'OpenStage', job: 'a', stage: 0 }])
    ledger.perform({ type: 'OpenStage', job: 'a', stage: 0 }, 0)
    expect(ledger.upkeep(0, 10)).toEqual([])
    ledger.perform({ type: 'CancelJob', job: 'a', by: 'ops', reason: 'because' }, 0)
    expect(ledger.upkeep(0, 0)).toEqual([])
    expect(ledger.upkeep(0, 2)).toEqual(ledger.upkeep(0, 2))
    const stopped: Command[] = []
    for (let round = 0; round < 3; round++) {
      const due = ledger.upkeep(0, 2)
      stopped.push(...due)
      for (const command of due) ledger.perform(command, 0)
    }
    expect(stopped.map((command) => 'segment' in command && command.segment)).toEqual([
      0, 1, 2, 3, 4,
    ])
    expect(ledger.upkeep(0, 2)).toEqual([])
  })

  it('stops a stage of many segments in steps that do not begin again from the first', () => {
    const ledger = new Ledger()
    const segments = 20_000
    const input = JSON.stringify(Array.from({ length: segments }, () => 0))
    const spec = pipeline([stage('many', { each: 'input' })], { input })
    ledger.perform({ type: 'SubmitJob', job: 'a', spec }, 0)
    ledger.perform({ type: 'OpenStage', job: 'a', stage: 0 }, 0)
    ledger.perform({ type: 'CancelJob', job: 'a', by: 'ops', reason: 'because' }, 0)
    let stopped = 0
    for (let due = ledger.upkeep(0, 10); due.length > 0; due = ledger.upkeep(0, 10)) {
      for (const command of due) ledger.perform(command, 0)
      stopped += due.length
    }
    expect(stopped).toBe(segments)
  })
})
