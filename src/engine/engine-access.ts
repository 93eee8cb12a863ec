/**
 * What a server in front of an engine may use of it, beyond what users call: its store, commands of other processes, and
 * what is known of workers that only the server can hear.
 *
 * An engine gives it when it is made; it is in no type that users see.
 */
import type { Command } from '../kernel/index.ts'
import type { Answer, HeardProcess, JobReport, NewsKind, Store } from '../store/index.ts'

/** Processes whose workers are reached by a server alone. */
export interface RemoteProcesses {
  heard(): readonly HeardProcess[]
  /** Null: nothing was said about the job. */
  reportOf(job: string): JobReport | null
  forgetReport(job: string, until: number): void
}

export interface EngineAccess {
  readonly store: Store
  /** The authority's time, as well as it is known here. */
  readonly now: () => number
  /** Commands that came from elsewhere: what follows from them in this process follows. */
  execute(commands: readonly Command[]): Promise<readonly Answer[]>
  /** Calls with what may have happened by commands of this engine. Gives its end. */
  onNews(listener: (news: ReadonlySet<NewsKind>) => void): () => void
  /** The workers of these are shown beside those of this engine. Gives its end. */
  addRemote(remote: RemoteProcesses): () => void
  /** What this process says of its own workers; null: it has none. */
  ownProcess(): HeardProcess | null
}

const ACCESS = new WeakMap<object, EngineAccess>()

export function giveAccess(engine: object, access: EngineAccess): void {
  ACCESS.set(engine, access)
}

/** Undefined: it is no engine. */
export function accessTo(engine: object): EngineAccess | undefined {
  return ACCESS.get(engine)
}
