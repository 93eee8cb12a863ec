/**
 * `token`: makes a token for a server, which keeps its hash alone.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import type { TokenTerms } from '../../server/index.ts'
import type { Role } from '../../protocol/index.ts'
import { ROLES } from '../../protocol/index.ts'
import type { CliCommand } from '../command.ts'
import { textOption } from '../command-call.ts'
import { WrongUsage } from '../failure.ts'
import { newToken } from '../random.ts'

interface TokenEntry extends TokenTerms {
  readonly hash: string
}

/** The file as it is, with one entry more; other users may not read it. */
function addTo(path: string, entry: TokenEntry): void {
  const tokens = existsSync(path) ? tokensIn(path) : []
  const text = JSON.stringify({ tokens: [...tokens, entry] }, null, 2)
  try {
    writeFileSync(path, `${text}\n`, { mode: 0o600 })
  } catch (error) {
    throw new WrongUsage(`${path} cannot be written: ${(error as Error).message}`)
  }
}

function tokensIn(path: string): readonly unknown[] {
  try {
    const given = JSON.parse(readFileSync(path, 'utf8')) as { readonly tokens?: unknown }
    if (Array.isArray(given.tokens)) return given.tokens as unknown[]
  } catch (error) {
    throw new WrongUsage(`${path} is no file of tokens: ${(error as Error).message}`)
  }
  throw new WrongUsage(`${path} is no file of tokens: write { "tokens": [] }.`)
}

export const TOKEN: CliCommand = {
  name: 'token',
  group: 'run',
  says: 'Makes a token for a server, prints it once, and writes its hash into the file of tokens',
  details: 'Without --add it prints the entry for the file, too.',
  options: [
    { flags: '--role <role>', says: 'What it may do', isMany: true },
    { flags: '--name <name>', says: 'Who it is for: on record for what it is used for' },
    { flags: '--type <type>', says: 'Only jobs of this type', isMany: true },
    { flags: '--queue <queue>', says: 'Only jobs in this queue', isMany: true },
    { flags: '--no-payloads', says: 'Without inputs, outputs, messages and errors' },
    { flags: '--add <file>', says: 'Add it to this file' },
  ],
  examples: [
    'token --name shop --role submit --add tokens.json',
    'token --role read --role operate',
  ],
  run: async (call) => {
    const given = (call.options['role'] as string[] | undefined) ?? []
    const unknown = given.find((one) => !(ROLES as readonly string[]).includes(one))
    if (given.length === 0 || unknown !== undefined) {
      const what = unknown === undefined ? '--role is missing' : `--role is '${unknown}'`
      throw new WrongUsage(`${what}: write ${ROLES.join(', ')}.`)
    }
    const [name, file] = [textOption(call, 'name'), textOption(call, 'add')]
    const types = call.options['type'] as string[] | undefined
    const queues = call.options['queue'] as string[] | undefined
    const { hashToken } = await import('../../server/index.ts')
    const token = newToken()
    const entry: TokenEntry = {
      ...(name === undefined ? {} : { name }),
      hash: hashToken(token),
      roles: given as Role[],
      ...(types === undefined ? {} : { types }),
      ...(queues === undefined ? {} : { queues }),
      ...(call.options['payloads'] === false ? { payloads: false } : {}),
    }
    if (file !== undefined) addTo(file, entry)
    return {
      report: {
        value: { token, entry },
        text: () => (file === undefined ? `${token}\n${JSON.stringify(entry)}` : token),
      },
    }
  },
}
