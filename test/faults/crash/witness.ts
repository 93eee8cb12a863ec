/**
 * Keeps what was sent to a store and what it acknowledged, outlives the processes that did so,
 * and compares: with the history of the store, and with what the store says now.
 *
 * What it holds against a store:
 * - lost: it was acknowledged, and is not there.
 * - unknown: it is there, and nobody sent it, or not so.
 * - twice, backwards, changed: the history is not one that only grows.
 * - broken: folding the history breaks an invariant, or gives another state than the store's.
 */
import { crc32 } from 'node:zlib'
import type { Command, Entry, Job, Task, World } from '../../../src/kernel/index.ts'
import {
  copyJob,
  copyTask,
  countTallies,
  createWorld,
  fold,
  jobState,
  jobViolations,
  replay,
  sameContent,
  scan,
  tasksOf,
  worldViolations,
} from '../../../src/kernel/index.ts'
import type { PositionedEntry, Store } from '../../../src/store/store.ts'
import type { Dice } from '../../model/properties/dice.ts'
import { onRecord } from '../../support/specs.ts'
import {
  commandIdentity,
  entryIdentity,
  grantIdentity,
  refusalIdentity,
  saysTheSame,
} from './identity.ts'
import type { Asked, Line, Said } from './lines.ts'

interface Acknowledged {
  readonly command: Command
  readonly said: Said
}

/** So many problems tell enough. */
const MOST_PROBLEMS = 20
const REPEATS = 30
const OTHERS = 20

export class Witness {
  readonly #dice: Dice
  readonly #sent = new Map<string, Command[]>()
  /** Worker and request of each claim. */
  readonly #claims = new Set<string>()
  readonly #open = new Map<number, Asked>()
  /** Not yet compared with the history. */
  #fresh: { readonly identity: string; readonly said: Said | null }[] = []
  /** In the order of their answers. */
  readonly #acknowledged: Acknowledged[] = []
  readonly #world: World = createWorld()
  readonly #seen = new Map<string, Entry>()
  readonly #positions: number[] = []
  readonly #checksums: number[] = []
  readonly #ofJob = new Map<string, number[]>()
  #marks = 0
  #problems: string[] = []
  acknowledged = 0

  constructor(dice: Dice) {
    this.#dice = dice
  }

  get entries(): number {
    return this.#positions.length
  }

  /** What one process said, from its start to its end. */
  hear(lines: readonly Line[]): void {
    this.#open.clear()
    for (const line of lines) {
      if (line.kind === '>') this.#asked(line)
      else if (line.kind === '<') {
        const { commands, claim } = this.#open.get(line.call) as Asked
        commands?.forEach((command, i) => this.#answered(command, line.answers?.[i] as Said))
        for (const name of (claim && line.leases) ?? []) this.#owed(grantIdentity(...name), null)
      } else if (line.kind === '!') {
        this.#problem(`failed: ${line.error}`)
      }
    }
  }

  #asked(line: Asked): void {
    this.#open.set(line.call, line)
    if (line.claim !== undefined) this.#claims.add(`${line.claim.worker} ${line.claim.request}`)
    for (const command of line.commands ?? []) this.#send(command)
  }

  #send(command: Command): void {
    const identity = commandIdentity(command)
    const before = this.#sent.get(identity)
    if (before === undefined) this.#sent.set(identity, [command])
    else before.push(command)
    // Any report may be what is refused.
    if (!('worker' in command)) return
    const refusal = refusalIdentity(command)
    if (!this.#sent.has(refusal)) this.#sent.set(refusal, [])
  }

  #answered(command: Command, said: Said): void {
    const [verdict, value] = said
    if (verdict === 'rejected') return
    if (verdict === 'cancelled') return this.#owed(refusalIdentity(command), null)
    this.#acknowledged.push({ command, said })
    if (command.type === 'SubmitJob') {
      // Another one had the key.
      this.#owed(commandIdentity({ ...command, job: value as string }), null)
    } else {
      this.#owed(commandIdentity(command), command.type === 'RecordStep' ? said : null)
    }
  }

  #owed(identity: string, said: Said | null): void {
    this.acknowledged += 1
    this.#fresh.push({ identity, said })
  }

  /** A cancel of a job that is FAILED, or was and is forgotten, is answered without an entry. */
  #isOverAnyway(identity: string): boolean {
    const [type, id = ''] = identity.split(' ')
    if (type !== 'JobCancelled') return false
    const job = this.#world.jobs.get(id)
    if (job === undefined) return this.#seen.has(`JobForgotten ${id}`)
    return jobState(job, countTallies(this.#world, job), Infinity) === 'FAILED'
  }

  /** Everything that is wrong, after what was heard so far; `all` takes longer. */
  async check(store: Store, all: boolean): Promise<readonly string[]> {
    const touched = await this.#readOn(store)
    for (const { identity, said } of this.#fresh) {
      const entry = this.#seen.get(identity)
      if (entry === undefined && !this.#isOverAnyway(identity)) this.#problem(`lost: ${identity}`)
      else if (entry === undefined) continue
      else if (said !== null && (entry as { value?: unknown }).value !== said[1]) {
        this.#problem(`lost: the value of ${identity}`)
      }
    }
    this.#fresh = []
    await this.#compare(store, touched)
    await this.#repeat(store)
    const more = await this.#readOn(store)
    if (more.size > 0) this.#problem(`unknown: a repeat changed ${[...more].join(', ')}`)
    if (all) await this.#checkAll(store)
    return this.#problems
  }

  #problem(what: string): void {
    if (this.#problems.length < MOST_PROBLEMS) this.#problems.push(what)
  }

  /** Reads to a mark that it sets itself. The jobs that something happened to. */
  async #readOn(store: Store): Promise<Set<string>> {
    this.#marks += 1
    const mark: Command = {
      type: 'SetSchedule',
      schedule: 'witness',
      definition: String(this.#marks),
      seen: null,
      ...onRecord,
    }
    this.#send(mark)
    await store.execute([mark])
    const touched = new Set<string>()
    for await (const found of store.watch(this.#positions.at(-1) ?? 0)) {
      this.#see(found)
      const { entry } = found
      if ('job' in entry) touched.add(entry.job)
      if (entry.type === 'ScheduleSet' && entry.definition === mark.definition) break
    }
    return touched
  }

  #see({ position, entry }: PositionedEntry): void {
    const identity = entryIdentity(entry)
    if (position <= (this.#positions.at(-1) ?? 0)) this.#problem(`backwards: ${identity}`)
    if (this.#seen.has(identity)) this.#problem(`twice: ${identity}`)
    if (!this.#wasSent(entry, identity)) this.#problem(`unknown: ${JSON.stringify(entry)}`)
    this.#seen.set(identity, entry)
    this.#positions.push(position)
    this.#checksums.push(checksumOf(entry))
    try {
      fold(this.#world, entry)
    } catch (error) {
      this.#problem(`broken: ${String(error)}`)
    }
    if ('job' in entry) this.#note(entry, position)
  }

  #note(entry: Entry & { readonly job: string }, position: number): void {
    const job = this.#world.jobs.get(entry.job)
    if (entry.type === 'JobSubmitted') this.#ofJob.set(entry.job, [])
    if (entry.type === 'JobForgotten') this.#ofJob.delete(entry.job)
    this.#ofJob.get(entry.job)?.push(position)
    if (job === undefined) return
    if (entry.type === 'JobSubmitted') job.firstPosition = position
    job.lastPosition = position
  }

  #wasSent(entry: Entry, identity: string): boolean {
    if (entry.type === 'LeaseGranted') return this.#claims.has(`${entry.worker} ${entry.request}`)
    const sent = this.#sent.get(identity)
    if (entry.type === 'ReportRefused') return sent !== undefined
    return sent?.some((command) => saysTheSame(command, entry)) === true
  }

  get #now(): number {
    return this.#world.schedules.get('witness')?.time ?? 0
  }

  /** The jobs that something happened to, and some others. */
  async #compare(store: Store, touched: ReadonlySet<string>): Promise<void> {
    const ids = new Set(touched)
    const all = [...this.#ofJob.keys()]
    for (let i = 0; i < OTHERS && all.length > 0; i++) ids.add(this.#dice.pick(all))
    for (const id of ids) {
      const job = this.#world.jobs.get(id)
      if (job !== undefined) {
        const wrong = jobViolations(this.#world, job, countTallies(this.#world, job), this.#now)
        for (const { what } of wrong) this.#problem(`broken: ${id}: ${what}`)
      }
      await this.#compareJob(store, id, job)
    }
    for (const id of [...ids].slice(-5)) await this.#compareHistory(store, id)
    for (const schedule of this.#world.schedules.values()) {
      const found = await store.query({ kind: 'schedule', schedule: schedule.id })
      if (!sameContent(found, schedule)) this.#problem(`broken: schedule ${schedule.id}`)
    }
  }

  async #compareJob(store: Store, id: string, job: Job | undefined): Promise<void> {
    const view = await store.query({ kind: 'job', job: id })
    if (job === undefined || view === null) {
      if (job !== undefined) this.#problem(`lost: job ${id}`)
      if (view !== null) this.#problem(`unknown: job ${id}`)
      return
    }
    const tasks: Task[] = tasksOf(this.#world, job).map(copyTask)
    const found = view.stages.flatMap((one) => one.tasks)
    if (!sameContent(view.job, copyJob(job)) || !sameContent(found, tasks)) {
      this.#problem(`broken: job ${id} is not what its history says`)
    }
  }

  async #compareHistory(store: Store, id: string): Promise<void> {
    const history = await store.query({ kind: 'history', job: id, limit: 10_000 })
    // Old entries go when two checkpoints hold what they led to.
    const known = this.#ofJob.get(id) ?? []
    const found = history.map(({ position }) => position)
    if (!sameContent(found, found.length === 0 ? [] : known.slice(-found.length))) {
      this.#problem(`broken: the history of job ${id}`)
    }
  }

  /** What was acknowledged is acknowledged again. */
  async #repeat(store: Store): Promise<void> {
    const newest = this.#acknowledged.slice(-REPEATS)
    const older = newest.map(() => this.#dice.pick(this.#acknowledged))
    const again = [...newest, ...older].filter((one) => this.#isRepeatable(one))
    const answers = await Promise.all(again.map(({ command }) => store.execute([command])))
    answers.forEach(([answer], i) => {
      const { command, said } = again[i] as Acknowledged
      if (answer?.verdict === said[0] && answer.value === said[1]) return
      const now = answer?.rejection?.message ?? `${answer?.verdict} ${answer?.value}`
      this.#problem(`lost: ${commandIdentity(command)} was ${said.join(' ')}, now ${now}`)
    })
  }

  #isRepeatable({ command, said: [, value] }: Acknowledged): boolean {
    const { jobs } = this.#world
    switch (command.type) {
      case 'SubmitJob':
        if (value === command.job) return jobs.has(command.job)
        return jobs.has(value as string) && !command.spec.unique
      case 'ForgetJob':
        return !jobs.has(command.job)
      // A permission to act is not given again, and a setting may be another by now.
      case 'StartEffect':
      case 'SetSchedule':
        return false
      default:
        return 'job' in command && jobs.has(command.job)
    }
  }

  /** From the oldest entry that is there. */
  async #checkAll(store: Store): Promise<void> {
    const end = this.#positions.at(-1) as number
    const found: PositionedEntry[] = []
    for await (const one of store.watch(0)) {
      found.push(one)
      if (one.position >= end) break
    }
    const first = this.#positions.length - found.length
    const isSame = found.every(
      ({ position, entry }, i) =>
        position === this.#positions[first + i] && checksumOf(entry) === this.#checksums[first + i],
    )
    if (!isSame) this.#problem('changed: the history is not what it was')
    if (first === 0) {
      const world = replay(found.map(({ entry }) => entry))
      if (!sameContent([...world.jobs.keys()], [...this.#world.jobs.keys()])) {
        this.#problem('changed: the history leads to other jobs')
      }
    }
    const violations = worldViolations(this.#world, scan(this.#world), this.#now)
    for (const { what } of violations) this.#problem(`broken: ${what}`)
    await this.#checkList(store)
  }

  async #checkList(store: Store): Promise<void> {
    const ids: string[] = []
    for (let after: number | null = 0; after !== null;) {
      const page: { jobs: readonly { id: string }[]; next: number | null } = await store.query({
        kind: 'jobs',
        after,
        limit: 500,
      })
      for (const { id } of page.jobs) ids.push(id)
      after = page.next
    }
    if (!sameContent(ids, [...this.#world.jobs.keys()])) this.#problem('broken: the list of jobs')
    for (const id of ids) await this.#compareJob(store, id, this.#world.jobs.get(id))
  }
}

function checksumOf(entry: Entry): number {
  return crc32(JSON.stringify(entry))
}
