/**
 * Whether a command has the fields it must have, of the kinds they must be.
 *
 * Commands come from other processes, so nothing is taken for granted. Everything behind this
 * check may read the fields without looking twice, which is why `decide` never throws.
 */
import type { Rejection } from './answers.ts'
import { reject } from './answers.ts'
import type { CommandOf, CommandType, LeaseAddress, OnRecord, TaskAddress } from './commands.ts'
import { LATEST_TIME_MS, LIMITS } from './limits.ts'
import type { Failure, Rate, WaitSpec } from './model.ts'

/** A check of one field: null when fine, else what it must be. */
export type Kind = (value: unknown) => string | null

export const name: Kind = (value) => {
  if (typeof value !== 'string' || value.length === 0 || value.length > LIMITS.nameChars) {
    return `a text of 1 to ${LIMITS.nameChars} characters`
  }
  return isWritable(value) ? null : WRITABLE
}

const WRITABLE = 'a text without U+0000 and without halves of characters'

/** Node has it, the library that we compile against does not. */
interface Checked {
  isWellFormed(): boolean
}

/** Every store, and every file and database below it, can keep it as it is. */
export function isWritable(value: string): boolean {
  return !value.includes('\0') && (value as string & Checked).isWellFormed()
}

export const count: Kind = (value) =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
    ? null
    : 'a whole number, 0 or more'

export const time: Kind = (value) =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= LATEST_TIME_MS
    ? null
    : 'a time: whole milliseconds since 1970'

export const flag: Kind = (value) => (typeof value === 'boolean' ? null : 'true or false')

/** By which something is found: as a name, and as long as it says. */
export function keyText(most: number): Kind {
  return (value) => {
    if (typeof value !== 'string' || value.length > most)
      return `a text of at most ${most} characters`
    return isWritable(value) ? null : WRITABLE
  }
}

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

/** It may be left out. */
export function optional(kind: Kind): Kind {
  return (value) => (value === undefined ? null : kind(value))
}

export function between(least: number, most: number): Kind {
  return (value) =>
    typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most
      ? null
      : `a whole number from ${least} to ${most}`
}

/** A number that is only compared and kept: it needs no bound but that it is exact. */
export const fromOne = between(1, Number.MAX_SAFE_INTEGER)

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
 * A check for each field of an object, which reads that field itself: a fixed name is quicker
 * to read than a variable one, and every command passes here.
 */
export type Fields<T> = { readonly [F in keyof T]-?: (value: T) => string | null }

/**
 * Checks that an object has these fields, of these kinds, and no others: what is kept whole
 * must hold nothing that no limit was asked about.
 */
export function fieldsOf<T extends object>(fields: Fields<T>): (value: T) => WrongField | null {
  const names = Object.keys(fields)
  const checks = Object.values(fields) as ((value: T) => string | null)[]
  return (value) => {
    for (let i = 0; i < checks.length; i++) {
      const mustBe = (checks[i] as (value: T) => string | null)(value)
      if (mustBe !== null) return { field: names[i] as string, mustBe }
    }
    // Inherited fields pass the checks above, but would be lost when the object is written.
    if (Object.getPrototypeOf(value) !== Object.prototype)
      return { field: 'inherited', mustBe: null }
    const present = Object.keys(value)
    if (present.length === names.length) return null
    const stranger = present.find((field) => !Object.hasOwn(fields, field))
    return stranger === undefined ? null : { field: stranger, mustBe: null }
  }
}

/** An object with exactly these fields. */
export function record<T extends object>(fields: Fields<T>): Kind {
  const check = fieldsOf(fields)
  return (value) => {
    if (typeof value !== 'object' || value === null) return 'an object'
    const wrong = check(value as T)
    if (wrong === null) return null
    return wrong.mustBe === null
      ? `an object without a field ${wrong.field}`
      : `an object whose ${wrong.field} is ${wrong.mustBe}`
  }
}

const errorType = oneOf('RETRYABLE', 'TERMINAL')
const shortText = text(LIMITS.nameChars)
const errorText = text(LIMITS.errorChars)
const errorTextOrNull = orNull(errorText)

export const failure: Kind = record<Failure>({
  type: (error) => errorType(error.type),
  code: (error) => shortText(error.code),
  message: (error) => errorText(error.message),
  stack: (error) => errorTextOrNull(error.stack),
})

const rateCount = between(1, LIMITS.rateCount)
const ratePeriod = between(1, LIMITS.ratePeriodMs)

export const rate: Kind = record<Rate>({
  count: (value) => rateCount(value.count),
  perMs: (value) => ratePeriod(value.perMs),
})

type CommandFields<C> = Fields<Omit<C, 'type'>>

const unchecked = (): null => null
const onJob: CommandFields<{ readonly job: string }> = { job: (command) => name(command.job) }
const onTask: CommandFields<TaskAddress> = {
  job: (command) => name(command.job),
  stage: (command) => count(command.stage),
  segment: (command) => count(command.segment),
}
const underLease: CommandFields<LeaseAddress> = {
  ...onTask,
  lease: (command) => count(command.lease),
  worker: (command) => name(command.worker),
}
const reasonText = text(LIMITS.reasonChars)
const onRecord: CommandFields<OnRecord> = {
  by: (command) => name(command.by),
  reason: (command) => reasonText(command.reason),
}
const payloadOrNull = orNull(payload)
const timeOrNull = orNull(time)
const nameOrNull = orNull(name)
const delay = between(0, LIMITS.delayMs)
const waitDelay = orNull(delay)
const waitSpec = record<WaitSpec>({
  name: (wait) => name(wait.name),
  message: (wait) => nameOrNull(wait.message),
  schema: (wait) => payloadOrNull(wait.schema),
  ask: (wait) => payloadOrNull(wait.ask),
  delayMs: (wait) => waitDelay(wait.delayMs),
  dueAt: (wait) => timeOrNull(wait.dueAt),
  callee: (wait) => (typeof wait.callee === 'object' ? null : 'a job, or null'),
})
const waitList = listOf(waitSpec, LIMITS.waits)
const payloads = listOf(payload, LIMITS.streamValues)
const streamValues: Kind = (value) =>
  Array.isArray(value) && value.length === 0 ? 'a list of at least 1' : payloads(value)
const waitsNeeded = oneOf('any', 'all')
const messageIds = listOf(name, LIMITS.messages)
const promises = listOf(unchecked, LIMITS.effects)
const outcome = oneOf('happened', 'again')
const forced = oneOf('COMPLETED', 'FAILED', 'WAITING')
const concurrencyOrNull = orNull(between(0, LIMITS.concurrency))
const rateOrNull = orNull(rate)
const ageing = orNull(between(1, LIMITS.ageingMs))
const definition = text(LIMITS.scheduleChars)
const countOrNull = orNull(count)
const session = optional((value) => (value === '' ? null : name(value)))
const numberSeen = optional(countOrNull)
const optionalFlag = optional(flag)
const priorityOrNull = orNull(between(-LIMITS.priority, LIMITS.priority))
const ownDelay = optional(orNull(between(0, LIMITS.retryDelayMs)))

/** The fields of each command. Job specs, promises and callees are checked by guards of their own. */
const FIELDS: { readonly [T in CommandType]: CommandFields<CommandOf<T>> } = {
  SubmitJob: { ...onJob, spec: unchecked },
  ReleaseJob: { ...onJob, ...onRecord },
  ReplaceJob: {
    ...onJob,
    ...onRecord,
    replacement: (command) => name(command.replacement),
    input: (command) => payload(command.input),
    definitionVersion: (command) => fromOne(command.definitionVersion),
    delayMs: (command) => delay(command.delayMs),
    dueAt: (command) => timeOrNull(command.dueAt),
  },
  OpenStage: { ...onJob, stage: (command) => count(command.stage) },
  GrantLease: {
    ...onTask,
    worker: (command) => name(command.worker),
    request: (command) => count(command.request),
    started: (command) => flag(command.started),
    session: (command) => session(command.session),
  },
  StartExecution: underLease,
  ExtendLease: { ...underLease, extension: (command) => fromOne(command.extension) },
  ReleaseLease: underLease,
  RecordStep: {
    ...underLease,
    name: (command) => name(command.name),
    value: (command) => payload(command.value),
    definitionVersion: (command) => count(command.definitionVersion),
  },
  AppendStream: {
    ...underLease,
    name: (command) => name(command.name),
    offset: (command) => count(command.offset),
    values: (command) => streamValues(command.values),
  },
  EndWait: {
    ...underLease,
    wait: (command) => waitSpec(command.wait),
    message: (command) => nameOrNull(command.message),
    unfit: (command) => messageIds(command.unfit),
    definitionVersion: (command) => count(command.definitionVersion),
  },
  SuspendExecution: {
    ...underLease,
    needs: (command) => waitsNeeded(command.needs),
    waits: (command) => waitList(command.waits),
    unfit: (command) => messageIds(command.unfit),
    definitionVersion: (command) => count(command.definitionVersion),
  },
  ContinueExecution: {
    ...underLease,
    input: (command) => payload(command.input),
    definitionVersion: (command) => count(command.definitionVersion),
  },
  CommitExecution: {
    ...underLease,
    output: (command) => payload(command.output),
    effects: (command) => promises(command.effects),
  },
  FailTask: {
    ...underLease,
    error: (command) => failure(command.error),
    delayMs: (command) => ownDelay(command.delayMs),
    free: (command) => optionalFlag(command.free),
  },
  StartEffect: { ...underLease, effect: (command) => count(command.effect) },
  FinishEffect: { ...underLease, effect: (command) => count(command.effect) },
  FailEffect: {
    ...underLease,
    effect: (command) => count(command.effect),
    error: (command) => failure(command.error),
    delayMs: (command) => ownDelay(command.delayMs),
  },
  ResolveEffect: {
    ...onTask,
    ...onRecord,
    effect: (command) => count(command.effect),
    start: (command) => count(command.start),
    outcome: (command) => outcome(command.outcome),
  },
  ExpireLease: { ...onTask, lease: (command) => count(command.lease) },
  RevokeLease: {
    ...onTask,
    ...onRecord,
    lease: (command) => count(command.lease),
    seen: (command) => numberSeen(command.seen),
    presence: (command) => optionalFlag(command.presence),
    delayMs: (command) => ownDelay(command.delayMs),
  },
  CancelJob: {
    ...onJob,
    ...onRecord,
    deadline: (command) => optionalFlag(command.deadline),
    attempt: (command) => numberSeen(command.attempt),
  },
  StopTask: onTask,
  RetryTask: {
    ...onTask,
    ...onRecord,
    attempt: (command) => count(command.attempt),
    input: (command) => payloadOrNull(command.input),
  },
  ForceTask: {
    ...onTask,
    ...onRecord,
    attempt: (command) => count(command.attempt),
    to: (command) => forced(command.to),
    output: (command) => payloadOrNull(command.output),
  },
  SendMessage: {
    ...onTask,
    ...onRecord,
    id: (command) => name(command.id),
    name: (command) => name(command.name),
    value: (command) => payload(command.value),
    checked: (command) => payloadOrNull(command.checked),
  },
  AnswerCall: { ...onTask, name: (command) => name(command.name) },
  RescheduleTask: {
    ...onTask,
    ...onRecord,
    attempt: (command) => count(command.attempt),
    dueAt: (command) => timeOrNull(command.dueAt),
    priority: (command) => priorityOrNull(command.priority),
    toQueue: (command) => nameOrNull(command.toQueue),
  },
  EraseJob: { ...onJob, ...onRecord },
  ForgetJob: { ...onJob, endedBefore: (command) => time(command.endedBefore) },
  ConfigureQueue: {
    ...onRecord,
    queue: (command) => name(command.queue),
    concurrency: (command) => concurrencyOrNull(command.concurrency),
    rate: (command) => rateOrNull(command.rate),
    ageingMs: (command) => ageing(command.ageingMs),
  },
  PauseQueue: { ...onRecord, queue: (command) => name(command.queue) },
  ResumeQueue: { ...onRecord, queue: (command) => name(command.queue) },
  SetSchedule: {
    ...onRecord,
    schedule: (command) => name(command.schedule),
    definition: (command) => definition(command.definition),
    seen: (command) => countOrNull(command.seen),
  },
  FireSchedule: {
    schedule: (command) => name(command.schedule),
    tick: (command) => time(command.tick),
    skipped: (command) => flag(command.skipped),
  },
  RemoveSchedule: { ...onRecord, schedule: (command) => name(command.schedule) },
}

type CommandCheck = (command: unknown) => string | null

const CHECKS = new Map(
  Object.entries(FIELDS).map(([type, fields]) => [
    type,
    { names: Object.keys(fields), checks: Object.values(fields) as CommandCheck[] },
  ]),
)

/** What is wrong with the form of a command, or null. */
export function malformed(command: unknown): Rejection | null {
  if (typeof command !== 'object' || command === null) {
    return reject('MalformedCommand', 'A command must be an object with a type.')
  }
  const given = (command as { type?: unknown }).type
  const type = typeof given === 'string' ? given : '(no type)'
  const known = CHECKS.get(type)
  if (known === undefined) return reject('UnknownCommand', `There is no command ${type}.`, { type })
  const { names, checks } = known
  for (let i = 0; i < checks.length; i++) {
    const wrong = (checks[i] as CommandCheck)(command)
    if (wrong !== null) {
      const field = names[i] as string
      return reject('MalformedCommand', `${type}: ${field} must be ${wrong}.`, { field })
    }
  }
  return null
}

/**
 * A field that commands of this type do not have; null: there is none, or there is no such command. `malformed` lets it
 * pass, since no entry ever has it; a caller that misspelt an optional field wants to know.
 */
export function unknownField(command: { readonly type: string }): string | null {
  const known = CHECKS.get(command.type)
  if (known === undefined) return null
  return Object.keys(command).find((one) => one !== 'type' && !known.names.includes(one)) ?? null
}

/** The fields of a command, its type left out; none: there is no such command. */
export function commandFields(type: string): readonly string[] {
  return CHECKS.get(type)?.names ?? []
}
