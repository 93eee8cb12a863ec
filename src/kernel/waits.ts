/**
 * Waits: which are pending, when a suspended task goes on, and what is changed when one ends.
 *
 * A wait is pending while it is open and the newest suspension names it. One that an earlier
 * suspension named and a later one did not is left behind: neither message nor time ends it, so
 * that what its handler chose then stays what it chose.
 */
import { calleeId } from './ids.ts'
import type {
  CallerRef,
  Lease,
  Message,
  PendingWait,
  Task,
  Wait,
  Waiting,
  WaitSpec,
  WaitsNeeded,
} from './model.ts'
import { NEVER_DUE } from './model.ts'

/** The task waits in a suspension: it holds no lease, and its next grant goes on from its record. */
export function isSuspended({
  waiting,
}: {
  readonly waiting: Pick<Waiting, 'suspended'> | null
}): boolean {
  return waiting !== null && waiting.suspended !== null
}

export function findWait(task: Task, name: string): Wait | undefined {
  return task.waiting?.waits.find((wait) => wait.name === name)
}

export function findMessage(task: Task, id: string): Message | undefined {
  return task.waiting?.messages.find((message) => message.id === id)
}

/** The waits that the newest suspension names, ended ones included. */
export function waitsOfSuspension({ waiting, attempt }: Task): readonly Wait[] {
  if (waiting === null || waiting.suspended === null) return []
  return waiting.waits.filter((wait) => wait.suspends && wait.lease === attempt)
}

/** When a task goes on that waits for these. */
export function resumesAt(
  needs: WaitsNeeded,
  waits: readonly { readonly until: number | null; readonly endedAt: number | null }[],
): number {
  const times = waits.map(({ until, endedAt }) => endedAt ?? until ?? NEVER_DUE)
  return needs === 'any' ? Math.min(...times) : Math.max(...times)
}

/** By which time a waiting task stands in line: what comes back from a wait has its first place. */
export function placeAt(task: Task): number {
  return isSuspended(task) ? (task.waiting?.firstDueAt as number) : task.dueAt
}

/** The pending waits that a grant at this time ends, because their time is over. */
export function timedOutAt(task: Task, now: number): Wait[] {
  return waitsOfSuspension(task).filter(
    ({ endedAt, until }) => endedAt === null && until !== null && until <= now,
  )
}

/** The pending wait that a message of this name ends; undefined: it is kept. After its time none does. */
export function waitFor(task: Task, message: string, now: number): Wait | undefined {
  return waitsOfSuspension(task).find(
    (wait) =>
      wait.endedAt === null &&
      wait.message === message &&
      (wait.until === null || now < wait.until),
  )
}

/**
 * The lease takes a token of a rate: it neither finishes what was committed, nor goes on after a
 * wait. The lease before it is remembered: a suspension leaves more than one in mind.
 */
export function takesToken(task: Task, lease: Lease): boolean {
  if (task.commit !== null && lease.number > task.commit.lease) return false
  const before = task.leases[task.leases.indexOf(lease) - 1]
  return before?.endedBy !== 'ExecutionSuspended'
}

/** The first message of this name that nothing took, leaving these out. */
export function untaken(
  waiting: Waiting | null,
  name: string,
  except: readonly string[],
): Message | undefined {
  return waiting?.messages.find(
    (message) => message.state === 'KEPT' && message.name === name && !except.includes(message.id),
  )
}

/** As it is recorded: a wait that is known keeps its time and its callee, whichever attempt asks again. */
export function pending(spec: WaitSpec, known: Wait | undefined, from: number): PendingWait {
  const { name, message, schema, ask, delayMs, dueAt } = spec
  const time = delayMs === null ? dueAt : Math.max(from + delayMs, dueAt ?? 0)
  const until = known === undefined ? time : known.until
  return { name, message, schema, ask, until, callee: known?.callee ?? spec.callee }
}

/** The id of the job that a wait calls; null: it calls none. */
export function calleeOf(wait: PendingWait | undefined): string | null {
  const caller = wait?.callee?.caller
  return caller == null ? null : calleeId(caller)
}

/** The pending wait of this name that the end of its callee ends. After its time none does. */
export function pendingCall(task: Task, name: string, now: number): Wait | undefined {
  const wait = findWait(task, name)
  if (wait === undefined || wait.callee === null || !isPending(task, wait)) return undefined
  return wait.until === null || now < wait.until ? wait : undefined
}

/** The wait that this job answers, as its caller's task has it; undefined: it has it no more. */
export function waitOfCaller(task: Task, caller: CallerRef): Wait | undefined {
  const wait = findWait(task, caller.name)
  return wait?.callee?.caller?.run === caller.run ? wait : undefined
}

/** The task waits for it now: its newest suspension names it, and it has not ended. */
export function isPending(task: Task, wait: Wait): boolean {
  return wait.endedAt === null && waitsOfSuspension(task).includes(wait)
}

/** Its caller may ask for the callee again, or is waiting for it: its record names it, and it is not over. */
export function isCalled(task: Task | null, caller: CallerRef): boolean {
  if (task === null || task.state === 'COMPLETED' || task.state === 'FAILED') return false
  return waitOfCaller(task, caller) !== undefined
}
