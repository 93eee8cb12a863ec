/**
 * Tells the other processes on the same store what may have happened, by PostgreSQL's `NOTIFY`, and
 * hears what they tell. What is said names who says it, so that nobody hears himself.
 *
 * `NOTIFY` is never part of a transaction that decides something: those who notify take turns.
 */
import type { News, NewsKind } from '../../news.ts'
import { ALL_NEWS, NEWS_KINDS } from '../../news.ts'
import { newTellerName } from '../../random.ts'
import type { Notifier } from '../dialect.ts'
import type { PostgresAddress } from './address.ts'
import { beginListener } from './listener.ts'

/** What the processes on one store say to each other goes over this channel. */
export function channelOf(storeId: string): string {
  return `pawl_${storeId}`
}

/** As it is said. `teller`: empty for one that does not listen. */
export function said(news: News, teller = ''): string {
  return `${teller} ${[...news].join(' ')}`
}

/** Null: it was said by this teller. */
export function heard(payload: string, teller: string): News | null {
  const [who, ...words] = payload.split(' ')
  if (who === teller) return null
  const kinds = words.filter((word): word is NewsKind => KINDS.has(word))
  // A newer version has something to say that this one does not know.
  return kinds.length === words.length ? new Set(kinds) : ALL_NEWS
}

const KINDS: ReadonlySet<string> = new Set(NEWS_KINDS)

/** `address`: its schema only says what the connection is called. */
export function openNotifier(
  { schema, ...address }: PostgresAddress,
  storeId: string,
  onHeard: (news: News) => void,
): Notifier {
  const teller = newTellerName()
  const listener = beginListener({
    ...address,
    name: `pawl bell ${schema}`,
    channel: channelOf(storeId),
    onRing(payload) {
      const news = heard(payload, teller)
      if (news !== null) onHeard(news)
    },
    onGap: () => onHeard(ALL_NEWS),
  })
  return {
    notify: (news) => listener.ring(said(news, teller)),
    close: () => listener.close(),
  }
}
