/**
 * Who reads the page: the token that the server asks for, and what it may do. The token is kept for this tab alone, and is
 * gone with it. That of a signed link stands beside it: each is used for its own pages.
 */
import { signal } from '@preact/signals'
import type { OperationName } from '../../protocol/index.ts'

const TOKEN = 'pawl-token'
const NAME = 'pawl-name'
const LINK = 'pawl-link'

export interface SignedIn {
  readonly name: string
  readonly seesPayloads: boolean
  readonly operations: ReadonlySet<string>
  /** Null: of all. */
  readonly types: readonly string[] | null
  readonly queues: readonly string[] | null
}

/** What lists and counts of a token are held to that is for several types, or queues: one of each at a time. */
export interface ChosenScope {
  readonly type?: string
  readonly queue?: string
}

/** As far as the reader chose. */
export const chosenScope = signal<ChosenScope>({})

/** Of what the token is for, the first where the reader chose none. */
export function scopeInUse(): ChosenScope {
  const { type, queue } = chosenScope.value
  const known = reader.value
  return {
    ...ownOf('type', known?.types ?? null, type),
    ...ownOf('queue', known?.queues ?? null, queue),
  }
}

function ownOf(
  name: keyof ChosenScope,
  own: readonly string[] | null,
  chosen: string | undefined,
): ChosenScope {
  const value = own?.find((one) => one === chosen) ?? own?.[0]
  return value === undefined ? {} : { [name]: value }
}

/** Null: it is not known yet. */
export const reader = signal<SignedIn | null>(null)
/** Why a token is asked for; null: none is. */
export const tokenAsked = signal<string | null>(null)

function stored(key: string): string {
  try {
    return sessionStorage.getItem(key) ?? ''
  } catch {
    return ''
  }
}

function store(key: string, value: string): void {
  try {
    if (value === '') sessionStorage.removeItem(key)
    else sessionStorage.setItem(key, value)
  } catch {
    // A browser that keeps nothing asks again.
  }
}

export const token = signal(stored(TOKEN))
/** Under which name the reader acts; empty: that of the token. */
export const actorName = signal(stored(NAME))

/** Of the newest signed link that was opened in this tab; empty: of none. */
export const linkToken = signal(stored(LINK))

export function keepLinkToken(value: string): void {
  linkToken.value = value
  store(LINK, value)
}

/** With another token, or none, there may be another reader: the name that the last one gave is not theirs. */
export function keepToken(value: string): void {
  keepName('')
  token.value = value
  store(TOKEN, value)
}

export function keepName(value: string): void {
  actorName.value = value
  store(NAME, value)
}

/** Where it does not, what stands in place of data is no data. */
export function seesPayloads(): boolean {
  return reader.value?.seesPayloads ?? true
}

/** What the reader may not do is not offered. */
export function may(operation: OperationName): boolean {
  return reader.value?.operations.has(operation) ?? false
}
