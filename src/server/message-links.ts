/**
 * Tokens for one purpose: one message to one job, or one answer to one question, until a time. Such a token is made by who has
 * the key, and kept nowhere: it carries what it is for, and a signature. A link in a mail leads to a page that sends it.
 *
 * Used again it is the same message, which is sent once. It can do nothing else. One for an answer reads the question, so that
 * a page can show it; nothing else is read by it.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { InvalidDefinition, KnownOptions, shown } from '../definition/index.ts'
import type { LinkTerms } from '../protocol/index.ts'
import { LINK_PREFIX, linkTermsIn, partsOfLink, writtenLinkTerms } from '../protocol/index.ts'

export interface MessageLinkOptions {
  /** One of the `linkKeys` of the server. */
  readonly key: string
  readonly job: string
  /** The name of the message; or of a question, as `question`. */
  readonly message?: string
  readonly question?: string
  /** Of a pipeline. */
  readonly stage?: string
  readonly segment?: number
  /** Who it is for: on record as the one who says it. */
  readonly by: string
  /** It is of no use after this time. */
  readonly until: Date
  /** All that it may say. Default: what its holder sends. */
  readonly value?: unknown
}

/** What such a token is for. */
export interface MessageLink extends LinkTerms {
  /** The same for the same token: a message that is sent again. */
  readonly id: string
}

const OPTIONS = new KnownOptions<MessageLinkOptions>({
  key: true,
  job: true,
  message: true,
  question: true,
  stage: true,
  segment: true,
  by: true,
  until: true,
  value: true,
})
const SHORTEST_KEY = 32

/** A token for `Authorization: Bearer …`. */
export function messageLink(options: MessageLinkOptions): string {
  OPTIONS.assert(
    options,
    'messageLink()',
    `messageLink({ key, job, message: 'approve', by, until })`,
  )
  const { key, job, message, question, stage, segment, by, until, value } = options
  assertLinkKey(key, '`key` of messageLink()')
  const name = message ?? question
  if (name === undefined || (message !== undefined && question !== undefined)) {
    throw new InvalidDefinition('messageLink() is for a `message` or for a `question`: write one.')
  }
  for (const [what, text] of Object.entries({ job, name, by })) {
    if (typeof text === 'string' && text !== '') continue
    throw new InvalidDefinition(`\`${what}\` of messageLink() is a text, not ${shown(text)}.`)
  }
  if (!(until instanceof Date) || Number.isNaN(until.getTime())) {
    throw new InvalidDefinition(`\`until\` of messageLink() is a date, not ${shown(until)}.`)
  }
  const terms: LinkTerms = {
    job,
    operation: question === undefined ? 'messages.send' : 'inbox.answer',
    name,
    by,
    untilMs: until.getTime(),
    ...(stage === undefined ? {} : { stage }),
    ...(segment === undefined ? {} : { segment }),
    ...(value === undefined ? {} : { value }),
  }
  const body = Buffer.from(writtenLinkTerms(terms)).toString('base64url')
  if (body.length > 4_000) {
    throw new InvalidDefinition('What messageLink() is to carry is too long: leave out `value`.')
  }
  return `${LINK_PREFIX}.${body}.${signatureOf(key, body)}`
}

export function assertLinkKey(key: unknown, what: string): void {
  if (typeof key === 'string' && key.length >= SHORTEST_KEY) return
  throw new InvalidDefinition(
    `${what} is a text of at least ${SHORTEST_KEY} characters, made by chance, such as randomBytes(32).toString('base64url').`,
  )
}

/** Null: it is no such token, it was made with another key, or its time is over. */
export function messageLinkIn(
  token: string,
  keys: readonly string[],
  nowMs: number,
): MessageLink | null {
  const parts = partsOfLink(token)
  if (parts === null) return null
  const { body, signature } = parts
  const given = Buffer.from(signature)
  let isSigned = false
  for (const key of keys) {
    if (timingSafeEqual(Buffer.from(signatureOf(key, body)), given)) isSigned = true
  }
  if (!isSigned) return null
  const terms = linkTermsIn(Buffer.from(body, 'base64url').toString())
  return nowMs > terms.untilMs ? null : { ...terms, id: `link-${signature}` }
}

function signatureOf(key: string, body: string): string {
  return createHmac('sha256', key).update(`${LINK_PREFIX}.${body}`).digest('base64url')
}
