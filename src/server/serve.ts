/**
 * Serves an engine over HTTP, on this machine alone unless there are tokens.
 */
import type { Pawl } from '../engine/index.ts'
import { answersOf } from './handler.ts'
import { listen } from './listener.ts'
import type { ServeOptions } from './options.ts'
import { serveTerms } from './options.ts'

export interface PawlServer {
  /** What `open` takes: 'http://127.0.0.1:7295'. */
  readonly url: string
  readonly port: number
  /** Takes no more requests, answers polls, and ends streams. The engine stays open. */
  close(): Promise<void>
}

export async function serve(pawl: Pawl, options: ServeOptions = {}): Promise<PawlServer> {
  const terms = serveTerms(options)
  const handler = answersOf(pawl, terms)
  try {
    const listener = await listen(handler, terms)
    const { port } = listener
    const host = terms.host.includes(':') ? `[${terms.host}]` : terms.host
    return {
      url: `${terms.tls === null ? 'http' : 'https'}://${host}:${port}${terms.path}`,
      port,
      close: () => listener.close(),
    }
  } catch (error) {
    handler.close()
    throw error
  }
}
