/**
 * What a token may do, as people write it: checked BEFORE the token is known.
 */
import type { OptionNames } from '../definition/index.ts'
import { InvalidDefinition, shown } from '../definition/index.ts'
import type { Role } from '../protocol/index.ts'
import { ROLES } from '../protocol/index.ts'
import type { KeptToken } from './tokens.ts'

export interface TokenTerms {
  readonly roles: readonly Role[]
  /** Who it is for: on record as the actor of what it is used for. Default: its roles. */
  readonly name?: string
  /** It sees and does only what concerns jobs of these types. Default: of any. */
  readonly types?: readonly string[]
  /** It sees and does only what concerns jobs in these queues; a pipeline is in those of its stages. Default: in any. */
  readonly queues?: readonly string[]
  /** False: it sees no inputs, outputs, messages and errors. Only with the roles read and operate. Default true. */
  readonly payloads?: boolean
}

export const TOKEN_TERMS: OptionNames<TokenTerms> = {
  roles: true,
  name: true,
  types: true,
  queues: true,
  payloads: true,
}
const WITHOUT_PAYLOADS: ReadonlySet<Role> = new Set(['read', 'operate'])

export function keptToken(hash: string, terms: TokenTerms, what: string): KeptToken {
  const { roles, name, types, queues, payloads = true } = terms
  if (!Array.isArray(roles) || roles.length === 0 || roles.some((one) => !ROLES.includes(one))) {
    throw new InvalidDefinition(
      `The roles of ${what} are a list of ${ROLES.map((one) => `'${one}'`).join(', ')}.`,
    )
  }
  if (name !== undefined && (typeof name !== 'string' || name === '')) {
    throw new InvalidDefinition(`\`name\` of ${what} is a text, not ${shown(name)}.`)
  }
  const isHeld = types !== undefined || queues !== undefined
  if (isHeld && roles.includes('admin')) {
    throw new InvalidDefinition(
      `${what} has the role 'admin', which is about all jobs: give it other roles, or no \`types\` and \`queues\`.`,
    )
  }
  if (typeof payloads !== 'boolean') {
    throw new InvalidDefinition(`\`payloads\` of ${what} is true or false, not ${shown(payloads)}.`)
  }
  if (!payloads && roles.some((one) => !WITHOUT_PAYLOADS.has(one))) {
    throw new InvalidDefinition(
      `${what} sees no payloads, which goes with the roles 'read' and 'operate' only.`,
    )
  }
  return {
    hash,
    name: name ?? roles.join('+'),
    roles: new Set(roles),
    scope: isHeld
      ? {
          types: namesOf(types, `\`types\` of ${what}`),
          queues: namesOf(queues, `\`queues\` of ${what}`),
        }
      : null,
    seesPayloads: payloads,
  }
}

function namesOf(given: readonly string[] | undefined, what: string): ReadonlySet<string> | null {
  if (given === undefined) return null
  if (Array.isArray(given) && given.length > 0 && given.every((one) => typeof one === 'string')) {
    return new Set(given)
  }
  throw new InvalidDefinition(`${what} are a list of names, and not empty, not ${shown(given)}.`)
}
