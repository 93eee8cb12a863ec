/**
 * Tells callers that wait that something may have happened, by the kind of it. A cursor says what its caller was told:
 * nothing that happened after it is missed, and a cursor of another server, or of this one before a restart, has missed
 * everything.
 */
import type { EngineAccess } from '../engine/engine-access.ts'
import { afterMs, realTiming } from '../store/clock.ts'
import type { NewsKind } from '../store/index.ts'
import { NEWS_KINDS } from '../store/notice.ts'
import { newNotifierName } from '../store/random.ts'

export interface ToldNews {
  readonly cursor: string
  readonly news: readonly NewsKind[]
}

export class NewsHub {
  readonly #name = newNotifierName()
  /** When each kind came last, as a count of all. */
  readonly #last = new Map<NewsKind, number>()
  readonly #waiting = new Set<() => void>()
  readonly #ends: readonly (() => void)[]
  #count = 0
  #isTelling = false

  constructor({ store, onNews }: Pick<EngineAccess, 'store' | 'onNews'>) {
    this.#ends = [
      onNews((news) => this.#note(news)),
      store.onNews?.((news) => this.#note(news)) ?? ((): void => undefined),
    ]
  }

  /** What came since a cursor; null: from the beginning. */
  since(cursor: string | null): ToldNews {
    const [name, count] = (cursor ?? '').split('.')
    const seen = name === this.#name ? Number(count) : -1
    const isNew = (kind: NewsKind): boolean => !(seen >= 0) || (this.#last.get(kind) ?? 0) > seen
    return { cursor: `${this.#name}.${this.#count}`, news: NEWS_KINDS.filter(isNew) }
  }

  /**
   * Resolved with the next news, or when the time is over, or by one of the signals. Some of them live for long: of a wait
   * that is over, nothing stays in them.
   */
  wait(ms: number, signals: readonly AbortSignal[]): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        stop()
        this.#waiting.delete(end)
        for (const signal of signals) signal.removeEventListener('abort', end)
        resolve()
      }
      const stop = afterMs(ms, end)
      this.#waiting.add(end)
      for (const signal of signals) signal.addEventListener('abort', end)
      if (signals.some(({ aborted }) => aborted)) end()
    })
  }

  close(): void {
    for (const end of this.#ends) end()
  }

  #note(news: ReadonlySet<NewsKind>): void {
    if (news.size === 0) return
    this.#count += 1
    for (const kind of news) this.#last.set(kind, this.#count)
    if (this.#isTelling || this.#waiting.size === 0) return
    // What comes in one turn of the event loop is told at once.
    this.#isTelling = true
    realTiming().soon(() => {
      this.#isTelling = false
      for (const end of this.#waiting) end()
    })
  }
}
