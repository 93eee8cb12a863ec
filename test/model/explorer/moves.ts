/**
 * Everything that anybody could send to one part: workers that are late, wrong or repeat
 * themselves, operators with an old picture, time, and the orchestrator.
 *
 * Nothing here asks whether a command makes sense. Saying no is the kernel's business.
 */
import type { Command, Job, LeaseAddress, Report, Task } from '../../../src/kernel/index.ts'
import { calleeOf, NOT_OPENED } from '../../../src/kernel/index.ts'
import { failure } from '../../support/specs.ts'
import type { JobPart, Part } from './component.ts'
import { NOW } from './component.ts'
import type { Scope, Slot } from './scope.ts'
import { MESSAGE, OUTPUT } from './scope.ts'

const RECORD = { by: 'ops', reason: 'explored' } as const

export function moves(scope: Scope, part: Part): Command[] {
  switch (part.kind) {
    case 'clock':
      return []
    case 'queue':
      return [
        { type: 'PauseQueue', queue: 'default', ...RECORD },
        { type: 'ResumeQueue', queue: 'default', ...RECORD },
      ]
    case 'schedule':
      return [
        { type: 'SetSchedule', schedule: 's', definition: 'daily', seen: null, ...RECORD },
        { type: 'FireSchedule', schedule: 's', tick: 5, skipped: false },
        { type: 'RemoveSchedule', schedule: 's', ...RECORD },
      ]
    case 'job':
      return jobMoves(scope, part)
    case 'task':
      return part.task === null ? [] : taskMoves(scope, part.task, part)
  }
}

function jobMoves(scope: Scope, part: JobPart): Command[] {
  const slot = scope.slots[part.slot]
  if (slot === undefined) return []
  const submits: Command[] =
    part.life < scope.lives || part.job !== null
      ? slot.specs.map((spec) => ({ type: 'SubmitJob', job: slot.id, spec }))
      : []
  if (part.job === null) return submits
  const { id, spec, task } = part.job
  return [
    ...submits,
    { type: 'ReleaseJob', job: id, ...RECORD },
    { type: 'CancelJob', job: id, ...RECORD },
    ...replaceMoves(scope, part.job),
    ...(spec.deadlineMs === null
      ? []
      : [{ type: 'CancelJob', job: id, deadline: true, ...RECORD } as const]),
    ...(scope.erases ? [{ type: 'EraseJob', job: id, ...RECORD } as const] : []),
    ...(slot.interventions > 0 && task !== null ? discards(id, task) : []),
    ...(scope.lives > 1 ? [{ type: 'ForgetJob', job: id, endedBefore: NOW } as const] : []),
    ...(spec.stages ?? []).map((_, stage) => ({ type: 'OpenStage', job: id, stage }) as const),
    ...(part.job.opened ?? []).flatMap((segments, stage) =>
      segments === NOT_OPENED ? messageMoves(scope, { job: id, stage, segment: 0 }) : [],
    ),
    ...(task === null ? [] : taskMoves(scope, task, { slot: part.slot, stage: 0, segment: 0 })),
  ]
}

/** Due at once, or a tick later. */
function replaceMoves({ replacements }: Scope, { id, spec }: Job): Command[] {
  const same = { job: id, input: spec.input, definitionVersion: 1, dueAt: null, ...RECORD }
  const found: Command[] = []
  for (const replacement of replacements) {
    found.push({ type: 'ReplaceJob', ...same, replacement, delayMs: 0 })
    found.push({ type: 'ReplaceJob', ...same, replacement, delayMs: 1 })
  }
  return found
}

/** By an operator who looked at any attempt so far. */
function discards(job: string, task: Task): Command[] {
  return Array.from({ length: task.attempt + 1 }, (_, attempt) => {
    return { type: 'CancelJob', job, attempt, ...RECORD }
  })
}

function taskMoves(
  scope: Scope,
  task: Task,
  { slot, stage, segment }: { slot: number; stage: number; segment: number },
): Command[] {
  const address = { job: task.job, stage, segment }
  const found: Command[] = [{ type: 'StopTask', ...address }, ...messageMoves(scope, address)]
  for (const { name, callee } of scope.waits) {
    if (callee !== null) found.push({ type: 'AnswerCall', ...address, name })
  }
  const { attempts, interventions } = scope.slots[slot] as Slot
  for (const { worker, request } of requests(scope, task, attempts)) {
    for (const started of scope.starts.map((how) => how === 'with the grant')) {
      found.push({ type: 'GrantLease', ...address, worker, request, started })
    }
  }
  for (let lease = 1; lease <= task.attempt; lease++) {
    found.push({ type: 'ExpireLease', ...address, lease })
    found.push({ type: 'RevokeLease', ...address, lease, ...RECORD })
    if (scope.snoozes) found.push({ type: 'RevokeLease', ...address, lease, delayMs: 2, ...RECORD })
    if (scope.presence) found.push(...presenceMoves(scope, address, lease))
    for (const worker of scope.workers) {
      found.push(...reports(scope, task, slot, { ...address, lease, worker }))
    }
  }
  if (scope.reschedules) found.push(...rescheduleMoves(task, address))
  if (interventions > 0) found.push(...operatorMoves(interventions, task, address))
  return found
}

/** By whoever looked at any attempt so far. */
function rescheduleMoves(task: Task, address: Address): Command[] {
  const found: Command[] = []
  for (let attempt = 0; attempt <= task.attempt; attempt++) {
    const seen = { ...address, attempt, priority: null, ...RECORD }
    found.push({ type: 'RescheduleTask', ...seen, dueAt: NOW, toQueue: null })
    found.push({ type: 'RescheduleTask', ...seen, dueAt: NOW + 1, toQueue: null })
    found.push({ type: 'RescheduleTask', ...seen, dueAt: null, toQueue: 'other' })
  }
  return found
}

/** What presence asks for, with whatever it may have seen of the lease. */
function presenceMoves({ extensions }: Scope, address: Address, lease: number): Command[] {
  const found: Command[] = []
  for (let seen = 0; seen <= extensions; seen++) {
    for (const presence of [false, true]) {
      found.push({ type: 'RevokeLease', ...address, lease, seen, presence, ...RECORD })
    }
  }
  return found
}

/** Late copies of what was asked before, and, within the bounds, a new request of each worker. */
function requests(
  scope: Scope,
  task: Task,
  attempts: number,
): { worker: string; request: number }[] {
  const copies = task.leases.map(({ worker, request }) => ({ worker, request }))
  if (task.attempt >= attempts) return copies
  return [...copies, ...scope.workers.map((worker) => ({ worker, request: task.attempt + 1 }))]
}

type Address = { job: string; stage: number; segment: number }

function reports(
  scope: Scope,
  task: Task,
  slot: number,
  address: Address & { lease: number; worker: string },
): Report[] {
  const effects = scope.slots[slot]?.effects ?? []
  const found: Report[] = [
    { type: 'StartExecution', ...address },
    { type: 'ReleaseLease', ...address },
    { type: 'CommitExecution', ...address, output: OUTPUT, effects },
    { type: 'FailTask', ...address, error: failure() },
    { type: 'FailTask', ...address, error: failure({ type: 'TERMINAL' }) },
  ]
  if (scope.snoozes) {
    found.push({ type: 'FailTask', ...address, error: failure(), delayMs: 2 })
    found.push({ type: 'FailTask', ...address, error: failure(), delayMs: 2, free: true })
    found.push({ type: 'FailTask', ...address, error: failure(), free: true })
  }
  for (let offset = 0; offset < scope.streamed; offset++) {
    for (let count = 1; offset + count <= scope.streamed; count++) {
      const values = Array.from({ length: count }, () => '1')
      found.push({ type: 'AppendStream', ...address, name: 's', offset, values })
    }
  }
  const extension = (task.leases.find((one) => one.number === address.lease)?.extension ?? 0) + 1
  if (extension <= scope.extensions) found.push({ type: 'ExtendLease', ...address, extension })
  for (const definitionVersion of scope.versions) {
    if (scope.steps) {
      found.push({ type: 'RecordStep', ...address, name: 's', value: '1', definitionVersion })
    }
    found.push(...waitMoves(scope, task, address, definitionVersion))
    if (scope.continues) {
      found.push({ type: 'ContinueExecution', ...address, input: '1', definitionVersion })
    }
  }
  effects.forEach((_, effect) => {
    found.push({ type: 'StartEffect', ...address, effect })
    found.push({ type: 'FinishEffect', ...address, effect })
    found.push({ type: 'FailEffect', ...address, effect, error: failure() })
    found.push({ type: 'FailEffect', ...address, effect, error: failure({ type: 'TERMINAL' }) })
    if (!scope.snoozes) return
    found.push({ type: 'FailEffect', ...address, effect, error: failure(), delayMs: 2 })
  })
  return found
}

/** Each wait alone, and all of them together; skipping nothing, or anything that was ever sent. */
function waitMoves(
  { waits, messages }: Scope,
  task: Task,
  address: LeaseAddress,
  definitionVersion: number,
): Report[] {
  const found: Report[] = []
  if (waits.length === 0) return found
  const sent = task.waiting?.messages.map(({ id }) => id) ?? []
  const together = waits.length > 1 ? [...waits.map((wait) => [wait]), waits] : [waits]
  for (const unfit of [[], ...sent.map((id) => [id])]) {
    const end = { ...address, unfit, definitionVersion }
    for (const wait of waits) {
      found.push({ type: 'EndWait', ...end, wait, message: null })
      const callee = calleeOf({ ...wait, until: null })
      if (callee !== null) found.push({ type: 'EndWait', ...end, wait, message: callee })
      if (wait.message === null) continue
      for (const message of messages) found.push({ type: 'EndWait', ...end, wait, message })
    }
    for (const some of together) {
      for (const needs of some.length > 1 ? (['any', 'all'] as const) : (['any'] as const)) {
        found.push({ type: 'SuspendExecution', ...end, needs, waits: some })
      }
    }
  }
  return found
}

function messageMoves({ messages }: Scope, address: Address): Command[] {
  return messages.map((id) => ({
    type: 'SendMessage',
    ...address,
    id,
    name: MESSAGE,
    value: '1',
    checked: null,
    ...RECORD,
  }))
}

function operatorMoves(most: number, task: Task, address: Address): Command[] {
  const found: Command[] = []
  if (task.interventions.length < most) {
    for (let attempt = 0; attempt <= task.attempt; attempt++) {
      const seen = { ...address, attempt, ...RECORD }
      found.push({ type: 'RetryTask', ...seen, input: null })
      found.push({ type: 'RetryTask', ...seen, input: '"new"' })
      found.push({ type: 'ForceTask', ...seen, to: 'WAITING', output: null })
      found.push({ type: 'ForceTask', ...seen, to: 'COMPLETED', output: OUTPUT })
      found.push({ type: 'ForceTask', ...seen, to: 'FAILED', output: null })
    }
  }
  task.commit?.effects.forEach(({ starts, resolutions }, effect) => {
    if (resolutions.length >= most) return
    for (const start of starts) {
      for (const outcome of ['happened', 'again'] as const) {
        found.push({ type: 'ResolveEffect', ...address, effect, start, outcome, ...RECORD })
      }
    }
  })
  return found
}
