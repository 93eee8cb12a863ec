/**
 * The options of a server, checked BEFORE anything listens.
 */
import { DashboardFiles } from '../dashboard/index.ts'
import type { AnyJob } from '../definition/index.ts'
import { InvalidDefinition, KnownOptions, shown } from '../definition/index.ts'
import { assertLinkKey } from './message-links.ts'
import type { TokenTerms } from './token-terms.ts'
import { keptToken, TOKEN_TERMS } from './token-terms.ts'
import type { KeptToken } from './tokens.ts'
import { hashToken } from './tokens.ts'

export interface TokenOptions extends TokenTerms {
  /** What callers send as `Authorization: Bearer …`: at least 16 characters, made by chance. */
  readonly token: string
}

export interface HandlerLimits {
  /** Of the body of a request. Default 16 MB. */
  readonly bodyBytes?: number
  /** Polls and streams that are open at once. Default 1,000. */
  readonly open?: number
  /** The same, of one token. Default 200. */
  readonly openPerToken?: number
  /** How long a request may take to arrive, in milliseconds; its head, 10 s at most. Only of `serve`. Default 30 s. */
  readonly requestMs?: number
  /** How long an answer or a stream may be stuck because its caller takes nothing of it: then it is cut. Not of `createHandler`. Default 30 s. */
  readonly stuckMs?: number
}

export interface RequestHandlerOptions {
  /** Without any, and without a file of them, no caller is asked who it is. */
  readonly tokens?: readonly TokenOptions[]
  /**
   * A JSON file of tokens, as hashes: `{ "tokens": [{ "hash": "…", "roles": ["work"] }] }`. It is read again when it changes.
   */
  readonly tokenFile?: string
  /** Keys of tokens for one message: see `messageLink`. A key that is left out ends all that were made with it. */
  readonly linkKeys?: readonly string[]
  /** Must be said where there are no tokens: every caller that reaches the handler may do everything. */
  readonly unprotected?: true
  /** Where it is mounted, such as '/pawl'. Default: at the root. */
  readonly path?: string
  /**
   * Names, without ports, that the Host header may have. Default: any if there are tokens, else those of this
   * machine by itself: a page in a browser could have its own name lead here.
   */
  readonly hosts?: readonly string[]
  /** Other origins whose pages may ask. Default: none. */
  readonly origins?: readonly string[]
  /** Jobs that are submitted by name get their policies, and their inputs are checked. Default: none. */
  readonly definitions?: readonly AnyJob[]
  readonly limits?: HandlerLimits
  /** Whether it has the dashboard, at `dashboard/` below its path. Its page is open to all, and what it shows asks for a token. Default true. */
  readonly dashboard?: boolean
  /** How long a process of remote workers may be silent, without a connection, until its leases are revoked. Default 5 s. */
  readonly graceMs?: number
  /** Told of failures of the server. Default: written to stderr. */
  readonly onError?: (error: Error) => void
}

export interface TlsFiles {
  readonly cert: string
  readonly key: string
}

export interface ServeOptions extends Omit<RequestHandlerOptions, 'unprotected'> {
  /** Default 7295; 0: any that is free. */
  readonly port?: number
  /**
   * Paths of a certificate and its key, in PEM: it speaks HTTPS. They are read again when they change. Default: none, and a
   * proxy before it does TLS.
   */
  readonly tls?: TlsFiles
  /** Default '127.0.0.1'. Another address than one of this machine by itself needs tokens. */
  readonly host?: string
}

const HANDLER_NAMES = {
  tokens: true,
  tokenFile: true,
  linkKeys: true,
  path: true,
  hosts: true,
  origins: true,
  definitions: true,
  limits: true,
  dashboard: true,
  graceMs: true,
  onError: true,
} as const
const HANDLER_OPTIONS = new KnownOptions<RequestHandlerOptions>({
  ...HANDLER_NAMES,
  unprotected: true,
})
const SERVE_OPTIONS = new KnownOptions<ServeOptions>({
  ...HANDLER_NAMES,
  port: true,
  host: true,
  tls: true,
})
const TLS_OPTIONS = new KnownOptions<TlsFiles>({ cert: true, key: true })
const TOKEN_OPTIONS = new KnownOptions<TokenOptions>({ ...TOKEN_TERMS, token: true })
const LIMIT_OPTIONS = new KnownOptions<HandlerLimits>({
  bodyBytes: true,
  open: true,
  openPerToken: true,
  requestMs: true,
  stuckMs: true,
})

const SHORTEST_TOKEN = 16
const DEFAULT_LIMITS = {
  bodyBytes: 16 * 1_024 * 1_024,
  open: 1_000,
  openPerToken: 200,
  requestMs: 30_000,
  stuckMs: 30_000,
}
const DEFAULT_GRACE_MS = 5_000
export const DEFAULT_PORT = 7_295

/** Names and addresses that no other machine can be reached by. */
const OF_THIS_MACHINE: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '::1', '[::1]'])

export interface HandlerTerms {
  readonly tokens: readonly KeptToken[]
  /** Null: there is none. */
  readonly tokenFile: string | null
  readonly linkKeys: readonly string[]
  /** No caller is asked who it is. */
  readonly isOpen: boolean
  readonly path: string
  /** Null: any. */
  readonly hosts: ReadonlySet<string> | null
  readonly origins: ReadonlySet<string>
  readonly definitions: ReadonlyMap<string, AnyJob>
  readonly limits: Required<HandlerLimits>
  /** Null: it has none. */
  readonly dashboard: DashboardFiles | null
  readonly graceMs: number
  readonly onError: (error: Error) => void
}

/** `by`: the function that they were given to. */
export function handlerTerms(
  options: RequestHandlerOptions,
  by: 'createHandler' | 'createMiddleware' = 'createHandler',
): HandlerTerms {
  HANDLER_OPTIONS.assert(options, `${by}()`, `${by}(pawl, { tokens: […] })`)
  if (!hasTokens(options) && options.unprotected !== true) {
    throw new InvalidDefinition(
      `${by}() needs \`tokens\`: every caller that reaches it could do everything. If something before it asks callers who they are, write \`unprotected: true\`.`,
    )
  }
  return termsOf(options)
}

interface ServeTerms extends HandlerTerms {
  readonly port: number
  readonly host: string
  /** Null: it speaks HTTP. */
  readonly tls: TlsFiles | null
}

export function serveTerms(options: ServeOptions): ServeTerms {
  SERVE_OPTIONS.assert(options, 'serve()', 'serve(pawl, { port: 7295 })')
  const { port = DEFAULT_PORT, host = '127.0.0.1' } = options
  if (!(Number.isInteger(port) && port >= 0 && port <= 65_535)) {
    throw new InvalidDefinition(`\`port\` is a whole number from 0 to 65535, not ${shown(port)}.`)
  }
  if (typeof host !== 'string' || (!hasTokens(options) && !OF_THIS_MACHINE.has(host))) {
    throw new InvalidDefinition(
      `serve() on ${shown(host)} needs \`tokens\`: every machine that reaches it could do everything. Without tokens it listens on '127.0.0.1' only.`,
    )
  }
  return { ...termsOf(options), port, host, tls: tlsOf(options.tls) }
}

function tlsOf(tls: TlsFiles | undefined): TlsFiles | null {
  if (tls === undefined) return null
  TLS_OPTIONS.assert(tls, '`tls` of serve()', '{ cert: "./cert.pem", key: "./key.pem" }')
  const { cert, key } = tls
  if ([cert, key].every((path) => typeof path === 'string' && path !== '')) return { cert, key }
  throw new InvalidDefinition('`tls` of serve() has the paths of two files, `cert` and `key`.')
}

function hasTokens({ tokens = [], tokenFile }: RequestHandlerOptions): boolean {
  return tokens.length > 0 || tokenFile !== undefined
}

function termsOf(options: Omit<RequestHandlerOptions, 'unprotected'>): HandlerTerms {
  const { tokens = [], hosts, origins = [], definitions = [], limits = {}, path = '' } = options
  const { tokenFile, linkKeys = [] } = options
  LIMIT_OPTIONS.assert(limits, '`limits` of a server')
  if (tokenFile !== undefined && (typeof tokenFile !== 'string' || tokenFile === '')) {
    throw new InvalidDefinition(`\`tokenFile\` is the path of a file, not ${shown(tokenFile)}.`)
  }
  linkKeys.forEach((key, i) => assertLinkKey(key, `\`linkKeys[${i}]\` of a server`))
  if (path !== '' && !/^(?:\/[\w.~-]+)+$/.test(path)) {
    throw new InvalidDefinition(
      `\`path\` is where the server is mounted, such as '/pawl', not ${shown(path)}.`,
    )
  }
  const { graceMs = DEFAULT_GRACE_MS, dashboard = true } = options
  if (typeof dashboard !== 'boolean') {
    throw new InvalidDefinition(`\`dashboard\` is true or false, not ${shown(dashboard)}.`)
  }
  for (const [name, value] of Object.entries({ ...DEFAULT_LIMITS, ...limits, graceMs })) {
    if (Number.isSafeInteger(value) && value > 0) continue
    throw new InvalidDefinition(`\`${name}\` is a whole number from 1, not ${shown(value)}.`)
  }
  const named = hosts === undefined ? null : new Set(hosts.map((one) => one.toLowerCase()))
  return {
    tokens: tokens.map(tokenOf),
    tokenFile: tokenFile ?? null,
    linkKeys,
    isOpen: !hasTokens(options),
    path,
    hosts: named ?? (hasTokens(options) ? null : OF_THIS_MACHINE),
    origins: new Set(origins),
    definitions: new Map(definitions.map((one) => [one.name, one])),
    limits: { ...DEFAULT_LIMITS, ...limits },
    dashboard: dashboard ? new DashboardFiles() : null,
    graceMs,
    onError: options.onError ?? ((error) => console.error(`pawl: ${error.message}`)),
  }
}

/** No message shows the token. */
function tokenOf(given: TokenOptions, index: number): KeptToken {
  const what = `\`tokens[${index}]\` of a server`
  TOKEN_OPTIONS.assert(given, what, `{ token: '…', roles: ['work'] }`)
  const { token, ...terms } = given
  if (typeof token !== 'string' || token.length < SHORTEST_TOKEN || !/^[\x21-\x7e]+$/.test(token)) {
    throw new InvalidDefinition(
      `The token of ${what} is a text of at least ${SHORTEST_TOKEN} characters without blanks: make it by chance, such as randomBytes(32).toString('base64url').`,
    )
  }
  return keptToken(hashToken(token), terms, what)
}
