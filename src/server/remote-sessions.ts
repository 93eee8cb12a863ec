/**
 * Processes of workers that reach the store by this server alone: what they say, and which of them are dead.
 *
 * - there: a poll of the session is open, or it spoke within the grace period.
 * - gone: no poll is open, and it was silent for the grace period. Its leases are revoked, once each: the kernel keeps one
 *   that was extended since it was seen.
 * - left: it said that it ends; nothing is known of it any more.
 *
 * Sessions that never spoke to this server are judged only if no other process can serve the store: then they were of
 * workers that came before a restart, and did not come back.
 */
import type { EngineAccess } from '../engine/engine-access.ts'
import type { RemoteProcesses } from '../engine/presence/remote-processes.ts'
import type { Command } from '../kernel/index.ts'
import { nowUs, repeatEvery } from '../store/clock.ts'
import type { HeardProcess, JobReport } from '../store/index.ts'
import { MOST_REPORTS } from '../store/presence.ts'
import { REMOTE_SESSION } from '../store/random.ts'

interface RemoteSession {
  /** Of a clock that never jumps. */
  lastMs: number
  /** The authority's time. */
  heardAt: number
  text: string
  polls: number
  /** Of its workers, by their names. */
  readonly asked: Map<string, string>
  /** Ends the polls that are open: something is asked, and the session was not told of it yet. */
  tell: AbortController
}

export interface OpenPoll {
  /** Aborted while something is asked of a worker of the session that no answer has told it. */
  readonly isAsked: AbortSignal
  end(): void
}

const JUDGE_MS = 500
/** Commands of one batch. */
const BATCH = 512
const BY = 'presence'

export class RemoteSessions implements RemoteProcesses {
  readonly #access: EngineAccess
  readonly #graceMs: number
  readonly #onError: (error: Error) => void
  readonly #sessions = new Map<string, RemoteSession>()
  readonly #reports = new Map<string, JobReport>()
  readonly #startedMs = nowMs()
  readonly #timer: ReturnType<typeof repeatEvery>
  readonly #leave: () => void
  #isJudging = false
  #areFormerJudged: boolean

  constructor(access: EngineAccess, graceMs: number, onError: (error: Error) => void) {
    this.#access = access
    this.#graceMs = graceMs
    this.#onError = onError
    this.#areFormerJudged = access.store.onNews !== undefined
    this.#leave = access.addRemote(this)
    this.#timer = repeatEvery(JUDGE_MS, () => void this.#judge())
  }

  say(session: string, text: string, reports: readonly JobReport[]): void {
    const known = this.#touch(session)
    known.text = text
    known.heardAt = this.#access.now()
    for (const report of reports) this.#note(report)
  }

  /** A poll of the session is open until its end is called. */
  polls(session: string): OpenPoll {
    const known = this.#touch(session)
    known.polls += 1
    return {
      isAsked: known.tell.signal,
      end: () => {
        known.polls -= 1
        known.lastMs = nowMs()
      },
    }
  }

  ask(session: string, worker: string, text: string): boolean {
    const known = this.#sessions.get(session)
    if (known === undefined) return false
    known.asked.set(worker, text)
    known.tell.abort()
    return true
  }

  /** For an answer to the session, which is told by it. Between two polls none is open: the next one ends at once. */
  asked(session: string): readonly { readonly worker: string; readonly text: string }[] {
    const known = this.#sessions.get(session)
    if (known === undefined) return []
    if (known.tell.signal.aborted) known.tell = new AbortController()
    return [...known.asked].map(([worker, text]) => ({ worker, text }))
  }

  leave(session: string): void {
    this.#sessions.delete(session)
  }

  heard(): readonly HeardProcess[] {
    return [...this.#sessions]
      .filter(([, { text }]) => text !== '')
      .map(([name, { heardAt, text }]) => ({ name, heardAt, text }))
  }

  reportOf(job: string): JobReport | null {
    return this.#reports.get(job) ?? null
  }

  forgetReport(job: string, until: number): void {
    this.#note({ job, saidAt: until, text: '' })
  }

  close(): void {
    this.#timer.stop()
    this.#leave()
  }

  #touch(session: string): RemoteSession {
    const known = this.#sessions.get(session)
    if (known !== undefined) {
      known.lastMs = nowMs()
      return known
    }
    const fresh: RemoteSession = {
      lastMs: nowMs(),
      heardAt: this.#access.now(),
      text: '',
      polls: 0,
      asked: new Map(),
      tell: new AbortController(),
    }
    this.#sessions.set(session, fresh)
    return fresh
  }

  #note(report: JobReport): void {
    const known = this.#reports.get(report.job)
    if (known !== undefined && known.saidAt >= report.saidAt) return
    this.#reports.delete(report.job)
    this.#reports.set(report.job, report)
    if (this.#reports.size <= MOST_REPORTS) return
    const [oldest] = this.#reports.keys()
    this.#reports.delete(oldest as string)
  }

  async #judge(): Promise<void> {
    const now = nowMs()
    const gone = [...this.#sessions]
      .filter(([, { polls, lastMs }]) => polls === 0 && now - lastMs >= this.#graceMs)
      .map(([name]) => name)
    const judgesFormer = !this.#areFormerJudged && now - this.#startedMs >= 2 * this.#graceMs
    if (this.#isJudging || (gone.length === 0 && !judgesFormer)) return
    this.#isJudging = true
    try {
      await this.#revoke(new Set(gone), judgesFormer)
      if (judgesFormer) this.#areFormerJudged = true
      for (const name of gone) {
        const { lastMs = now } = this.#sessions.get(name) ?? {}
        // One that spoke meanwhile lives, whatever became of its leases.
        if (lastMs <= now) this.#sessions.delete(name)
      }
    } catch (error) {
      // The store is away, or was closed: it is tried again.
      this.#onError(error as Error)
    } finally {
      this.#isJudging = false
    }
  }

  async #revoke(gone: ReadonlySet<string>, judgesFormer: boolean): Promise<void> {
    const leases = await this.#access.store.query({ kind: 'session-leases' })
    const isGone = (session: string): boolean =>
      gone.has(session) ||
      (judgesFormer && REMOTE_SESSION.test(session) && !this.#sessions.has(session))
    const commands = leases
      .filter(({ session }) => isGone(session))
      .map(({ job, stage, segment, lease, extension, session }): Command => ({
        type: 'RevokeLease',
        job,
        stage,
        segment,
        lease,
        seen: extension,
        presence: true,
        by: BY,
        reason: `Its process (session ${session}) is gone from the server.`,
      }))
    for (let at = 0; at < commands.length; at += BATCH) {
      await this.#access.execute(commands.slice(at, at + BATCH))
    }
  }
}

function nowMs(): number {
  return nowUs() / 1_000
}
