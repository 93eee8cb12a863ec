/**
 * What a token for one purpose says of itself. The server that knows the key checks the signature; a page that a link leads
 * to reads from it what to ask the server for, and believes nothing of it.
 */

export interface LinkTerms {
  readonly job: string
  readonly operation: 'messages.send' | 'inbox.answer'
  /** Of the message, or of the question. */
  readonly name: string
  readonly stage?: string
  readonly segment?: number
  readonly by: string
  readonly untilMs: number
  readonly value?: unknown
}

/** Short names: it goes into a link. */
interface WrittenTerms {
  readonly j: string
  readonly n: string
  readonly b: string
  readonly u: number
  readonly q?: boolean
  readonly s?: string
  readonly g?: number
  readonly v?: unknown
}

export const LINK_PREFIX = 'pawl1'
const FORM = /^pawl1\.([\w-]{1,4000})\.([\w-]{43})$/

/** Null: it is no such token. */
export function partsOfLink(token: string): { body: string; signature: string } | null {
  const [, body, signature] = FORM.exec(token) ?? []
  return body === undefined || signature === undefined ? null : { body, signature }
}

export function writtenLinkTerms(terms: LinkTerms): string {
  const { job: j, name: n, by: b, untilMs: u, stage: s, segment: g, operation } = terms
  const isAnswer = operation === 'inbox.answer'
  const written: WrittenTerms = {
    j,
    n,
    b,
    u,
    ...(s === undefined ? {} : { s }),
    ...(g === undefined ? {} : { g }),
    ...('value' in terms ? { v: terms.value } : {}),
    ...(isAnswer ? { q: true } : {}),
  }
  return JSON.stringify(written)
}

/** Of what was signed. Throws if it is none of ours. */
export function linkTermsIn(text: string): LinkTerms {
  const said = JSON.parse(text) as WrittenTerms
  return {
    job: said.j,
    operation: said.q === true ? 'inbox.answer' : 'messages.send',
    name: said.n,
    by: said.b,
    untilMs: said.u,
    ...(said.s === undefined ? {} : { stage: said.s }),
    ...(said.g === undefined ? {} : { segment: said.g }),
    ...('v' in said ? { value: said.v } : {}),
  }
}
