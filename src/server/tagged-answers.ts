/**
 * Answers with a tag of what they say: a reader who asks again and again names the tag that it has by `if-none-match`, and
 * is not sent the same again. Only what may be large, as the payloads of a job are, is tagged.
 */
import { createHash } from 'node:crypto'
import type { Operation, OperationName } from '../protocol/index.ts'
import type { IncomingCall, OutgoingAnswer } from './exchange.ts'

const TAGGED: ReadonlySet<string> = new Set<OperationName>(['jobs.show'])

export function jsonAnswer(
  { name }: Pick<Operation, 'name'>,
  asked: IncomingCall['headers'],
  headers: Readonly<Record<string, string>>,
  body: string,
): OutgoingAnswer {
  const type = { 'content-type': 'application/json' }
  if (!TAGGED.has(name)) return { status: 200, headers: { ...headers, ...type }, body }
  const etag = `"${createHash('sha256').update(body).digest('base64url')}"`
  if (asked.get('if-none-match') === etag) {
    return { status: 304, headers: { ...headers, etag }, body: '' }
  }
  return { status: 200, headers: { ...headers, ...type, etag }, body }
}
