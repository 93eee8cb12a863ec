/**
 * What follows from commands that this engine sent, and from news of what other processes did to
 * the same store: workers claim jobs and check their leases, calls that wait for results are
 * answered, and upkeep runs.
 */
import type { Command } from '../../kernel/index.ts'
import type { Answer, News, Store } from '../../store/index.ts'
import type { Worker } from '../../worker/index.ts'
import type { Results } from '../client/results.ts'
import type { RefusedCommand } from '../refusals.ts'
import type { Schedules } from '../schedule/schedules.ts'
import type { EngineTraffic } from './forget-pace.ts'
import type { UpkeepLoop } from './upkeep-loop.ts'

/** They make no task claimable. */
const CLAIMS_NOTHING: ReadonlySet<Command['type']> = new Set<Command['type']>([
  'ExtendLease',
  'RecordStep',
  'AppendStream',
  'StartExecution',
  'StartEffect',
  'EraseJob',
  'ForgetJob',
])
/** After them, the worker that has the job checks its lease. */
const INTERRUPTING: ReadonlySet<Command['type']> = new Set<Command['type']>([
  'CancelJob',
  'RevokeLease',
  'ForceTask',
  'StopTask',
  'ExpireLease',
])

/** A job may be over after them. */
const ENDING: ReadonlySet<Command['type']> = new Set<Command['type']>([
  'CommitExecution',
  'FailTask',
  'FinishEffect',
  'CancelJob',
  'ForceTask',
])

/** After them, a stage of the job may be opened, or its tasks stopped. */
const STAGE_CHANGING: ReadonlySet<Command['type']> = new Set<Command['type']>([
  'ReleaseJob',
  'CancelJob',
  'ForceTask',
  'ResolveEffect',
  'RevokeLease',
])

/** Workers call `onStageReport` after their own reports. */
function mayMoveStages(command: Command): boolean {
  return command.type === 'SubmitJob'
    ? command.spec.stages !== null
    : STAGE_CHANGING.has(command.type)
}

export interface CommandListenersParts {
  readonly store: Store
  readonly workers: ReadonlySet<Worker>
  readonly results: Results
  readonly upkeepLoop: UpkeepLoop
  readonly traffic: EngineTraffic
  readonly schedules: Schedules
  /** Told of each command that was refused; null: the owner does not want to know. */
  readonly onRefused: ((refused: RefusedCommand) => void) | null
}

export class CommandListeners {
  readonly #parts: CommandListenersParts
  readonly #isShared: boolean
  readonly #endNews: () => void
  /** Of streams, by their jobs. */
  readonly #readers = new Map<string, Set<() => void>>()

  constructor(parts: CommandListenersParts) {
    this.#parts = parts
    this.#isShared = parts.store.onNews !== undefined
    this.#endNews = parts.store.onNews?.((news) => this.#onNews(news)) ?? (() => undefined)
  }

  /**
   * Decided, and not yet durable: a claim that follows at once becomes durable with it. Not on a
   * shared database, where the claim would come before the submit commits: news say when there is
   * something to claim.
   */
  sent(commands: readonly Command[]): void {
    const { workers } = this.#parts
    if (this.#isShared || workers.size === 0) return
    if (commands.every(({ type }) => CLAIMS_NOTHING.has(type))) return
    for (const worker of workers) worker.wake()
  }

  answered(commands: readonly Command[], answers: readonly Answer[]): void {
    const { results, upkeepLoop, workers } = this.#parts
    results.answered(commands, answers)
    if (this.#readers.size > 0) this.#wakeReaders(commands)
    this.#countTraffic(commands)
    this.#tellRefused(commands, answers)
    if (commands.some(mayMoveStages)) upkeepLoop.runNow()
    // A batch has new work, or reports.
    if (commands[0]?.type === 'SubmitJob') return
    commands.forEach((command, i) => {
      if (!INTERRUPTING.has(command.type) || answers[i]?.verdict !== 'committed') return
      for (const worker of workers) worker.checkLeases((command as { job: string }).job)
    })
  }

  /** Calls when a worker of this process appended to a stream of the job. Gives its end. */
  onAppended(job: string, listener: () => void): () => void {
    const readers = this.#readers.get(job) ?? new Set()
    this.#readers.set(job, readers.add(listener))
    return () => {
      readers.delete(listener)
      if (readers.size === 0) this.#readers.delete(job)
    }
  }

  #wakeReaders(commands: readonly Command[]): void {
    for (const command of commands) {
      if (command.type !== 'AppendStream') continue
      for (const listener of this.#readers.get(command.job) ?? []) listener()
    }
  }

  #tellRefused(commands: readonly Command[], answers: readonly Answer[]): void {
    const { onRefused } = this.#parts
    if (onRefused === null) return
    answers.forEach(({ rejection }, i) => {
      if (rejection === null) return
      const command = commands[i] as Command
      const job = 'job' in command ? command.job : null
      onRefused({ command: command.type, job, code: rejection.code, message: rejection.message })
    })
  }

  #countTraffic(commands: readonly Command[]): void {
    const { traffic } = this.#parts
    for (const { type } of commands) {
      if (type !== 'ForgetJob') traffic.others += 1
      if (ENDING.has(type)) traffic.ends += 1
    }
  }

  close(): void {
    this.#endNews()
  }

  #onNews(news: News): void {
    const { workers, results, upkeepLoop, schedules, traffic } = this.#parts
    traffic.others += 1
    if (news.has('work')) for (const worker of workers) worker.wake()
    if (news.has('interrupts')) for (const worker of workers) worker.checkLeases()
    if (news.has('ends')) results.onNews()
    if (news.has('upkeep')) upkeepLoop.runSoon()
    if (news.has('schedules')) schedules.onNews()
  }
}
