/**
 * Says to other processes what this one does, hears what they say, and has the leases of dead ones
 * revoked.
 *
 * - idle: this process has no workers, and nothing wants notices. It hears only when it is asked, and says nothing, unless
 *   it wrote something: then it says every ten seconds what it wrote. Once, when it is opened, it asks for sessions that
 *   are known to be dead.
 * - at work: twice a second it asks which sessions are dead, and whether there is something to say. What is
 *   new (a worker more or less, one that drains, a handler that fell silent, progress and lines) is said within a
 *   second, and at most once a second. How many places are taken and what is held changes with each job: it goes
 *   along with what is new, and otherwise is said every ten seconds. The others are heard each second only if
 *   this process wants notices.
 * - closed.
 *
 * What others ask of the workers here is read along with what it asks and says anyway, and done at the end of a turn.
 *
 * Presence proposes, as an operator would: `RevokeLease` names the extension that was seen, and the kernel
 * decides. Nothing here can fail in a way that matters: what cannot be said is said a second later.
 */
import { hostname } from 'node:os'
import type { Command } from '../../kernel/index.ts'
import type { Timer, Timing } from '../../store/clock.ts'
import type { CommandBatcher } from '../../store/command-batcher.ts'
import type { HeardProcess, JobReport, Presence, Store, Totals } from '../../store/index.ts'
import { totalsOf } from '../../store/index.ts'
import type { StalledTask, Worker } from '../../worker/index.ts'
import type { SoftState } from '../inspect/soft-state.ts'
import type { ProcessState, WorkerInfo } from '../inspect/worker-info.ts'
import { workersOf } from '../inspect/worker-info.ts'
import { UnknownWorker } from '../errors.ts'
import type { Actor } from '../actor.ts'
import { processStateIn, reportIn } from './heard-text.ts'
import type { WorkerRequest } from './worker-request.ts'
import { follow, requestIn } from './worker-request.ts'
import type { RemoteProcesses } from './remote-processes.ts'

/** The version of Pawl, as the package says it. */
export const PAWL_VERSION = '0.1.0'

const TURN_MS = 500
const SAY_MS = 1_000
/** So old may be what is known elsewhere of a worker's places and leases, and of what its process wrote. `HEARD_WITHIN_MS` is three times that. */
export const BEAT_MS = 10_000
/** A timer may be so early. */
const EARLY_MS = 50
/** What was heard is not read again within this time. */
const FRESH_MS = 1_000
/** A handler whose job was cancelled, and erased, may go on saying something for so long. */
const LATE_MS = 60_000
/** Jobs whose reports are said at once; others come with the next turn. */
const MOST_REPORTS_SAID = 200
/** As which actor presence is on record. */
const BY = 'presence'
/** Commands of one batch. */
const BATCH = 512

interface PresenceLoopParts {
  /** Null: nothing is said, and only this process is known. */
  readonly presence: Presence | null
  readonly store: Store
  readonly batcher: CommandBatcher
  readonly timing: Timing
  /** The authority's time. */
  readonly now: () => number
  readonly workers: ReadonlySet<Worker>
  readonly softState: SoftState
  /** A handler of another process fell silent. */
  readonly onStalled: (task: StalledTask) => void
  /** Whether anything wants to know which handlers of other processes fall silent. */
  readonly wantsStalled: () => boolean
}

/** Another process, as it was heard last. */
interface OtherProcess {
  readonly heardAt: number
  readonly state: ProcessState
}

/** What a process wrote, as it said itself. */
export interface SaidTotals {
  /** Of the process: never used before. */
  readonly name: string
  /** When it said so: the authority's time. */
  readonly at: number
  readonly totals: Totals
}

export class PresenceLoop {
  readonly #parts: PresenceLoopParts
  readonly #startedAt = new WeakMap<Worker, number>()
  readonly #remote = new Set<RemoteProcesses>()
  #others: ReadonlyMap<string, OtherProcess> = new Map()
  #heardAt = -Infinity
  readonly #toldStalled = new Set<string>()
  /** What was new when it was said last; null: this process said nothing, or that it has no workers. */
  #said: string | null = null
  /** Of own workers, what others asked and was done: what was asked once is done once. */
  readonly #followed = new WeakMap<Worker, string>()
  /** Of own workers: when that was asked which was done last. What was asked before is not done any more. */
  readonly #doneAt = new WeakMap<Worker, number>()
  #askedSeen: ReadonlyMap<string, string> | null = null
  #saidAt = -Infinity
  /** From here on it says what it does though nothing is new. */
  #beatFrom = -Infinity
  #timer: Timer | null = null
  #running: Promise<void> | null = null
  #hasJudged = false
  #isClosed = false

  constructor(parts: PresenceLoopParts) {
    this.#parts = parts
    if (parts.presence !== null) this.#schedule(0)
  }

  /** This process has a worker more. */
  began(worker: Worker): void {
    this.#startedAt.set(worker, this.#parts.now())
    if (this.#parts.presence !== null && this.#running === null) this.#schedule(0)
  }

  /** From now on something wants to know which handlers fall silent. */
  listen(): void {
    if (this.#parts.presence !== null && this.#running === null) this.#schedule(0)
  }

  /** Of all processes, those that are known to be dead left out. */
  async workers(): Promise<readonly WorkerInfo[]> {
    // If they cannot be asked, what was heard last is what is known.
    const heard = await this.#heard(true)
    if (heard !== null) this.#noteHeard(heard)
    return this.knownWorkers()
  }

  /** As they were heard last. */
  knownWorkers(): readonly WorkerInfo[] {
    const here = workersOf(this.#ownState(), this.#parts.now(), true)
    const others = [...this.#others.values()].flatMap(({ state, heardAt }) => {
      return workersOf(state, heardAt, false)
    })
    return [...here, ...others]
  }

  /** Tasks of one job, or of all, whose handlers say nothing, in any process. */
  async stalledTasks(job?: string): Promise<readonly StalledTask[]> {
    await this.refresh()
    return this.knownStalled().filter((task) => job === undefined || task.job === job)
  }

  knownStalled(): readonly StalledTask[] {
    const others = [...this.#others.values()].flatMap(({ state }) => state.stalled)
    return [...this.#parts.softState.stalledTasks(), ...others]
  }

  /** What the handlers of a job said last, in any process. */
  async reportsOf(job: string): Promise<ReturnType<SoftState['reportsOf']>> {
    const own = this.#parts.softState.reportsOf(job)
    const said =
      this.#remoteReport(job) ?? (await this.#parts.presence?.reportOf(job).catch(() => null))
    if (said == null || said.saidAt <= own.saidAt) return own
    if (said.text === '') {
      // Another process erased the job: this one must not say it again either.
      this.#parts.softState.forget(job, said.saidAt)
      return { progress: null, lines: [], saidAt: said.saidAt }
    }
    const report = reportIn(said.text)
    return report === null ? own : { ...report, saidAt: said.saidAt }
  }

  /** What the handlers of a job said is gone, as far as it was said to others. */
  async forgetReports(job: string): Promise<void> {
    const until = this.#parts.now() + LATE_MS
    this.#parts.softState.forget(job, until)
    for (const remote of this.#remote) remote.forgetReport(job, until)
    await this.#parts.presence?.forgetReport(job, until)
  }

  /** Hears the others, unless that was a moment ago. */
  async refresh(): Promise<void> {
    const { presence, timing } = this.#parts
    if (presence === null && this.#remote.size === 0) return
    if (timing.now() - this.#heardAt < FRESH_MS) return
    this.#heardAt = timing.now()
    await this.#hearNow()
  }

  async #hearNow(): Promise<void> {
    const heard = await this.#heard(false)
    if (heard !== null) this.#noteHeard(heard)
  }

  /** Workers of these are shown, too. Gives its end. */
  addRemote(remote: RemoteProcesses): () => void {
    this.#remote.add(remote)
    return () => void this.#remote.delete(remote)
  }

  /** Asks a worker of any process to take nothing more, or to take jobs again. Throws if none is known by that name. */
  async ask(worker: string, isDraining: boolean, actor: Required<Actor>): Promise<void> {
    const { now, workers } = this.#parts
    const request: WorkerRequest = { isDraining, at: Math.floor(now()), ...actor }
    const text = JSON.stringify(request)
    const own = [...workers].find(({ name }) => name === worker)
    if (own !== undefined) return this.#followHere(own, text)
    await this.#hearNow()
    for (const process of this.#others.keys()) {
      if (!this.#hasOther(process, worker)) continue
      if (await this.askProcess(process, worker, text)) return
    }
    throw new UnknownWorker(worker)
  }

  /** False: no such process is known here, or it has no such worker. */
  async askProcess(process: string, worker: string, text: string): Promise<boolean> {
    const { presence, workers } = this.#parts
    if (process === this.#name()) {
      const own = [...workers].find(({ name }) => name === worker)
      if (own !== undefined) this.#followHere(own, text)
      return own !== undefined
    }
    if (!this.#hasOther(process, worker)) await this.#hearNow()
    if (!this.#hasOther(process, worker)) return false
    for (const remote of this.#remote) if (remote.ask(process, worker, text)) return true
    return (await presence?.ask(process, worker, text)) ?? false
  }

  /** As it was heard last. */
  #hasOther(process: string, worker: string): boolean {
    const { workers = [] } = this.#others.get(process)?.state ?? {}
    return workers.some(({ id }) => id === worker)
  }

  /** What this process says of its workers; null: it has none. */
  ownProcess(): HeardProcess | null {
    const { workers, now } = this.#parts
    if (workers.size === 0) return null
    return { name: this.#name(), heardAt: now(), text: JSON.stringify(this.#ownState()) }
  }

  /** What all processes wrote that wrote something: of this one now, of the others as they were heard last. */
  async totals(): Promise<readonly SaidTotals[]> {
    const { store, now } = this.#parts
    await this.refresh()
    // Of a store behind a server, that server's own are asked for.
    const own =
      store.totals?.bind(store) ?? (async () => totalsOf(await store.query({ kind: 'metrics' })))
    const totals = await own()
    const here = totals === null ? [] : [{ name: this.#name(), at: now(), totals }]
    const others = [...this.#others].flatMap(([name, { heardAt, state }]) => {
      return state.totals === undefined ? [] : [{ name, at: heardAt, totals: state.totals }]
    })
    return [...here, ...others]
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#timer?.cancel()
    await this.#running
  }

  /** AFTER the last entry was written: what a process that said something before wrote since then, others are told. */
  async leave(): Promise<void> {
    const { presence, store } = this.#parts
    const totals = store.totals?.() ?? null
    if (presence === null || totals === null || this.#saidAt === -Infinity) return
    await presence.sayLast(
      JSON.stringify({ ...this.#ownState(), workers: [], stalled: [], totals }),
    )
  }

  /** Null: the store could not be asked. */
  async #heard(isChecked: boolean): Promise<readonly HeardProcess[] | null> {
    const { presence } = this.#parts
    const here = presence === null ? [] : await presence.heard(isChecked).catch(() => null)
    if (here === null || this.#remote.size === 0) return here
    return [...here, ...[...this.#remote].flatMap((remote) => remote.heard())]
  }

  #remoteReport(job: string): JobReport | null {
    for (const remote of this.#remote) {
      const report = remote.reportOf(job)
      if (report !== null) return report
    }
    return null
  }

  #schedule(ms: number): void {
    if (this.#isClosed) return
    this.#timer?.cancel()
    this.#timer = this.#parts.timing.after(ms, () => {
      this.#running = this.#turn().finally(() => {
        this.#running = null
        this.#schedule(this.#isAtWork ? TURN_MS : BEAT_MS)
      })
    })
  }

  /** What was said last must not stand for longer than the workers did. */
  get #isAtWork(): boolean {
    const { workers, wantsStalled } = this.#parts
    return workers.size > 0 || wantsStalled() || this.#said !== null
  }

  async #turn(): Promise<void> {
    try {
      // What is said names the session, and workers wait for it as well.
      if (this.#parts.workers.size > 0) await this.#parts.presence?.begin()
      // BEFORE others are judged, which may take long: this process must not fall silent meanwhile.
      await this.#say()
      if (this.#isAtWork || !this.#hasJudged) await this.#revokeDead()
      if (this.#parts.wantsStalled()) await this.refresh()
    } catch {
      // The database is away or busy, or the store is closed: the next turn tries again.
    }
    this.#followAsked()
  }

  /** What others asked of the workers here, as far as it was read with what was said and asked. */
  #followAsked(): void {
    const { presence, workers } = this.#parts
    if (presence === null || presence.asked === this.#askedSeen) return
    this.#askedSeen = presence.asked
    for (const worker of workers) {
      const text = this.#askedSeen.get(worker.name)
      if (text === undefined || text === this.#followed.get(worker)) continue
      this.#followed.set(worker, text)
      const request = requestIn(text)
      const doneAt = this.#doneAt.get(worker) ?? -Infinity
      if (request === null || request.at < doneAt) continue
      this.#doneAt.set(worker, request.at)
      follow(worker, request)
    }
  }

  /** What is asked in this process itself is done at once, and stands against all that was asked until then. */
  #followHere(worker: Worker, text: string): void {
    const request = requestIn(text)
    if (request === null) return
    const doneAt = this.#doneAt.get(worker) ?? -Infinity
    this.#doneAt.set(worker, Math.max(doneAt, request.at + 1))
    follow(worker, request)
  }

  async #revokeDead(): Promise<void> {
    const { presence, store, batcher } = this.#parts
    const dead = await presence?.dead()
    this.#hasJudged = true
    if (dead == null) return
    // What they said last is there until they are buried.
    const heard = await this.#heard(false)
    if (heard !== null) this.#noteHeard(heard)
    const leases = await store.query({ kind: 'session-leases' })
    const commands = leases
      .filter(({ session }) => dead.isDead(session))
      .map(({ job, stage, segment, lease, extension, session }): Command => {
        const reason = `${this.#describe(session)} is gone.`
        return {
          type: 'RevokeLease',
          job,
          stage,
          segment,
          lease,
          seen: extension,
          presence: true,
          by: BY,
          reason,
        }
      })
    for (let at = 0; at < commands.length; at += BATCH) {
      if (this.#isClosed) return
      // One that is refused was extended since, is over, or has an effect under way: it is left to time.
      await batcher.sendAll(commands.slice(at, at + BATCH))
    }
    await dead.bury()
  }

  #describe(session: string): string {
    const known = this.#others.get(session)?.state
    const who = known === undefined ? 'Its process' : `Process ${known.pid} on ${known.host}`
    return `${who} (session ${session})`
  }

  async #say(): Promise<void> {
    const { presence, timing, softState, workers } = this.#parts
    const passed = timing.now() - this.#saidAt
    if (presence === null || passed < SAY_MS || this.#isClosed) return
    const totals = this.#parts.store.totals?.() ?? null
    const isIdle = workers.size === 0 && this.#said === null
    if (isIdle && totals === null) return
    const news = isIdle ? null : this.#news()
    const reports = softState.takeChanged(MOST_REPORTS_SAID)
    const isNews = news !== this.#said || reports.length > 0
    if (!isNews && !presence.isMissed && timing.now() < this.#beatFrom) return
    this.#saidAt = timing.now()
    try {
      const state = this.#ownState()
      await presence.say(JSON.stringify(totals === null ? state : { ...state, totals }), reports)
      // A process without workers says so once. What it wrote is no news.
      this.#said = workers.size === 0 ? null : news
      this.#beatFrom = this.#saidAt + BEAT_MS - EARLY_MS
    } catch (error) {
      for (const { job } of reports) softState.noteChanged(job)
      throw error
    }
  }

  /** Of what this process says of itself, what others are to know within a second. */
  #news(): string {
    const { workers, softState } = this.#parts
    const named = [...workers].map(({ name, isDraining }) => [name, isDraining])
    return JSON.stringify([named, softState.stalledTasks()])
  }

  #name(): string {
    return this.#parts.presence?.name ?? `${hostname()}-${process.pid}`
  }

  #ownState(): ProcessState {
    const { workers, softState, now } = this.#parts
    return {
      host: hostname(),
      pid: process.pid,
      version: PAWL_VERSION,
      workers: [...workers].map((worker) => {
        return Object.assign(worker.state(), { startedAt: this.#startedAt.get(worker) ?? now() })
      }),
      stalled: softState.stalledTasks(),
    }
  }

  #noteHeard(heard: Awaited<ReturnType<Presence['heard']>>): void {
    const { presence, onStalled } = this.#parts
    const others = new Map<string, OtherProcess>()
    for (const { name, heardAt, text } of heard) {
      if (name === presence?.name) continue
      const state = processStateIn(text)
      if (state !== null) others.set(name, { heardAt, state })
    }
    this.#others = others
    const stalled = [...others.values()].flatMap(({ state }) => state.stalled)
    const names = new Set(stalled.map(silenceOf))
    for (const name of this.#toldStalled) if (!names.has(name)) this.#toldStalled.delete(name)
    for (const task of stalled) {
      if (this.#toldStalled.has(silenceOf(task))) continue
      this.#toldStalled.add(silenceOf(task))
      onStalled(task)
    }
  }
}

/** Each silence of a handler is told of once. */
function silenceOf({ job, stage, segment, attempt, since }: StalledTask): string {
  return JSON.stringify([job, stage, segment, attempt, since])
}
