/**
 * What follows from commands that this engine sent, and from news of what other processes did to
 * the same store: workers claim jobs and check their leases, calls that wait for results are
 * answered, and upkeep runs.
 */
import type { Command } from '../../kernel/index.ts'
import { malformed } from '../../kernel/index.ts'
import type { Answer, News, NewsKind, Store } from '../../store/index.ts'
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

/** No job is over by them, and none comes to wait for an operator. */
const ENDS_NOTHING: ReadonlySet<Command['type']> = new Set<Command['type']>([
  'SubmitJob',
  'GrantLease',
  'StartExecution',
  'ExtendLease',
  'RecordStep',
  'AppendStream',
  'StartEffect',
  'ConfigureQueue',
  'PauseQueue',
  'ResumeQueue',
])
const OF_SCHEDULES: ReadonlySet<Command['type']> = new Set<Command['type']>([
  'SetSchedule',
  'FireSchedule',
  'RemoveSchedule',
])

/** What commands may have led to, as far as their types tell. */
function newsOf(commands: readonly Command[]): ReadonlySet<NewsKind> {
  const news = new Set<NewsKind>()
  for (const { type } of commands) {
    if (OF_SCHEDULES.has(type)) news.add('schedules')
    if (!CLAIMS_NOTHING.has(type)) news.add('work')
    if (!ENDS_NOTHING.has(type)) news.add('ends')
    if (INTERRUPTING.has(type)) news.add('interrupts')
  }
  return news
}

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
  readonly #newsListeners = new Set<(news: ReadonlySet<NewsKind>) => void>()
  /** Of streams, by their jobs. */
  readonly #readers = new Map<string, Set<() => void>>()

  constructor(parts: CommandListenersParts) {
    this.#parts = parts
    this.#isShared = parts.store.onNews !== undefined
    this.#endNews = parts.store.onNews?.((news) => this.#onStoreNews(news)) ?? (() => undefined)
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
    if (this.#newsListeners.size > 0) {
      const news = newsOf(commands)
      for (const listener of this.#newsListeners) listener(news)
    }
    this.#tellRefused(commands, answers)
    if (commands.some(mayMoveStages)) upkeepLoop.runNow()
    // A batch has new work, or reports.
    if (commands[0]?.type === 'SubmitJob') return
    commands.forEach((command, i) => {
      if (!INTERRUPTING.has(command.type) || answers[i]?.verdict !== 'committed') return
      for (const worker of workers) worker.checkLeases((command as { job: string }).job)
    })
  }

  /** Commands that reached the store by other ways than the batcher of this engine. */
  async executeOf(commands: readonly Command[]): Promise<readonly Answer[]> {
    const executing = this.#parts.store.execute(commands)
    this.sent(commands.filter((command) => malformed(command) === null))
    const answers = await executing
    // What was refused may have any form, and led to nothing.
    const done = commands.map((_, i) => answers[i]?.verdict !== 'rejected')
    const isDone = (_: unknown, i: number): boolean => done[i] === true
    const carriedOut = commands.filter(isDone)
    this.answered(carriedOut, answers.filter(isDone))
    // Of a worker elsewhere: a stage may be opened, or a call answered.
    if (carriedOut.some(({ type }) => ENDING.has(type))) this.#parts.upkeepLoop.runSoon()
    return answers
  }

  /** Calls with what may have happened by commands. Gives its end. */
  onNews(listener: (news: ReadonlySet<NewsKind>) => void): () => void {
    this.#newsListeners.add(listener)
    return () => void this.#newsListeners.delete(listener)
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

  #onStoreNews(news: News): void {
    const { workers, results, upkeepLoop, schedules, traffic } = this.#parts
    traffic.others += 1
    if (news.has('work')) for (const worker of workers) worker.wake()
    if (news.has('interrupts')) for (const worker of workers) worker.checkLeases()
    if (news.has('ends')) results.onNews()
    if (news.has('upkeep')) upkeepLoop.runSoon()
    if (news.has('schedules')) schedules.onNews()
  }
}
