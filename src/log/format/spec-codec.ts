/**
 * What a client submits and a worker promises, as bytes: specs, policies, promises.
 *
 * Most fields of most specs hold what everybody leaves them at, so a mask says which ones do
 * not, and only those are written. What "left at" means is fixed here for ever, whatever
 * defaults later versions offer to clients.
 */
import type {
  EffectPromise,
  JobSpec,
  LimitSpec,
  ParentRef,
  Rate,
  RetryPolicy,
  StageSpec,
  TaskPolicy,
} from '../../kernel/index.ts'
import { NONE } from '../../kernel/index.ts'
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
  let delaysMs: number[] = NONE
  if (mask & RETRY_LIST) {
    delaysMs = []
    for (let left = reader.length(); left > 0; left--) delaysMs.push(reader.count())
  }
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

/** How many policies have their bytes remembered; whoever makes one for each job gains nothing. */
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
  let limits: LimitSpec[] = NONE
  if (mask & POLICY_LIMITS) {
    limits = []
    for (let left = reader.length(); left > 0; left--) limits.push(readLimit(reader, interning))
  }
  for (const limit of limits) {
    Object.freeze(limit)
    if (limit.rate !== null) Object.freeze(limit.rate)
  }
  Object.freeze(retry)
  Object.freeze(retry.delaysMs)
  Object.freeze(limits)
  const quarantine = mask & POLICY_NEVER ? 'never' : 'always'
  return Object.freeze<TaskPolicy>({ queue, leaseMs, timeoutMs, retry, quarantine, limits })
}

function writeTexts(writer: ByteWriter, texts: readonly string[]): void {
  writer.count(texts.length)
  for (const text of texts) writer.text(text)
}

function readTexts(reader: ByteReader, interning: Interning): string[] {
  const texts: string[] = []
  for (let left = reader.length(); left > 0; left--) texts.push(interning.read(reader))
  return texts
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
  const after = mask & STAGE_AFTER ? readTexts(reader, interning) : NONE
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

// The first seven are the likely ones: with no others the mask takes one byte.
const SPEC_POLICY = 1
const SPEC_STAGES = 2
const SPEC_PRIORITY = 4
const SPEC_DELAY = 8
const SPEC_KEY = 16
const SPEC_GROUP = 32
const SPEC_TAGS = 64
const SPEC_DUE_AT = 128
const SPEC_START_WITHIN = 256
const SPEC_UNIQUE = 512
const SPEC_HELD = 1_024
const SPEC_PARENT = 2_048
const SPEC_SCHEDULE = 4_096
const SPEC_RERUN_OF = 8_192
const SPEC_VERSION = 16_384
const SPEC_RETAIN = 32_768
const SPEC_ASKED = 65_536

/** A mask is smaller, or it has a bit that means nothing here. */
export type MasksBelow = number
const MASKS_BELOW: MasksBelow = 131_072
/** Until specs said the version of their definition: nothing else about them was different. */
export const MASKS_WITHOUT_VERSION: MasksBelow = SPEC_VERSION
/** Until specs said how long a job is kept. */
export const MASKS_WITHOUT_RETENTION: MasksBelow = SPEC_RETAIN
/** Until specs said who had a job run again. */
export const MASKS_WITHOUT_ASKED: MasksBelow = SPEC_ASKED

function specMask(spec: JobSpec): number {
  let mask = 0
  if (spec.policy !== null) mask |= SPEC_POLICY
  if (spec.stages !== null) mask |= SPEC_STAGES
  if (spec.priority !== 0) mask |= SPEC_PRIORITY
  if (spec.delayMs !== 0) mask |= SPEC_DELAY
  if (spec.key !== null) mask |= SPEC_KEY
  if (spec.group !== null) mask |= SPEC_GROUP
  if (spec.tags.length > 0) mask |= SPEC_TAGS
  if (spec.dueAt !== null) mask |= SPEC_DUE_AT
  if (spec.startWithinMs !== null) mask |= SPEC_START_WITHIN
  if (spec.unique) mask |= SPEC_UNIQUE
  if (spec.held) mask |= SPEC_HELD
  if (spec.parent !== null) mask |= SPEC_PARENT
  if (spec.schedule !== null) mask |= SPEC_SCHEDULE
  if (spec.rerunOf !== null) mask |= SPEC_RERUN_OF
  if (spec.version !== USUAL_VERSION) mask |= SPEC_VERSION
  if (spec.retainMs !== null) mask |= SPEC_RETAIN
  if (spec.asked !== null) mask |= SPEC_ASKED
  return mask
}

export function writeSpec(writer: ByteWriter, spec: JobSpec): void {
  const mask = specMask(spec)
  writer.count(mask)
  writer.text(spec.type)
  writer.text(spec.input)
  if (spec.policy !== null) writePolicy(writer, spec.policy)
  // A plain job most likely stops here.
  if (mask === SPEC_POLICY) return
  if (mask & SPEC_PRIORITY) writer.integer(spec.priority)
  if (mask & SPEC_DELAY) writer.count(spec.delayMs)
  if (spec.dueAt !== null) writer.time(spec.dueAt)
  if (spec.startWithinMs !== null) writer.count(spec.startWithinMs)
  if (spec.key !== null) writer.text(spec.key)
  if (spec.group !== null) writer.text(spec.group)
  if (mask & SPEC_TAGS) writeTexts(writer, spec.tags)
  if (spec.parent !== null) writeParent(writer, spec.parent)
  if (spec.schedule !== null) {
    writer.text(spec.schedule.id)
    writer.time(spec.schedule.tick)
  }
  if (spec.rerunOf !== null) writer.text(spec.rerunOf)
  if (mask & SPEC_VERSION) writer.count(spec.version)
  if (spec.retainMs !== null) writer.count(spec.retainMs)
  if (spec.asked !== null) {
    writer.text(spec.asked.by)
    writer.text(spec.asked.reason)
  }
  if (spec.stages !== null) {
    writer.count(spec.stages.length)
    for (const stage of spec.stages) writeStage(writer, stage)
  }
}

export function readSpec(
  reader: ByteReader,
  interning: Interning,
  masksBelow: MasksBelow = MASKS_BELOW,
): JobSpec {
  const mask = reader.count()
  if (mask >= masksBelow) throw reader.malformed('a spec has a field that is not known')
  const type = interning.read(reader)
  const input = reader.text()
  const policy = mask & SPEC_POLICY ? readPolicy(reader, interning) : null
  const priority = mask & SPEC_PRIORITY ? reader.integer() : 0
  const delayMs = mask & SPEC_DELAY ? reader.count() : 0
  const dueAt = mask & SPEC_DUE_AT ? reader.time() : null
  const startWithinMs = mask & SPEC_START_WITHIN ? reader.count() : null
  const key = mask & SPEC_KEY ? reader.text() : null
  const group = mask & SPEC_GROUP ? interning.read(reader) : null
  const tags = mask & SPEC_TAGS ? readTexts(reader, interning) : NONE
  const parent = mask & SPEC_PARENT ? readParent(reader) : null
  const schedule = mask & SPEC_SCHEDULE ? { id: interning.read(reader), tick: reader.time() } : null
  const rerunOf = mask & SPEC_RERUN_OF ? reader.text() : null
  const version = mask & SPEC_VERSION ? reader.count() : USUAL_VERSION
  const retainMs = mask & SPEC_RETAIN ? reader.count() : null
  const asked = mask & SPEC_ASKED ? { by: interning.read(reader), reason: reader.text() } : null
  let stages: StageSpec[] | null = null
  if (mask & SPEC_STAGES) {
    stages = []
    for (let left = reader.length(); left > 0; left--) stages.push(readStage(reader, interning))
  }
  return {
    type,
    version,
    input,
    priority,
    delayMs,
    dueAt,
    startWithinMs,
    key,
    unique: (mask & SPEC_UNIQUE) !== 0,
    held: (mask & SPEC_HELD) !== 0,
    group,
    tags,
    parent,
    schedule,
    rerunOf,
    asked,
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

export function readPromise(
  reader: ByteReader,
  interning: Interning,
  masksBelow: MasksBelow = MASKS_BELOW,
): EffectPromise {
  const mask = reader.u8()
  const name = interning.read(reader)
  const input = reader.text()
  const idempotent = (mask & PROMISE_IDEMPOTENT) !== 0
  const reconcile = (mask & PROMISE_RECONCILE) !== 0
  const retry = readRetry(reader)
  const child = mask & PROMISE_CHILD ? readSpec(reader, interning, masksBelow) : null
  return { name, input, idempotent, reconcile, retry, child }
}
