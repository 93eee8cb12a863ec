/**
 * Presence by a server: it hears this process, and judges it by its connection. This process judges no other.
 */
import type { OperationName } from '../../protocol/index.ts'
import type { DeadSessions, HeardProcess, JobReport, Presence } from '../presence.ts'
import { NOTHING_ASKED } from '../presence.ts'
import { newSessionName } from '../random.ts'

type AskedOfWorkers = readonly { readonly worker: string; readonly text: string }[]

type CallServer = (name: OperationName, input: object) => Promise<unknown>

export class HttpPresence implements Presence {
  readonly name = newSessionName('remote')
  readonly #call: CallServer
  #hasBegun = false
  #asked = NOTHING_ASKED

  constructor(call: CallServer) {
    this.#call = call
  }

  get session(): string {
    return this.#hasBegun ? this.name : ''
  }

  /** What polls name; undefined: this process has no workers, and is not judged. */
  get polled(): string | undefined {
    return this.#hasBegun ? this.name : undefined
  }

  get isMissed(): boolean {
    return false
  }

  async begin(): Promise<void> {
    if (this.#hasBegun) return
    try {
      await this.#call('presence.say', { session: this.name, text: '', reports: [] })
      this.#hasBegun = true
    } catch {
      // It claims without a session: its leases are left to time. The next call tries again.
    }
  }

  async say(text: string, reports: readonly JobReport[]): Promise<void> {
    const { asked } = (await this.#call('presence.say', { session: this.name, text, reports })) as {
      asked: AskedOfWorkers
    }
    this.noteAsked(asked)
  }

  get asked(): ReadonlyMap<string, string> {
    return this.#asked
  }

  /** As the server says it with each poll of the session, and when something is said. */
  noteAsked(asked: AskedOfWorkers = []): void {
    this.#asked = new Map(asked.map(({ worker, text }) => [worker, text]))
  }

  async ask(process: string, worker: string, text: string): Promise<boolean> {
    const { isKnown } = (await this.#call('presence.ask', { process, worker, text })) as {
      isKnown: boolean
    }
    return isKnown
  }

  async heard(): Promise<readonly HeardProcess[]> {
    const { processes } = (await this.#call('presence.heard', {})) as {
      processes: readonly HeardProcess[]
    }
    return processes
  }

  async reportOf(job: string): Promise<JobReport | null> {
    const { report } = (await this.#call('presence.report', { job })) as {
      report: JobReport | null
    }
    return report
  }

  async forgetReport(job: string, until: number): Promise<void> {
    await this.#call('presence.forget', { job, until })
  }

  async compact(): Promise<void> {
    // The server has what was said, in memory.
  }

  async dead(): Promise<DeadSessions | null> {
    return null
  }

  async sayLast(): Promise<void> {
    // What it wrote, the server wrote.
  }

  async close(): Promise<void> {
    if (!this.#hasBegun) return
    this.#hasBegun = false
    await this.#call('presence.leave', { session: this.name }).catch(() => undefined)
  }
}
