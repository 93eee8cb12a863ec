/**
 * Everything that has a state, by a name that people use, and what changed from one moment to
 * the next. Jobs and stages are derived; tasks (of pipelines) and effects are read off.
 */
import type { Authority } from '../../support/authority.ts'
import type { Job, World } from '../../../src/kernel/index.ts'
import { countTallies, findTask, jobState, stageState, tasksOf } from '../../../src/kernel/index.ts'

/** Says `movie/encode/1` where the log says job movie, stage 1, segment 1. */
export class Names {
  readonly #world: World

  constructor(world: World) {
    this.#world = world
  }

  stage(job: string, stage: number): string {
    return `${job}/${this.#world.jobs.get(job)?.spec.stages?.[stage]?.name ?? stage}`
  }

  /** A plain job is its task. */
  task(job: string, stage: number, segment: number): string {
    const plain = this.#world.jobs.get(job)?.spec.stages == null
    return plain ? job : `${this.stage(job, stage)}/${segment}`
  }

  effect(at: { job: string; stage: number; segment: number }, effect: number): string {
    const task = findTask(this.#world, at.job, at.stage, at.segment)
    return task?.commit?.effects[effect]?.promise.name ?? String(effect)
  }
}

/** From `job a` to `QUEUED`. */
export type States = ReadonlyMap<string, string>

export function statesOf({ world, now }: Authority): States {
  const states = new Map<string, string>()
  for (const job of world.jobs.values()) {
    states.set(`job ${job.id}`, jobState(job, countTallies(world, job), now))
    addStages(states, world, job)
    addTasks(states, world, job)
  }
  for (const { name, paused } of world.queues.values()) {
    states.set(`queue ${name}`, paused ? 'paused' : 'running')
  }
  return states
}

function addStages(states: Map<string, string>, world: World, job: Job): void {
  const tallies = countTallies(world, job)
  job.spec.stages?.forEach((stage, i) => {
    const tally = tallies[i]
    const segments = job.opened?.[i]
    if (tally === undefined || segments === undefined) return
    states.set(`stage ${job.id}/${stage.name}`, stageState(segments, tally, stage.tolerate))
  })
}

function addTasks(states: Map<string, string>, world: World, job: Job): void {
  const names = new Names(world)
  for (const task of tasksOf(world, job)) {
    const name = names.task(task.job, task.stage, task.segment)
    if (job.task === null) states.set(`task ${name}`, task.state)
    for (const { promise, state } of task.commit?.effects ?? []) {
      states.set(`effect ${name}/${promise.name}`, state)
    }
  }
}

/** `job a QUEUED → RUNNING`, one line a change; segments that do the same share a line. */
export function changes(before: States, after: States): string[] {
  const changed = new Map<string, string[]>()
  for (const name of new Set([...before.keys(), ...after.keys()])) {
    const from = before.get(name)
    const to = after.get(name)
    // A stage is named when it opens: that it is NEW before goes without saying.
    const unborn = name.startsWith('stage ') && (from ?? 'NEW') === (to ?? 'NEW')
    if (from === to || unborn) continue
    const move = from === undefined ? `${to}` : `${from} → ${to ?? 'gone'}`
    const [, stage = name, segment = ''] = /^(task .*\/)(\d+)$/.exec(name) ?? []
    const key = `${stage}|${move}`
    changed.set(key, [...(changed.get(key) ?? []), segment])
  }
  return [...changed].map(([key, segments]) => {
    const [name = '', move = ''] = key.split('|')
    const [kind = '', subject = ''] = name.split(' ')
    return `${kind.padEnd(7)} ${subject}${segments.join(',')} ${move}`
  })
}
