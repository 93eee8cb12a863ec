/**
 * The quarantine: jobs that were given up and wait for a person, many of them at a time.
 *
 * It does to each job what an operator's command does to one, with the attempt that it saw. So a
 * call may stop anywhere and be made again: what was done is no longer in quarantine, and what has
 * changed meanwhile is left alone. It goes through the jobs page by page, each once, and leaves jobs
 * alone that came in after it began.
 */
import {
  carriedFault,
  continuedInput,
  fromJson,
  InvalidDefinition,
} from '../../definition/index.ts'
import type { Command, Failure, LeaseEnd, Payload } from '../../kernel/index.ts'
import { fingerprintOf, whyGivenUp } from '../../kernel/index.ts'
import type { Timing } from '../../store/clock.ts'
import type { CommandBatcher } from '../../store/command-batcher.ts'
import type { Answer, DeadTask, JobsPage, QuarantinedJob, Store } from '../../store/index.ts'
import { actorOrDefault } from '../actor.ts'
import { currentInput } from '../current-input.ts'
import type { DefinitionOf } from './operator.ts'
import { newInput } from './operator.ts'
import type {
  QuarantineFilter,
  QuarantineListFilter,
  QuarantineSelection,
  RedriveOptions,
} from './quarantine-selection.ts'
import { assertFilter, assertSelection } from './quarantine-selection.ts'
import type { BulkReport } from './batch-run.ts'
import { BATCH as PAGE, BatchRun } from './batch-run.ts'
import { assertWhole } from '../whole-number.ts'

/** Jobs of one type that failed alike. */
export interface QuarantineGroup {
  readonly fingerprint: string
  readonly type: string
  readonly code: string
  /** Of one of them. */
  readonly message: string
  readonly count: number
  /** When the first, and the newest, of those that are there now was given up. */
  readonly oldest: Date
  readonly newest: Date
  /** Up to 5 of them. */
  readonly ids: readonly string[]
}

/** A job in quarantine. */
export interface QuarantineItem {
  readonly id: string
  readonly type: string
  /** Of the definition that it was submitted under. */
  readonly version: number
  /** Null for a pipeline. */
  readonly queue: string | null
  readonly group: string | null
  readonly tags: readonly string[]
  readonly submittedAt: Date
  /** When it was given up. */
  readonly since: Date
  /** Of a plain job; of a pipeline that of its first task which was given up. */
  readonly attempt: number
  readonly fingerprint: string
  readonly code: string
  readonly message: string
  /** Effects whose outcome a person has to say, by `resolveEffect`. A task with one is not redriven. */
  readonly held: readonly HeldEffectInfo[]
}

/** An effect whose outcome a person has to say: it may have happened, or not. */
export interface HeldEffectInfo {
  readonly name: string
  /** Of several in the commit with its name, which, from 1; null: it is the only one. */
  readonly nth: number | null
  /** Its place in the commit, from 0: what `resolveEffect` is given, with the next three. */
  readonly effect: number
  /** Its newest start, by the attempt that made it: given as `start`, no later one is hit. */
  readonly start: number
  /** The name of the stage, and the segment; null: of a plain job. */
  readonly stage: string | null
  readonly segment: number | null
  /** Since when a person has to say it. */
  readonly since: Date
  /** What it failed of; null: nothing was heard of its last start. */
  readonly error: Pick<Failure, 'code' | 'message'> | null
  /** How the lease ended under which it was started. */
  readonly endedBy: LeaseEnd | null
  /** That started it last; null: it is not known any more. */
  readonly worker: string | null
}

interface QuarantineParts {
  readonly store: Store
  readonly batcher: CommandBatcher
  readonly timing: Timing
  readonly definitionOf: DefinitionOf
  /** Aborted when the engine closes. */
  readonly closing: AbortSignal
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] }
interface FoundJob extends QuarantinedJob {
  readonly cause: Cause
}
/** The commands for one job, or why there are none. */
type Plan = readonly Command[] | string

const DEFAULT_LIMIT = 100
const SAMPLE_IDS = 5

export class Quarantine {
  readonly #parts: QuarantineParts

  constructor(parts: QuarantineParts) {
    this.#parts = parts
  }

  /** What went wrong, the most frequent first: jobs of one type that failed alike. */
  async groups(filter: QuarantineFilter = {}): Promise<readonly QuarantineGroup[]> {
    assertFilter(filter, 'groups')
    const groups = new Map<string, Mutable<QuarantineGroup> & { ids: string[] }>()
    for await (const page of this.#pages(filter)) {
      for (const { id, type, cause } of page) {
        const { fingerprint, code, message } = cause
        const since = new Date(cause.since)
        const name = `${fingerprint} ${type}`
        const group = groups.get(name)
        if (group === undefined) {
          const one = { fingerprint, type, code, message, count: 1, ids: [id] }
          groups.set(name, { ...one, oldest: since, newest: since })
          continue
        }
        group.count += 1
        if (since < group.oldest) group.oldest = since
        if (since > group.newest) group.newest = since
        if (group.ids.length < SAMPLE_IDS) group.ids.push(id)
      }
    }
    return [...groups.values()].toSorted((a, b) => b.count - a.count)
  }

  /** In order of submission, page by page. */
  async list(
    filter: QuarantineListFilter = {},
  ): Promise<{ readonly jobs: readonly QuarantineItem[]; readonly next: number | null }> {
    assertFilter(filter, 'list')
    const { limit = DEFAULT_LIMIT, after } = filter
    assertWhole(limit, 'The limit of a page')
    const jobs: QuarantineItem[] = []
    let next: number | null = after ?? 0
    while (next !== null && jobs.length < limit) {
      const page = await this.#page(filter, next, limit - jobs.length)
      jobs.push(...page.found.map(itemOf))
      next = page.next
    }
    return { jobs, next }
  }

  /** Each gets a fresh budget, and a new input if there is one. */
  async redrive(options: RedriveOptions): Promise<BulkReport> {
    assertSelection(options, 'redrive')
    return this.#forEach(options, (job) => this.#planRetries(job, options))
  }

  /** Each is given up for good: it FAILED. */
  async discard(selection: QuarantineSelection): Promise<BulkReport> {
    assertSelection(selection, 'discard')
    const record = actorOrDefault(selection, 'Discarded')
    return this.#forEach(selection, async ({ id, tasks, queue }) => {
      if (tasks.some(isHeld)) return HELD
      // A pipeline has no queue, and no attempt of its own.
      const attempt = queue === null ? null : (tasks[0]?.attempt ?? null)
      return [{ type: 'CancelJob', job: id, attempt, ...record }]
    })
  }

  #forEach(
    selection: QuarantineSelection,
    plan: (job: FoundJob) => Promise<Plan>,
  ): Promise<BulkReport> {
    const { timing, closing } = this.#parts
    const run = new BatchRun(timing, closing, selection, selection.onProgress)
    const leaveOut = (id: string, why: string): void => run.leaveOut(id, why)
    const { ids } = selection
    const pages = ids === undefined ? this.#pages(selection) : this.#named(ids, selection, leaveOut)
    return run.run(pages, async (batch, isDry) => {
      const plans = await Promise.all(batch.map((job) => plan(job)))
      return isDry ? plans.map(reasonOf) : this.#send(plans)
    })
  }

  /** For each plan: null, or why it was not carried out. */
  async #send(plans: readonly Plan[]): Promise<(string | null)[]> {
    const commands = plans.flatMap((plan) => (typeof plan === 'string' ? [] : plan))
    const answers = commands.length === 0 ? [] : await this.#parts.batcher.sendAll(commands)
    let at = 0
    return plans.map((plan) => {
      if (typeof plan === 'string') return plan
      const own: readonly Answer[] = answers.slice(at, at + plan.length)
      at += plan.length
      return own.find(({ rejection }) => rejection !== null)?.rejection?.message ?? null
    })
  }

  async #planRetries(job: FoundJob, options: RedriveOptions): Promise<Plan> {
    const { by, reason } = actorOrDefault(options, 'Redriven')
    const tasks = job.tasks.filter((task) => !isHeld(task))
    if (tasks.length === 0) return HELD
    try {
      const input = await this.#inputFor(job, options)
      return tasks.map(({ stage, segment, attempt }) => ({
        type: 'RetryTask',
        job: job.id,
        stage,
        segment,
        attempt,
        input,
        by,
        reason,
      }))
    } catch (error) {
      return error instanceof Error ? error.message : String(error)
    }
  }

  async #inputFor(job: FoundJob, options: RedriveOptions): Promise<Payload | null> {
    const { input } = options
    if (input === undefined) return null
    if (job.queue === null) return Promise.reject(new InvalidDefinition(PIPELINE))
    const { store, definitionOf } = this.#parts
    const definition = options.definition ?? definitionOf(job.type)
    if (typeof input !== 'function') return newInput(definition, job.version, input, job.id)
    const view = await store.query({ kind: 'job', job: job.id })
    const old = view === null ? { input: 'null', version: job.version } : currentInput(view.job)
    const given: unknown = await input(fromJson(old.input), itemOf(job))
    const text = await newInput(definition, old.version, given, job.id)
    const fault = carriedFault(old.input, text, `The input of job ${job.id}`)
    if (fault !== null) throw new InvalidDefinition(fault)
    return continuedInput(text, old.version, job.version)
  }

  /** All that match the filter, and are there now. */
  async *#pages(filter: QuarantineFilter): AsyncIterable<readonly FoundJob[]> {
    let began: number | null = null
    for await (const page of this.#all(filter)) {
      const since = (began ??= page.now)
      yield page.found.filter(({ cause }) => cause.since <= since)
    }
  }

  /** Of a fingerprint, plain jobs come from the list by their error, which has no pipelines: of these, all are looked at. */
  async *#all(filter: QuarantineFilter): AsyncIterable<Page> {
    const { fingerprint } = filter
    if (fingerprint !== undefined) yield* this.#listedBy(fingerprint, filter)
    const ofPipelines = fingerprint === undefined ? {} : { pipelines: true as const }
    let next: number | null = 0
    while (next !== null) {
      const page: Page = await this.#page({ ...filter, ...ofPipelines }, next, PAGE)
      yield page
      next = page.next
    }
  }

  async *#listedBy(error: string, filter: QuarantineFilter): AsyncIterable<Page> {
    const asked = { kind: 'jobs', state: 'QUARANTINED', error, ...storeFilter(filter) } as const
    let next: number | null = 0
    while (next !== null) {
      const list: JobsPage = await this.#parts.store.query({ ...asked, after: next, limit: PAGE })
      const jobs = list.jobs.map(({ id }) => id)
      if (jobs.length > 0) yield this.#page({ ...filter, jobs }, 0, PAGE)
      next = list.next
    }
  }

  async *#named(
    ids: readonly string[],
    filter: QuarantineFilter,
    leaveOut: (id: string, why: string) => void,
  ): AsyncIterable<readonly FoundJob[]> {
    const all = [...new Set(ids)]
    for (let at = 0; at < all.length; at += PAGE) {
      const jobs = all.slice(at, at + PAGE)
      const { found } = await this.#page({ ...filter, jobs }, 0, PAGE)
      const here = new Set(found.map(({ id }) => id))
      for (const id of jobs) if (!here.has(id)) leaveOut(id, NOT_HERE)
      yield found
    }
  }

  async #page(filter: PageFilter, after: number, limit: number): Promise<Page> {
    const { code, fingerprint } = filter
    const asked = storeFilter(filter)
    const page = await this.#parts.store.query({ kind: 'quarantine', after, limit, ...asked })
    const found = page.jobs.map((job) => ({ ...job, cause: causeOf(job.tasks) }))
    return {
      found: found.filter(
        ({ cause }) =>
          (code ?? cause.code) === cause.code &&
          (fingerprint ?? cause.fingerprint) === cause.fingerprint,
      ),
      next: page.next,
      now: page.now,
    }
  }
}

interface PageFilter extends QuarantineListFilter {
  readonly jobs?: readonly string[]
  readonly pipelines?: true
}

/** What the store knows of it. */
function storeFilter({
  type,
  queue,
  tag,
  group,
  jobs,
  heldEffects,
  pipelines,
}: PageFilter): Pick<
  PageFilter,
  'type' | 'queue' | 'tag' | 'group' | 'jobs' | 'heldEffects' | 'pipelines'
> {
  const asked = { type, queue, tag, group, jobs, heldEffects, pipelines }
  return Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== undefined))
}

interface Page {
  readonly found: readonly FoundJob[]
  readonly next: number | null
  readonly now: number
}

const HELD =
  'Its commit stands, and what became of an effect is for a person to say: resolveEffect().'
const NOT_HERE = 'It is not in quarantine, or the filter does not let it through.'
const PIPELINE = 'The input of a pipeline is not edited here: redrive it as it is.'

function isHeld({ held }: DeadTask): boolean {
  return held.length > 0
}

function heldEffectsOf(task: DeadTask): HeldEffectInfo[] {
  const { stageName: stage, segment, since, endedBy } = task
  return task.held.map(({ name, nth, effect, start, error, worker }) => ({
    name,
    nth,
    effect,
    start,
    stage,
    segment: stage === null ? null : segment,
    since: new Date(since),
    error: error === null ? null : { code: error.code, message: error.message },
    endedBy,
    worker,
  }))
}

function reasonOf(plan: Plan): string | null {
  return typeof plan === 'string' ? plan : null
}

function itemOf({ cause, tasks, submittedAt, ...job }: FoundJob): QuarantineItem {
  const { fingerprint, code, message, since } = cause
  return {
    ...job,
    submittedAt: new Date(submittedAt),
    since: new Date(since),
    attempt: tasks[0]?.attempt ?? 0,
    fingerprint,
    code,
    message,
    held: tasks.flatMap(heldEffectsOf),
  }
}

interface Cause {
  readonly fingerprint: string
  readonly code: string
  readonly message: string
  /** When the newest of its tasks was given up. */
  readonly since: number
}

/** For a list: the whole of it is in the job's info. */
const MESSAGE_CHARS = 500

const NO_TASK = { error: null, endedBy: null, held: [] }

/** Of the first of all tasks that keep a job there. */
function causeOf(tasks: readonly DeadTask[]): Cause {
  const why = whyGivenUp(tasks[0] ?? NO_TASK)
  const { code, message } = why
  return {
    fingerprint: fingerprintOf(why),
    code,
    message: message.length > MESSAGE_CHARS ? `${message.slice(0, MESSAGE_CHARS)}…` : message,
    since: tasks.reduce((newest, { since }) => Math.max(newest, since), 0),
  }
}
