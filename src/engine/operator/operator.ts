/**
 * What an operator may do to a job or a queue. Each is a command, which the store decides like any
 * other, and its entry keeps who asked for it and why.
 */
import type { AnyJob, Duration } from '../../definition/index.ts'
import {
  assertName,
  continuedInput,
  fromJson,
  inputFor,
  InvalidDefinition,
  timeOf,
  toJson,
  toMs,
} from '../../definition/index.ts'
import type { Command, JobSpec, Payload, Task } from '../../kernel/index.ts'
import { inputVersionOf, LIMITS } from '../../kernel/index.ts'
import type { CommandBatcher } from '../../store/command-batcher.ts'
import type { JobView, Store } from '../../store/index.ts'
import type { Actor } from '../actor.ts'
import { actorOrDefault } from '../actor.ts'
import { currentInput } from '../current-input.ts'
import { Refused, UnknownJob } from '../errors.ts'
import type { Refusals } from '../refusals.ts'
import { newJobId } from '../random.ts'
import { askedFor, keptSteps } from './kept-steps.ts'
import type { TaskChoice } from './operator-commands.ts'
import {
  cancelOf,
  discardOf,
  forceOf,
  isRetriable,
  notDead,
  onlyTask,
  promisedEffects,
  releaseOf,
  rescheduleOf,
  resolveOf,
  retryOf,
  revokeOf,
  tasksOf,
  TO_TASK,
  whyNotDiscarded,
  whyNotRerun,
} from './operator-commands.ts'

export interface RetryJobOptions extends Actor, TaskChoice, SeenAttempt {
  /**
   * Replaces the input, and is of the same version: `info.input` and `info.version` show both.
   * Steps that were recorded are dropped. Of a segment, it replaces the element.
   */
  readonly input?: unknown
  /** Checks the new input. Default: the definition that this engine last worked or submitted by. */
  readonly definition?: AnyJob
}

/** Without a stage: the whole job. */
export type DiscardOptions = Actor & TaskChoice & SeenAttempt

export type RevokeOptions = Actor & TaskChoice & SeenAttempt

/** What is left out stays as it is. */
export interface RescheduleOptions extends Actor, TaskChoice, SeenAttempt {
  /** Due so long from now; 0: at once. Not together with `at`. */
  readonly delay?: Duration
  /** Due at this time: a date, or milliseconds since 1970. */
  readonly at?: Date | number
  /** From -1,000 to 1,000, larger first. */
  readonly priority?: number
  /** Of this job only: its definition keeps its own. */
  readonly queue?: string
}

export interface ForceOptions extends Actor, TaskChoice, SeenAttempt {
  readonly to: 'SUCCEEDED' | 'FAILED' | 'QUEUED'
  /** What it is to have resulted in, if it is forced to SUCCEEDED. */
  readonly output?: unknown
}

export interface QueueOptions {
  /** How many jobs of the queue run at once. Default: no bound. */
  readonly concurrency?: number | null
  /** How many may start in a period. Default: no bound. */
  readonly rate?: { readonly count: number; readonly per: Duration } | null
  /** A job that waits rises by one priority each time that it waited so long. Default: never. */
  readonly ageing?: Duration | null
}

export interface RerunOptions extends Actor {
  /** Default: a random one. */
  readonly id?: string
  /**
   * The name of a recorded step: those before it are kept, by value, and it and all later ones run again.
   * Only of a plain job. With a new input, too, those before it are kept: to say both is to say so. Default: none is kept.
   */
  readonly from?: string
  /** Other values of steps before `from`, by their names. They go through no schema, as no step does. */
  readonly steps?: Readonly<Record<string, unknown>>
  /**
   * Must be said of a job that promised effects, or children, with a commit. The new job promises them anew,
   * under keys of its own: no receiver takes them for a repeat.
   */
  readonly effects?: 'again'
  /** Of the same version. Default: the input of the job that is run again. */
  readonly input?: unknown
  /** Checks the new input. Default: the definition that this engine last worked or submitted by. */
  readonly definition?: AnyJob
}

export interface EffectAnswer extends Actor, TaskChoice {
  readonly outcome: 'happened' | 'again'
  /**
   * The start of the effect that you looked at, as `quarantine.list` and `actions` say it: once a newer one is unresolved, the call
   * is refused (EffectNotUnresolved). Default: the newest.
   */
  readonly start?: number
}

/** So that what was decided about one attempt does not hit the next. */
export interface SeenAttempt {
  /** The attempt that you looked at: at any other one the call is refused (TaskChanged). Default: the newest. */
  readonly attempt?: number | undefined
}

export class Operator {
  readonly #store: Store
  readonly #batcher: CommandBatcher
  readonly #definitionOf: DefinitionOf
  /** Of the authority. */
  readonly #now: () => number
  readonly #refusals: Refusals

  constructor(
    store: Store,
    batcher: CommandBatcher,
    definitionOf: DefinitionOf,
    now: () => number,
    refusals: Refusals,
  ) {
    this.#store = store
    this.#batcher = batcher
    this.#definitionOf = definitionOf
    this.#now = now
    this.#refusals = refusals
  }

  cancel(id: string, actor: Actor): Promise<void> {
    return this.#send(
      `Cancelling job ${id}`,
      cancelOf(id, actorOrDefault(actor, 'no reason given')),
    )
  }

  /**
   * Only of what is in quarantine: anything else is cancelled, or forced. A stage or a segment of it is
   * given up by force: whether the job goes on is for `tolerate`. A second discard does nothing.
   */
  async discard(id: string, options: DiscardOptions): Promise<void> {
    const { stage, segment, attempt, ...actor } = options
    assertAttempt(attempt)
    const view = await this.#view(id, 'CancelJob')
    if (stage !== undefined || segment !== undefined) {
      const task = onlyTask(view, { stage, segment })
      if (task.state !== 'DEAD') {
        const error = notDead(`Discarding a task of job ${id}`, task.state, task)
        throw this.#refusals.note('ForceTask', id, error)
      }
      const reason = actor.reason ?? 'Discarded'
      return this.force(id, { ...actor, stage, segment, attempt, to: 'FAILED', reason })
    }
    const refused = whyNotDiscarded(view)
    if (refused !== null) throw this.#refusals.note('CancelJob', id, refused)
    if (view.job.task === null && attempt !== undefined) {
      throw new InvalidDefinition(
        `Attempt ${attempt} of which task of job ${id}? Give a \`stage\` and, if it has several, a \`segment\`.`,
        { job: id, attempt },
      )
    }
    const seen = attempt ?? view.job.task?.attempt ?? null
    return this.#send(
      `Discarding job ${id}`,
      discardOf(id, seen, actorOrDefault(actor, 'Discarded')),
    )
  }

  release(id: string, actor: Actor): Promise<void> {
    return this.#send(`Releasing job ${id}`, releaseOf(id, actorOrDefault(actor, 'Released')))
  }

  /** Every task that waits for a person and may run again, or the one that is named. */
  async retry(id: string, options: RetryJobOptions): Promise<void> {
    const { input, definition, stage, segment, attempt, ...actor } = options
    assertAttempt(attempt)
    const view = await this.#view(id, 'RetryTask')
    const choice = { stage, segment }
    const dead = tasksOf(view, choice).filter((task) => isRetriable(view.stages, task))
    // Of a plain job, and of a named task, the store says what is in the way.
    const isOne = [input, segment, attempt].some((one) => one !== undefined) || dead.length === 0
    const tasks = isOne && dead.length !== 1 ? [onlyTask(view, choice)] : dead
    const text = isSegment(view, tasks[0])
      ? elementOf(id, input)
      : await this.#recordedInput(view, input, definition)
    const named = actorOrDefault(actor, 'Retried')
    const commands = tasks.map((task) => retryOf(task, attempt, text, named))
    const answers = await this.#batcher.sendAll(commands)
    for (const { rejection } of answers) {
      if (rejection !== null) throw new Refused(`Retrying job ${id}`, rejection)
    }
  }

  async force(id: string, options: ForceOptions): Promise<void> {
    const { to, output, stage, segment, attempt, ...actor } = options ?? {}
    assertAttempt(attempt)
    if (!Object.hasOwn(TO_TASK, to)) {
      throw new InvalidDefinition(
        `A job is forced \`to\` 'SUCCEEDED', 'FAILED' or 'QUEUED', not to ${to}.`,
        { job: id },
      )
    }
    const task = onlyTask(await this.#view(id, 'ForceTask'), { stage, segment })
    const text = to === 'SUCCEEDED' ? toJson(output, `The output of job ${id}`, 'output') : null
    const named = actorOrDefault(actor, `Forced to ${to}`)
    await this.#send(`Forcing job ${id} to ${to}`, forceOf(task, attempt, to, text, named))
  }

  async revoke(id: string, options: RevokeOptions): Promise<void> {
    const { stage, segment, attempt, ...actor } = options
    assertAttempt(attempt)
    const task = onlyTask(await this.#view(id, 'RevokeLease'), { stage, segment })
    const command = revokeOf(task, attempt, actorOrDefault(actor, 'Revoked'))
    await this.#send(`Revoking the lease of job ${id}`, command)
  }

  async reschedule(id: string, options: RescheduleOptions): Promise<void> {
    const { delay, at, priority, queue, stage, segment, attempt, ...actor } = options ?? {}
    const what = `the reschedule of job ${id}`
    if ([delay, at, priority, queue].every((one) => one === undefined)) {
      throw new InvalidDefinition(
        `Say what is to change by ${what}: \`delay\` or \`at\`, \`priority\`, \`queue\`.`,
      )
    }
    if (delay !== undefined && at !== undefined) {
      throw new InvalidDefinition(`Give ${what} either \`delay\` or \`at\`, not both.`)
    }
    assertAttempt(attempt)
    if (priority !== undefined) assertPriority(priority, what)
    if (queue !== undefined) assertName(queue, `\`queue\` of ${what}`)
    const task = onlyTask(await this.#view(id, 'RescheduleTask'), { stage, segment })
    const dueAt = this.#dueAt(delay, at, what)
    const wanted = { dueAt, priority: priority ?? null, toQueue: queue ?? null }
    const command = rescheduleOf(task, attempt, wanted, actorOrDefault(actor, 'Rescheduled'))
    await this.#send(`Rescheduling job ${id}`, command)
  }

  /** Null: as it is. */
  #dueAt(delay: Duration | undefined, at: Date | number | undefined, what: string): number | null {
    if (at !== undefined) return timeOf(at, `\`at\` of ${what}`)
    if (delay === undefined) return null
    const ms = toMs(delay, `\`delay\` of ${what}`)
    if (ms <= LIMITS.delayMs) return Math.ceil(this.#now()) + ms
    throw new InvalidDefinition(`\`delay\` of ${what} must be at most ten years.`)
  }

  /** The id of the new job. */
  async rerun(
    id: string,
    { id: newId = newJobId(), from, steps, effects, input, definition, ...actor }: RerunOptions,
  ): Promise<string> {
    const view = await this.#view(id, 'SubmitJob')
    const { job } = view
    const refused = whyNotRerun(view, from !== undefined)
    if (refused !== null) throw this.#refusals.note('SubmitJob', id, refused)
    assertEffectsSaid(view, effects)
    const kept = keptSteps(job, from, steps)
    const text = await this.#inputFor(view, input, definition)
    const spec: JobSpec = {
      ...job.spec,
      ...currentInput(job),
      ...(text === null ? {} : { input: text }),
      key: null,
      unique: false,
      held: false,
      delayMs: 0,
      dueAt: null,
      // A moment that was meant for the first one; a duration counts from the new submit.
      deadlineAt: null,
      parent: null,
      schedule: null,
      caller: null,
      rerunOf: id,
      asked: askedFor(actor, from, { hasNewInput: text !== null, changed: kept.changed }),
      steps: kept.steps,
    }
    await this.#send(`Running job ${id} again`, { type: 'SubmitJob', job: newId, spec })
    return newId
  }

  async resolveEffect(id: string, effect: number, answer: EffectAnswer): Promise<void> {
    const { outcome, start, stage, segment, ...actor } = answer
    const task = onlyTask(await this.#view(id, 'ResolveEffect'), { stage, segment })
    const command = resolveOf(task, effect, start, outcome, actorOrDefault(actor, 'Resolved'))
    await this.#send(`Resolving effect ${effect} of job ${id}`, command)
  }

  pause(queue: string, actor: Actor): Promise<void> {
    return this.#send(`Pausing queue ${queue}`, {
      type: 'PauseQueue',
      queue,
      ...actorOrDefault(actor, 'Paused'),
    })
  }

  resume(queue: string, actor: Actor): Promise<void> {
    return this.#send(`Resuming queue ${queue}`, {
      type: 'ResumeQueue',
      queue,
      ...actorOrDefault(actor, 'Resumed'),
    })
  }

  configure(queue: string, options: QueueOptions, actor: Actor): Promise<void> {
    const { concurrency = null, rate = null, ageing = null } = options
    return this.#send(`Configuring queue ${queue}`, {
      type: 'ConfigureQueue',
      queue,
      concurrency,
      rate:
        rate === null ? null : { count: rate.count, perMs: toMs(rate.per, `The rate of ${queue}`) },
      ageingMs: ageing === null ? null : toMs(ageing, `The ageing of ${queue}`),
      ...actorOrDefault(actor, 'Configured'),
    })
  }

  /** As it goes on record in place of the job's own; null: the old one stays. */
  async #recordedInput(
    view: JobView,
    given: unknown,
    definition: AnyJob | undefined,
  ): Promise<Payload | null> {
    const text = await this.#inputFor(view, given, definition)
    const { version } = currentInput(view.job)
    return text === null ? null : continuedInput(text, version, inputVersionOf(view.job))
  }

  /** Of the version that the job has now. Null: the old one stays. */
  async #inputFor(
    { job }: JobView,
    given: unknown,
    definition: AnyJob | null = this.#definitionOf(job.spec.type),
  ): Promise<Payload | null> {
    const { version } = currentInput(job)
    return given === undefined ? null : newInput(definition, version, given, job.id)
  }

  /** `command`: what is to be sent about it. */
  async #view(id: string, command: Command['type']): Promise<JobView> {
    const view = await this.#store.query({ kind: 'job', job: id })
    if (view === null) throw this.#refusals.note(command, id, new UnknownJob(id))
    return view
  }

  async #send(what: string, command: Command): Promise<void> {
    const { rejection } = await this.#batcher.send(command)
    if (rejection === null) return
    if (rejection.code === 'UnknownJob' && 'job' in command) throw new UnknownJob(command.job)
    throw new Refused(what, rejection)
  }
}

function assertEffectsSaid(view: JobView, effects: unknown): void {
  const { job } = view
  if (effects !== undefined && effects !== 'again') {
    throw new InvalidDefinition(
      `The only word for the \`effects\` of a job that is run again is 'again': they are promised anew. Leave it out if the job has none.`,
      { job: job.id },
    )
  }
  const promised = promisedEffects(view.stages.flatMap((stage) => stage.tasks))
  const names = promised.map((name) => `'${name}'`)
  if (names.length === 0 || effects === 'again') return
  throw new InvalidDefinition(
    `What job ${job.id} committed promised ${names.join(', ')}, and a new job promises them anew, under other keys: if they may happen once more, say \`effects: 'again'\`.`,
    { job: job.id },
  )
}

/** Its element is not checked: only what the whole array is made of has a schema. */
function isSegment({ job }: JobView, task: Task | undefined): boolean {
  return task !== undefined && job.spec.stages?.[task.stage]?.each != null
}

function elementOf(job: string, given: unknown): Payload | null {
  return given === undefined ? null : toJson(given, `The new element of job ${job}`, 'input')
}

function assertAttempt(attempt: number | undefined): void {
  if (attempt === undefined || (Number.isSafeInteger(attempt) && attempt >= 0)) return
  throw new InvalidDefinition(
    `\`attempt\` is the number of the attempt that you saw, as \`get\` has it, not ${String(attempt)}.`,
  )
}

function assertPriority(priority: number, what: string): void {
  if (Number.isInteger(priority) && Math.abs(priority) <= LIMITS.priority) return
  throw new InvalidDefinition(
    `\`priority\` of ${what} must be a whole number from -1,000 to 1,000, not ${String(priority)}.`,
  )
}

/** The definition of a job type, if this engine was given it. */
export type DefinitionOf = (type: string) => AnyJob | null

/**
 * An input that an operator gives a job in place of the one it was submitted with, as it is stored.
 *
 * It is of the version that the job was submitted under: that version is on record, and a worker
 * upgrades the input from there. So it goes through the same upgrades and the same schema here,
 * BEFORE it goes on record.
 */
export async function newInput(
  definition: AnyJob | null,
  version: number,
  given: unknown,
  job: string,
): Promise<Payload> {
  const text = toJson(given, `The new input of job ${job}`, 'input')
  if (definition !== null) await inputFor(definition, version, fromJson(text))
  return text
}
