/**
 * Readers who ask the same at about the same time, as open pages of the dashboard do, through a real handler.
 */
import { expect, it } from 'vitest'
import { job, open, typed } from '../../../src/index.ts'
import { createHandler } from '../../../src/server/index.ts'

const note = job('note', { input: typed<number>(), run: () => null })
const ADA = 'ada-0123456789abcdef'
const EVE = 'eve-0123456789abcdef'
const BLIND = 'blind-0123456789abcdef'
const SCOPED = 'scoped-0123456789abcdef'

it('get one answer if they take one that is a little old, and may see the same', async () => {
  const pawl = await open('memory:')
  const handler = createHandler(pawl, {
    tokens: [
      { token: ADA, name: 'ada', roles: ['admin'] },
      { token: EVE, name: 'eve', roles: ['read'] },
      { token: BLIND, name: 'blind', roles: ['read'], payloads: false },
      { token: SCOPED, name: 'scoped', roles: ['read'], types: ['other'] },
    ],
  })
  const total = async (token: string, headers: Record<string, string> = {}): Promise<unknown> => {
    const url = 'http://localhost/v1/counts'
    const authorization = `Bearer ${token}`
    const answer = await handler(new Request(url, { headers: { ...headers, authorization } }))
    const body = (await answer.json()) as { total?: number; code?: string }
    return body.total ?? body.code
  }
  const old = { 'cache-control': 'max-age=5' }
  await pawl.submit(note, 1)
  expect(await total(ADA, old)).toBe(1)
  await pawl.submit(note, 2)
  expect(await total(ADA, old)).toBe(1)
  expect(await total(EVE, old)).toBe(1)
  expect(await total(EVE)).toBe(2)
  expect(await total(BLIND, old)).toBe(2)
  expect(await total(SCOPED, old)).not.toBe(1)
  expect(await total('unknown-0123456789', old)).toBe('Unauthorized')
  handler.close()
  await pawl.close()
})
