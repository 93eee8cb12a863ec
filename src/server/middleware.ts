/**
 * The server as a function of node:http's request and response, which Express, Connect, Nest, Fastify, Koa and a plain
 * `createServer` call. It writes the answer itself. What is not below its path it leaves to the framework.
 *
 * It reads the body itself, bounded. A framework that has read the body before has taken it away: such a request is
 * refused with words, since what the framework made of it may not be what was sent.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Pawl } from '../engine/index.ts'
import { answersOf } from './handler.ts'
import { problemAnswer, RequestRefused } from './errors.ts'
import type { AnswerFunction } from './exchange.ts'
import { serveRequest, writeAnswer } from './listener.ts'
import type { HandlerTerms, RequestHandlerOptions } from './options.ts'
import { handlerTerms } from './options.ts'

export interface RequestMiddleware {
  /** `next`: called for what is not below `path`, if there is one. */
  (incoming: IncomingMessage, outgoing: ServerResponse, next?: () => void): void
  /** Polls are answered and streams end. The engine stays open. */
  close(): void
}

export function createMiddleware(
  pawl: Pawl,
  options: RequestHandlerOptions = {},
): RequestMiddleware {
  const terms = handlerTerms(options, 'createMiddleware')
  return middlewareOf(answersOf(pawl, terms), terms)
}

export function middlewareOf(
  answer: AnswerFunction,
  { path, limits, onError }: HandlerTerms,
): RequestMiddleware {
  const middleware = (
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    next?: () => void,
  ): void => {
    if (next !== undefined && !isBelow(incoming.url ?? '/', path)) return next()
    const served = hasLostBody(incoming)
      ? writeAnswer(incoming, outgoing, problemAnswer(bodyTaken(), {}), limits.stuckMs)
      : serveRequest(answer, incoming, outgoing, limits.stuckMs)
    // Such as headers that the framework sent already: the caller gets no answer from here.
    served.catch((error: Error) => {
      outgoing.destroy()
      onError(error)
    })
  }
  return Object.assign(middleware, { close: () => answer.close() })
}

function isBelow(url: string, path: string): boolean {
  return url === path || url.startsWith(`${path}/`) || url.startsWith(`${path}?`)
}

function hasLostBody({ method, readableDidRead }: IncomingMessage): boolean {
  return method === 'POST' && readableDidRead
}

function bodyTaken(): RequestRefused {
  return new RequestRefused(
    'BodyTaken',
    'The body was read before it came to Pawl: mount Pawl before what parses bodies, such as express.json().',
  )
}
