import { describe, expect, it } from 'vitest'
import { Dice } from '../../../test/model/properties/dice.ts'
import { plausibleCommand } from '../../../test/model/properties/plausible.ts'
import { failure, pipeline, plain, promise, stage } from '../../../test/support/specs.ts'
import type { Command, Entry } from '../../kernel/index.ts'
import { LATEST_TIME_MS, LIMITS } from '../../kernel/index.ts'
import { Group } from '../../log/writer/group.ts'
import { Ledger } from '../state/ledger.ts'
import { bytesFor, GRANT_BYTES } from './size-estimate.ts'

/** What the entries of a command take up in the log. */
function bytesOf(entries: readonly Entry[]): number {
  const group = new Group()
  group.begin(0, 0)
  const before = group.bytes
  for (const entry of entries) group.add(entry, 1)
  return group.bytes - before
}

class Measured {
  readonly entries: Entry[] = []
  readonly ledger = new Ledger((entry) => this.entries.push(entry))

  /** The bytes that were needed, and the bytes that were reserved. */
  send(command: Command, now: number): [number, number] {
    this.entries.length = 0
    const { verdict } = this.ledger.perform(command, now)
    expect(verdict).not.toBe('rejected')
    return [bytesOf(this.entries), bytesFor(command)]
  }
}

/** Three bytes each. */
function widest(length: number): string {
  return '€'.repeat(length)
}

describe('the room that is reserved for a command', () => {
  it('is enough for whatever follows from it, on random histories', () => {
    const dice = new Dice(1)
    const measured = new Measured()
    let now = 1_000
    let decided = 0
    for (let count = 1; count <= 20_000; count++) {
      if (dice.chance(30)) now += dice.below(12)
      const command = plausibleCommand(dice, measured.ledger.world, now, count)
      measured.entries.length = 0
      measured.ledger.perform(command, now)
      if (measured.entries.length === 0) continue
      decided += 1
      expect(bytesOf(measured.entries)).toBeLessThanOrEqual(bytesFor(command))
      if (command.type === 'GrantLease') {
        expect(bytesOf(measured.entries)).toBeLessThanOrEqual(GRANT_BYTES)
      }
    }
    expect(decided).toBeGreaterThan(5_000)
  })

  it('is enough at the limits of every text and list', () => {
    const name = widest(LIMITS.nameChars)
    const payload = JSON.stringify(widest(10_000))
    const limits = Array.from({ length: LIMITS.limitsPerTask }, (_, i) => ({
      key: `${i}${widest(200)}`,
      concurrency: LIMITS.concurrency,
      rate: { count: LIMITS.rateCount, perMs: LIMITS.ratePeriodMs },
    }))
    const delaysMs = Array.from({ length: LIMITS.retryDelays }, () => LIMITS.retryDelayMs)
    const retry = { max: 9, backoff: 'list', delayMs: 0, capMs: 0, delaysMs, jitter: 0.1 } as const
    const wide = plain(
      {
        type: 'test',
        version: Number.MAX_SAFE_INTEGER,
        input: payload,
        key: widest(LIMITS.keyChars),
        group: name,
        tags: Array.from({ length: LIMITS.tags }, () => widest(LIMITS.nameChars)),
        rerunOf: name,
        asked: { by: name, reason: widest(LIMITS.reasonChars) },
      },
      { queue: name, limits, retry },
    )
    const measured = new Measured()
    const all: [number, number][] = [measured.send({ type: 'SubmitJob', job: name, spec: wide }, 1)]
    const at = { job: name, stage: 0, segment: 0, worker: name }
    const lease = { ...at, lease: 1 }
    const due = { definitionVersion: 2 ** 53 - 1, delayMs: 0, dueAt: LATEST_TIME_MS }
    const onRecord = { by: name, reason: widest(LIMITS.reasonChars) }
    const replacement = { replacement: name, input: payload, ...due, ...onRecord }
    all.push(measured.send({ type: 'SubmitJob', job: `${name.slice(1)}r`, spec: plain() }, 1))
    const replaced = { job: `${name.slice(1)}r`, ...replacement }
    all.push(measured.send({ type: 'ReplaceJob', ...replaced }, 1))
    all.push(measured.send({ type: 'GrantLease', ...at, request: 2 ** 53 - 1, started: true }, 1))
    all.push(
      measured.send(
        { type: 'RecordStep', ...lease, name, value: payload, definitionVersion: 1 },
        1,
      ),
    )
    const values = Array.from({ length: LIMITS.streamValues }, () => widest(5))
    all.push(measured.send({ type: 'AppendStream', ...lease, name, offset: 0, values }, 1))
    const child = plain({ ...wide, key: null })
    const effects = Array.from({ length: 20 }, () => promise({ name, input: payload, retry }))
    effects.push(promise({ name, child, idempotent: true }))
    all.push(measured.send({ type: 'CommitExecution', ...lease, output: payload, effects }, 1))
    all.push(measured.send({ type: 'StartEffect', ...lease, effect: 0 }, 1))
    const error = failure({
      code: name,
      message: widest(LIMITS.errorChars),
      stack: widest(LIMITS.errorChars),
    })
    all.push(measured.send({ type: 'FailEffect', ...lease, effect: 0, error }, 1))
    const stages = Array.from({ length: 40 }, (_, i) =>
      stage(`${i}${widest(240)}`, { policy: wide.policy as NonNullable<typeof wide.policy> }),
    )
    all.push(measured.send({ type: 'SubmitJob', job: 'p', spec: pipeline(stages) }, 1))
    for (const [needed, reserved] of all) expect(needed).toBeLessThanOrEqual(reserved)
  })

  it('is enough for the longest reason of the widest name', () => {
    const name = widest(LIMITS.nameChars)
    const onRecord = { by: name, reason: widest(LIMITS.reasonChars) }
    const bounds = {
      concurrency: LIMITS.concurrency,
      rate: { count: LIMITS.rateCount, perMs: LIMITS.ratePeriodMs },
      ageingMs: LIMITS.ageingMs,
    }
    const definition = widest(LIMITS.scheduleChars)
    const measured = new Measured()
    measured.send({ type: 'SubmitJob', job: name, spec: plain({ held: true }) }, 1)
    const commands: Command[] = [
      { type: 'ReleaseJob', job: name, ...onRecord },
      { type: 'CancelJob', job: name, ...onRecord },
      { type: 'EraseJob', job: name, ...onRecord },
      { type: 'ConfigureQueue', queue: name, ...bounds, ...onRecord },
      { type: 'PauseQueue', queue: name, ...onRecord },
      { type: 'ResumeQueue', queue: name, ...onRecord },
      { type: 'SetSchedule', schedule: name, definition, seen: null, ...onRecord },
      { type: 'RemoveSchedule', schedule: name, ...onRecord },
    ]
    for (const command of commands) {
      const [needed, reserved] = measured.send(command, 1)
      expect(needed, command.type).toBeGreaterThan(3 * LIMITS.reasonChars)
      expect(needed, command.type).toBeLessThanOrEqual(reserved)
    }
  })

  it('is asked for without trusting the command', () => {
    const strange = [null, 7, {}, { type: 'SubmitJob' }, { type: 'SubmitJob', spec: 7 }]
    const nested = [
      { type: 'SubmitJob', job: 1, spec: { tags: 3, policy: { limits: [null] }, stages: [null] } },
      { type: 'CommitExecution', effects: [null, { child: 1 }] },
      { type: 'FailTask' },
    ]
    for (const command of [...strange, ...nested]) {
      expect(bytesFor(command as unknown as Command)).toBeGreaterThanOrEqual(0)
    }
  })
})
