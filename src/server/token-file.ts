/**
 * Tokens in a file, as hashes: they are rotated by writing the file anew, without a restart. A file that cannot be read, or has
 * a mistake in it, changes nothing: the tokens before it stay, and the mistake is told.
 */
import { readFileSync } from 'node:fs'
import { InvalidDefinition, KnownOptions, shown } from '../definition/index.ts'
import type { TokenTerms } from './token-terms.ts'
import { keptToken, TOKEN_TERMS } from './token-terms.ts'
import type { KeptToken } from './tokens.ts'

/** One token of a file. */
export interface FileToken extends TokenTerms {
  /** SHA-256 of the token, in hexadecimal digits: what `hashToken` gives. */
  readonly hash: string
}

const FILE = new KnownOptions<{ readonly tokens: unknown }>({ tokens: true })
const FILE_TOKEN = new KnownOptions<FileToken>({ ...TOKEN_TERMS, hash: true })

export function readTokenFile(path: string): readonly KeptToken[] {
  const what = `the token file ${path}`
  const given = parsed(readFileSync(path, 'utf8'), what)
  FILE.assert(given, what, '{ "tokens": [{ "hash": "…", "roles": ["work"] }] }')
  const { tokens } = given as { readonly tokens: unknown }
  if (!Array.isArray(tokens)) {
    throw new InvalidDefinition(`\`tokens\` of ${what} is a list, not ${shown(tokens)}.`)
  }
  return (tokens as readonly FileToken[]).map((one, i) => {
    const which = `\`tokens[${i}]\` of ${what}`
    FILE_TOKEN.assert(one, which, '{ "hash": "…", "roles": ["work"] }')
    const { hash, ...terms } = one
    if (typeof hash !== 'string' || !/^[\da-f]{64}$/.test(hash)) {
      throw new InvalidDefinition(
        `\`hash\` of ${which} is the SHA-256 of a token in 64 hexadecimal digits: hashToken() gives it.`,
      )
    }
    return keptToken(hash, terms, which)
  })
}

/** What is not JSON may be a token by mistake: nothing of it is shown. */
function parsed(text: string, what: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    throw new InvalidDefinition(`What is in ${what} is no JSON.`)
  }
}
