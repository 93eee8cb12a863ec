import { describe, expect, it } from 'vitest'
import { anyCommand } from '../../../test/model/properties/any-command.ts'
import { Dice } from '../../../test/model/properties/dice.ts'
import { failure, plain, promise, retry } from '../../../test/support/specs.ts'
import type { Command, SubmitJob, TaskPolicy } from '../../kernel/index.ts'
import { createWorld, freezePolicy, NONE } from '../../kernel/index.ts'
import { CommandCopies } from './command-copies.ts'

function submit(policy: Partial<TaskPolicy> = {}): SubmitJob {
  return { type: 'SubmitJob', job: 'a', spec: plain({}, policy) }
}

function policyOf(command: Command | null): TaskPolicy {
  return (command as SubmitJob).spec.policy as TaskPolicy
}

describe("the store's own copy of a command", () => {
  it('says the same, whatever the command', () => {
    const own = new CommandCopies()
    const dice = new Dice(3)
    const world = createWorld()
    for (let count = 0; count < 3_000; count++) {
      const command = anyCommand(dice, world, 1_000, count)
      expect(own.copy(command)).toEqual(command)
    }
  })

  it('does not change when the caller changes what it gave', () => {
    const own = new CommandCopies()
    const effects = [promise()]
    const error = failure()
    const at = { job: 'a', stage: 0, segment: 0, lease: 1, worker: 'w' }
    const commands: Command[] = [
      submit({ limits: [{ key: 'k', concurrency: 1, rate: null }] }),
      { ...submit(), spec: plain({ tags: ['x'], schedule: { id: 's', tick: 1 } }) },
      { type: 'CommitExecution', ...at, output: '1', effects },
      { type: 'FailTask', ...at, error },
    ]
    for (const command of commands) {
      // Nothing of it is shared with other tests, and nothing in it is frozen.
      const given = structuredClone(command)
      const copy = own.copy(given)
      scramble(given)
      expect(copy).toEqual(command)
    }
  })

  it('is the command itself where that is handed over, and nothing in it can be changed from elsewhere', () => {
    const own = new CommandCopies()
    const frozen = freezePolicy(submit().spec.policy as TaskPolicy)
    const at = { job: 'a', stage: 0, segment: 0, lease: 1, worker: 'w' }
    const kept: Command[] = [
      { ...submit(), spec: plain({ policy: frozen }) },
      { type: 'StartExecution', ...at },
      { type: 'CommitExecution', ...at, output: '1', effects: NONE },
    ]
    for (const command of kept) {
      expect(own.copy(command, true)).toBe(command)
      expect(own.copy(command)).not.toBe(command)
    }
    const copied: Command[] = [
      submit(),
      { type: 'CommitExecution', ...at, output: '1', effects: [promise()] },
      { type: 'FailTask', ...at, error: failure() },
    ]
    for (const command of copied) {
      const copy = own.copy(command, true)
      expect(copy).toEqual(command)
      expect(copy).not.toBe(command)
    }
    // One policy for many jobs, also if each brings its own.
    expect(policyOf(own.copy(submit(), true))).toBe(policyOf(own.copy(submit(), true)))
  })

  it.each(Object.keys(plain()))(
    'loses nothing of a spec that has another field for %s',
    (field) => {
      const { [field as 'version']: _left, ...spec } = plain()
      const command = { type: 'SubmitJob', job: 'a', spec: { ...spec, other: 1 } }
      expect(new CommandCopies().copy(command as unknown as Command)).toEqual(command)
    },
  )

  it('shares one policy among all that are equal, and only among those', () => {
    const own = new CommandCopies()
    const first = policyOf(own.copy(submit()))
    expect(policyOf(own.copy(submit()))).toBe(first)
    const others: Partial<TaskPolicy>[] = [
      { queue: 'other' },
      { leaseMs: 1 },
      { timeoutMs: 1 },
      { quarantine: 'never' },
      { limits: [{ key: 'k', concurrency: 1, rate: null }] },
      { retry: retry({ max: 9 }) },
      { retry: retry({ backoff: 'exponential' }) },
      { retry: retry({ delayMs: 9 }) },
      { retry: retry({ capMs: 9 }) },
      { retry: retry({ jitter: 0.5 }) },
      { retry: retry({ delaysMs: [1] }) },
    ]
    for (const change of others) {
      const command = submit(change)
      expect(policyOf(own.copy(command))).toEqual(command.spec.policy)
    }
  })

  it('shares one policy for each key of a limit, of however many', () => {
    const own = new CommandCopies()
    const limit = { key: 'k', concurrency: 1, rate: { count: 1, perMs: 5 } }
    const copies = Array.from({ length: 1_000 }, (_, i) => {
      return policyOf(own.copy(submit({ limits: [{ ...limit, key: `key ${i}` }] })))
    })
    copies.forEach((first, i) => {
      const limits = [{ ...limit, key: `key ${i}`, rate: { count: 1, perMs: 5 } }]
      expect(policyOf(own.copy(submit({ limits })))).toBe(first)
    })
    const others: unknown[] = [
      [{ ...limit, key: 'key 1', concurrency: 2 }],
      [{ ...limit, key: 'key 1', rate: { count: 1, perMs: 6 } }],
      [{ ...limit, key: 'key 1', rate: null }],
      [{ ...limit, key: 'key 1' }, limit],
      [{ ...limit, key: 'key 1', extra: 1 }],
      [{ key: 'key 1', concurrency: 1 }],
      [{ ...limit, key: 'key 1' }, null],
      [{ ...limit, concurrency: { more: 1 } }],
      [{ ...limit, key: ['key 1'] }],
      [{ ...limit, rate: undefined }],
    ]
    for (const limits of others) {
      const command = submit({ limits: limits as TaskPolicy['limits'] })
      expect(policyOf(own.copy(command))).toEqual(command.spec.policy)
    }
    const elsewhere = submit({ queue: 'other', limits: [{ ...limit, key: 'key 1' }] })
    expect(policyOf(own.copy(elsewhere))).toEqual(elsewhere.spec.policy)
  })

  it('keeps what does not belong there, so that it is refused and not lost', () => {
    const own = new CommandCopies()
    const extra = submit()
    const strange = [
      { ...extra, more: 1 },
      { ...extra, spec: { ...extra.spec, more: 1 } },
      { ...extra, spec: { ...extra.spec, group: undefined } },
      { ...extra, spec: { ...extra.spec, policy: { ...extra.spec.policy, more: 1 } } },
      { ...extra, spec: { ...extra.spec, policy: { ...extra.spec.policy, retry: 7 } } },
    ] as unknown as Command[]
    own.copy(extra)
    for (const command of strange) expect(own.copy(command)).toEqual(command)
  })

  it('is none of what is no plain data', () => {
    const own = new CommandCopies()
    const hostile = { ...submit(), run: () => 1 } as unknown as Command
    expect(own.copy(hostile)).toBeNull()
  })
})

/** Changes everything that can be changed. */
function scramble(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  const fields = value as Record<string, unknown>
  for (const key of Object.keys(fields)) {
    scramble(fields[key])
    if (!Object.isFrozen(value)) fields[key] = 'scrambled'
  }
}
