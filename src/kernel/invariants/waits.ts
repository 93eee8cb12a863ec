/**
 * What must hold of waits and messages: of a task's records, and between the state before an entry
 * and the state after it.
 */
import type { MessageSent, TaskEntry, WaitEnded } from '../entries.ts'
import type { Job, Task, Wait, Waiting } from '../model.ts'
import { NOT_OPENED, segmentsOf } from '../model.ts'
import {
  calleeOf,
  findMessage,
  findWait,
  isPending,
  resumesAt,
  timedOutAt,
  untaken,
  waitsOfSuspension,
} from '../waits.ts'
import type { Findings } from './invariant.ts'

/** A stage that is open has what its job kept for it. */
export function checkKeptMessages(job: Job, found: Findings): void {
  for (const { id, stage } of job.messages) {
    found.expect(
      segmentsOf(job, stage) === NOT_OPENED,
      12,
      () => `message '${id}' was not handed over to its stage`,
    )
  }
}

export function checkWaiting(task: Task, waiting: Waiting, found: Findings): void {
  const { waits, messages, suspended } = waiting
  const names = [...waits, ...task.steps].map(({ name }) => name)
  found.expect(new Set(names).size === names.length, 12, 'a name is recorded twice')
  const ids = new Set(messages.map(({ id }) => id))
  found.expect(ids.size === messages.length, 12, 'a message is recorded twice')
  found.expect(
    messages.every(({ state, value }) => (state === 'KEPT') === (value !== null)),
    12,
    'a message that is settled has a value, or one that is kept has none',
  )
  for (const wait of waits) checkWait(wait, found)
  if (suspended === null) return
  found.expect(task.state === 'WAITING', 12, () => `${task.state} in a suspension`)
  found.expect(
    task.leases.at(-1)?.endedBy === 'ExecutionSuspended',
    12,
    'in a suspension that no lease ended by',
  )
  const pending = waitsOfSuspension(task)
  found.expect(pending.length > 0, 7, 'in a suspension that waits for nothing')
  const dueAt = resumesAt(suspended, pending)
  found.expect(task.dueAt === dueAt, 12, () => `due at ${task.dueAt}, but its waits say ${dueAt}`)
  for (const { name, message, until, endedAt } of pending) {
    const missed = messages.some(
      (one) => one.state === 'KEPT' && one.name === message && one.at < (until ?? Infinity),
    )
    found.expect(
      endedAt !== null || !missed,
      12,
      () => `wait '${name}' is open, and its message is kept`,
    )
  }
}

function checkWait({ name, until, endedAt, endedBy }: Wait, found: Findings): void {
  found.expect(
    (endedAt === null) === (endedBy === null),
    12,
    () => `wait '${name}' ended, and by nothing`,
  )
  found.expect(
    endedBy !== 'time' || (until !== null && until <= (endedAt as number)),
    12,
    () => `wait '${name}' was ended by its time, which was not over`,
  )
}

/** `next` is what the entry made of `task`. */
export function checkWaitMove(task: Task, entry: TaskEntry, next: Task, found: Findings): void {
  checkStillEnded(task, entry, next, found)
  switch (entry.type) {
    case 'LeaseGranted':
      found.expect(
        timedOutAt(task, entry.at).length > 0 === entry.timedOut,
        12,
        'a grant ended no wait although its time was over, or one whose time was not',
      )
      return
    case 'MessageSent':
      return checkSent(task, entry, found)
    case 'WaitEnded':
      return checkTaken(task, entry, found)
    case 'StepRecorded':
    case 'ExecutionSuspended':
      return checkDefinition(task, entry, found)
    case 'ExecutionContinued':
      found.expect(task.commit === null, 3, 'begun anew after the commit')
      return checkDefinition(task, entry, found)
    default:
  }
}

/** Once ended, a wait stays as it ended; once settled, a message is not settled again. New input drops waits. */
function checkStillEnded(task: Task, entry: TaskEntry, next: Task, found: Findings): void {
  if (task.waiting === null) return
  const dropped =
    entry.type === 'ExecutionContinued' || (entry.type === 'TaskRetried' && entry.input !== null)
  for (const { name, endedAt, endedBy, value } of dropped ? [] : task.waiting.waits) {
    const later = findWait(next, name)
    const same = later?.endedAt === endedAt && later.endedBy === endedBy && later.value === value
    found.expect(
      later !== undefined && (endedAt === null || same),
      12,
      () => `wait '${name}' ended, and then was changed`,
    )
  }
  for (const { id, state } of task.waiting.messages) {
    const later = findMessage(next, id)
    found.expect(
      state === 'KEPT' ? later !== undefined : later === undefined || later.state === state,
      12,
      () => `message '${id}' was ${state}, and is ${later?.state ?? 'gone'}`,
    )
  }
}

function checkSent(task: Task, entry: MessageSent, found: Findings): void {
  found.expect(task.commit === null, 3, 'a message was sent after the commit')
  if (entry.wait === null) return
  const wait = findWait(task, entry.wait)
  const open = wait !== undefined && isPending(task, wait) && entry.at < (wait.until ?? Infinity)
  found.expect(open, 12, () => `wait '${entry.wait}' was ended by a message, and was not open`)
}

function checkTaken(task: Task, entry: WaitEnded, found: Findings): void {
  checkDefinition(task, entry, found)
  found.expect(task.commit === null, 3, 'a wait ended after the commit')
  const { message, wait, unfit, answer } = entry
  const first = wait.message === null ? undefined : untaken(task.waiting, wait.message, unfit)
  const by = answer === null ? (first?.id ?? null) : calleeOf(wait)
  found.expect(by === message, 12, 'a message was passed over')
}

function checkDefinition(
  task: Task,
  { definitionVersion }: { readonly definitionVersion: number },
  found: Findings,
): void {
  found.expect(
    definitionVersion >= task.definitionVersion,
    5,
    () =>
      `version ${definitionVersion} of the definition recorded after version ${task.definitionVersion}`,
  )
}
