/** Commands come from other processes: whatever is wrong with one, it is answered, not thrown. */
import { describe, expect, it } from 'vitest'
import { failure, plain } from '../../test/support/specs.ts'
import type { Command, CommandOf, CommandType } from './index.ts'
import { decide, LATEST_TIME_MS, LIMITS, noReads, RULES } from './index.ts'
import type { Kind } from './wellformed.ts'
import {
  commandFields,
  between,
  count,
  flag,
  keyText,
  listOf,
  malformed,
  name,
  oneOf,
  orNull,
  payload,
  record,
  text,
  time,
  unknownField,
} from './wellformed.ts'

const task = { job: 'a', stage: 0, segment: 0 }
const lease = { ...task, lease: 1, worker: 'w1' }
const onRecord = { by: 'ops', reason: '' }

const wait = {
  name: 'w',
  message: 'go',
  schema: '{}',
  ask: '"?"',
  delayMs: 1,
  dueAt: 2,
  callee: null,
}

/** One of each command, complete and well formed. */
const COMPLETE: { readonly [T in CommandType]: Omit<CommandOf<T>, 'type'> } = {
  SubmitJob: { job: 'a', spec: plain() },
  ReleaseJob: { job: 'a', ...onRecord },
  ReplaceJob: {
    job: 'a',
    ...onRecord,
    replacement: 'b',
    input: '1',
    definitionVersion: 1,
    delayMs: 0,
    dueAt: null,
  },
  OpenStage: { job: 'a', stage: 0 },
  GrantLease: { ...task, worker: 'w1', request: 1, started: true },
  StartExecution: lease,
  ExtendLease: { ...lease, extension: 1 },
  ReleaseLease: lease,
  RecordStep: { ...lease, name: 'step', value: '1', definitionVersion: 1 },
  AppendStream: { ...lease, name: 'log', offset: 0, values: ['1'] },
  EndWait: { ...lease, wait, message: null, unfit: [], definitionVersion: 1 },
  SuspendExecution: { ...lease, needs: 'any', waits: [wait], unfit: ['m'], definitionVersion: 1 },
  SendMessage: { ...task, ...onRecord, id: 'm', name: 'go', value: '1', checked: null },
  ContinueExecution: { ...lease, input: '1', definitionVersion: 1 },
  AnswerCall: { ...task, name: 'w' },
  CommitExecution: { ...lease, output: '1', effects: [] },
  FailTask: { ...lease, error: failure() },
  StartEffect: { ...lease, effect: 0 },
  FinishEffect: { ...lease, effect: 0 },
  FailEffect: { ...lease, effect: 0, error: failure({ stack: 'at line 1' }) },
  ResolveEffect: { ...task, ...onRecord, effect: 0, start: 1, outcome: 'again' },
  ExpireLease: { ...task, lease: 1 },
  RevokeLease: { ...task, ...onRecord, lease: 1 },
  CancelJob: { job: 'a', ...onRecord },
  EraseJob: { job: 'a', ...onRecord },
  StopTask: task,
  RetryTask: { ...task, ...onRecord, attempt: 1, input: null },
  ForceTask: { ...task, ...onRecord, attempt: 1, to: 'COMPLETED', output: '1' },
  RescheduleTask: {
    ...task,
    ...onRecord,
    attempt: 1,
    dueAt: 5,
    priority: -1,
    toQueue: 'q',
  },
  ForgetJob: { job: 'a', endedBefore: 1 },
  ConfigureQueue: {
    queue: 'q',
    concurrency: 1,
    rate: { count: 1, perMs: 1 },
    ageingMs: null,
    ...onRecord,
  },
  PauseQueue: { queue: 'q', ...onRecord },
  ResumeQueue: { queue: 'q', ...onRecord },
  SetSchedule: { schedule: 's', definition: '', seen: null, ...onRecord },
  FireSchedule: { schedule: 's', tick: 1, skipped: false },
  RemoveSchedule: { schedule: 's', ...onRecord },
}

const commands = Object.entries(COMPLETE).map(
  ([type, fields]) => Object.assign({ type }, fields) as Command,
)
const fields = commands.flatMap((command) =>
  Object.keys(command)
    .filter((field) => field !== 'type')
    .map((field) => ({ command, type: command.type, field })),
)

describe('a command', () => {
  it('is listed here for every rule that there is', () => {
    expect(Object.keys(COMPLETE).toSorted()).toEqual(Object.keys(RULES.table).toSorted())
  })

  it.each(commands)('$type is well formed when it is complete', (command) => {
    expect(malformed(command)).toBeNull()
  })

  it.each(fields)('$type is refused without its $field, by name', ({ command, type, field }) => {
    const { [field]: _left, ...rest } = command as unknown as Record<string, unknown>
    const { verdict, entry, rejection } = decide(rest as unknown as Command, noReads(), 0)
    expect(verdict).toBe('rejected')
    expect(entry).toBeNull()
    // A spec is looked at by guards of its own, which say more about it.
    expect(rejection?.check).toBe(field === 'spec' ? 'valid-fields' : 'well-formed')
    expect(rejection?.code).toBe(field === 'spec' ? 'InvalidSpec' : 'MalformedCommand')
    if (field !== 'spec') {
      expect(rejection?.message).toMatch(new RegExp(`^${type}: ${field} must be `))
      expect(rejection?.details).toEqual({ field })
    }
  })

  it.each(['FailTask', 'FailEffect'] as const)('%s takes no error with unknown fields', (type) => {
    const error = Object.assign(failure(), { color: 'red' })
    const command = { type, ...COMPLETE[type], error } as Command
    expect(malformed(command)?.message).toBe(
      `${type}: error must be an object without a field color.`,
    )
  })

  it('SuspendExecution takes no callee that is no job', () => {
    const waits = [{ ...wait, callee: 7 }]
    const command = { type: 'SuspendExecution', ...COMPLETE.SuspendExecution, waits }
    expect(malformed(command)?.message).toContain('whose callee is a job, or null')
  })

  it.each([null, undefined, 7, 'SubmitJob'])('is refused when it is %s', (nonsense) => {
    const { rejection } = decide(nonsense as unknown as Command, noReads(), 0)
    expect(rejection?.code).toBe('MalformedCommand')
    expect(rejection?.check).toBe('well-formed')
    expect(rejection?.message).toBe('A command must be an object with a type.')
  })

  it.each([{}, { type: 7 }, { type: 'DeleteEverything' }, { type: 'constructor' }])(
    'is refused when nobody knows its type: %j',
    (nonsense) => {
      const { rejection } = decide(nonsense as unknown as Command, noReads(), 0)
      expect(rejection?.code).toBe('UnknownCommand')
      expect(rejection?.message).toMatch(/^There is no command /)
    },
  )
})

const KINDS: readonly { of: string; kind: Kind; good: unknown[]; bad: unknown[] }[] = [
  {
    of: 'a name',
    kind: name,
    good: ['a', '日本 😀', 'x'.repeat(LIMITS.nameChars)],
    bad: ['', 'x'.repeat(LIMITS.nameChars + 1), 'a\0', 'a\uD800', '\uDC00a', 7, null],
  },
  {
    of: 'a count',
    kind: count,
    good: [0, Number.MAX_SAFE_INTEGER],
    bad: [-1, 0.5, NaN, 2 ** 53, '1'],
  },
  {
    of: 'a time',
    kind: time,
    good: [0, LATEST_TIME_MS],
    bad: [-1, 0.5, LATEST_TIME_MS + 1, Infinity, '1'],
  },
  { of: 'a flag', kind: flag, good: [true, false], bad: [0, 'true', null] },
  {
    of: 'a key',
    kind: keyText(3),
    good: ['', 'abc', '\u202E😀', '\u2028'],
    bad: ['abcd', 3, 'a\0', '\uDC00a', 'a\uD800'],
  },
  { of: 'a text', kind: text(3), good: ['', 'abc'], bad: ['abcd', 3] },
  {
    of: 'a payload',
    kind: payload,
    good: ['1', 'x'.repeat(LIMITS.payloadChars)],
    bad: ['', 'x'.repeat(LIMITS.payloadChars + 1), {}],
  },
  { of: 'something or null', kind: orNull(flag), good: [null, true], bad: [undefined, 1] },
  { of: 'a range', kind: between(2, 4), good: [2, 4], bad: [1, 5, 2.5, '3'] },
  { of: 'a choice', kind: oneOf('a', 'b'), good: ['a', 'b'], bad: ['c', null] },
  { of: 'a list', kind: listOf(flag, 2), good: [[], [true]], bad: [{}, [1], [true, true, true]] },
  {
    of: 'a record',
    kind: record<{ a: boolean }>({ a: (value) => flag(value.a) }),
    good: [{ a: true }],
    bad: [null, 7, {}, { a: 1 }, { a: true, b: true }],
  },
]

describe.each(KINDS)('$of', ({ kind, good, bad }) => {
  it('takes what is of its kind and within its limit', () => {
    for (const value of good) expect(kind(value)).toBeNull()
  })

  it('takes nothing else, and says what it must be', () => {
    for (const value of bad) expect(kind(value)).toMatch(/^(?:an? |one of |true or |JSON text)/)
  })
})

it('a field that is not enumerable is there all the same', () => {
  const pair = record<{ a: number; b: number }>({ a: ({ a }) => count(a), b: ({ b }) => count(b) })
  expect(pair(Object.defineProperty({ a: 1 }, 'b', { value: 2 }))).toBeNull()
  expect(pair(Object.defineProperty({ a: 1 }, 'b', { value: -2 }))).toContain('whose b is')
})

describe('a field that a command does not have', () => {
  it('is found by its name', () => {
    const cancel = { type: 'CancelJob', job: 'a', by: 'b', reason: 'c' }
    expect(unknownField(cancel)).toBe(null)
    expect(unknownField({ ...cancel, attempt: 1 } as typeof cancel)).toBe(null)
    expect(unknownField({ ...cancel, atempt: 1 } as typeof cancel)).toBe('atempt')
  })

  it('is not looked for in a command that does not exist', () => {
    expect(unknownField({ type: 'Explode', fuse: 1 } as { type: string })).toBe(null)
    expect(commandFields('Explode')).toEqual([])
    expect(commandFields('StopTask')).toEqual(['job', 'stage', 'segment'])
  })
})
