/**
 * What a token may see and do that is held to jobs of some types, or in some queues. The catalogue says by which rule each
 * operation is held; what a request names is checked BEFORE anything is done, and what an answer holds BEFORE it is sent.
 *
 * A pipeline is in a queue if one of its stages is. A job that is not in the scope is answered as one that there is not.
 */
import type { AnyJob } from '../definition/index.ts'
import { isPipeline } from '../definition/index.ts'
import { UnknownJob } from '../engine/index.ts'
import type { Entry, JobSpec } from '../kernel/index.ts'
import type { OperationEvent } from '../operations/index.ts'
import type { Operation, OperationInput } from '../protocol/index.ts'
import { MOST_PER_PAGE } from '../protocol/index.ts'
import type { JobReport, Store } from '../store/index.ts'
import { RequestRefused } from './errors.ts'

/** Null: any. */
export interface Scope {
  readonly types: ReadonlySet<string> | null
  readonly queues: ReadonlySet<string> | null
}

export type HeldInput = Readonly<Record<string, unknown>>

export type RunOperation = (input: HeldInput) => Promise<unknown>

export interface ScopeParts {
  readonly store: Store
  /** By the name of a type; null: none is known. */
  readonly definitionOf: (type: string) => AnyJob | null
}

/** Jobs of a stream of entries whose scope is remembered. */
const MOST_REMEMBERED = 10_000
/** Pages of entries that are read for one answer, if those of the scope are rare. */
const MOST_PAGES = 10

/** Whether an operation can be held to a scope at all: some are about all jobs, or do not go by what the scope names. */
export function isHeldBy({ types, queues }: Scope, { scope, input }: Operation): boolean {
  const { properties = {} } = input
  switch (scope) {
    case 'none':
      return false
    case 'queue':
      return types === null
    case 'filter':
      return (
        (types === null || Object.hasOwn(properties, 'type')) &&
        (queues === null || Object.hasOwn(properties, 'queue'))
      )
    default:
      return true
  }
}

/** One for each request. */
export class ScopeGuard {
  readonly #scope: Scope
  readonly #parts: ScopeParts
  /** Whether each job that was asked about is in the scope; null: there is none. */
  readonly #jobs = new Map<string, boolean | null>()

  constructor(scope: Scope, parts: ScopeParts) {
    this.#scope = scope
    this.#parts = parts
  }

  /** The input as it is held to the scope. Throws if what it names is not in it. */
  async admit(operation: Operation, input: HeldInput): Promise<HeldInput> {
    switch (operation.scope) {
      case 'free':
        return input
      case 'job':
        await this.#assertJob(input['job'] as string)
        if (operation.name === 'jobs.reschedule') this.#assertQueue(input['queue'], '`queue`')
        return input
      case 'queue':
        this.#assertWholeQueue(input['queue'] as string)
        return input
      case 'filter':
        this.#assertQueue(input['toQueue'], '`toQueue`')
        return this.#filtered(operation, input)
      case 'own':
        return this.#admitOwn(operation, input)
      case 'none':
        throw refused(`${operation.name} is about all jobs, and this token is held to some.`)
    }
  }

  /** The answer without what is not in the scope. */
  async answer(operation: Operation, input: HeldInput, run: RunOperation): Promise<unknown> {
    if (operation.name === 'past.entries') return this.#ownEntries(input, run)
    const output = await run(input)
    switch (operation.name) {
      case 'store.claim': {
        // A request number of another worker's would be answered with what that one holds.
        const { claimed } = output as { claimed: { type: string; queue: string }[] }
        return { claimed: claimed.filter(({ type, queue }) => this.#covers(type, [queue])) }
      }
      case 'query.ended': {
        const { answer } = output as { answer: { job: string }[] }
        return { answer: await this.#onlyJobs(answer) }
      }
      case 'presence.heard':
        return { processes: [] }
      case 'jobs.explain':
        return this.#explained(output as Explained)
      default:
        return output
    }
  }

  /** Of the log: entries of jobs and queues of the scope. */
  async *events(
    operation: Operation,
    events: AsyncIterable<OperationEvent>,
  ): AsyncGenerator<OperationEvent, void> {
    for await (const event of events) {
      if (operation.name !== 'store.watch' || (await this.#hasEntry(event.data as Entry))) {
        yield event
      }
    }
  }

  /** Reads on until there are as many of the scope as were asked for. If they are rare it stops BEFORE, and says where. */
  async #ownEntries(input: HeldInput, run: RunOperation): Promise<EntriesPage> {
    const newest = input['newest'] === true
    const first = (await run(input)) as EntriesPage
    const wanted = first.entries.length
    let { next } = first
    let own = await this.#ownOf(first.entries)
    for (let page = 1; page < MOST_PAGES && next !== null && own.length < wanted; page++) {
      const behind = { ...input, limit: MOST_PER_PAGE, [newest ? 'through' : 'after']: next }
      const more = (await run(behind)) as EntriesPage
      const ownMore = await this.#ownOf(more.entries)
      own = newest ? [...ownMore, ...own] : [...own, ...ownMore]
      next = more.next
    }
    if (own.length <= wanted) return { entries: own, next }
    const entries = newest ? own.slice(-wanted) : own.slice(0, wanted)
    const last = (newest ? entries[0] : entries.at(-1)) as ReadEntry
    return { entries, next: newest ? last.position - 1 : last.position }
  }

  /** Many are about the same job, which is looked at once. */
  async #ownOf(entries: readonly ReadEntry[]): Promise<readonly ReadEntry[]> {
    const jobs = new Set(entries.flatMap(({ job }) => job ?? []))
    const own = await this.#onlyJobs(Array.from(jobs, (job) => ({ job })))
    const names = new Set(own.map(({ job }) => job))
    return entries.filter(({ job }) => job !== null && names.has(job))
  }

  async #admitOwn({ name }: Operation, input: HeldInput): Promise<HeldInput> {
    switch (name) {
      case 'jobs.submit':
        this.#assertSubmit(input as unknown as OperationInput<'jobs.submit'>)
        return input
      case 'store.execute':
        await this.#assertCommands(input['commands'] as readonly unknown[])
        return input
      case 'store.claim':
        for (const { type, queue } of (input as unknown as OperationInput<'store.claim'>)
          .channels) {
          if (!this.#covers(type, [queue])) throw this.#outside(`Job '${type}' in queue '${queue}'`)
        }
        return input
      case 'presence.say': {
        const reports = input['reports'] as readonly JobReport[]
        return { ...input, reports: await this.#onlyJobs(reports) }
      }
      // Their answers are held.
      case 'store.watch':
      case 'past.entries':
      case 'query.ended':
      case 'presence.heard':
        return input
      default:
        throw refused(`${name} is not for a token that is held to some jobs.`)
    }
  }

  #covers(type: string, queues: readonly string[]): boolean {
    const { types, queues: own } = this.#scope
    if (types !== null && !types.has(type)) return false
    return own === null || queues.some((queue) => own.has(queue))
  }

  /** What is malformed is refused by the kernel, or is in no queue. */
  #coversSpec(spec: unknown): boolean {
    const { type, policy, stages } = spec as { readonly [K in keyof JobSpec]?: unknown }
    const policies = isObject(policy) ? [policy] : listOf(stages).map((one) => one['policy'])
    const queues = policies.flatMap((one) => (isObject(one) ? one['queue'] : []))
    return typeof type === 'string' && this.#covers(type, queues as readonly string[])
  }

  async #hasJob(job: string): Promise<boolean | null> {
    const known = this.#jobs.get(job)
    if (known !== undefined) return known
    const view = await this.#parts.store.query({ kind: 'overview', job })
    const isIn = view === null ? null : this.#coversJob(view.job)
    this.#remember(job, isIn)
    return isIn
  }

  #coversJob({
    spec,
    task,
  }: {
    spec: JobSpec
    task: { policy: { queue: string } } | null
  }): boolean {
    // A plain job may have been moved to another queue since it was submitted.
    return task === null ? this.#coversSpec(spec) : this.#covers(spec.type, [task.policy.queue])
  }

  #remember(job: string, isIn: boolean | null): void {
    this.#jobs.set(job, isIn)
    if (this.#jobs.size <= MOST_REMEMBERED) return
    const [oldest] = this.#jobs.keys()
    this.#jobs.delete(oldest as string)
  }

  /** Of a job that there is not, the operation says so itself. */
  async #assertJob(job: string): Promise<void> {
    if ((await this.#hasJob(job)) === false) throw new UnknownJob(job)
  }

  async #onlyJobs<T extends { readonly job: string }>(all: readonly T[]): Promise<readonly T[]> {
    const isIn = await Promise.all(all.map(({ job }) => this.#hasJob(job)))
    return all.filter((_, i) => isIn[i] === true)
  }

  #assertQueue(queue: unknown, what: string): void {
    const { queues } = this.#scope
    if (queue === undefined || queue === null || queues === null) return
    if (!queues.has(queue as string)) throw this.#outside(`${what} '${queue as string}'`)
  }

  #assertWholeQueue(queue: string): void {
    if (this.#scope.types !== null) {
      throw refused('A queue has jobs of any type, and this token is held to some types.')
    }
    this.#assertQueue(queue, 'Queue')
  }

  #filtered({ name, input: { properties = {} } }: Operation, input: HeldInput): HeldInput {
    const { types, queues } = this.#scope
    const held = { ...input }
    for (const [property, own] of Object.entries({ type: types, queue: queues })) {
      if (own === null) continue
      if (!Object.hasOwn(properties, property)) {
        throw refused(`${name} does not go by \`${property}\`, and this token is held to some.`)
      }
      const given = input[property] ?? (own.size === 1 ? [...own][0] : undefined)
      if (given === undefined) {
        throw refused(`Say which \`${property}\`: this token is held to ${listed(own)}.`)
      }
      if (!own.has(given as string)) throw this.#outside(`\`${property}\` '${given as string}'`)
      held[property] = given
    }
    // What is meant by all is all of the scope.
    if (held['all'] === true) delete held['all']
    return held
  }

  #assertSubmit({ type, queue }: OperationInput<'jobs.submit'>): void {
    const definition = this.#parts.definitionOf(type)
    const queues =
      definition === null || !isPipeline(definition)
        ? [queue ?? definition?.policy.queue ?? 'default']
        : definition.stages.map(({ spec: { policy }, hasOwnQueue }) =>
            hasOwnQueue ? policy.queue : (queue ?? policy.queue),
          )
    if (!this.#covers(type, queues)) {
      throw this.#outside(`Job '${type}' in queue '${queues.join("', '")}'`)
    }
  }

  async #assertCommands(commands: readonly unknown[]): Promise<void> {
    for (const [i, command] of commands.entries()) {
      // The kernel answers to what is no command.
      if (typeof command !== 'object' || command === null) continue
      const fault = await this.#faultOf(command)
      if (fault !== null)
        throw refused(`\`commands[${i}]\` is not in the scope of this token: ${fault}.`)
    }
  }

  /** Null: all that it names is in the scope. */
  async #faultOf(command: CommandParts): Promise<string | null> {
    const { type, job, queue, schedule, toQueue } = command
    if (type === 'SubmitJob') return isObject(command.spec) ? this.#faultOfSpec(command.spec) : null
    if (schedule !== undefined) return 'it is about a schedule'
    if (typeof queue === 'string') {
      if (this.#scope.types !== null) return 'it is about a queue, which has jobs of any type'
      if (!(this.#scope.queues?.has(queue) ?? true)) return `queue '${queue}'`
    }
    if (typeof toQueue === 'string' && !(this.#scope.queues?.has(toQueue) ?? true)) {
      return `\`toQueue\` '${toQueue}'`
    }
    if (typeof job === 'string' && (await this.#hasJob(job)) === false) return `job ${job}`
    const made = specsIn(command).find((spec) => !this.#coversSpec(spec))
    return made === undefined ? null : 'a job that it makes'
  }

  async #faultOfSpec(spec: Readonly<Record<string, unknown>>): Promise<string | null> {
    if (!this.#coversSpec(spec)) return 'its type and queue'
    const { parent, caller, rerunOf } = spec
    const others = [parent, caller].map((one) => (isObject(one) ? one['job'] : null))
    for (const other of [...others, rerunOf]) {
      if (typeof other === 'string' && (await this.#hasJob(other)) === false) return `job ${other}`
    }
    return null
  }

  async #hasEntry(entry: Entry): Promise<boolean> {
    if (entry.type === 'JobSubmitted') {
      const isIn = this.#coversSpec(entry.spec)
      this.#remember(entry.job, isIn)
      return isIn
    }
    if ('job' in entry) {
      // It may have left its queue, or come into one of the scope.
      if (entry.type === 'TaskRescheduled') this.#jobs.delete(entry.job)
      return (await this.#hasJob(entry.job)) === true
    }
    if (!('queue' in entry)) return false
    return this.#scope.types === null && (this.#scope.queues?.has(entry.queue) ?? true)
  }

  /** What holds a place that the job waits for may be a job of any type. */
  async #explained(explained: Explained): Promise<Explained> {
    const reasons = await Promise.all(
      explained.reasons.map(async (one) => {
        const holders = await this.#onlyJobs(one.holders)
        const others = one.holders.filter((holder) => !holders.includes(holder))
        const message = others.reduce(
          (text, { job }) => text.replaceAll(job, 'another job'),
          one.message,
        )
        return { ...one, message, holders }
      }),
    )
    return { ...explained, reasons }
  }

  #outside(what: string): RequestRefused {
    const { types, queues } = this.#scope
    const held = [
      ...(types === null ? [] : [`types ${listed(types)}`]),
      ...(queues === null ? [] : [`queues ${listed(queues)}`]),
    ]
    return refused(`${what.slice(0, 600)} is not in the scope of this token: ${held.join(', ')}.`)
  }
}

interface CommandParts {
  readonly type?: unknown
  readonly job?: unknown
  readonly spec?: unknown
  readonly queue?: unknown
  readonly toQueue?: unknown
  readonly schedule?: unknown
  readonly effects?: unknown
  readonly waits?: unknown
  readonly wait?: unknown
}

interface ReadEntry {
  readonly position: number
  /** Null: it is about no job. */
  readonly job: string | null
}

interface EntriesPage {
  readonly entries: readonly ReadEntry[]
  /** Behind which it goes on, or, of the newest, up to which; null: there is no more. */
  readonly next: number | null
}

interface Explained {
  readonly reasons: readonly {
    readonly message: string
    readonly holders: readonly { readonly job: string }[]
  }[]
}

/** Of jobs that a command promises or calls. What is malformed is refused by the kernel. */
function specsIn({ effects, waits, wait }: CommandParts): readonly object[] {
  const children = listOf(effects).map((one) => one['child'])
  const callees = [...listOf(waits), ...listOf([wait])].map((one) => one['callee'])
  return [...children, ...callees].filter(isObject)
}

function listOf(given: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(given) ? given.filter(isObject) : []
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}

function listed(names: ReadonlySet<string>): string {
  return [...names].map((one) => `'${one}'`).join(', ')
}

function refused(detail: string): RequestRefused {
  return new RequestRefused('Forbidden', detail)
}
