/**
 * A store behind a server: every call is a request, and the server's store decides. It keeps nothing but a cursor of
 * news.
 *
 * Commands are idempotent by their nouns and claims by their request numbers, so a request whose answer was lost is sent
 * again. Upkeep is the server's. There are no transactions of the user's: `executeIn` and `executeWith` are left out.
 */
import type { Command, Tally } from '../../kernel/index.ts'
import { commandFields, unknownField } from '../../kernel/index.ts'
import type { OperationName } from '../../protocol/index.ts'
import { MOST_COMMANDS_PER_REQUEST, OPERATIONS } from '../../protocol/index.ts'
import type { ClaimRequest } from '../claim-request.ts'
import { assertClaim } from '../claim-request.ts'
import { pause, systemClock } from '../clock.ts'
import { BadRequest, PartlyDone, StoreClosed } from '../errors.ts'
import type { Moment } from '../moment.ts'
import type { News, NewsKind } from '../notice.ts'
import { notPlainData } from '../state/command-copies.ts'
import type { JobSummary } from '../read-model.ts'
import type {
  Answer,
  AnswerTo,
  Claimed,
  PastJob,
  PositionedEntry,
  Query,
  QueryKind,
  SnapshotFilter,
  Store,
  StoreSnapshot,
} from '../store.ts'
import { HttpPresence } from './http-presence.ts'
import { HttpWatch } from './http-watch.ts'
import type { RequestTerms, TransportOptions } from './transport.ts'
import { Transport } from './transport.ts'

/** `asked`: of workers of the session that the poll named. */
interface HeardNews {
  readonly cursor: string
  readonly news: readonly NewsKind[]
  readonly asked?: Parameters<HttpPresence['noteAsked']>[0]
}

export interface HttpOptions extends TransportOptions {
  /** Whether the server judges this process by its connection. Default: true. */
  readonly presence?: boolean
}

/** Of one request: what a server takes is more. */
const MOST_BODY_CHARS = 4_000_000
/** Requests of one call that are under way at once. */
const NEWS_WAIT_MS = 25_000
const AFTER_FAILURE_MS = 1_000
const SNAPSHOT_PAGE = 1_000

export class HttpStore implements Store {
  readonly id?: string
  readonly presence?: HttpPresence
  readonly #transport: Transport
  readonly #listeners = new Set<(news: News) => void>()
  readonly #watches = new Set<HttpWatch>()
  readonly #newsEnded = new AbortController()
  #cursor: string | null = null
  #newsLoop: Promise<void> | null = null
  #closing: Promise<void> | null = null

  constructor(options: HttpOptions, id: string | null) {
    if (id !== null) this.id = id
    this.#transport = new Transport(options)
    if (options.presence !== false) {
      this.presence = new HttpPresence((name, input) => this.#call(name, input))
    }
  }

  /** The authority's time, as well as it is known here, in whole milliseconds: requests carry it. */
  now(): number {
    return Math.floor(systemClock.now() + this.#transport.aheadMs)
  }

  async execute(commands: readonly Command[]): Promise<readonly Answer[]> {
    this.#assertOpen()
    const texts = commands.map(jsonOf)
    const answers: Answer[] = []
    try {
      for (let at = 0; at < texts.length;) {
        const end = endOfBatch(texts, at)
        answers.push(...(await this.#executeBatch(texts.slice(at, end))))
        at = end
      }
    } catch (error) {
      if (answers.length === 0) throw error
      throw new PartlyDone({ answers, commands }, error)
    }
    return answers
  }

  async claim(request: ClaimRequest): Promise<readonly Claimed[]> {
    this.#assertOpen()
    assertClaim(request)
    const { claimed } = (await this.#call('store.claim', request)) as { claimed: Claimed[] }
    return claimed
  }

  async query<const Q extends Query>(query: Q): Promise<AnswerTo<Q>> {
    this.#assertOpen()
    const { kind, ...asked } = query
    const name = operationOf(kind)
    if (!Object.hasOwn(OPERATIONS, name)) throw new BadRequest(`There is no query '${kind}'.`)
    const { answer } = (await this.#call(name, asked)) as { answer: AnswerTo<Q> }
    restoreInfinity(kind, answer)
    return answer
  }

  watch(from: number): AsyncIterable<PositionedEntry> {
    this.#assertOpen()
    return { [Symbol.asyncIterator]: () => this.#newWatch(from) }
  }

  async watchNew(): Promise<AsyncIterable<PositionedEntry>> {
    this.#assertOpen()
    const watch = this.#newWatch('now')
    await watch.begin()
    return { [Symbol.asyncIterator]: () => watch }
  }

  async at(moment: Moment): Promise<StoreSnapshot> {
    this.#assertOpen()
    const ask = <T>(name: OperationName, input: object): Promise<T> =>
      this.#call(name, { moment, ...input }) as Promise<T>
    const { time } = await ask<{ time: number }>('store.at.job', { job: '-' })
    return {
      time,
      position: async () => {
        const { position } = (await this.#call('past.counts', moment)) as { position: number }
        return position
      },
      job: async (job) => (await ask<{ past: PastJob | null }>('store.at.job', { job })).past,
      jobs: async function* jobs(filter: SnapshotFilter) {
        for (let skip = 0; ; skip += SNAPSHOT_PAGE) {
          const asked = { skip, limit: SNAPSHOT_PAGE, ...filter }
          const page = await ask<{ jobs: JobSummary[]; isAll: boolean }>('store.at.jobs', asked)
          yield* page.jobs
          if (page.isAll) return
        }
      },
    }
  }

  onNews(listener: (news: News) => void): () => void {
    this.#listeners.add(listener)
    this.#newsLoop ??= this.#followNews()
    return () => void this.#listeners.delete(listener)
  }

  async compact(): Promise<void> {
    this.#assertOpen()
    await this.#call('store.compact', {})
  }

  expectClose(): void {
    this.#transport.expectClose()
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    this.#transport.expectClose()
    this.#newsEnded.abort()
    for (const watch of this.#watches) watch.expectClose()
    await this.presence?.close()
    await this.#newsLoop
    // Watches may still read what is on its way.
    if (this.#watches.size === 0) this.#transport.close()
  }

  #newWatch(from: number | 'now'): HttpWatch {
    const watch: HttpWatch = new HttpWatch(this.#transport, from, () => {
      this.#watches.delete(watch)
      if (this.#closing !== null && this.#watches.size === 0) this.#transport.close()
    })
    this.#watches.add(watch)
    if (this.#closing !== null) watch.expectClose()
    return watch
  }

  async #executeBatch(texts: readonly (string | null)[]): Promise<readonly Answer[]> {
    const sent = texts.filter((text) => text !== null)
    const body = `{"commands":[${sent.join(',')}]}`
    const output =
      sent.length === 0 ? { answers: [] } : await this.#call('store.execute', {}, { body })
    const { answers } = output as { answers: readonly Answer[] }
    let at = 0
    return texts.map((text) => (text === null ? notPlainData() : (answers[at++] as Answer)))
  }

  #call(name: OperationName, input: object, options: RequestTerms = {}): Promise<unknown> {
    return this.#transport.call(OPERATIONS[name], input, options)
  }

  /** One poll after the other. Each begins where the one before ended, so that nothing falls between them. */
  async #followNews(): Promise<void> {
    const { signal } = this.#newsEnded
    while (!signal.aborted) {
      const session = this.presence?.polled
      const input = {
        since: this.#cursor,
        waitMs: NEWS_WAIT_MS,
        ...(session === undefined ? {} : { session }),
      }
      const options = { heldMs: NEWS_WAIT_MS, isIdle: true, signal, isPatient: false }
      try {
        const told = await this.#call('store.news', input, options)
        const { cursor, news, asked } = told as HeardNews
        this.#cursor = cursor
        if (asked !== undefined) this.presence?.noteAsked(asked)
        if (news.length > 0) for (const listener of this.#listeners) listener(new Set(news))
      } catch {
        // The server is away: what happens meanwhile is asked for by polls, and told when it is back.
        if (!signal.aborted) await pause(AFTER_FAILURE_MS, true)
      }
    }
  }

  #assertOpen(): void {
    if (this.#closing !== null) throw new StoreClosed()
  }
}

/** The compiler says which query has no operation. */
function operationOf(kind: QueryKind): OperationName {
  return `query.${kind}`
}

/** Null: it is not plain data. Numbers that JSON does not have go as texts, and are refused as what they are. */
function jsonOf(command: Command): string | null {
  try {
    const text = JSON.stringify(command, plainValue) ?? 'null'
    return hasStranger(command) ? JSON.stringify(ofKnownFields(command), plainValue) : text
  } catch {
    return null
  }
}

function hasStranger(command: Command): boolean {
  return typeof command === 'object' && command !== null && unknownField(command) !== null
}

/** Stores do not read other fields, and a server refuses them: it may be asked by hand. */
function ofKnownFields(command: Command): object {
  const known = new Set(['type', ...commandFields(command.type)])
  return Object.fromEntries(Object.entries(command).filter(([name]) => known.has(name)))
}

function plainValue(_name: string, value: unknown): unknown {
  if (typeof value === 'function' || typeof value === 'symbol') throw new BadRequest('not plain')
  return typeof value === 'number' && !Number.isFinite(value) ? String(value) : value
}

/** As many as one request has room for, and at least one. */
function endOfBatch(texts: readonly (string | null)[], from: number): number {
  let chars = 0
  let end = from
  while (end < texts.length && end - from < MOST_COMMANDS_PER_REQUEST) {
    chars += texts[end]?.length ?? 0
    if (chars > MOST_BODY_CHARS && end > from) break
    end += 1
  }
  return end
}

/** JSON has no Infinity, and says null: in place. */
function restoreInfinity(kind: QueryKind, answer: unknown): void {
  if (answer === null) return
  if (kind === 'metrics') restoreBounds(answer)
  if (kind !== 'overview' && kind !== 'job') return
  const { stages } = answer as { readonly stages: readonly { readonly tally?: Tally }[] }
  for (const { tally } of stages) {
    // No task of the stage waits.
    if (tally !== undefined) tally.retryAt ??= Infinity
  }
}

/** The last bound of each distribution. */
function restoreBounds(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  for (const [name, one] of Object.entries(value)) {
    if (name === 'bounds' && Array.isArray(one)) one.splice(-1, 1, one.at(-1) ?? Infinity)
    else restoreBounds(one)
  }
}
