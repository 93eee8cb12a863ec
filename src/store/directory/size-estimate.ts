/**
 * How many bytes of log a command may need at most: asked BEFORE it is decided, so that a
 * full disk is no surprise afterwards.
 *
 * An upper bound, and generous where commands are rare. A command that is no command needs
 * nothing, whatever is said here: it is refused.
 */
import type { Command, EffectPromise, JobSpec, TaskPolicy } from '../../kernel/index.ts'

/** Head, address, times and other numbers of any record. */
const RECORD = 256
/** A name has at most 256 characters, and each of those at most 3 bytes. */
const NAME = 768
/** A reason of an operator, or a diagnostic. */
const REASON = 3 * 4_096 + NAME
/** What became of up to 256 effects. */
const SETTLED = 256 * 16

/** What one lease that is granted needs. */
export const GRANT_BYTES = RECORD + 2 * NAME

export function bytesFor(command: Command): number {
  switch (command?.type) {
    case 'SubmitJob':
      return RECORD + text(command.job) + spec(command.spec)
    case 'CommitExecution':
      return RECORD + text(command.job) + text(command.output) + promises(command.effects)
    case 'RecordStep':
      return RECORD + NAME + text(command.name) + text(command.value)
    case 'FailTask':
    case 'FailEffect': {
      const { message, code, stack } = command.error ?? {}
      return RECORD + NAME + SETTLED + text(message) + text(code) + text(stack)
    }
    case 'RetryTask':
      return RECORD + NAME + REASON + text(command.input)
    case 'ForceTask':
      return RECORD + NAME + REASON + text(command.output)
    case 'SetSchedule':
      return RECORD + NAME + REASON + text(command.definition)
    case 'GrantLease':
    case 'StartExecution':
    case 'ExtendLease':
    case 'StartEffect':
    case 'FinishEffect':
      return RECORD + 2 * NAME
    case 'ForgetJob':
    case 'StopTask':
    case 'FireSchedule':
      return RECORD + 2 * NAME
    case 'ReleaseLease':
    case 'ExpireLease':
    case 'OpenStage':
      return RECORD + 4 * NAME + SETTLED
    default:
      return RECORD + NAME + REASON + SETTLED
  }
}

/** Work that is new, and not the continuation of some that runs. */
export function isNewWork(command: Command): boolean {
  return command?.type === 'SubmitJob' && command.spec?.parent == null
}

function text(value: unknown): number {
  return typeof value === 'string' ? 3 * value.length + 8 : 8
}

function spec(given: JobSpec | null | undefined): number {
  if (typeof given !== 'object' || given === null) return 0
  let bytes = text(given.type) + text(given.input) + text(given.key) + text(given.group) + NAME
  bytes += text(given.asked?.by) + text(given.asked?.reason)
  if (Array.isArray(given.tags)) for (const tag of given.tags) bytes += text(tag)
  bytes += policy(given.policy)
  if (!Array.isArray(given.stages)) return bytes
  for (const stage of given.stages as Partial<NonNullable<JobSpec['stages']>[number]>[]) {
    bytes += RECORD + text(stage?.name) + text(stage?.each) + policy(stage?.policy)
    if (Array.isArray(stage?.after)) for (const name of stage.after) bytes += text(name)
  }
  return bytes
}

function policy(given: TaskPolicy | null | undefined): number {
  if (typeof given !== 'object' || given === null) return 0
  let bytes = 128 + text(given.queue)
  if (Array.isArray(given.retry?.delaysMs)) bytes += 9 * given.retry.delaysMs.length
  if (Array.isArray(given.limits)) {
    for (const limit of given.limits) bytes += 64 + text((limit as { key?: unknown } | null)?.key)
  }
  return bytes
}

function promises(given: readonly EffectPromise[] | undefined): number {
  let bytes = 0
  if (!Array.isArray(given)) return bytes
  for (const one of given as readonly (Partial<EffectPromise> | null)[]) {
    bytes += RECORD + 64 * 9 + text(one?.name) + text(one?.input) + spec(one?.child)
  }
  return bytes
}
