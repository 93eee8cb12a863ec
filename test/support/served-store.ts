/**
 * A store over HTTP: another store, an engine that does nothing by itself, a real server on loopback, and a client.
 */
import { Pawl } from '../../src/engine/index.ts'
import { serve } from '../../src/server/index.ts'
import { realTiming, withoutTimers } from '../../src/store/clock.ts'
import type { HttpStore } from '../../src/store/http/http-store.ts'
import { openHttp } from '../../src/store/http/open-http.ts'
import type { Store } from '../../src/store/index.ts'

export const ADMIN = 'token-of-the-admin-0123456789'

/** Closing the client closes what is behind it. */
export async function servedStore(store: Store, now: () => number): Promise<HttpStore> {
  const timing = withoutTimers(realTiming())
  const pawl = new Pawl({
    store,
    timing,
    now,
    onError: () => undefined,
    backup: null,
    onClose: () => undefined,
  })
  const server = await serve(pawl, { port: 0, tokens: [{ token: ADMIN, roles: ['admin'] }] })
  const client = await openHttp({ url: server.url, token: ADMIN })
  const close = client.close.bind(client)
  let closing: Promise<void> | null = null
  client.close = () => {
    closing ??= close()
      .then(() => server.close())
      .then(() => pawl.close())
    return closing
  }
  return client
}
