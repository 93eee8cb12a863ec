/**
 * `pawl/server`: an engine over HTTP, for clients and workers on other machines.
 */
export type { RequestHandler } from './handler.ts'
export { createHandler } from './handler.ts'
export type { RequestMiddleware } from './middleware.ts'
export { createMiddleware } from './middleware.ts'
export type {
  HandlerLimits,
  RequestHandlerOptions,
  ServeOptions,
  TlsFiles,
  TokenOptions,
} from './options.ts'
export { RequestRefused } from './errors.ts'
export type { MessageLinkOptions } from './message-links.ts'
export { messageLink } from './message-links.ts'
export type { PushOptions } from './push-job.ts'
export { pushJob } from './push-job.ts'
export type { FileToken } from './token-file.ts'
export type { TokenTerms } from './token-terms.ts'
export { hashToken } from './tokens.ts'
export type { PawlServer } from './serve.ts'
export { serve } from './serve.ts'
export type {
  FigureMove,
  FigureRange,
  Figures,
  Operation,
  QueueLines,
  Role,
} from '../protocol/index.ts'
export { openApiDocument, OPERATIONS } from '../protocol/index.ts'
