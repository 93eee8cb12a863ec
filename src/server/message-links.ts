/**
 * Tokens for one purpose: one message to one job, or one answer to one question, until a time. Such a token is made by who has
 * the key, and kept nowhere: it carries what it is for, and a signature. A link in a mail leads to a page that sends it.
 *
 * Used again it is the same message, which is sent once. It can do nothing else, and nothing is read by it.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { InvalidDefinition, KnownOptions, shown } from '../definition/index.ts'

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
export interface MessageLink {
  readonly job: string
  readonly operation: 'messages.send' | 'inbox.answer'
  /** Of the message, or of the question. */
  readonly name: string
  readonly stage?: string
  readonly segment?: number
  readonly by: string
  readonly untilMs: number
  readonly value?: unknown
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
const PREFIX = 'pawl1'
const SHORTEST_KEY = 32
const FORM = /^pawl1\.([\w-]{1,4000})\.([\w-]{43})$/

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
  const isAnswer = question !== undefined
  const said = { j: job, n: name, b: by, u: until.getTime(), s: stage, g: segment, v: value }
  const body = Buffer.from(JSON.stringify({ ...said, ...(isAnswer && { q: true }) })).toString(
    'base64url',
  )
  if (body.length > 4_000) {
    throw new InvalidDefinition('What messageLink() is to carry is too long: leave out `value`.')
  }
  return `${PREFIX}.${body}.${signatureOf(key, body)}`
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
  const [, body, signature] = FORM.exec(token) ?? []
  if (body === undefined || signature === undefined) return null
  const given = Buffer.from(signature)
  let isSigned = false
  for (const key of keys) {
    if (timingSafeEqual(Buffer.from(signatureOf(key, body)), given)) isSigned = true
  }
  if (!isSigned) return null
  const said = JSON.parse(Buffer.from(body, 'base64url').toString()) as SignedTerms
  if (nowMs > said.u) return null
  return {
    job: said.j,
    operation: said.q === true ? 'inbox.answer' : 'messages.send',
    name: said.n,
    by: said.b,
    untilMs: said.u,
    id: `link-${signature}`,
    ...(said.s === undefined ? {} : { stage: said.s }),
    ...(said.g === undefined ? {} : { segment: said.g }),
    ...('v' in said ? { value: said.v } : {}),
  }
}

/** Short names: it goes into a link. */
interface SignedTerms {
  readonly j: string
  readonly n: string
  readonly b: string
  readonly u: number
  readonly q?: boolean
  readonly s?: string
  readonly g?: number
  readonly v?: unknown
}

function signatureOf(key: string, body: string): string {
  return createHmac('sha256', key).update(`${PREFIX}.${body}`).digest('base64url')
}
