/**
 * The catalogue: every operation once, by its name. Routes, validation, the OpenAPI document and `docs/http.md` are made
 * from it. An operation more is an entry in one of the files below, and a function of that name in the server.
 */
import { CLIENT_OPERATIONS } from './client-operations.ts'
import type { InputOf, Operation } from './operation.ts'
import { QUERY_OPERATIONS } from './query-operations.ts'
import { STORE_OPERATIONS } from './store-operations.ts'

const ENTRIES = { ...CLIENT_OPERATIONS, ...STORE_OPERATIONS, ...QUERY_OPERATIONS }

export type OperationName = keyof typeof ENTRIES
export type OperationInput<N extends OperationName> = InputOf<(typeof ENTRIES)[N]>

export const OPERATIONS = Object.fromEntries(
  Object.entries(ENTRIES).map(([name, entry]) => [name, { ...entry, name }]),
) as unknown as { readonly [N in OperationName]: Operation }

/** These need no token: they say nothing about jobs. */
export const PUBLIC_OPERATIONS: ReadonlySet<string> = new Set<OperationName>(['healthz', 'readyz'])
