/**
 * Which commands must get the same answer when they are delivered again, as far as their subject
 * is still the same one.
 */
import type { Command, Decision, Entry, World } from '../../../src/kernel/index.ts'
import { countTallies, findTask, inputOf, isFinal, jobState } from '../../../src/kernel/index.ts'

export interface Delivered {
  readonly command: Command
  readonly decision: Decision
  /** What the command was about, as it was then. */
  readonly subject: string
}

/** Counts what makes a command's subject another one. */
export class Lives {
  readonly #lives = new Map<string, number>()

  see(entry: Entry): void {
    if (entry.type === 'JobSubmitted' || entry.type === 'JobForgotten') this.#count(entry.job)
    // New input drops the recorded steps, so they are recorded anew.
    const isAnew = entry.type === 'TaskRetried' && entry.input !== null
    if (isAnew || entry.type === 'ExecutionContinued') {
      this.#count(`${entry.job} ${entry.stage} ${entry.segment}`)
    }
  }

  #count(key: string): void {
    this.#lives.set(key, (this.#lives.get(key) ?? 0) + 1)
  }

  subject(command: Command, decision: Decision): string {
    const keys: string[] = []
    if ('job' in command) keys.push(command.job)
    if (command.type === 'SubmitJob') keys.push(String(decision.value))
    if (
      command.type === 'RecordStep' ||
      command.type === 'EndWait' ||
      command.type === 'AnswerCall'
    ) {
      keys.push(`${command.job} ${command.stage} ${command.segment}`)
    }
    return keys.map((key) => this.#lives.get(key) ?? 0).join()
  }
}

/** A suspension leaves few leases in mind, and a stage takes over only what has a segment. */
function isOutOfMind(world: World, command: Command): boolean {
  if (!('segment' in command)) return false
  const task = findTask(world, command.job, command.stage, command.segment)
  if (command.type === 'SendMessage') {
    const isKept = world.jobs.get(command.job)?.messages.some(({ id }) => id === command.id)
    const isThere = task?.waiting?.messages.some(({ id }) => id === command.id)
    return isKept !== true && isThere !== true
  }
  const oldest = task?.leases[0]?.number ?? 1
  if ('lease' in command) return command.lease < oldest
  if (command.type !== 'GrantLease' || oldest === 1) return false
  const { worker, request } = command
  return task?.leases.some((one) => one.worker === worker && one.request === request) !== true
}

/** What was recorded, and what an operator gave, is told by nobody once the job is erased. */
const SAYS_DATA = new Set(['RecordStep', 'EndWait', 'RetryTask', 'ForceTask'])

function isErased(world: World, command: Command): boolean {
  if (!('job' in command) || !SAYS_DATA.has(command.type)) return false
  return world.jobs.get(command.job)?.erased != null
}

/** Answers that hold only for a time, as the design says. */
export function isOver(world: World, { command, decision }: Delivered, now: number): boolean {
  if (isOutOfMind(world, command) || isErased(world, command)) return true
  if (command.type === 'StartEffect') {
    // The answer is a permission to act: not given again once the lease is lost or it is done.
    const task = findTask(world, command.job, command.stage, command.segment)
    const running = task?.commit?.effects[command.effect]?.state === 'STARTED'
    return !running || task.lease?.number !== command.lease || now >= task.lease.expiresAt
  }
  if (command.type === 'SetSchedule' && command.seen !== null) {
    // A copy that comes late must not undo what was set AFTER it.
    return world.schedules.get(command.schedule)?.definition !== command.definition
  }
  if (command.type === 'RescheduleTask') {
    // It is about a task that waits at the attempt that was seen, and waits as it was asked to.
    const task = findTask(world, command.job, command.stage, command.segment)
    const { dueAt, priority, toQueue } = command
    const waits = task?.state === 'WAITING' && task.attempt === command.attempt
    if (!waits || (dueAt ?? task.dueAt) !== task.dueAt) return true
    if ((toQueue ?? task.policy.queue) !== task.policy.queue) return true
    return (priority ?? task.priority) !== task.priority
  }
  if (command.type === 'ReplaceJob') {
    // Of many that replaced a job the newest are remembered.
    return world.jobs.get(command.job)?.replaced?.ids.includes(command.replacement) !== true
  }
  if (command.type === 'AppendStream') {
    // Who lost the lease does not hear how far its successor came.
    const task = findTask(world, command.job, command.stage, command.segment)
    return task?.streams.find(({ name }) => name === command.name)?.lease !== command.lease
  }
  if (command.type !== 'SubmitJob' || decision.value === command.job) return false
  // A unique key that was answered with its holder is free when the holder is final.
  const holder = world.jobs.get(String(decision.value))
  if (holder === undefined) return true
  // What was asked for by the key is no longer what its job will do.
  if (!command.spec.unique && inputOf(holder) !== command.spec.input) return true
  return holder.spec.unique && isFinal(jobState(holder, countTallies(world, holder), now))
}
