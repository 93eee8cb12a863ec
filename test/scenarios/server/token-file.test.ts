/**
 * Tokens in a file: rotated without a restart, kept when the file has a mistake, and ended with what they had open.
 */
import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { open } from '../../../src/index.ts'
import { createHandler, hashToken, serve } from '../../../src/server/index.ts'
import { temporaryFolder } from '../../support/engines.ts'
import { serverInFront } from '../../support/server-calls.ts'

const OLD = 'the-old-token-0123456789'
const NEW = 'the-new-token-0123456789'

/** As a rotation does: written beside it, and moved over it. */
async function write(path: string, content: unknown): Promise<void> {
  const text = typeof content === 'string' ? content : JSON.stringify(content)
  await writeFile(`${path}.new`, text)
  await rename(`${path}.new`, path)
}

const tokensOf = (...tokens: readonly string[]): object => ({
  tokens: tokens.map((token) => ({ hash: hashToken(token), roles: ['read'], name: 'reader' })),
})

describe('a file of tokens', () => {
  it('is read again when it changes, and what an old token had open ends', async () => {
    const path = join(await temporaryFolder(), 'tokens.json')
    await write(path, tokensOf(OLD))
    const errors: string[] = []
    const onError = (error: Error): void => void errors.push(error.message)
    const { call, events } = await serverInFront({ tokenFile: path, onError })
    expect((await call('jobs.list', {}, OLD)).status).toBe(200)
    expect((await call('jobs.list', {}, NEW)).status).toBe(401)
    expect((await call('jobs.list')).status).toBe(401)
    const watching = events('store.watch', {}, { token: OLD })
    const { cursor } = (await call('store.news', { since: null }, OLD)).body
    const polling = call('store.news', { since: cursor, waitMs: 60_000 }, OLD)
    await write(path, tokensOf(OLD, NEW))
    await expect.poll(async () => (await call('jobs.list', {}, NEW)).status).toBe(200)
    expect((await call('jobs.list', {}, OLD)).status).toBe(200)
    await write(path, tokensOf(NEW))
    await expect.poll(async () => (await call('jobs.list', {}, OLD)).status).toBe(401)
    expect(await watching).toEqual([])
    expect((await polling).body).toMatchObject({ news: [] })
    await write(path, '{ "tokens": [')
    await expect.poll(() => errors).toEqual([`What is in the token file ${path} is no JSON.`])
    expect((await call('jobs.list', {}, NEW)).status).toBe(200)
    await write(path, { tokens: [] })
    await expect.poll(async () => (await call('jobs.list', {}, NEW)).status).toBe(401)
  })

  it.each([
    ['a token that is not hashed', { tokens: [{ hash: OLD, roles: ['read'] }] }, /64 hexadecimal/],
    ['an unknown role', { tokens: [{ hash: hashToken(OLD), roles: ['god'] }] }, /roles of/],
    [
      'admin of some types',
      { tokens: [{ hash: hashToken(OLD), roles: ['admin'], types: ['a'] }] },
      /about all jobs/,
    ],
    [
      'a worker without payloads',
      { tokens: [{ hash: hashToken(OLD), roles: ['work'], payloads: false }] },
      /goes with the roles/,
    ],
    [
      'an empty scope',
      { tokens: [{ hash: hashToken(OLD), roles: ['read'], queues: [] }] },
      /not empty/,
    ],
    ['an option that there is not', { tokens: [{ hash: hashToken(OLD), role: 'read' }] }, /role/],
    ['no list', { tokens: {} }, /is a list/],
    ['no JSON', `token: ${OLD}`, /is no JSON/],
  ])(
    'with %s is refused when the server starts, and no token is shown',
    async (_, content, says) => {
      const path = join(await temporaryFolder(), 'tokens.json')
      await write(path, content)
      const pawl = await open('memory:')
      await expect(serve(pawl, { port: 0, tokenFile: path })).rejects.toThrow(says)
      expect(() => createHandler(pawl, { tokenFile: path })).toThrow(says)
      const error: unknown = await serve(pawl, { port: 0, tokenFile: path }).catch(
        (one: unknown) => one,
      )
      expect((error as Error).message).not.toContain(OLD)
      await pawl.close()
    },
  )
})
