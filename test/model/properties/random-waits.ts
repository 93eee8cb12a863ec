/** Random waits and messages: few names, short times, so that they meet. */
import type {
  Command,
  LeaseAddress,
  Task,
  TaskAddress,
  WaitSpec,
} from '../../../src/kernel/index.ts'
import type { Dice } from './dice.ts'
import { STEPS } from './random-specs.ts'

const MESSAGES = ['go', 'stop']
const SCHEMAS = [null, null, '{"a":1}']
const NAMES = ['w1', 'w2', 'w3', 'w4', 'one']

export function randomWait(dice: Dice, now: number): WaitSpec {
  const message = dice.chance(60) ? dice.pick(MESSAGES) : null
  const isTimed = message === null ? !dice.chance(3) : dice.chance(50)
  return {
    name: dice.pick(NAMES),
    message,
    schema: message === null ? (dice.chance(2) ? '{}' : null) : dice.pick(SCHEMAS),
    ask: null,
    delayMs: isTimed && dice.chance(80) ? dice.pick([0, 1, 3, 10]) : null,
    dueAt: isTimed && dice.chance(25) ? now + dice.pick([-1, 2, 5]) : null,
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

export function suspendCommand(
  dice: Dice,
  at: LeaseAddress,
  task: Task | undefined,
  now: number,
): Command {
  const waits = Array.from({ length: dice.pick([1, 1, 1, 2, 2, 3]) }, () => randomWait(dice, now))
  return {
    type: 'SuspendExecution',
    ...at,
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
  at: LeaseAddress,
  task: Task | undefined,
  now: number,
): Command {
  const kept = (task?.waiting?.messages ?? []).filter(({ state }) => state === 'KEPT')
  const known = dice.pick(task?.waiting?.waits ?? [])
  const wait = {
    ...randomWait(dice, now),
    ...(dice.chance(40) ? { name: known?.name ?? 'w1' } : {}),
  }
  const first = kept.find(({ name }) => name === wait.message)
  return {
    type: 'EndWait',
    ...at,
    wait,
    message: dice.chance(85) ? (first?.id ?? null) : dice.pick(['m1', 'm2', null]),
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

/** One of each, made when it is wanted. */
export function waitCommands(
  dice: Dice,
  lease: LeaseAddress,
  task: Task | undefined,
  now: number,
  count: number,
): (() => Command)[] {
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
    () => endWaitCommand(dice, lease, task, now),
    () => suspendCommand(dice, lease, task, now),
    () => messageCommand(dice, lease, count),
  ]
}
