/**
 * A task as a record: everything that `apply` made of it, for a checkpoint.
 *
 * What follows from where the record stands (its job, its place, its policy) is not written.
 * Nor is what a task has that nothing happened to yet: a waiting one takes one byte.
 */
import type {
  Commit,
  Effect,
  EffectState,
  Failure,
  Intervention,
  Job,
  Lease,
  LeaseEnd,
  Resolution,
  Step,
  Task,
  TaskState,
} from '../../kernel/index.ts'
import { NONE, policyOf } from '../../kernel/index.ts'
import type { ByteReader, ByteWriter } from './bytes.ts'
import type { Interning } from './interning.ts'
import { readFailure, writeFailure } from './failure-codec.ts'
import { readPromise, writePromise } from './spec-codec.ts'

/** The lowest three bits of a task's mask. */
const STATES: readonly TaskState[] = ['WAITING', 'LEASED', 'COMPLETED', 'FAILED', 'DEAD']
const STATE_BITS = 7
const TASK_VERSION = 1 << 3
const TASK_TIME = 1 << 4
const TASK_DUE_AT = 1 << 5
const TASK_START_BY = 1 << 6
const TASK_ATTEMPT = 1 << 7
const TASK_RETRIES = 1 << 8
const TASK_BUDGET = 1 << 9
const TASK_LEASES = 1 << 10
/** The newest lease is held. */
const TASK_HELD = 1 << 11
const TASK_STEPS = 1 << 12
const TASK_COMMIT = 1 << 13
const TASK_OUTPUT = 1 << 14
const TASK_ERROR = 1 << 15
const TASK_INPUT = 1 << 16
const TASK_INTERVENTIONS = 1 << 17
const TASK_ENDED = 1 << 18

/** What a task has that nothing happened to since it was created at that time. */
const FIRST_VERSION = 1

function stateCode(state: TaskState): number {
  return state === 'WAITING' ? 0 : STATES.indexOf(state)
}

/** Fields that differ from those of a task that was created at `created` and never touched. */
function taskMask(task: Task, created: number, dueAt: number): number {
  let mask = stateCode(task.state)
  if (task.version !== FIRST_VERSION) mask |= TASK_VERSION
  if (task.time !== created) mask |= TASK_TIME
  if (task.dueAt !== dueAt) mask |= TASK_DUE_AT
  if (task.startBy !== null) mask |= TASK_START_BY
  if (task.attempt !== 0) mask |= TASK_ATTEMPT
  if (task.retries !== 0) mask |= TASK_RETRIES
  if (task.budget !== task.policy.retry.max) mask |= TASK_BUDGET
  if (task.leases.length > 0) mask |= TASK_LEASES
  if (task.lease !== null) mask |= TASK_HELD
  if (task.steps.length > 0) mask |= TASK_STEPS
  if (task.commit !== null) mask |= TASK_COMMIT
  if (task.output !== null) mask |= TASK_OUTPUT
  if (task.error !== null) mask |= TASK_ERROR
  if (task.input !== null) mask |= TASK_INPUT
  if (task.interventions.length > 0) mask |= TASK_INTERVENTIONS
  if (task.endedAt !== null) mask |= TASK_ENDED
  return mask
}

/** `created`: when its stage was opened, or thereabouts. Times are written as from then. */
export function writeTask(writer: ByteWriter, task: Task, job: Job, created: number): void {
  const firstDueAt = Math.max(job.dueAt, created)
  const mask = taskMask(task, created, firstDueAt)
  writer.count(mask)
  if (mask === 0) return
  if (mask & TASK_VERSION) writer.count(task.version)
  if (mask & TASK_TIME) writer.timeFrom(created, task.time)
  if (mask & TASK_DUE_AT) writer.timeFrom(firstDueAt, task.dueAt)
  if (task.startBy !== null) writer.timeFrom(firstDueAt, task.startBy)
  if (mask & TASK_ATTEMPT) writer.count(task.attempt)
  if (mask & TASK_RETRIES) writer.count(task.retries)
  if (mask & TASK_BUDGET) writer.count(task.budget)
  if (mask & TASK_LEASES) {
    writer.count(task.leases.length)
    for (const lease of task.leases) writeLease(writer, lease, created)
  }
  if (mask & TASK_STEPS) {
    writer.count(task.steps.length)
    for (const step of task.steps) writeStep(writer, step)
  }
  if (task.commit !== null) writeCommit(writer, task.commit, created)
  if (task.output !== null) writer.text(task.output)
  if (task.error !== null) writeFailure(writer, task.error)
  if (task.input !== null) writer.text(task.input)
  if (mask & TASK_INTERVENTIONS) {
    writer.count(task.interventions.length)
    for (const one of task.interventions) writeIntervention(writer, one, created)
  }
  if (task.endedAt !== null) writer.timeFrom(created, task.endedAt)
}

export function readTask(
  reader: ByteReader,
  interning: Interning,
  job: Job,
  stage: number,
  segment: number,
  created: number,
): Task {
  const firstDueAt = Math.max(job.dueAt, created)
  const policy = policyOf(job.spec, stage)
  const mask = reader.count()
  const state = STATES[mask & STATE_BITS]
  if (state === undefined) throw reader.malformed('there is no such state of a task')
  const version = mask & TASK_VERSION ? reader.count() : FIRST_VERSION
  const time = mask & TASK_TIME ? reader.timeFrom(created) : created
  const dueAt = mask & TASK_DUE_AT ? reader.timeFrom(firstDueAt) : firstDueAt
  const startBy = mask & TASK_START_BY ? reader.timeFrom(firstDueAt) : null
  const attempt = mask & TASK_ATTEMPT ? reader.count() : 0
  const retries = mask & TASK_RETRIES ? reader.count() : 0
  const budget = mask & TASK_BUDGET ? reader.count() : policy.retry.max
  const leases = mask & TASK_LEASES ? readLeases(reader, interning, created) : NONE
  return {
    job: job.id,
    stage,
    segment,
    policy,
    version,
    time,
    state,
    dueAt,
    startBy,
    attempt,
    retries,
    budget,
    lease: mask & TASK_HELD ? newest(reader, leases) : null,
    leases,
    steps: mask & TASK_STEPS ? readSteps(reader, interning) : NONE,
    commit: mask & TASK_COMMIT ? readCommit(reader, interning, created) : null,
    output: mask & TASK_OUTPUT ? reader.text() : null,
    error: mask & TASK_ERROR ? readFailure(reader, interning) : null,
    input: mask & TASK_INPUT ? reader.text() : null,
    interventions: mask & TASK_INTERVENTIONS ? readInterventions(reader, interning, created) : NONE,
    endedAt: mask & TASK_ENDED ? reader.timeFrom(created) : null,
  }
}

function newest(reader: ByteReader, leases: readonly Lease[]): Lease {
  const lease = leases.at(-1)
  if (lease === undefined) throw reader.malformed('a lease is held, and there is none')
  return lease
}

/** Their places are written: for ever, as those of entries are. */
const LEASE_ENDS: readonly LeaseEnd[] = [
  'ExecutionCommitted',
  'TaskFailed',
  'LeaseReleased',
  'LeaseExpired',
  'LeaseRevoked',
  'EffectFinished',
  'EffectFailed',
  'EffectResolved',
  'JobCancelled',
  'TaskStopped',
  'TaskForced',
]

const LEASE_EXTENSION = 1
const LEASE_STARTED = 2
/** Started by its grant, as most are: the same time. */
const LEASE_STARTED_AT_ONCE = 4
const LEASE_ENDED_AT = 8
const LEASE_ENDED_BY = 16
const LEASE_ENDED_BY_EFFECT = 32
const LEASE_REFUSED = 64

function writeLease(writer: ByteWriter, lease: Lease, created: number): void {
  const { grantedAt, extension, startedAt, endedAt, endedBy, endedByEffect } = lease
  let mask = 0
  if (extension !== 0) mask |= LEASE_EXTENSION
  if (startedAt !== null) mask |= startedAt === grantedAt ? LEASE_STARTED_AT_ONCE : LEASE_STARTED
  if (endedAt !== null) mask |= LEASE_ENDED_AT
  if (endedBy !== null) mask |= LEASE_ENDED_BY
  if (endedByEffect !== null) mask |= LEASE_ENDED_BY_EFFECT
  if (lease.refused) mask |= LEASE_REFUSED
  writer.u8(mask)
  writer.count(lease.number)
  writer.text(lease.worker)
  writer.count(lease.request)
  writer.timeFrom(created, grantedAt)
  writer.timeFrom(grantedAt, lease.expiresAt)
  if (mask & LEASE_EXTENSION) writer.count(extension)
  if (startedAt !== null && mask & LEASE_STARTED) writer.timeFrom(grantedAt, startedAt)
  if (endedAt !== null) writer.timeFrom(grantedAt, endedAt)
  if (endedBy !== null) writer.choice(LEASE_ENDS, endedBy)
  if (endedByEffect !== null) writer.count(endedByEffect)
}

function readLease(reader: ByteReader, interning: Interning, created: number): Lease {
  const mask = reader.u8()
  const number = reader.count()
  const worker = interning.read(reader)
  const request = reader.count()
  const grantedAt = reader.timeFrom(created)
  const expiresAt = reader.timeFrom(grantedAt)
  const extension = mask & LEASE_EXTENSION ? reader.count() : 0
  let startedAt: number | null = null
  if (mask & LEASE_STARTED_AT_ONCE) startedAt = grantedAt
  else if (mask & LEASE_STARTED) startedAt = reader.timeFrom(grantedAt)
  return {
    number,
    worker,
    request,
    grantedAt,
    expiresAt,
    extension,
    startedAt,
    endedAt: mask & LEASE_ENDED_AT ? reader.timeFrom(grantedAt) : null,
    endedBy: mask & LEASE_ENDED_BY ? reader.choice(LEASE_ENDS) : null,
    endedByEffect: mask & LEASE_ENDED_BY_EFFECT ? reader.count() : null,
    refused: (mask & LEASE_REFUSED) !== 0,
  }
}

function readLeases(reader: ByteReader, interning: Interning, created: number): Lease[] {
  const leases: Lease[] = []
  for (let left = reader.length(); left > 0; left--) {
    leases.push(readLease(reader, interning, created))
  }
  return leases
}

function writeStep(writer: ByteWriter, step: Step): void {
  writer.text(step.name)
  writer.text(step.value)
  writer.count(step.lease)
}

function readSteps(reader: ByteReader, interning: Interning): Step[] {
  const steps: Step[] = []
  for (let left = reader.length(); left > 0; left--) {
    const name = interning.read(reader)
    const value = reader.text()
    steps.push({ name, value, lease: reader.count() })
  }
  return steps
}

function writeCommit(writer: ByteWriter, commit: Commit, created: number): void {
  writer.count(commit.lease)
  writer.timeFrom(created, commit.at)
  writer.count(commit.effects.length)
  for (const effect of commit.effects) writeEffect(writer, effect, created)
}

function readCommit(reader: ByteReader, interning: Interning, created: number): Commit {
  const lease = reader.count()
  const at = reader.timeFrom(created)
  let left = reader.length()
  if (left === 0) return { lease, at, effects: NONE }
  const effects: Effect[] = []
  for (; left > 0; left--) effects.push(readEffect(reader, interning, created))
  return { lease, at, effects }
}

/** The lowest three bits of an effect's mask. */
const EFFECT_STATES: readonly EffectState[] = ['PROMISED', 'STARTED', 'UNKNOWN', 'HELD', 'FINISHED']
const EFFECT_STARTS = 8
const EFFECT_RETRIES = 16
const EFFECT_BUDGET = 32
const EFFECT_ERROR = 64
const EFFECT_RESOLUTIONS = 128

function writeEffect(writer: ByteWriter, effect: Effect, created: number): void {
  const { promise, starts, retries, budget, error, resolutions } = effect
  let mask = EFFECT_STATES.indexOf(effect.state)
  if (starts.length > 0) mask |= EFFECT_STARTS
  if (retries !== 0) mask |= EFFECT_RETRIES
  if (budget !== promise.retry.max) mask |= EFFECT_BUDGET
  if (error !== null) mask |= EFFECT_ERROR
  if (resolutions.length > 0) mask |= EFFECT_RESOLUTIONS
  writer.u8(mask)
  writePromise(writer, promise)
  if (mask & EFFECT_STARTS) {
    writer.count(starts.length)
    for (const start of starts) writer.count(start)
  }
  if (mask & EFFECT_RETRIES) writer.count(retries)
  if (mask & EFFECT_BUDGET) writer.count(budget)
  if (error !== null) writeFailure(writer, error)
  if (mask & EFFECT_RESOLUTIONS) {
    writer.count(resolutions.length)
    for (const resolution of resolutions) writeResolution(writer, resolution, created)
  }
}

function readEffect(reader: ByteReader, interning: Interning, created: number): Effect {
  const mask = reader.u8()
  const state = EFFECT_STATES[mask & STATE_BITS]
  if (state === undefined) throw reader.malformed('there is no such state of an effect')
  const promise = readPromise(reader, interning)
  let starts: number[] = NONE
  if (mask & EFFECT_STARTS) {
    starts = []
    for (let left = reader.length(); left > 0; left--) starts.push(reader.count())
  }
  const retries = mask & EFFECT_RETRIES ? reader.count() : 0
  const budget = mask & EFFECT_BUDGET ? reader.count() : promise.retry.max
  const error: Failure | null = mask & EFFECT_ERROR ? readFailure(reader, interning) : null
  let resolutions: Resolution[] = NONE
  if (mask & EFFECT_RESOLUTIONS) {
    resolutions = []
    for (let left = reader.length(); left > 0; left--) {
      resolutions.push(readResolution(reader, interning, created))
    }
  }
  return { promise, state, starts, retries, budget, error, resolutions }
}

const OUTCOMES = ['happened', 'again'] as const

function writeResolution(writer: ByteWriter, resolution: Resolution, created: number): void {
  writer.count(resolution.start)
  writer.choice(OUTCOMES, resolution.outcome)
  writer.timeFrom(created, resolution.at)
  writer.text(resolution.by)
  writer.text(resolution.reason)
}

function readResolution(reader: ByteReader, interning: Interning, created: number): Resolution {
  const start = reader.count()
  const outcome = reader.choice(OUTCOMES)
  const at = reader.timeFrom(created)
  const by = interning.read(reader)
  return { start, outcome, at, by, reason: interning.read(reader) }
}

const INTERVENTIONS = ['retry', 'force'] as const

function writeIntervention(writer: ByteWriter, one: Intervention, created: number): void {
  writer.choice(INTERVENTIONS, one.kind)
  writer.count(one.attempt)
  writer.choice(STATES, one.to)
  writer.timeFrom(created, one.at)
  writer.text(one.by)
  writer.text(one.reason)
  writer.flag(one.payload !== null)
  if (one.payload !== null) writer.text(one.payload)
}

function readInterventions(
  reader: ByteReader,
  interning: Interning,
  created: number,
): Intervention[] {
  const interventions: Intervention[] = []
  for (let left = reader.length(); left > 0; left--) {
    const kind = reader.choice(INTERVENTIONS)
    const attempt = reader.count()
    const to = reader.choice(STATES)
    const at = reader.timeFrom(created)
    const by = interning.read(reader)
    const reason = interning.read(reader)
    const payload = reader.flag() ? reader.text() : null
    interventions.push({ kind, attempt, to, payload, at, by, reason })
  }
  return interventions
}
