/**
 * What time and the orchestrator have to ask for: leases that ran out, tasks that came too
 * late, stages to open and tasks of ending pipelines to stop.
 *
 * It only names the commands; the engine sends them, and `decide` has the last word. A pipeline is
 * examined after an entry that could have changed what is due, until nothing is: with nothing to do,
 * asking costs nothing.
 */
import type { Command, Job, StageTasks, Tallies, Tally, Task, World } from '../../kernel/index.ts'
import { isEnding, openableStages } from '../../kernel/index.ts'
import type { HeldLeases } from './held-leases.ts'
import { TaskQueue, TaskSlots } from '../ready/task-queue.ts'

/** How far the stopping of an ending pipeline got: everything before is over, or committed. */
interface DueCursor {
  stage: number
  segment: number
}

export class DueCommands {
  readonly #world: World
  readonly #leases: HeldLeases
  readonly #tallies: (job: Job) => Tallies
  readonly #startBy = new TaskQueue(
    new TaskSlots((task) => task.state === 'WAITING' && task.attempt === 0),
  )
  readonly #pipelines = new Map<string, DueCursor>()
  #pushed = 0

  constructor(world: World, leases: HeldLeases, tallies: (job: Job) => Tallies) {
    this.#world = world
    this.#leases = leases
    this.#tallies = tallies
  }

  taskCreated(task: Task): void {
    if (task.startBy === null || task.state !== 'WAITING') return
    this.#pushed += 1
    this.#startBy.push(task, task.startBy, this.#pushed)
  }

  /** A task with a start-by time was granted, or stopped, for the first time. */
  startByMet(): void {
    this.#startBy.discard()
  }

  /** There may be something to do about a pipeline. */
  pipelineChanged(job: string): void {
    if (!this.#pipelines.has(job)) this.#pipelines.set(job, { stage: 0, segment: 0 })
  }

  jobRemoved(job: string): void {
    this.#pipelines.delete(job)
  }

  /** At most `limit` commands that are due at this time. */
  dueCommands(now: number, limit: number): Command[] {
    const tasks: Task[] = []
    this.#leases.collectExpired(now, limit, tasks)
    const commands = tasks.map(expireLease)
    tasks.length = 0
    this.#startBy.collect(now, limit - commands.length, tasks)
    commands.push(...tasks.map(stopTask))
    for (const [id, cursor] of this.#pipelines) {
      if (commands.length >= limit) break
      const before = commands.length
      const job = this.#world.jobs.get(id)
      if (job !== undefined) this.#addCommands(job, cursor, limit, commands)
      if (commands.length === before) this.#pipelines.delete(id)
    }
    return commands
  }

  #addCommands(job: Job, cursor: DueCursor, limit: number, commands: Command[]): void {
    const tallies = this.#tallies(job)
    if (isEnding(job, tallies)) this.#addStops(job, tallies, cursor, limit, commands)
    for (const stage of openableStages(job, tallies)) {
      if (commands.length >= limit) return
      commands.push({ type: 'OpenStage', job: job.id, stage })
    }
  }

  #addStops(
    job: Job,
    tallies: Tallies,
    cursor: DueCursor,
    limit: number,
    commands: Command[],
  ): void {
    const stages = this.#world.tasks.get(job.id) as StageTasks
    let passed = true
    for (let stage = cursor.stage; stage < stages.length; stage++) {
      const onFailure = job.spec.stages?.[stage]?.onFailure === true
      const tasks = onFailure || !hasStoppable(tallies[stage] as Tally) ? [] : (stages[stage] ?? [])
      const from = stage === cursor.stage ? cursor.segment : 0
      for (let segment = from; segment < tasks.length; segment++) {
        const task = tasks[segment] as Task
        if (!isStoppable(task)) continue
        if (passed) {
          cursor.stage = stage
          cursor.segment = segment
          passed = false
        }
        if (commands.length >= limit) return
        commands.push(stopTask(task))
      }
    }
  }
}

function hasStoppable(tally: Tally): boolean {
  return tally.waiting + tally.leased > tally.committedOpen - tally.deadCommitted
}

function isStoppable(task: Task): boolean {
  return (task.state === 'WAITING' || task.state === 'LEASED') && task.commit === null
}

function expireLease({ job, stage, segment, attempt }: Task): Command {
  return { type: 'ExpireLease', job, stage, segment, lease: attempt }
}

function stopTask({ job, stage, segment }: Task): Command {
  return { type: 'StopTask', job, stage, segment }
}
