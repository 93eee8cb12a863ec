/** Random waits and messages: few names, short times, so that they meet. */
import type {
  Command,
  JobSpec,
  LeaseAddress,
  Task,
  TaskAddress,
  WaitSpec,
  World,
} from '../../../src/kernel/index.ts'
import { calleeId, calleeOf, waitsOfSuspension } from '../../../src/kernel/index.ts'
import type { Dice } from './dice.ts'
import { randomSpec, STEPS } from './random-specs.ts'

const MESSAGES = ['go', 'stop']
const SCHEMAS = [null, null, '{"a":1}']
const NAMES = ['w1', 'w2', 'w3', 'w4', 'one']

/** What calls, and how deep it is itself: `job/stage/segment` of a task that has a lease. */
export interface Calling {
  readonly at: LeaseAddress
  readonly depth: number
  readonly count: number
}

function randomCall(dice: Dice, now: number, calling: Calling): WaitSpec {
  const { job, stage, segment, lease } = calling.at
  const name = dice.pick(NAMES)
  const run = `${lease}`
  const depth = calling.depth + (dice.chance(97) ? 1 : 2)
  const withCaller = dice.chance(30)
  const caller = { job, stage, segment, name, run, depth, withCaller }
  const spec = randomSpec(dice, now)
  const alone = { key: dice.chance(97) ? null : spec.key, parent: null, schedule: null }
  const delayMs = dice.chance(30) ? dice.pick([0, 3, 10]) : null
  const callee = { ...spec, ...alone, caller: dice.chance(97) ? caller : null }
  return { name, message: null, schema: null, ask: null, delayMs, dueAt: null, callee }
}

export function randomWait(dice: Dice, now: number, calling: Calling): WaitSpec {
  if (dice.chance(8)) return randomCall(dice, now, calling)
  const message = dice.chance(60) ? dice.pick(MESSAGES) : null
  const isTimed = message === null ? !dice.chance(3) : dice.chance(50)
  return {
    name: dice.pick(NAMES),
    message,
    schema: message === null ? (dice.chance(2) ? '{}' : null) : dice.pick(SCHEMAS),
    ask: null,
    delayMs: isTimed && dice.chance(80) ? dice.pick([0, 1, 3, 10]) : null,
    dueAt: isTimed && dice.chance(25) ? now + dice.pick([-1, 2, 5]) : null,
    callee: null,
  }
}

/** What it has to skip, now and then also what it has not. */
function randomUnfit(dice: Dice, task: Task | undefined): string[] {
  const messages = task?.waiting?.messages ?? []
  const unfit = messages.filter(({ state }) => dice.chance(state === 'KEPT' ? 25 : 2))
  // Seldom one that was never sent, or one of them twice, which is refused.
  const wrong = dice.chance(10) ? [unfit[0]?.id ?? 'm9'] : []
  return [...unfit.map(({ id }) => id), ...wrong]
}

/** Also for a call that was left behind, and for what else has its name, which is refused. */
function sameCall(dice: Dice, task: Task | undefined, wait: WaitSpec): WaitSpec {
  const callee = task?.waiting?.waits.find(({ name }) => name === wait.name)?.callee ?? null
  if (callee === null || !dice.chance(90)) return wait
  return { ...wait, message: null, schema: null, callee }
}

export function suspendCommand(
  dice: Dice,
  calling: Calling,
  task: Task | undefined,
  now: number,
): Command {
  const waits = Array.from({ length: dice.pick([1, 1, 1, 2, 2, 3]) }, () =>
    sameCall(dice, task, randomWait(dice, now, calling)),
  )
  return {
    type: 'SuspendExecution',
    ...calling.at,
    needs: dice.pick(['any', 'all']),
    // Seldom the same twice, which is refused.
    waits: dice.chance(95) ? distinct(waits) : waits,
    unfit: randomUnfit(dice, task),
    definitionVersion: randomVersion(dice, task),
  }
}

function distinct(waits: readonly WaitSpec[]): WaitSpec[] {
  return waits.filter(({ name }, i) => waits.findIndex((one) => one.name === name) === i)
}

export function endWaitCommand(
  dice: Dice,
  calling: Calling,
  task: Task | undefined,
  now: number,
): Command {
  const kept = (task?.waiting?.messages ?? []).filter(({ state }) => state === 'KEPT')
  const known = dice.pick(task?.waiting?.waits ?? [])
  const wait = sameCall(dice, task, {
    ...randomWait(dice, now, calling),
    ...(dice.chance(40) ? { name: known?.name ?? 'w1' } : {}),
  })
  const first = kept.find(({ name }) => name === wait.message)
  const callee = wait.callee?.caller == null ? null : calleeId(wait.callee.caller)
  return {
    type: 'EndWait',
    ...calling.at,
    wait,
    message: dice.chance(85) ? (first?.id ?? callee) : dice.pick(['m1', 'm2', null]),
    unfit: dice.chance(70) ? [] : randomUnfit(dice, task),
    definitionVersion: randomVersion(dice, task),
  }
}

/** Now and then there is a deploy, and now and then an old worker is still there. */
export function randomVersion(dice: Dice, task: Task | undefined): number {
  const newest = Math.max(1, task?.definitionVersion ?? 1)
  return dice.chance(90) ? newest : Math.max(0, newest + dice.pick([-1, 1]))
}

export function messageCommand(dice: Dice, at: TaskAddress, count: number): Command {
  const { job, stage, segment } = at
  const address = { job, stage, segment }
  const id = dice.chance(90) ? `m${count}` : dice.pick(['m1', 'm2'])
  const name = dice.pick(MESSAGES)
  const checked = dice.pick([...SCHEMAS, '{"a":1}'])
  return {
    type: 'SendMessage',
    ...address,
    id,
    name,
    value: `${count}`,
    checked,
    by: 'ada',
    reason: '',
  }
}

export function continueCommand(
  dice: Dice,
  at: LeaseAddress,
  task: Task | undefined,
  count: number,
): Command {
  const definitionVersion = randomVersion(dice, task)
  return { type: 'ContinueExecution', ...at, input: `${count}`, definitionVersion }
}

/** What happens to a call that the task waits in; null: it waits in none. */
export function callStep(dice: Dice, world: World, task: Task): Command | null {
  const { job, stage, segment } = task
  const wait = dice.pick(
    waitsOfSuspension(task).filter((one) => one.callee !== null && one.endedAt === null),
  )
  const callee = calleeOf(wait)
  if (wait === undefined || callee === null) return null
  return world.jobs.has(callee)
    ? { type: 'AnswerCall', job, stage, segment, name: wait.name }
    : { type: 'SubmitJob', job: callee, spec: wait.callee as JobSpec }
}

/** By a worker that is late: its job may not wait for it any more. Null: the task called none. */
export function strayCallee(task: Task): Command | null {
  const wait = task.waiting?.waits.find(({ callee }) => callee !== null)
  const job = calleeOf(wait)
  return job === null ? null : { type: 'SubmitJob', job, spec: wait?.callee as JobSpec }
}

/** One of each, made when it is wanted. */
export function waitCommands(
  dice: Dice,
  calling: Calling,
  task: Task | undefined,
  now: number,
): (() => Command)[] {
  const { at: lease, count } = calling
  const step = (): Command => {
    const definitionVersion = randomVersion(dice, task)
    return {
      type: 'RecordStep',
      ...lease,
      name: dice.pick(STEPS),
      value: `${count}`,
      definitionVersion,
    }
  }
  return [
    step,
    () => endWaitCommand(dice, calling, task, now),
    () => suspendCommand(dice, calling, task, now),
    () => continueCommand(dice, lease, task, count),
    () => {
      const { job, stage, segment } = lease
      return { type: 'AnswerCall', job, stage, segment, name: dice.pick(NAMES) }
    },
    () => messageCommand(dice, lease, count),
  ]
}
