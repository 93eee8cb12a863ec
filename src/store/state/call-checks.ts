/**
 * Calls: which entries leave something to do about a caller or a callee, and what that is.
 *
 * A callee is submitted AFTER the suspension that carries its spec, its end is told to its caller, and one
 * that ends with its caller is cancelled when its caller is over. Workers may be quicker with the first two;
 * a worker that dies leaves them to upkeep. It only names the commands: `decide` has the last word.
 */
import type {
  Command,
  Entry,
  Indexes,
  Job,
  Reads,
  Tallies,
  Task,
  TaskAddress,
  Wait,
  World,
} from '../../kernel/index.ts'
import {
  answerOf,
  calleeId,
  calleeOf,
  findWait,
  isCalled,
  isFinal,
  isPending,
  isUndecided,
  jobState,
  loadReads,
  malformed,
  pendingCall,
  sameContent,
  taskName,
} from '../../kernel/index.ts'
import { callerOf } from './job-with-stored-spec.ts'

/** Something may be to do about the calls of this task, or, with stage `AS_CALLEE`, about this callee. */
export type CallCheck = TaskAddress

export const AS_CALLEE = -1

function asCallee(job: string): CallCheck {
  return { job, stage: AS_CALLEE, segment: 0 }
}

function isOver({ state }: Task): boolean {
  return state === 'COMPLETED' || state === 'FAILED'
}

const NONE: readonly CallCheck[] = []

/** `task`, as the entry left it, and its waits BEFORE the entry: some drop them. Most entries leave nothing. */
export function checksAfter(
  entry: Entry,
  job: Job,
  task: Task,
  waitsBefore: readonly Wait[] | undefined,
): readonly CallCheck[] {
  if (entry.type === 'ExecutionSuspended') {
    const { stage, segment } = task
    return entry.waits.some(({ callee }) => callee !== null)
      ? [{ job: job.id, stage, segment }]
      : NONE
  }
  const ends = isOver(task) && entry.type !== 'ReportRefused'
  const checks: CallCheck[] = []
  if (waitsBefore !== undefined && (ends || waitsBefore !== task.waiting?.waits)) {
    for (const { callee } of waitsBefore) {
      if (callee?.caller?.withCaller === true) checks.push(asCallee(calleeId(callee.caller)))
    }
  }
  if (ends && job.task !== null) checks.push(...checksOfEnd(job))
  return checks
}

/** AFTER the job is over. */
export function checksOfEnd(job: Job): readonly CallCheck[] {
  return callerOf(job) === null ? NONE : [asCallee(job.id)]
}

/** What is to be looked at of a job that is as a checkpoint, or a database, had it. */
export function checksOf(job: Job, tasks: readonly Task[]): readonly CallCheck[] {
  const checks: CallCheck[] = []
  for (const { stage, segment, waiting } of tasks) {
    const isCalling =
      waiting?.suspended != null && waiting.waits.some(({ callee }) => callee !== null)
    if (isCalling) checks.push({ job: job.id, stage, segment })
  }
  const caller = callerOf(job)
  if (caller?.withCaller === true) checks.push(asCallee(job.id))
  return checks
}

/** A job, with what its tasks come to. */
export interface CountedJob {
  readonly job: Job
  readonly tallies: Tallies
}

/** What is due about the calls that a task waits in. `find`: null: there is no such job. */
export function commandsOfCaller(
  task: Task,
  find: (callee: string) => CountedJob | null,
  now: number,
): Command[] {
  const { job, stage, segment } = task
  const commands: Command[] = []
  for (const wait of pendingCalls(task)) {
    const callee = calleeOf(wait) as string
    const found = find(callee)
    if (found === null) {
      if (wait.callee !== null) commands.push({ type: 'SubmitJob', job: callee, spec: wait.callee })
      continue
    }
    // A job that has the id for another reason neither answers the call nor leaves room for its callee.
    if (!sameContent(callerOf(found.job), wait.callee?.caller)) continue
    const hasEnded = isFinal(jobState(found.job, found.tallies, now))
    if (hasEnded && pendingCall(task, wait.name, now) === wait) {
      commands.push({ type: 'AnswerCall', job, stage, segment, name: wait.name })
    }
  }
  return commands
}

export function pendingCalls(task: Task): Wait[] {
  return (task.waiting?.waits ?? []).filter((wait) => wait.callee !== null && isPending(task, wait))
}

/** What is due about a job as a callee. `caller`: the task that its caller is; null: it is gone. */
export function commandsOfCallee(
  { job, tallies }: CountedJob,
  caller: Task | null,
  now: number,
): Command[] {
  const ref = callerOf(job)
  if (ref === null) return []
  if (!isFinal(jobState(job, tallies, now))) {
    if (!ref.withCaller || isCalled(caller, ref) || job.cancelled !== null) return []
    // It is only finished from here: its own end is looked at when it comes.
    if (!isUndecided(job, tallies)) return []
    const reason = `Job ${ref.job}, which called it, is over.`
    return [{ type: 'CancelJob', job: job.id, by: 'caller', reason }]
  }
  const wait = caller === null ? undefined : pendingCall(caller, ref.name, now)
  if (calleeOf(wait) !== job.id) return []
  const { job: id, stage, segment, name } = ref
  return [{ type: 'AnswerCall', job: id, stage, segment, name }]
}

/** Each once: caller and callee may both ask for it. Submits last: a batch that begins with one is new work. */
export function inOrder(commands: readonly Command[]): Command[] {
  const byName = new Map(commands.map((command) => [nameOf(command), command]))
  const distinct = [...byName.values()]
  return [...distinct.filter((one) => !isSubmit(one)), ...distinct.filter(isSubmit)]
}

function isSubmit({ type }: Command): boolean {
  return type === 'SubmitJob'
}

function nameOf(command: Command): string {
  return command.type === 'AnswerCall'
    ? `answer ${taskName(command.job, command.stage, command.segment)} ${command.name}`
    : `${command.type} ${(command as { job: string }).job}`
}

/** Characters that an entry has and its command does not carry: those that say how a callee ended. `reads`: overwritten. */
export function answerCharsOf(
  command: Command & { readonly type: 'AnswerCall' | 'EndWait' },
  reads: Reads,
  world: World,
  indexes: Indexes,
  now: number,
): number {
  if (malformed(command) !== null) return 0
  try {
    loadReads(reads, world, indexes, command, now)
  } catch {
    // It cannot be decided either.
    return 0
  }
  const name = command.type === 'EndWait' ? command.wait.name : command.name
  const wait = reads.task === null ? undefined : findWait(reads.task, name)
  return answerOf(reads, wait)?.length ?? 0
}
