/**
 * What follows from commands that were sent here, and from news of what others did to the same
 * store: workers look for work and at their leases, those who wait for jobs are told, and upkeep
 * is hurried.
 */
import type { Command } from '../../kernel/index.ts'
import type { Answer, News, Store } from '../../store/index.ts'
import type { Worker } from '../../worker/index.ts'
import type { UpkeepLoop } from './upkeep-loop.ts'
import type { Results } from '../client/results.ts'
import type { Schedules } from '../schedule/schedules.ts'

/** They change nothing about what can be claimed. */
const QUIET: ReadonlySet<Command['type']> = new Set<Command['type']>([
  'ExtendLease',
  'RecordStep',
  'StartExecution',
  'StartEffect',
  'ForgetJob',
])
/** After them, whoever has the job in hand should know. */
const INTERRUPTING: ReadonlySet<Command['type']> = new Set<Command['type']>([
  'CancelJob',
  'RevokeLease',
  'ForceTask',
  'StopTask',
  'ExpireLease',
])

/** After them, a stage of the job may be opened, or its tasks stopped. */
const ORCHESTRATED: ReadonlySet<Command['type']> = new Set<Command['type']>([
  'ReleaseJob',
  'CancelJob',
  'ForceTask',
  'ResolveEffect',
  'RevokeLease',
])

/** Workers tell of their own reports. */
function mayMoveStages(command: Command): boolean {
  return command.type === 'SubmitJob'
    ? command.spec.stages !== null
    : ORCHESTRATED.has(command.type)
}

export interface CommandListenersParts {
  readonly store: Store
  readonly workers: ReadonlySet<Worker>
  readonly results: Results
  readonly upkeepLoop: UpkeepLoop
  readonly schedules: Schedules
}

export class CommandListeners {
  readonly #parts: CommandListenersParts
  readonly #isShared: boolean
  readonly #endNews: () => void

  constructor(parts: CommandListenersParts) {
    this.#parts = parts
    this.#isShared = parts.store.onNews !== undefined
    this.#endNews = parts.store.onNews?.((news) => this.#heard(news)) ?? (() => undefined)
  }

  /**
   * Decided, and not yet durable: a claim that follows at once becomes durable with it. Not so
   * where several transactions are under way at once: there it would come too early, and the store
   * tells when there is something to take.
   */
  sent(commands: readonly Command[]): void {
    const { workers } = this.#parts
    if (this.#isShared || workers.size === 0) return
    if (commands.every(({ type }) => QUIET.has(type))) return
    for (const worker of workers) worker.wake()
  }

  answered(commands: readonly Command[], answers: readonly Answer[]): void {
    const { results, upkeepLoop, workers } = this.#parts
    results.answered(commands, answers)
    if (commands.some(mayMoveStages)) upkeepLoop.hurry()
    commands.forEach((command, i) => {
      if (!INTERRUPTING.has(command.type) || answers[i]?.verdict !== 'committed') return
      for (const worker of workers) worker.checkLeases((command as { job: string }).job)
    })
  }

  close(): void {
    this.#endNews()
  }

  #heard(news: News): void {
    const { workers, results, upkeepLoop, schedules } = this.#parts
    if (news.has('work')) for (const worker of workers) worker.wake()
    if (news.has('interrupts')) for (const worker of workers) worker.checkLeases()
    if (news.has('ends')) results.news()
    if (news.has('upkeep')) upkeepLoop.hurrySoon()
    if (news.has('schedules')) schedules.changed()
  }
}
