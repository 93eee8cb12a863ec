/**
 * News that come close together, told as one: the first at once, those behind it after a pause.
 */
import { afterMs } from '../../clock.ts'
import type { News, NewsKind } from '../../notice.ts'

/** Nobody is told more often than this. */
const PAUSE_MS = 10

export class NewsThrottle {
  readonly #tell: (news: News) => void
  readonly #gathered = new Set<NewsKind>()
  #stopWaiting: (() => void) | null = null

  constructor(tell: (news: News) => void) {
    this.#tell = tell
  }

  add(news: Iterable<NewsKind>): void {
    for (const kind of news) this.#gathered.add(kind)
    if (this.#stopWaiting === null) this.flush()
  }

  /** What has gathered is told now. */
  flush(): void {
    this.stop()
    if (this.#gathered.size === 0) return
    const news = new Set(this.#gathered)
    this.#gathered.clear()
    this.#stopWaiting = afterMs(PAUSE_MS, () => {
      this.#stopWaiting = null
      this.flush()
    })
    this.#tell(news)
  }

  stop(): void {
    this.#stopWaiting?.()
    this.#stopWaiting = null
  }
}
