/**
 * What a client submits and a worker reports, as bytes: specs, policies, promises, failures.
 *
 * Most fields of most specs hold a usual value, so a mask says which ones do not, and only those are
 * written. Which value is the usual one is fixed here for ever, whatever defaults later versions offer
 * to clients.
 */
import type {
  CallerRef,
  EffectPromise,
  Failure,
  JobSpec,
  KeptStep,
  LimitSpec,
  ParentRef,
  Rate,
  RetryPolicy,
  StageSpec,
  TaskPolicy,
} from '../../kernel/index.ts'
import { freezePolicy, NONE } from '../../kernel/index.ts'
import type { ByteReader } from './bytes.ts'
import { ByteWriter } from './bytes.ts'
import type { Interning } from './interning.ts'

const USUAL_RETRIES = 3
const USUAL_DELAY_MS = 1_000
const USUAL_CAP_MS = 3_600_000
const USUAL_LEASE_MS = 30_000
const USUAL_VERSION = 1

/** The lowest two bits of a retry's mask. */
const BACKOFFS = ['fixed', 'exponential', 'list'] as const
const BACKOFF_BITS = 3
const RETRY_MAX = 4
const RETRY_DELAY = 8
const RETRY_CAP = 16
const RETRY_LIST = 32
const RETRY_JITTER = 64

const USUAL_RETRY: RetryPolicy = Object.freeze({
  max: USUAL_RETRIES,
  backoff: 'fixed',
  delayMs: USUAL_DELAY_MS,
  capMs: USUAL_CAP_MS,
  delaysMs: NONE,
  jitter: 0,
})

export function writeRetry(writer: ByteWriter, retry: RetryPolicy): void {
  const { max, backoff, delayMs, capMs, delaysMs, jitter } = retry
  let mask = backoff === 'fixed' ? 0 : BACKOFFS.indexOf(backoff)
  if (max !== USUAL_RETRIES) mask |= RETRY_MAX
  if (delayMs !== USUAL_DELAY_MS) mask |= RETRY_DELAY
  if (capMs !== USUAL_CAP_MS) mask |= RETRY_CAP
  if (delaysMs.length > 0) mask |= RETRY_LIST
  // Not `!== 0`, which would take a negative zero for zero.
  if (!Object.is(jitter, 0)) mask |= RETRY_JITTER
  writer.u8(mask)
  if (mask & RETRY_MAX) writer.count(max)
  if (mask & RETRY_DELAY) writer.count(delayMs)
  if (mask & RETRY_CAP) writer.count(capMs)
  if (mask & RETRY_LIST) {
    writer.count(delaysMs.length)
    for (const delay of delaysMs) writer.count(delay)
  }
  if (mask & RETRY_JITTER) writer.real(jitter)
}

export function readRetry(reader: ByteReader): RetryPolicy {
  const mask = reader.u8()
  if (mask === 0) return USUAL_RETRY
  const backoff = BACKOFFS[mask & BACKOFF_BITS]
  if (backoff === undefined) throw reader.malformed('there is no such backoff')
  const max = mask & RETRY_MAX ? reader.count() : USUAL_RETRIES
  const delayMs = mask & RETRY_DELAY ? reader.count() : USUAL_DELAY_MS
  const capMs = mask & RETRY_CAP ? reader.count() : USUAL_CAP_MS
  const delaysMs = mask & RETRY_LIST ? reader.list(() => reader.count()) : NONE
  const jitter = mask & RETRY_JITTER ? reader.real() : 0
  return { max, backoff, delayMs, capMs, delaysMs, jitter }
}

export function writeRate(writer: ByteWriter, rate: Rate): void {
  writer.count(rate.count)
  writer.count(rate.perMs)
}

export function readRate(reader: ByteReader): Rate {
  const count = reader.count()
  return { count, perMs: reader.count() }
}

const LIMIT_CONCURRENCY = 1
const LIMIT_RATE = 2

function writeLimit(writer: ByteWriter, limit: LimitSpec): void {
  const { key, concurrency, rate } = limit
  writer.u8((concurrency === null ? 0 : LIMIT_CONCURRENCY) | (rate === null ? 0 : LIMIT_RATE))
  writer.text(key)
  if (concurrency !== null) writer.count(concurrency)
  if (rate !== null) writeRate(writer, rate)
}

function readLimit(reader: ByteReader, interning: Interning): LimitSpec {
  const mask = reader.u8()
  const key = interning.read(reader)
  const concurrency = mask & LIMIT_CONCURRENCY ? reader.count() : null
  return { key, concurrency, rate: mask & LIMIT_RATE ? readRate(reader) : null }
}

const POLICY_LEASE = 1
const POLICY_TIMEOUT = 2
const POLICY_NEVER = 4
const POLICY_LIMITS = 8

/** How many policies have their bytes remembered: a client that makes one for each job gains nothing. */
const MOST_REMEMBERED = 10_000
/** Policies never change and are shared by many jobs, so their bytes are made once. */
let remembered = new WeakMap<TaskPolicy, Uint8Array>()
let rememberedCount = 0
const NO_BYTES = new Uint8Array(0)
/** The one that was written last is most likely written next. */
let lastPolicy: TaskPolicy | null = null
let lastBytes: Uint8Array = NO_BYTES
const scratch = new ByteWriter(256)

export function writePolicy(writer: ByteWriter, policy: TaskPolicy): void {
  if (policy !== lastPolicy) {
    lastBytes = remembered.get(policy) ?? remember(policy)
    lastPolicy = policy
  }
  writer.count(lastBytes.length)
  writer.raw(lastBytes)
}

function remember(policy: TaskPolicy): Uint8Array {
  scratch.at = 0
  writePolicyFields(scratch, policy)
  const bytes = new Uint8Array(scratch.buffer.subarray(0, scratch.at))
  if (rememberedCount >= MOST_REMEMBERED) {
    remembered = new WeakMap()
    rememberedCount = 0
  }
  remembered.set(policy, bytes)
  rememberedCount += 1
  return bytes
}

function writePolicyFields(writer: ByteWriter, policy: TaskPolicy): void {
  const { queue, leaseMs, timeoutMs, retry, quarantine, limits } = policy
  let mask = 0
  if (leaseMs !== USUAL_LEASE_MS) mask |= POLICY_LEASE
  if (timeoutMs !== null) mask |= POLICY_TIMEOUT
  if (quarantine === 'never') mask |= POLICY_NEVER
  if (limits.length > 0) mask |= POLICY_LIMITS
  writer.u8(mask)
  writer.text(queue)
  if (mask & POLICY_LEASE) writer.count(leaseMs)
  if (timeoutMs !== null) writer.count(timeoutMs)
  writeRetry(writer, retry)
  if (mask & POLICY_LIMITS) {
    writer.count(limits.length)
    for (const limit of limits) writeLimit(writer, limit)
  }
}

/** Equal policies are one frozen object, as long as the interning remembers them. */
export function readPolicy(reader: ByteReader, interning: Interning): TaskPolicy {
  const bytes = reader.length()
  const { buffer, at, end } = reader
  const to = at + bytes
  const known = interning.policy(buffer, at, to)
  if (known !== undefined) {
    reader.at = to
    return known
  }
  reader.end = to
  try {
    const policy = readPolicyFields(reader, interning)
    if (reader.at !== to) throw reader.malformed('a policy is shorter than it says')
    return interning.keepPolicy(buffer, at, to, policy)
  } finally {
    reader.end = end
  }
}

function readPolicyFields(reader: ByteReader, interning: Interning): TaskPolicy {
  const mask = reader.u8()
  const queue = interning.read(reader)
  const leaseMs = mask & POLICY_LEASE ? reader.count() : USUAL_LEASE_MS
  const timeoutMs = mask & POLICY_TIMEOUT ? reader.count() : null
  const retry = readRetry(reader)
  const limits = mask & POLICY_LIMITS ? reader.list(() => readLimit(reader, interning)) : NONE
  const quarantine = mask & POLICY_NEVER ? 'never' : 'always'
  return freezePolicy<TaskPolicy>({ queue, leaseMs, timeoutMs, retry, quarantine, limits })
}

function writeTexts(writer: ByteWriter, texts: readonly string[]): void {
  writer.count(texts.length)
  for (const text of texts) writer.text(text)
}

const STAGE_AFTER = 1
const STAGE_EACH = 2
const STAGE_ON_FAILURE = 4
const STAGE_TOLERATE = 8
const STAGE_VERSION = 16

export function writeStage(writer: ByteWriter, stage: StageSpec): void {
  const { name, after, each, onFailure, tolerate, version, policy } = stage
  let mask = 0
  if (after.length > 0) mask |= STAGE_AFTER
  if (each !== null) mask |= STAGE_EACH
  if (onFailure) mask |= STAGE_ON_FAILURE
  if (tolerate !== 0) mask |= STAGE_TOLERATE
  if (version !== USUAL_VERSION) mask |= STAGE_VERSION
  writer.u8(mask)
  writer.text(name)
  if (mask & STAGE_AFTER) writeTexts(writer, after)
  if (each !== null) writer.text(each)
  if (mask & STAGE_TOLERATE) writer.count(tolerate)
  if (mask & STAGE_VERSION) writer.count(version)
  writePolicy(writer, policy)
}

export function readStage(reader: ByteReader, interning: Interning): StageSpec {
  const mask = reader.u8()
  const name = interning.read(reader)
  const after = mask & STAGE_AFTER ? reader.list(() => interning.read(reader)) : NONE
  const each = mask & STAGE_EACH ? interning.read(reader) : null
  const tolerate = mask & STAGE_TOLERATE ? reader.count() : 0
  const version = mask & STAGE_VERSION ? reader.count() : USUAL_VERSION
  const policy = readPolicy(reader, interning)
  const onFailure = (mask & STAGE_ON_FAILURE) !== 0
  return { name, after, each, onFailure, tolerate, version, policy }
}

export function writeParent(writer: ByteWriter, parent: ParentRef): void {
  writer.text(parent.job)
  writer.count(parent.stage)
  writer.count(parent.segment)
  writer.count(parent.effect)
}

export function readParent(reader: ByteReader): ParentRef {
  const job = reader.text()
  const stage = reader.count()
  const segment = reader.count()
  return { job, stage, segment, effect: reader.count() }
}

function writeCaller(writer: ByteWriter, caller: CallerRef): void {
  writer.text(caller.job)
  writer.count(caller.stage)
  writer.count(caller.segment)
  writer.text(caller.name)
  writer.text(caller.run)
  writer.count(caller.depth)
  writer.flag(caller.withCaller)
}

function readCaller(reader: ByteReader, interning: Interning): CallerRef {
  const job = reader.text()
  const stage = reader.count()
  const segment = reader.count()
  const name = interning.read(reader)
  const run = reader.text()
  const depth = reader.count()
  return { job, stage, segment, name, run, depth, withCaller: reader.flag() }
}

function writeKeptSteps(writer: ByteWriter, steps: readonly KeptStep[]): void {
  writer.count(steps.length)
  for (const step of steps) {
    writer.text(step.name)
    writer.text(step.value)
  }
}

function readKeptSteps(reader: ByteReader, interning: Interning): KeptStep[] {
  return reader.list(() => ({ name: interning.read(reader), value: reader.text() }))
}

// In the order in which the fields are written. A mask takes one byte with the first seven bits
// alone, and two with the next seven: the likely fields have those.
const SPEC_POLICY = 1 << 0
const SPEC_STAGES = 1 << 1
const SPEC_VERSION = 1 << 2
const SPEC_PRIORITY = 1 << 3
const SPEC_KEY = 1 << 4
const SPEC_GROUP = 1 << 5
const SPEC_TAGS = 1 << 6
const SPEC_DELAY = 1 << 7
const SPEC_DUE_AT = 1 << 8
const SPEC_START_WITHIN = 1 << 9
const SPEC_UNIQUE = 1 << 10
const SPEC_HELD = 1 << 11
const SPEC_RETAIN = 1 << 12
const SPEC_PARENT = 1 << 13
const SPEC_SCHEDULE = 1 << 14
const SPEC_RERUN_OF = 1 << 15
const SPEC_ASKED = 1 << 16
const SPEC_DEADLINE = 1 << 17
const SPEC_DEADLINE_AT = 1 << 18
const SPEC_SUBMITTED_BY = 1 << 19
const SPEC_METADATA = 1 << 20
const SPEC_CALLER = 1 << 21
const SPEC_STEPS = 1 << 22

/** A mask is smaller, or it has a bit that means nothing here. */
const MASKS_BELOW = 1 << 23

function specMask(spec: JobSpec): number {
  let mask = 0
  if (spec.policy !== null) mask |= SPEC_POLICY
  if (spec.stages !== null) mask |= SPEC_STAGES
  if (spec.version !== USUAL_VERSION) mask |= SPEC_VERSION
  if (spec.priority !== 0) mask |= SPEC_PRIORITY
  if (spec.key !== null) mask |= SPEC_KEY
  if (spec.group !== null) mask |= SPEC_GROUP
  if (spec.tags.length > 0) mask |= SPEC_TAGS
  if (spec.delayMs !== 0) mask |= SPEC_DELAY
  if (spec.dueAt !== null) mask |= SPEC_DUE_AT
  if (spec.startWithinMs !== null) mask |= SPEC_START_WITHIN
  if (spec.unique) mask |= SPEC_UNIQUE
  if (spec.held) mask |= SPEC_HELD
  if (spec.retainMs !== null) mask |= SPEC_RETAIN
  if (spec.parent !== null) mask |= SPEC_PARENT
  if (spec.schedule !== null) mask |= SPEC_SCHEDULE
  if (spec.rerunOf !== null) mask |= SPEC_RERUN_OF
  if (spec.asked !== null) mask |= SPEC_ASKED
  if (spec.deadlineMs !== null) mask |= SPEC_DEADLINE
  if (spec.deadlineAt !== null) mask |= SPEC_DEADLINE_AT
  if (spec.submittedBy !== null) mask |= SPEC_SUBMITTED_BY
  if (spec.metadata !== null) mask |= SPEC_METADATA
  if (spec.caller !== null) mask |= SPEC_CALLER
  if (spec.steps.length > 0) mask |= SPEC_STEPS
  return mask
}

export function writeSpec(writer: ByteWriter, spec: JobSpec): void {
  writeBeforeInput(writer, spec)
  writer.text(spec.input)
  writeAfterInput(writer, spec)
}

export function writeBeforeInput(writer: ByteWriter, spec: JobSpec): void {
  writer.count(specMask(spec))
  writer.text(spec.type)
}

export function writeAfterInput(writer: ByteWriter, spec: JobSpec): void {
  const mask = specMask(spec)
  if (spec.policy !== null) writePolicy(writer, spec.policy)
  // A plain job most likely stops here.
  if (mask === SPEC_POLICY) return
  if (spec.stages !== null) {
    writer.count(spec.stages.length)
    for (const stage of spec.stages) writeStage(writer, stage)
  }
  if (mask & SPEC_VERSION) writer.count(spec.version)
  if (mask & SPEC_PRIORITY) writer.integer(spec.priority)
  if (spec.key !== null) writer.text(spec.key)
  if (spec.group !== null) writer.text(spec.group)
  if (mask & SPEC_TAGS) writeTexts(writer, spec.tags)
  if (mask & SPEC_DELAY) writer.count(spec.delayMs)
  if (spec.dueAt !== null) writer.time(spec.dueAt)
  if (spec.startWithinMs !== null) writer.count(spec.startWithinMs)
  if (spec.retainMs !== null) writer.count(spec.retainMs)
  if (spec.parent !== null) writeParent(writer, spec.parent)
  if (spec.schedule !== null) {
    writer.text(spec.schedule.id)
    writer.time(spec.schedule.tick)
  }
  if (spec.rerunOf !== null) writer.text(spec.rerunOf)
  if (spec.asked !== null) {
    writer.text(spec.asked.by)
    writer.text(spec.asked.reason)
  }
  if (spec.deadlineMs !== null) writer.count(spec.deadlineMs)
  if (spec.deadlineAt !== null) writer.time(spec.deadlineAt)
  if (spec.submittedBy !== null) writer.text(spec.submittedBy)
  if (spec.metadata !== null) writer.text(spec.metadata)
  if (spec.caller !== null) writeCaller(writer, spec.caller)
  if (mask & SPEC_STEPS) writeKeptSteps(writer, spec.steps)
}

export function readSpec(reader: ByteReader, interning: Interning): JobSpec {
  const mask = reader.count()
  if (mask >= MASKS_BELOW) throw reader.malformed('a spec has a field that is not known')
  const type = interning.read(reader)
  const input = reader.text()
  const policy = mask & SPEC_POLICY ? readPolicy(reader, interning) : null
  const stages = mask & SPEC_STAGES ? reader.list(() => readStage(reader, interning)) : null
  const version = mask & SPEC_VERSION ? reader.count() : USUAL_VERSION
  const priority = mask & SPEC_PRIORITY ? reader.integer() : 0
  const key = mask & SPEC_KEY ? reader.text() : null
  const group = mask & SPEC_GROUP ? interning.read(reader) : null
  const tags = mask & SPEC_TAGS ? reader.list(() => interning.read(reader)) : NONE
  const delayMs = mask & SPEC_DELAY ? reader.count() : 0
  const dueAt = mask & SPEC_DUE_AT ? reader.time() : null
  const startWithinMs = mask & SPEC_START_WITHIN ? reader.count() : null
  const retainMs = mask & SPEC_RETAIN ? reader.count() : null
  const parent = mask & SPEC_PARENT ? readParent(reader) : null
  const schedule = mask & SPEC_SCHEDULE ? { id: interning.read(reader), tick: reader.time() } : null
  const rerunOf = mask & SPEC_RERUN_OF ? reader.text() : null
  const asked = mask & SPEC_ASKED ? { by: interning.read(reader), reason: reader.text() } : null
  const deadlineMs = mask & SPEC_DEADLINE ? reader.count() : null
  const deadlineAt = mask & SPEC_DEADLINE_AT ? reader.time() : null
  const submittedBy = mask & SPEC_SUBMITTED_BY ? interning.read(reader) : null
  const metadata = mask & SPEC_METADATA ? reader.text() : null
  const caller = mask & SPEC_CALLER ? readCaller(reader, interning) : null
  const steps = mask & SPEC_STEPS ? readKeptSteps(reader, interning) : NONE
  return {
    type,
    version,
    input,
    priority,
    delayMs,
    dueAt,
    startWithinMs,
    deadlineMs,
    deadlineAt,
    key,
    unique: (mask & SPEC_UNIQUE) !== 0,
    held: (mask & SPEC_HELD) !== 0,
    group,
    tags,
    parent,
    schedule,
    rerunOf,
    asked,
    submittedBy,
    metadata,
    caller,
    steps,
    retainMs,
    policy,
    stages,
  }
}

const PROMISE_IDEMPOTENT = 1
const PROMISE_RECONCILE = 2
const PROMISE_CHILD = 4

export function writePromise(writer: ByteWriter, promise: EffectPromise): void {
  const { name, input, idempotent, reconcile, retry, child } = promise
  let mask = 0
  if (idempotent) mask |= PROMISE_IDEMPOTENT
  if (reconcile) mask |= PROMISE_RECONCILE
  if (child !== null) mask |= PROMISE_CHILD
  writer.u8(mask)
  writer.text(name)
  writer.text(input)
  writeRetry(writer, retry)
  if (child !== null) writeSpec(writer, child)
}

export function readPromise(reader: ByteReader, interning: Interning): EffectPromise {
  const mask = reader.u8()
  const name = interning.read(reader)
  const input = reader.text()
  const idempotent = (mask & PROMISE_IDEMPOTENT) !== 0
  const reconcile = (mask & PROMISE_RECONCILE) !== 0
  const retry = readRetry(reader)
  const child = mask & PROMISE_CHILD ? readSpec(reader, interning) : null
  return { name, input, idempotent, reconcile, retry, child }
}

const FAILURE_TERMINAL = 1
const FAILURE_STACK = 2

export function writeFailure(writer: ByteWriter, failure: Failure): void {
  const { type, code, message, stack } = failure
  writer.u8((type === 'TERMINAL' ? FAILURE_TERMINAL : 0) | (stack === null ? 0 : FAILURE_STACK))
  writer.text(code)
  writer.text(message)
  if (stack !== null) writer.text(stack)
}

export function readFailure(reader: ByteReader, interning: Interning): Failure {
  const mask = reader.u8()
  const code = interning.read(reader)
  const message = reader.text()
  const stack = mask & FAILURE_STACK ? reader.text() : null
  return { type: mask & FAILURE_TERMINAL ? 'TERMINAL' : 'RETRYABLE', code, message, stack }
}
