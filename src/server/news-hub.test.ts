import { getEventListeners } from 'node:events'
import { expect, it } from 'vitest'
import type { EngineAccess } from '../engine/engine-access.ts'
import type { NewsKind } from '../store/index.ts'
import { NewsHub } from './news-hub.ts'

/** What tells of news, and the hub that is told. */
function hubOf() {
  const listeners: ((news: ReadonlySet<NewsKind>) => void)[] = []
  const onNews = (listener: (typeof listeners)[number]) => {
    listeners.push(listener)
    return () => undefined
  }
  const hub = new NewsHub({ store: {}, onNews } as unknown as EngineAccess)
  return { hub, tell: (news: ReadonlySet<NewsKind>) => listeners.forEach((one) => one(news)) }
}

it.each(['news', 'the one signal', 'the other signal'])(
  'a wait that %s ended leaves nothing in signals that go on',
  async (what) => {
    const { hub, tell } = hubOf()
    const [one, other] = [new AbortController(), new AbortController()]
    const ended = hub.wait(60_000, [one.signal, other.signal])
    if (what === 'news') tell(new Set(['work']))
    else (what === 'the one signal' ? one : other).abort()
    await ended
    for (const { signal } of [one, other]) expect(getEventListeners(signal, 'abort')).toEqual([])
  },
)

it('a signal that was aborted BEFORE lets nothing wait', async () => {
  const { hub } = hubOf()
  await hub.wait(60_000, [new AbortController().signal, AbortSignal.abort()])
})
