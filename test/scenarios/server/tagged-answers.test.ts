/**
 * Readers who ask for a job again and again, through a real handler.
 */
import { expect, it } from 'vitest'
import { job, open, typed } from '../../../src/index.ts'
import { createHandler } from '../../../src/server/index.ts'
import { serverInFront } from '../../support/server-calls.ts'

const note = job('note', { input: typed<string>(), run: () => null })
const ADA = 'ada-0123456789abcdef'
const BLIND = 'blind-0123456789abcdef'

it('are sent it once, until it changed, and what they may not see has a tag of its own', async () => {
  const pawl = await open('memory:')
  const handler = createHandler(pawl, {
    tokens: [
      { token: ADA, name: 'ada', roles: ['admin'] },
      { token: BLIND, name: 'blind', roles: ['read'], payloads: false },
    ],
  })
  const { id } = await pawl.submit(note, 'x'.repeat(100_000), { hold: true })
  const show = async (tag = '', token = ADA): Promise<Response> => {
    const headers = { authorization: `Bearer ${token}`, 'if-none-match': tag }
    return handler(new Request(`http://localhost/v1/jobs/${id}`, { headers }))
  }
  const first = await show()
  const tag = first.headers.get('etag') ?? ''
  expect(((await first.json()) as { input: string }).input.length).toBe(100_000)
  const again = await show(tag)
  expect([again.status, await again.text(), again.headers.get('etag')]).toEqual([304, '', tag])
  expect(Number(again.headers.get('pawl-time'))).toBeGreaterThan(0)
  expect((await show(tag, BLIND)).status).toBe(200)
  await pawl.cancel(id)
  const changed = await show(tag)
  expect(changed.status).toBe(200)
  expect(await changed.json()).toMatchObject({ state: 'FAILED' })
  handler.close()
  await pawl.close()
})

it('has no length where it is not sent', async () => {
  const { pawl, server } = await serverInFront()
  const { id } = await pawl.submit(note, 'x', { hold: true })
  const shown = await fetch(`${server.url}/v1/jobs/${id}`)
  expect(Number(shown.headers.get('content-length'))).toBe((await shown.text()).length)
  const headers = { 'if-none-match': shown.headers.get('etag') ?? '' }
  const again = await fetch(`${server.url}/v1/jobs/${id}`, { headers })
  expect([again.status, again.headers.get('content-length')]).toEqual([304, null])
})
