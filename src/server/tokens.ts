/**
 * Who may do what: tokens, as hashes. A token that is given is hashed and compared with all of them in constant time, so
 * that how long it takes says nothing. Nothing here writes one anywhere.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { Operation, Role } from '../protocol/index.ts'
import { PUBLIC_OPERATIONS } from '../protocol/index.ts'
import type { TokenOptions } from './options.ts'

/** The caller of a request. */
export interface Caller {
  /** On record as the actor. */
  readonly name: string
  readonly roles: ReadonlySet<Role>
}

/** Where no tokens are asked for. */
const ANY_CALLER: Caller = { name: 'client', roles: new Set<Role>(['admin']) }

function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}

export class Tokens {
  readonly #known: readonly { readonly hash: Buffer; readonly caller: Caller }[]

  constructor(tokens: readonly TokenOptions[]) {
    this.#known = tokens.map(({ token, roles, name }) => ({
      hash: hashOf(token),
      caller: { name: name ?? roles.join('+'), roles: new Set(roles) },
    }))
  }

  /** Null: there is no token, or not a known one. */
  callerOf(authorization: string | null): Caller | null {
    if (this.#known.length === 0) return ANY_CALLER
    const given = /^Bearer ([\x21-\x7e]{1,4096})$/i.exec(authorization ?? '')?.[1]
    if (given === undefined) return null
    const hash = hashOf(given)
    let found: Caller | null = null
    for (const one of this.#known) if (timingSafeEqual(one.hash, hash)) found = one.caller
    return found
  }
}

export function mayCall({ roles }: Caller, operation: Operation): boolean {
  return PUBLIC_OPERATIONS.has(operation.name) || hasOneOf(roles, operation.roles)
}

/** `admin` has all. */
export function hasOneOf(roles: ReadonlySet<Role>, needed: readonly Role[]): boolean {
  return roles.has('admin') || needed.some((one) => roles.has(one))
}
