/** Where the kernel and the naive model differ after a step, in words; null when they agree. */
import type { Command, Decision, Rules, Task, World } from '../../../src/kernel/index.ts'
import {
  countTallies,
  inputOf,
  jobState,
  RULES,
  stageState,
  tasksOf,
} from '../../../src/kernel/index.ts'
import { Authority } from './authority.ts'
import { NaiveModel } from './naive-model.ts'
import type { Opinion } from './naive-opinion.ts'
import type { TaskReading } from './naive-task.ts'

function differentAnswer(decision: Decision, opinion: Opinion): string | null {
  const { verdict, rejection, value } = decision
  if (verdict !== opinion.verdict) {
    const reasons = [...opinion.reasons].join(', ')
    return `answered ${verdict} (${rejection?.code ?? ''} ${rejection?.message ?? ''}), expected ${opinion.verdict} (${reasons})`
  }
  if (rejection !== null && !opinion.reasons.has(rejection.code)) {
    return `rejected for ${rejection.code}, expected ${[...opinion.reasons].join(' or ')}`
  }
  return value === opinion.value ? null : `answered ${value}, expected ${opinion.value}`
}

/** The job that a command is about, if it says so. */
function jobOf(command: Command): string | null {
  const job = (command as { readonly job?: unknown } | null)?.job
  return typeof job === 'string' ? job : null
}

function differentState(world: World, model: NaiveModel, id: string, now: number): string | null {
  const job = world.jobs.get(id)
  const expected = model.jobState(id, now)
  if (job === undefined || expected === undefined) {
    return (job === undefined) === (expected === undefined) ? null : `${id} exists only once`
  }
  const tallies = countTallies(world, job)
  const state = jobState(job, tallies, now)
  const input = model.jobInput(id)
  if (inputOf(job) !== input) return `${id} has input ${inputOf(job)}, expected ${input}`
  if (state !== expected) return `${id} is ${state}, expected ${expected}`
  const stages = (job.spec.stages ?? []).map((stage, index) =>
    stageState(
      job.opened?.[index] as number,
      tallies[index] as (typeof tallies)[number],
      stage.tolerate,
    ),
  )
  const expectedStages = model.stageStates(id)
  if (stages.join() !== expectedStages.join()) {
    return `stages of ${id} are ${stages.join()}, expected ${expectedStages.join()}`
  }
  return differentTasks(world, model, id)
}

function differentTasks(world: World, model: NaiveModel, id: string): string | null {
  const job = world.jobs.get(id)
  const tasks = job === undefined ? [] : tasksOf(world, job)
  const readings = model.taskStates(id)
  if (tasks.length !== readings.length) {
    return `${id} has ${tasks.length} tasks, expected ${readings.length}`
  }
  for (let i = 0; i < tasks.length; i++) {
    const task = tasks[i] as Task
    const reading = readings[i] as TaskReading
    if (isSame(task, reading)) continue
    return `task ${id}/${task.stage}/${task.segment} is ${inWords(task)}, expected ${inWords({
      ...reading,
      attempt: reading.leases.length,
      commit: reading,
    })}`
  }
  return null
}

function isSame(task: Task, reading: TaskReading): boolean {
  const effects = task.commit?.effects ?? []
  return (
    task.state === reading.state &&
    task.attempt === reading.leases.length &&
    task.retries === reading.retries &&
    task.output === reading.output &&
    (task.state !== 'WAITING' || task.dueAt === reading.dueAt) &&
    effects.length === reading.effects.length &&
    effects.every((effect, index) => effect.state === reading.effects[index]?.state) &&
    task.definitionVersion === reading.definitionVersion &&
    streamsInWords(task) === readStreamsInWords(reading) &&
    waitsInWords(task) === readWaitsInWords(reading)
  )
}

function streamsInWords({ streams }: Task): string {
  return streams.map(({ name, next, lease }) => `${name} to ${next} by ${lease}`).join()
}

function readStreamsInWords({ streams }: TaskReading): string {
  return [...streams].map(([name, by]) => `${name} to ${by.length} by ${by.at(-1)}`).join()
}

function waitsInWords({ waiting }: Task): string {
  const waits = (waiting?.waits ?? []).map(
    ({ name, until, endedAt, endedBy, value }) =>
      `${name} until ${until} ended ${endedAt} ${endedBy} ${value}`,
  )
  const messages = (waiting?.messages ?? []).map(({ id, state }) => `${id} ${state}`)
  return [waiting?.suspended ?? null, ...waits, ...messages].join('; ')
}

function readWaitsInWords({ suspended, waits, messages }: TaskReading): string {
  const lines = [...waits].map(
    ([name, { until, end }]) =>
      `${name} until ${until} ended ${end?.at ?? null} ${end?.by ?? null} ${end?.value ?? null}`,
  )
  return [suspended, ...lines, ...messages.map(({ id, state }) => `${id} ${state}`)].join('; ')
}

function inWords(
  task: Pick<Task, 'state' | 'attempt' | 'retries' | 'output' | 'dueAt'> & {
    readonly commit: { readonly effects: readonly { readonly state: string }[] } | null
  },
): string {
  const effects = (task.commit?.effects ?? []).map((effect) => effect.state).join()
  return `${task.state} attempt ${task.attempt} retries ${task.retries} due ${task.dueAt} output ${task.output} effects ${effects}`
}

export interface Tally {
  steps: number
  committed: number
}

/** The first difference between kernel and model, in words, or null. */
export function firstDifference(
  numbers: Iterable<number>,
  tally: Tally,
  rules: Rules = RULES,
): string | null {
  const authority = new Authority(rules)
  const model = new NaiveModel()
  for (const number of numbers) {
    const command = authority.next(number)
    const decision = authority.send(command)
    const opinion = model.answer(command, authority.now)
    tally.steps += 1
    if (decision.verdict === 'committed') tally.committed += 1
    const job = jobOf(command)
    const difference =
      differentAnswer(decision, opinion) ??
      (job === null ? null : differentState(authority.world, model, job, authority.now))
    if (difference !== null) return `${JSON.stringify(command)}: ${difference}`
  }
  for (const job of authority.world.jobs.keys()) {
    const difference = differentState(authority.world, model, job, authority.now)
    if (difference !== null) return `at the end: ${difference}`
  }
  return null
}
