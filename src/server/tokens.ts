/**
 * Who may do what: tokens, as hashes. A token that is given is hashed and compared with all of them in constant time, so
 * that how long it takes says nothing. Nothing here writes one anywhere.
 *
 * Tokens are made by chance, and are long: a plain SHA-256 of one cannot be guessed back. Passwords would need more.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { Operation, Role } from '../protocol/index.ts'
import { PUBLIC_OPERATIONS } from '../protocol/index.ts'
import type { MessageLink } from './message-links.ts'
import { messageLinkIn } from './message-links.ts'
import type { Scope } from './scopes.ts'

/** The caller of a request. */
export interface Caller {
  /** On record as the actor. */
  readonly name: string
  readonly roles: ReadonlySet<Role>
  /** Null: all jobs. */
  readonly scope: Scope | null
  readonly seesPayloads: boolean
  /** It may do this one thing, and nothing else; null: what its roles say. */
  readonly link: MessageLink | null
}

/** A token as it is kept. */
export interface KeptToken extends Omit<Caller, 'link'> {
  /** SHA-256, in hexadecimal digits. */
  readonly hash: string
}

/** Where no tokens are asked for. */
const ANY_CALLER: Caller = {
  name: 'client',
  roles: new Set<Role>(['admin']),
  scope: null,
  seesPayloads: true,
  link: null,
}
/** Of an operation that needs no token. */
export const ANONYMOUS: Caller = { ...ANY_CALLER, name: 'anonymous', roles: new Set<Role>() }

/** What a token file keeps of a token. */
export function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}

interface KnownToken {
  readonly kept: KeptToken
  readonly hash: Buffer
  readonly caller: Caller
}

export class Tokens {
  readonly #isOpen: boolean
  readonly #linkKeys: readonly string[]
  /** Those that the server was given, and those of its file. */
  #known: readonly KnownToken[]
  readonly #given: readonly KnownToken[]

  /** `isOpen`: no token is asked for. */
  constructor(given: readonly KeptToken[], linkKeys: readonly string[], isOpen: boolean) {
    this.#isOpen = isOpen
    this.#linkKeys = linkKeys
    this.#given = given.map((one) => knownToken(one))
    this.#known = this.#given
  }

  /** Those of the file are these from now on. Gives the callers that are none any more. */
  replaceFileTokens(kept: readonly KeptToken[]): readonly Caller[] {
    const before = this.#known
    // One that did not change is the same caller: what it has open goes on, and is counted.
    const fromFile = kept.map((one) => {
      const same = before.find((known) => textOf(known.kept) === textOf(one))
      return same ?? knownToken(one)
    })
    this.#known = [...this.#given, ...fromFile]
    const callers = new Set(this.#known.map(({ caller }) => caller))
    return before.map(({ caller }) => caller).filter((caller) => !callers.has(caller))
  }

  /** Null: there is no token, or not a known one. */
  callerOf(authorization: string | null, nowMs: number): Caller | null {
    if (this.#isOpen) return ANY_CALLER
    const given = /^Bearer ([\x21-\x7e]{1,8192})$/i.exec(authorization ?? '')?.[1]
    if (given === undefined) return null
    const hash = createHash('sha256').update(given).digest()
    let found: Caller | null = null
    for (const one of this.#known) if (timingSafeEqual(one.hash, hash)) found = one.caller
    return found ?? this.#linkCaller(given, nowMs)
  }

  #linkCaller(given: string, nowMs: number): Caller | null {
    const link = messageLinkIn(given, this.#linkKeys, nowMs)
    return link === null ? null : { ...ANONYMOUS, name: link.by, link }
  }
}

function knownToken(kept: KeptToken): KnownToken {
  const { name, roles, scope, seesPayloads } = kept
  const caller = { name, roles, scope, seesPayloads, link: null }
  return { kept, hash: Buffer.from(kept.hash, 'hex'), caller }
}

function textOf(kept: KeptToken): string {
  return JSON.stringify(kept, (_, value: unknown) => (value instanceof Set ? [...value] : value))
}

export function mayCall({ roles, link }: Caller, operation: Operation): boolean {
  if (PUBLIC_OPERATIONS.has(operation.name)) return true
  return link === null ? hasOneOf(roles, operation.roles) : isForOperation(link, operation)
}

/** Who is to answer a question may read it. */
function isForOperation({ operation }: MessageLink, { name }: Operation): boolean {
  return name === operation || (name === 'inbox.show' && operation === 'inbox.answer')
}

/** `admin` has all. */
export function hasOneOf(roles: ReadonlySet<Role>, needed: readonly Role[]): boolean {
  return roles.has('admin') || needed.some((one) => roles.has(one))
}
