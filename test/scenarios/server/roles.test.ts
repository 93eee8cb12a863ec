/**
 * Every operation with every role, and without a token: who may do what is what the catalogue says, and the server holds
 * it for each of them. The same for every command.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { open } from '../../../src/index.ts'
import type { Pawl } from '../../../src/index.ts'
import type { CommandType } from '../../../src/kernel/index.ts'
import type { Operation, Role } from '../../../src/protocol/index.ts'
import { COMMAND_ROLES, OPERATIONS, PUBLIC_OPERATIONS, ROLES } from '../../../src/protocol/index.ts'
import { pathOf } from '../../../src/protocol/routes.ts'
import type { PawlServer } from '../../../src/server/index.ts'
import { serve } from '../../../src/server/index.ts'

let pawl: Pawl
let server: PawlServer

const tokenOf = (role: Role): string => `token-of-the-role-${role}-0123`

beforeAll(async () => {
  pawl = await open('memory:')
  const tokens = ROLES.map((role) => ({ token: tokenOf(role), roles: [role] }))
  server = await serve(pawl, { port: 0, tokens, onError: () => undefined })
})

afterAll(async () => {
  await server.close()
  await pawl.close()
})

async function ask(operation: Operation, token: string | null, input: unknown): Promise<number> {
  const { path, rest } = pathOf(operation, input as Record<string, unknown>)
  const isGet = operation.method === 'GET'
  const ended = new AbortController()
  const response = await fetch(server.url + path, {
    method: operation.method,
    signal: ended.signal,
    headers: {
      'content-type': 'application/json',
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
    },
    ...(isGet ? {} : { body: JSON.stringify(rest) }),
  })
  if (response.status !== 200) await response.arrayBuffer()
  ended.abort()
  return response.status
}

/** Polls are not to wait. */
function inputFor({ name, example }: Operation): unknown {
  // Each command has roles of its own: see below.
  if (name === 'store.execute') return { commands: [] }
  const input = example.input as Record<string, unknown>
  return 'waitMs' in input ? { ...input, waitMs: 0 } : input
}

const TABLE = Object.values(OPERATIONS).flatMap((operation) =>
  [null, ...ROLES].map((role) => [operation.name, role ?? 'no token', operation, role] as const),
)

function isAllowed(operation: Operation, role: Role | null): boolean {
  if (PUBLIC_OPERATIONS.has(operation.name)) return true
  return role !== null && (role === 'admin' || operation.roles.includes(role))
}

describe('an operation and a role', () => {
  it.each(TABLE)('%s, %s', async (_name, _role, operation, role) => {
    const status = await ask(operation, role === null ? null : tokenOf(role), inputFor(operation))
    if (isAllowed(operation, role)) {
      // It may be refused for what it is about; who asks is not the reason, and it is no failure.
      expect([401, 403, 405, 500]).not.toContain(status)
      return
    }
    expect(status).toBe(role === null ? 401 : 403)
  })

  it('an unknown token is as good as none, also where there is nothing', async () => {
    for (const path of ['/v1/jobs', '/v1/nothing', '/']) {
      const headers = { authorization: 'Bearer not-one-of-those-tokens' }
      expect((await fetch(server.url + path, { headers })).status).toBe(401)
    }
  })
})

const COMMANDS = (Object.keys(COMMAND_ROLES) as CommandType[]).flatMap((type) =>
  ROLES.map((role) => [type, role] as const),
)

describe('a command and a role', () => {
  it.each(COMMANDS)('%s, %s', async (type, role) => {
    const before = (await pawl.metrics()).entries
    const execute = OPERATIONS['store.execute']
    const status = await ask(execute, tokenOf(role), { commands: [{ type }] })
    const may = role === 'admin' || COMMAND_ROLES[type].includes(role)
    expect(status).toBe(may ? 200 : 403)
    expect((await pawl.metrics()).entries).toEqual(before)
  })
})
