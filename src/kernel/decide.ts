/**
 * The heart: one command, what it may look at, and the time, in; one entry, or a no, out.
 *
 * Pure: reads, returns, never throws, never keeps anything. The caller appends the entry,
 * makes it durable, applies it, and only then gives the answer.
 */
import type { Decision, Rejection } from './answers.ts'
import { cancelled, committed, reject, rejected } from './answers.ts'
import { findLease } from './apply.ts'
import type { Command, LeaseAddress, SubmitJob } from './commands.ts'
import type { Entry, JobSubmitted } from './entries.ts'
import type { Guard, Reads } from './guards.ts'
import { noReads, REFUSED, theJob, theTask } from './guards.ts'
import { jobMove } from './preview.ts'
import type { Indexes } from './reads.ts'
import { loadReads } from './reads.ts'
import type { Rules } from './rules/index.ts'
import { RULES } from './rules/index.ts'
import type { Rule } from './rules/rule.ts'
import {
  isFinal,
  jobMayMove,
  PIPELINE_JOB_TRANSITIONS,
  PLAIN_JOB_TRANSITIONS,
} from './transitions.ts'
import type { JobSpec } from './model.ts'
import { invalidFields, isUsualAndRight } from './spec.ts'
import { malformed, name } from './wellformed.ts'
import type { World } from './world.ts'

export function decide(
  command: Command,
  reads: Reads,
  now: number,
  rules: Rules = RULES,
): Decision {
  const wrong = malformed(command)
  return wrong === null ? decideFormed(command, reads, now, rules) : no(wrong, 'well-formed')
}

/** As `decide`, on a world in memory; `reads` is where it puts what it looks at. */
export function decideIn(
  world: World,
  indexes: Indexes,
  command: Command,
  reads: Reads,
  now: number,
  rules: Rules = RULES,
): Decision {
  const wrong = malformed(command)
  if (wrong !== null) return no(wrong, 'well-formed')
  loadReads(reads, world, indexes, command, now)
  return decideFormed(command, reads, now, rules)
}

/**
 * Whether all of these submit plain jobs of one type and policy that say nothing more but their input, each under an
 * id of its own: most of those that arrive together are such.
 */
export function areAlike(commands: readonly Command[]): commands is readonly SubmitJob[] {
  const first = commands[0]
  if (first?.type !== 'SubmitJob' || first.spec?.policy == null) return false
  if (invalidFields(first.spec) !== null) return false
  const ids = new Set<string>()
  for (const command of commands) {
    if (!isLike(first.spec, command)) return false
    ids.add(command.job)
  }
  return ids.size === commands.length
}

function isLike({ type, version, policy }: JobSpec, command: Command): command is SubmitJob {
  if (command?.type !== 'SubmitJob' || name(command.job) !== null) return false
  const { spec } = command
  if (spec?.policy !== policy || spec.type !== type || spec.version !== version) return false
  return isUsualAndRight(spec)
}

/**
 * As `decide` for each of these, if none of the jobs is there. No guard asks more of submits that are alike than that:
 * what is said of the first one is said of all.
 */
export function decideAlike(commands: readonly SubmitJob[], now: number): readonly JobSubmitted[] {
  const [first] = commands
  const entry = first === undefined ? null : decide(first, noReads(), now).entry
  if (entry?.type !== 'JobSubmitted') return []
  return commands.map(({ job, spec }) => ({ ...entry, job, spec }))
}

function decideFormed(command: Command, reads: Reads, now: number, rules: Rules): Decision {
  const rule = rules.table[command.type] as Rule<Command>
  const repeated = rule.repeat(command, reads, now)
  if (repeated !== null) return repeated

  const head = rule.head(reads)
  if (rules.clock && head !== null && now < head.time)
    return no(clockBackwards(head.time, now), 'clock')

  const { guards } = rule
  for (let i = 0; i < guards.length; i++) {
    const guard = guards[i] as Guard<Command>
    const refusal = guard.check(command, reads, now)
    if (refusal === null) continue
    return refusal === REFUSED
      ? refuse(command as Command & LeaseAddress, reads, now)
      : no(refusal, guard.name)
  }

  const entry = rule.entry(command, reads, now)
  if (rule.locksJob && rules.transition) {
    const invalid = invalidTransition(reads, entry)
    if (invalid !== null) return no(invalid, 'transition')
  }
  return committed(entry, rule.value === undefined ? null : rule.value(command, reads))
}

function no(rejection: Rejection, check: string): Decision {
  rejection.check = check
  return rejected(rejection)
}

/** The worker is told; the log is told once per lease. */
function refuse(command: Command & LeaseAddress, reads: Reads, now: number): Decision {
  const task = theTask(reads)
  const lease = findLease(task, command.lease)
  if (lease === undefined || lease.refused) return cancelled(null)
  const { job, stage, segment } = command
  return cancelled({
    type: 'ReportRefused',
    at: now,
    version: task.version + 1,
    job,
    stage,
    segment,
    lease: command.lease,
    report: command.type,
  })
}

function clockBackwards(last: number, now: number): Rejection {
  return reject(
    'ClockBackwards',
    `The clock says ${now}, but the log is already at ${last}: wait until the clock has caught up.`,
    { now, last },
  )
}

function invalidTransition(reads: Reads, entry: Entry): Rejection | null {
  const job = theJob(reads)
  const { from, to } = jobMove(job, reads.task, reads.tallies, entry)
  const table = job.task === null ? PIPELINE_JOB_TRANSITIONS : PLAIN_JOB_TRANSITIONS
  // A final job may not even stay: an entry would still change it.
  if (!isFinal(from) && jobMayMove(table, from, to)) return null
  const allowed = table[from]
  return reject(
    'InvalidTransition',
    `Job ${job.id} is ${from} and cannot become ${to}; allowed: ${allowed.length === 0 ? 'nothing, it is final' : allowed.join(', ')}.`,
    { from, to, allowed },
  )
}
