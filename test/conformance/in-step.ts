/**
 * A store beside a bare ledger, command by command: it gives the same answers and holds the same
 * state.
 */
import { expect } from 'vitest'
import type { Command, Entry, Job, Task } from '../../src/kernel/index.ts'
import {
  copyJob,
  copyTask,
  errorFingerprint,
  hasHeldEffects,
  inputOf,
  jobState,
  tasksOf,
} from '../../src/kernel/index.ts'
import type {
  ChannelName,
  JobOverview,
  JobsPage,
  JobSummary,
  LimitsPage,
  QueryOf,
  Store,
} from '../../src/store/index.ts'
import { Ledger } from '../../src/store/index.ts'
import { COUNTED_STATES, countedJob, CountTable } from '../../src/store/state/job-counts.ts'
import { countsAnswer, groupsSource, totalsSource } from '../../src/store/views/count-views.ts'
import { isInTime, listing, PageOfJobs, summaryIf } from '../../src/store/views/job-pages.ts'
import { causeOf } from '../../src/store/views/failure-cause.ts'
import { ledgerQueries } from '../../src/store/views/ledger-queries.ts'
import type { Dice } from '../model/properties/dice.ts'
import { plausibleCommand } from '../model/properties/plausible.ts'
import { LIMITS } from '../model/properties/random-specs.ts'

type ListAsked = Omit<QueryOf<'jobs'>, 'kind' | 'limit' | 'after' | 'newest'>
type CountsAsked = Omit<QueryOf<'counts'>, 'kind' | 'limit'>

const CHANNELS: readonly ChannelName[] = ['left', 'right'].flatMap((queue) =>
  ['red', 'blue'].map((type) => ({ queue, type, stage: null })),
)

export abstract class InStep {
  readonly model = new Ledger()
  readonly #expected = ledgerQueries(this.model)
  now = 1_000
  abstract readonly store: Store
  quarantined = 0
  held = 0
  counted = 0
  lists = 0

  async step(dice: Dice, count: number): Promise<void> {
    if (dice.chance(30)) this.now += dice.below(12)
    if (dice.chance(5)) return this.claim(dice, count)
    const command = tagged(plausibleCommand(dice, this.model.world, this.now, count))
    const [answer] = await this.store.execute([command])
    const { verdict, value, rejection } = this.model.perform(command, this.now)
    expect(answer).toEqual({ verdict, value, rejection })
  }

  /** Which of two equal tasks comes first may differ after a checkpoint: the model follows. */
  async claim(dice: Dice, request: number): Promise<void> {
    const worker = dice.pick(['w1', 'w2'])
    const started = dice.chance(50)
    const leases = await this.store.claim({ worker, request, channels: CHANNELS, max: 2, started })
    for (const { job, stage, segment, lease } of leases) {
      const grant = { type: 'GrantLease', job, stage, segment, worker, request, started } as const
      const { verdict, value } = this.model.perform(grant, this.now)
      expect([verdict, value]).toEqual(['committed', lease])
    }
  }

  /** Of a plain job, too: it is asked about in the same ways. */
  async compareStages(job: Job): Promise<void> {
    const { id } = job
    const { model, store } = this
    const view = await store.query({ kind: 'job', job: id })
    const stages = model.world.tasks.get(id) ?? [[job.task as Task]]
    const tasks = stages.map((stage) => (stage ?? []).map(copyTask))
    expect(view?.stages.map((stage) => stage.tasks)).toEqual(tasks)
    const anywhere = { firstPosition: 0, lastPosition: 0 }
    const overview = { kind: 'overview', job: id } as const
    const seen = await store.query(overview)
    expect(summed(seen)).toEqual(summed(await this.#expected.overview(overview)))
    const outcome = { kind: 'outcome', job: id } as const
    const how = await store.query(outcome)
    expect({ ...how, ...anywhere }).toEqual({
      ...(await this.#expected.outcome(outcome)),
      ...anywhere,
    })
    expect(await store.query({ kind: 'input', job: id })).toBe(inputOf(job))
    for (const [stage, all] of tasks.entries()) {
      const outputs = all.flatMap(({ segment, output }) =>
        output === null ? [] : [{ segment, output }],
      )
      const query = { kind: 'outputs', job: id, stage, after: -1, limit: 1_000 } as const
      expect(await store.query(query)).toEqual({ outputs, next: null })
      for (const [segment, task] of all.entries()) {
        expect(await store.query({ kind: 'task', job: id, stage, segment })).toEqual(task)
        await this.#compareStreams(task)
      }
    }
  }

  /** Against a recount, and not against the counters of the model, which are under test, too. */
  /** Which bounds are at hand is for each store. */
  async #compareLimits(): Promise<void> {
    const query = { kind: 'limits', limit: 99 } as const
    expect(usedLimits(await this.store.query(query))).toEqual(
      usedLimits(await this.#expected.limits(query)),
    )
  }

  async #compareCounts(): Promise<void> {
    // Pipelines are counted again when upkeep looks at them.
    await this.store.query({ kind: 'upkeep', limit: 1_000, forgets: false })
    const counts = recount(this.model)
    const filters: CountsAsked[] = [
      {},
      { type: 'red' },
      { queue: 'left' },
      { type: 'blue', queue: 'right' },
      { tag: 'odd' },
    ]
    const asked: CountsAsked[] = [...filters]
    for (const filter of filters) {
      asked.push({ ...filter, by: 'type' }, { ...filter, by: 'queue' })
      if ('tag' in filter) continue
      asked.push({ ...filter, by: 'tag' }, { ...filter, by: 'error' })
      asked.push({ ...filter, heldEffects: true }, { ...filter, heldEffects: true, by: 'type' })
    }
    for (const one of asked) {
      const query = { kind: 'counts', limit: 1_000, ...one } as const
      const [totals, groups] = [totalsSource(query), groupsSource(query)]
      const expected = countsAnswer(query, counts.from(totals), counts.from(groups))
      const found = await this.store.query(query)
      expect({ asked: one, ...found }).toEqual({ asked: one, ...expected })
      this.counted += found.groups.length
    }
    expect(await this.store.query({ kind: 'queues' })).toEqual(
      await this.#expected.queues({ kind: 'queues' }),
    )
  }

  /** A few filters at a time: what is listed by them is what they leave of all jobs, in either order. */
  async #compareLists(all: readonly JobSummary[]): Promise<void> {
    const errors = await this.store.query({ kind: 'counts', by: 'error', limit: 10 })
    const filters: readonly ListAsked[] = [
      {},
      { type: 'red' },
      { type: 'absent' },
      { queue: 'left' },
      { tag: 'odd' },
      { tag: 'absent' },
      { worker: 'w1' },
      { type: 'blue', tag: 'odd', state: 'QUEUED' },
      { submittedFrom: this.now - 100, submittedBefore: this.now - 10 },
      { endedFrom: this.now - 300, endedBefore: this.now - 10 },
      { heldEffects: true },
      { heldEffects: true, type: 'red' },
      ...COUNTED_STATES.map((state) => ({ state })),
      ...errors.groups.map(({ name }) => ({ error: name as string })),
    ]
    for (let i = 0; i < 4; i++) {
      const filter = filters[this.lists++ % filters.length] as ListAsked
      const expected = this.#idsIn(all, filter)
      for (const newest of [false, true]) {
        const order = newest ? expected.toReversed() : expected
        expect({ filter, ids: await this.#listed(filter, newest) }).toEqual({ filter, ids: order })
      }
    }
  }

  /** Jobs with an effect whose outcome a person has to say, and which effects these are. */
  async #compareHeld(all: readonly JobSummary[]): Promise<void> {
    const { world } = this.model
    const expected = all.flatMap(({ id }) => {
      const tasks = tasksOf(world, world.jobs.get(id) as Job)
      const held = tasks.flatMap(({ stage, segment, state, commit }) => {
        const effects = state === 'DEAD' ? (commit?.effects ?? []) : []
        return effects.flatMap((one, i) => (one.state === 'HELD' ? `${stage}/${segment}/${i}` : []))
      })
      return held.length === 0 ? [] : { id, held }
    })
    const asked = { heldEffects: true, limit: 1_000 } as const
    const { jobs } = await this.store.query({ kind: 'quarantine', ...asked })
    const found = jobs.map(({ id, tasks }) => ({
      id,
      held: tasks.flatMap(({ stage, segment, held }) =>
        held.map(({ effect }) => `${stage}/${segment}/${effect}`),
      ),
    }))
    expect(found).toEqual(expected)
    const listed = await this.store.query({ kind: 'jobs', ...asked })
    expect(listed.jobs.map(({ id }) => id)).toEqual(expected.map(({ id }) => id))
    this.held += expected.length
  }

  async #listed(filter: ListAsked, newest: boolean): Promise<string[]> {
    const ids: string[] = []
    for (let next: number | null | undefined; next !== null;) {
      const after: number | undefined = next
      const page: JobsPage = await this.store.query({
        kind: 'jobs',
        limit: 7,
        ...filter,
        ...(newest ? { newest } : {}),
        ...(after === undefined ? {} : { after }),
      })
      ids.push(...page.jobs.map(({ id }) => id))
      next = page.next
    }
    return ids
  }

  #idsIn(all: readonly JobSummary[], filter: ListAsked): string[] {
    const { world } = this.model
    const { worker, error, ...others } = filter
    const isHeld = (id: string): boolean =>
      this.model.leases.all().some(({ job, lease }) => job === id && lease?.worker === worker)
    return all.flatMap(({ id, endedAt }) => {
      const job = world.jobs.get(id) as Job
      const isMeant =
        (worker === undefined || isHeld(id)) &&
        (error === undefined || errorFingerprint(job) === error) &&
        isInTime({ job, endedAt }, others) &&
        summaryIf(listing(job, this.model.tallies(job), this.model.now), others) !== null
      return isMeant ? [id] : []
    })
  }

  /** The ledger knows how long they are; the values are there as long as the history of the job is. */
  async #compareStreams({ job, stage, segment, streams }: Task): Promise<void> {
    if (streams.length === 0) return
    const history = await this.store.query({ kind: 'history', job, limit: 10_000 })
    const isOwn = (entry: Entry): boolean =>
      'segment' in entry && entry.stage === stage && entry.segment === segment
    for (const { name, next } of streams) {
      const at = { job, stage, segment, name }
      const page = await this.store.query({ kind: 'stream', ...at, from: 0, limit: 10_000 })
      const pieces = history.flatMap(({ entry }) =>
        entry.type === 'StreamAppended' && isOwn(entry) && entry.name === name
          ? [{ offset: entry.offset, attempt: entry.lease, at: entry.at, values: entry.values }]
          : [],
      )
      expect(page).toEqual({ pieces, next, length: next })
    }
  }

  async compare(): Promise<void> {
    const { world } = this.model
    this.model.tick(this.now)
    const page = await this.store.query({ kind: 'jobs', limit: 1_000 })
    const expected = new PageOfJobs({ kind: 'jobs', limit: 1_000 })
    for (const job of world.jobs.values()) {
      expected.add(listing(job, this.model.tallies(job), this.model.now))
    }
    expect(byId(page)).toEqual(byId(expected.page))
    // Those in quarantine are found by a list of their own.
    const state = 'QUARANTINED'
    const quarantined = await this.store.query({ kind: 'jobs', limit: 1_000, state })
    expect(quarantined.jobs).toEqual(page.jobs.filter((job) => job.state === state))
    const { jobs } = await this.store.query({ kind: 'quarantine', limit: 1_000 })
    expect(jobs.map(({ id }) => id)).toEqual(quarantined.jobs.map(({ id }) => id))
    const ofPipelines = { kind: 'quarantine', pipelines: true, limit: 1_000 } as const
    const pipelines = (await this.store.query(ofPipelines)).jobs.map(({ id }) => id)
    expect(pipelines).toEqual(jobs.flatMap(({ id, queue }) => (queue === null ? [id] : [])))
    this.quarantined += jobs.length
    await this.#compareHeld(page.jobs)
    for (const job of world.jobs.values()) {
      const view = await this.store.query({ kind: 'job', job: job.id })
      expect({ ...view?.job, firstPosition: 0, lastPosition: 0 }).toEqual(bare(job))
      await this.compareStages(job)
      if (job.task === null) continue
      const { output, error } = job.task
      expect(await this.store.query({ kind: 'outcome', job: job.id })).toEqual({
        type: job.spec.type,
        state: view?.state,
        output,
        cause: causeOf(job.task),
        error,
        cancelled: job.cancelled,
        erased: job.erased,
        held: (view?.state === 'QUARANTINED' ? (job.task?.commit?.effects ?? []) : [])
          .filter((effect) => effect.state === 'HELD')
          .map(({ promise }) => promise.name),
        endedBy: job.task?.leases.at(-1)?.endedBy ?? null,
        at: null,
        last: null,
        lastPosition: view?.job.lastPosition,
      })
    }
    for (const queue of ['left', 'right', 'default']) {
      const query = { kind: 'queue', queue } as const
      expect(await this.store.query(query)).toEqual(await this.#expected.queue(query))
    }
    await this.#compareCounts()
    await this.#compareLists(page.jobs)
    for (const { key } of LIMITS) {
      const query = { kind: 'limit', key } as const
      expect(await this.store.query(query)).toEqual(await this.#expected.limit(query))
    }
    await this.#compareLimits()
    for (const [id, schedule] of world.schedules) {
      expect(await this.store.query({ kind: 'schedule', schedule: id })).toEqual(schedule)
    }
  }
}

function usedLimits({ limits, next }: LimitsPage): unknown {
  return [limits.map(({ key, held, fullAt }) => [key, held, fullAt]), next]
}

/** By its id, so that a repeat asks for the same. */
function tagged(command: Command): Command {
  if (command.type !== 'SubmitJob' || command.job.length % 2 === 0) return command
  return { ...command, spec: { ...command.spec, tags: ['odd', `ends with ${command.job.at(-1)}`] } }
}

/** Every job counted one by one. */
function recount(model: Ledger): CountTable {
  const counts = new CountTable()
  for (const job of model.world.jobs.values()) {
    const tallies = model.tallies(job)
    const counted = countedJob(job, hasHeldEffects(job, tallies))
    counts.addJob(counted, jobState(job, tallies, model.now), 1)
  }
  return counts
}

function byId({ jobs }: JobsPage): JobSummary[] {
  return jobs.toSorted((a, b) => (a.id < b.id ? -1 : 1))
}

/** A tally that was followed remembers the end of a task that came back; one that was counted does not. */
function summed(seen: JobOverview | null): unknown {
  return {
    job: { ...seen?.job, firstPosition: 0, lastPosition: 0 },
    state: seen?.state,
    executions: seen?.executions,
    startedAt: seen?.startedAt,
    updatedAt: seen?.updatedAt,
    attempt: seen?.attempt,
    retries: seen?.retries,
    stages: seen?.stages.map((stage) => ({ ...stage, tally: { ...stage.tally, endedAt: 0 } })),
  }
}

function bare(job: Job): Job {
  return copyJob(job)
}
