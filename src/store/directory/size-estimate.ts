/**
 * How many bytes of log a command may need at most: asked BEFORE it is decided, so that a
 * full disk is no surprise afterwards. How a callee ended, which a command does not carry, is added to it.
 *
 * An upper bound, and generous where commands are rare. What is no command needs
 * nothing: it is refused.
 */
import type {
  Command,
  EffectPromise,
  JobSpec,
  KeptStep,
  SubmitJob,
  TaskPolicy,
  WaitSpec,
} from '../../kernel/index.ts'

/** Head, address, times and other numbers of any record. */
const RECORD = 256
/** A name has at most 256 characters, and each of those at most 3 bytes. */
const NAME = 768
/** A reason of an operator, or a diagnostic. */
const REASON = 3 * 4_096 + NAME
/** What became of up to 256 effects. */
const SETTLED = 256 * 16

/** What one lease that is granted needs. */
export const GRANT_BYTES = RECORD + 3 * NAME

export function bytesFor(command: Command): number {
  switch (command?.type) {
    case 'SubmitJob':
      return RECORD + textBytes(command.job) + specBytes(command.spec)
    case 'CommitExecution':
      return (
        RECORD + textBytes(command.job) + textBytes(command.output) + promiseBytes(command.effects)
      )
    case 'RecordStep':
      return RECORD + NAME + textBytes(command.name) + textBytes(command.value)
    case 'AppendStream':
      return RECORD + NAME + textBytes(command.name) + listBytes(command.values)
    case 'ReplaceJob':
      return RECORD + 3 * NAME + REASON + textBytes(command.input)
    case 'EndWait':
      return RECORD + 2 * NAME + waitBytes([command.wait]) + listBytes(command.unfit)
    case 'SuspendExecution':
      return RECORD + NAME + waitBytes(command.waits) + listBytes(command.unfit)
    case 'ContinueExecution':
      return RECORD + NAME + textBytes(command.input)
    case 'SendMessage':
      return RECORD + 4 * NAME + REASON + textBytes(command.value)
    case 'FailTask':
    case 'FailEffect': {
      const { message, code, stack } = command.error ?? {}
      return RECORD + NAME + SETTLED + textBytes(message) + textBytes(code) + textBytes(stack)
    }
    case 'RetryTask':
      return RECORD + NAME + REASON + textBytes(command.input)
    case 'ForceTask':
      return RECORD + NAME + REASON + textBytes(command.output)
    case 'AnswerCall':
      return RECORD + 5 * NAME + REASON
    case 'RescheduleTask':
      return RECORD + 2 * NAME + REASON
    case 'SetSchedule':
      return RECORD + NAME + REASON + textBytes(command.definition)
    case 'GrantLease':
      return GRANT_BYTES
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

/** For submits that are alike: what does not differ is looked at once. */
export function bytesForAlike(commands: readonly SubmitJob[]): number {
  const [first] = commands
  if (first === undefined) return 0
  const shared = bytesFor(first) - ownBytes(first)
  let bytes = commands.length * shared
  for (const command of commands) bytes += ownBytes(command)
  return bytes
}

function ownBytes({ job, spec }: SubmitJob): number {
  return textBytes(job) + textBytes(spec.input)
}

/** Work that is new, and not the continuation of some that runs. */
export function isNewWork(command: Command): boolean {
  if (command?.type === 'ReplaceJob') return true
  if (command?.type !== 'SubmitJob') return false
  return command.spec?.parent == null && command.spec?.caller == null
}

function textBytes(value: unknown): number {
  return typeof value === 'string' ? 3 * value.length + 8 : 8
}

function listBytes(given: readonly string[] | undefined): number {
  if (!Array.isArray(given)) return 0
  return (given as readonly string[]).reduce((sum, text) => sum + textBytes(text), 0)
}

function waitBytes(given: readonly WaitSpec[] | undefined): number {
  let bytes = 0
  if (!Array.isArray(given)) return bytes
  for (const one of given as readonly (Partial<WaitSpec> | null)[]) {
    bytes += 32 + textBytes(one?.name) + textBytes(one?.message)
    bytes += textBytes(one?.schema) + textBytes(one?.ask) + specBytes(one?.callee)
  }
  return bytes
}

function specBytes(given: JobSpec | null | undefined): number {
  if (typeof given !== 'object' || given === null) return 0
  let bytes =
    textBytes(given.type) +
    textBytes(given.input) +
    textBytes(given.key) +
    textBytes(given.group) +
    NAME
  bytes += textBytes(given.asked?.by) + textBytes(given.asked?.reason)
  bytes += textBytes(given.submittedBy) + textBytes(given.metadata) + 64
  const { caller } = given
  bytes += textBytes(caller?.job) + textBytes(caller?.name) + textBytes(caller?.run)
  if (Array.isArray(given.steps)) {
    for (const step of given.steps as readonly (Partial<KeptStep> | null)[]) {
      bytes += textBytes(step?.name) + textBytes(step?.value)
    }
  }
  if (Array.isArray(given.tags)) for (const tag of given.tags) bytes += textBytes(tag)
  bytes += policyBytes(given.policy)
  if (!Array.isArray(given.stages)) return bytes
  for (const stage of given.stages as Partial<NonNullable<JobSpec['stages']>[number]>[]) {
    bytes += RECORD + textBytes(stage?.name) + textBytes(stage?.each) + policyBytes(stage?.policy)
    if (Array.isArray(stage?.after)) for (const name of stage.after) bytes += textBytes(name)
  }
  return bytes
}

function policyBytes(given: TaskPolicy | null | undefined): number {
  if (typeof given !== 'object' || given === null) return 0
  let bytes = 128 + textBytes(given.queue)
  if (Array.isArray(given.retry?.delaysMs)) bytes += 9 * given.retry.delaysMs.length
  if (Array.isArray(given.limits)) {
    for (const limit of given.limits)
      bytes += 64 + textBytes((limit as { key?: unknown } | null)?.key)
  }
  return bytes
}

function promiseBytes(given: readonly EffectPromise[] | undefined): number {
  let bytes = 0
  if (!Array.isArray(given)) return bytes
  for (const one of given as readonly (Partial<EffectPromise> | null)[]) {
    bytes += RECORD + 64 * 9 + textBytes(one?.name) + textBytes(one?.input) + specBytes(one?.child)
  }
  return bytes
}
