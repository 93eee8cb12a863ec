/**
 * Whether a command has the fields it must have, of the kinds they must be.
 *
 * Commands come from other processes, so nothing is taken for granted. Everything behind this
 * check may read the fields without looking twice, which is why `decide` never throws.
 */
import type { Rejection } from './answers.ts'
import { reject } from './answers.ts'
import type { CommandType } from './commands.ts'
import { LATEST_TIME_MS, LIMITS } from './limits.ts'

/** A check of one field: null when fine, else what it must be. */
export type Kind = (value: unknown) => string | null

export const name: Kind = (value) =>
  typeof value === 'string' && value.length > 0 && value.length <= LIMITS.nameChars
    ? null
    : `a text of 1 to ${LIMITS.nameChars} characters`

export const count: Kind = (value) =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
    ? null
    : 'a whole number, 0 or more'

export const time: Kind = (value) =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= LATEST_TIME_MS
    ? null
    : 'a time: whole milliseconds since 1970'

export const flag: Kind = (value) => (typeof value === 'boolean' ? null : 'true or false')

export function text(most: number): Kind {
  return (value) =>
    typeof value === 'string' && value.length <= most
      ? null
      : `a text of at most ${most} characters`
}

export const payload: Kind = (value) =>
  typeof value === 'string' && value.length > 0 && value.length <= LIMITS.payloadChars
    ? null
    : `JSON text of at most ${LIMITS.payloadChars} characters; put larger data elsewhere and pass its address`

export function orNull(kind: Kind): Kind {
  return (value) => (value === null ? null : kind(value))
}

export function between(least: number, most: number): Kind {
  return (value) =>
    typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most
      ? null
      : `a whole number from ${least} to ${most}`
}

export function oneOf(...values: readonly string[]): Kind {
  return (value) =>
    values.includes(value as string) ? null : `one of ${values.map((v) => `'${v}'`).join(', ')}`
}

export function listOf(kind: Kind, most: number): Kind {
  return (value) => {
    if (!Array.isArray(value) || value.length > most) return `a list of at most ${most}`
    for (let i = 0; i < value.length; i++) {
      const wrong = kind(value[i])
      if (wrong !== null) return `a list whose element ${i} is ${wrong}`
    }
    return null
  }
}

/** What is wrong with one field of an object. */
export interface WrongField {
  readonly field: string
  /** What it must be; null: there is no such field. */
  readonly mustBe: string | null
}

/**
 * Checks that an object has these fields, of these kinds, and no others: what is kept whole
 * must hold nothing that no limit was asked about. Lists side by side, because this is hot.
 */
export function fieldsOf(
  fields: Readonly<Record<string, Kind>>,
): (value: object) => WrongField | null {
  const names = Object.keys(fields)
  const kinds = Object.values(fields)
  return (value) => {
    for (let i = 0; i < names.length; i++) {
      const field = names[i] as string
      const mustBe = (kinds[i] as Kind)((value as Record<string, unknown>)[field])
      if (mustBe !== null) return { field, mustBe }
    }
    const present = Object.keys(value)
    if (present.length <= names.length) return null
    const stranger = present.find((field) => !Object.hasOwn(fields, field)) as string
    return { field: stranger, mustBe: null }
  }
}

/** An object with exactly these fields. */
export function record(fields: Readonly<Record<string, Kind>>): Kind {
  const check = fieldsOf(fields)
  return (value) => {
    if (typeof value !== 'object' || value === null) return 'an object'
    const wrong = check(value)
    if (wrong === null) return null
    return wrong.mustBe === null
      ? `an object without a field ${wrong.field}`
      : `an object whose ${wrong.field} is ${wrong.mustBe}`
  }
}

export const failure: Kind = record({
  type: oneOf('RETRYABLE', 'TERMINAL'),
  code: text(LIMITS.nameChars),
  message: text(LIMITS.errorChars),
  stack: orNull(text(LIMITS.errorChars)),
})

export const rate: Kind = record({
  count: between(1, LIMITS.rateCount),
  perMs: between(1, LIMITS.ratePeriodMs),
})

const anything: Kind = () => null
const task = { job: name, stage: count, segment: count }
const lease = { ...task, lease: count, worker: name }
const onRecord = { by: name, reason: text(LIMITS.reasonChars) }

/** The fields of each command. Job specs and promises are checked by guards of their own. */
const FIELDS: { readonly [T in CommandType]: Readonly<Record<string, Kind>> } = {
  SubmitJob: { job: name, spec: anything },
  ReleaseJob: { job: name },
  OpenStage: { job: name, stage: count },
  GrantLease: { ...task, worker: name, request: count, started: flag },
  StartExecution: lease,
  ExtendLease: { ...lease, extension: between(1, Number.MAX_SAFE_INTEGER) },
  ReleaseLease: lease,
  RecordStep: { ...lease, name, value: payload },
  CommitExecution: { ...lease, output: payload, effects: listOf(anything, LIMITS.effects) },
  FailTask: { ...lease, error: failure },
  StartEffect: { ...lease, effect: count },
  FinishEffect: { ...lease, effect: count },
  FailEffect: { ...lease, effect: count, error: failure },
  ResolveEffect: {
    ...task,
    ...onRecord,
    effect: count,
    start: count,
    outcome: oneOf('happened', 'again'),
  },
  ExpireLease: { ...task, lease: count },
  RevokeLease: { ...task, ...onRecord, lease: count },
  CancelJob: { job: name, ...onRecord },
  StopTask: task,
  RetryTask: { ...task, ...onRecord, attempt: count, input: orNull(payload) },
  ForceTask: {
    ...task,
    ...onRecord,
    attempt: count,
    to: oneOf('COMPLETED', 'FAILED', 'WAITING'),
    output: orNull(payload),
  },
  ForgetJob: { job: name, endedBefore: time },
  ConfigureQueue: {
    queue: name,
    concurrency: orNull(between(0, LIMITS.concurrency)),
    rate: orNull(rate),
  },
  PauseQueue: { queue: name, ...onRecord },
  ResumeQueue: { queue: name, ...onRecord },
  SetSchedule: { schedule: name, definition: text(LIMITS.scheduleChars) },
  FireSchedule: { schedule: name, tick: time, skipped: flag },
  RemoveSchedule: { schedule: name },
}

const CHECKS = new Map(
  Object.entries(FIELDS).map(([type, fields]) => [
    type,
    { names: Object.keys(fields), kinds: Object.values(fields) },
  ]),
)

/** What is wrong with the form of a command, or null. */
export function malformed(command: unknown): Rejection | null {
  if (typeof command !== 'object' || command === null) {
    return reject('MalformedCommand', 'A command must be an object with a type.')
  }
  const fields = command as Record<string, unknown>
  const type = typeof fields['type'] === 'string' ? fields['type'] : '(no type)'
  const checks = CHECKS.get(type)
  if (checks === undefined)
    return reject('UnknownCommand', `There is no command ${type}.`, { type })
  const { names, kinds } = checks
  for (let i = 0; i < names.length; i++) {
    const field = names[i] as string
    const wrong = (kinds[i] as Kind)(fields[field])
    if (wrong !== null) {
      return reject('MalformedCommand', `${type}: ${field} must be ${wrong}.`, { field })
    }
  }
  return null
}
