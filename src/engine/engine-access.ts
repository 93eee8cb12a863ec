/**
 * What a server in front of an engine may use of it, beyond what users call: its store, commands of other processes, and
 * what is known of workers that only the server can hear.
 *
 * An engine gives it when it is made; it is in no type that users see.
 */
import type { Command } from '../kernel/index.ts'
import type { DefinitionOf } from './operator/operator.ts'
import type { Answer, HeardProcess, NewsKind, Store } from '../store/index.ts'
import type { Health, HealthWatch } from './inspect/health.ts'
import type { PresenceLoop, SaidTotals } from './presence/presence-loop.ts'
import type { RemoteProcesses } from './presence/remote-processes.ts'
import type { CommandListeners } from './upkeep/command-listeners.ts'

export interface EngineAccess {
  readonly store: Store
  /** The authority's time, as well as it is known here. */
  readonly now: () => number
  /** Commands that came from elsewhere: what follows from them in this process follows. */
  execute(commands: readonly Command[]): Promise<readonly Answer[]>
  /** Calls with what may have happened by commands of this engine. Gives its end. */
  onNews(listener: (news: ReadonlySet<NewsKind>) => void): () => void
  /** The definition of a job type that this engine last worked or submitted by; null: none. */
  readonly definitionOf: DefinitionOf
  /** The workers of these are shown beside those of this engine. Gives its end. */
  addRemote(remote: RemoteProcesses): () => void
  /** Asks something of a worker of a process that is known here. */
  ask(process: string, worker: string, text: string): Promise<boolean>
  /** What this process says of its own workers; null: it has none. */
  ownProcess(): HeardProcess | null
  /** What all processes wrote that wrote something: of this one now, of the others as they were heard last. */
  totals(): Promise<readonly SaidTotals[]>
  /** As far as it was examined, without another look. */
  knownHealth(): Health
}

const ACCESS = new WeakMap<object, EngineAccess>()

interface EngineParts extends Pick<EngineAccess, 'store' | 'now' | 'definitionOf'> {
  readonly listeners: CommandListeners
  readonly presence: PresenceLoop
  readonly healthWatch: HealthWatch
}

export function giveAccess(engine: object, parts: EngineParts): void {
  const { store, now, definitionOf, listeners, presence, healthWatch } = parts
  ACCESS.set(engine, {
    store,
    now,
    definitionOf,
    execute: (commands) => listeners.executeOf(commands),
    onNews: (listener) => listeners.onNews(listener),
    addRemote: (remote) => presence.addRemote(remote),
    ask: (...request) => presence.askProcess(...request),
    ownProcess: () => presence.ownProcess(),
    totals: () => presence.totals(),
    knownHealth: () => healthWatch.known(),
  })
}

/** Undefined: it is no engine. */
export function accessTo(engine: object): EngineAccess | undefined {
  return ACCESS.get(engine)
}
