/** Submits that take the place of earlier ones with the same key. */
import { Client } from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { EVERY_ENGINE } from '../../../test/support/engines.ts'
import { freshSchema } from '../../../test/support/postgres.ts'
import { fromPg, job, open, typed } from '../../index.ts'

function gateOf(): { readonly isOpen: Promise<void>; readonly open: () => void } {
  let opened: (() => void) | undefined
  const isOpen = new Promise<void>((resolve) => (opened = resolve))
  return { isOpen, open: () => opened?.() }
}

describe.each(EVERY_ENGINE)('a submit that replaces, %s', (_, openEngine) => {
  it('is the one that counts until the job begins, and its delay counts from now', async () => {
    const pawl = await openEngine()
    const seen: string[] = []
    const index = job('index', { input: typed<string>(), run: ({ input }) => seen.push(input) })
    const last = { key: 'doc 7', delay: '1h', replace: true } as const
    const first = await pawl.submit(index, 'one', last)
    const { dueAt = new Date() } = (await pawl.get(first.id)) ?? {}
    await new Promise((resolve) => setTimeout(resolve, 20))
    const second = await pawl.submit(index, 'two', last)
    expect(second.id).toBe(first.id)
    const info = await pawl.get(first.id)
    expect(info?.input).toBe('two')
    expect(info?.dueAt.getTime()).toBeGreaterThan(dueAt.getTime())
    await pawl.submit(index, 'three', { key: 'doc 7', replace: true })
    expect((await pawl.list({ type: 'index' })).jobs).toHaveLength(1)
    pawl.work([index], { signals: [] })
    await first.result()
    expect(seen).toEqual(['three'])
    // Its key is free once it is over.
    const next = await pawl.submit(index, 'four', { key: 'doc 7', replace: true })
    expect(next.id).not.toBe(first.id)
    await next.result()
    expect(seen).toEqual(['three', 'four'])
  })

  it('is refused once the job has begun, and changes nothing', async () => {
    const pawl = await openEngine()
    const gate = gateOf()
    const begun = gateOf()
    const index = job('index', {
      input: typed<string>(),
      run: async ({ input }) => {
        begun.open()
        await gate.isOpen
        return input
      },
    })
    pawl.work([index], { signals: [] })
    const first = await pawl.submit(index, 'one', { key: 'k', replace: true })
    await begun.isOpen
    await expect(pawl.submit(index, 'two', { key: 'k', replace: true })).rejects.toMatchObject({
      name: 'Refused',
      code: 'JobBegun',
    })
    gate.open()
    expect(await first.result()).toBe('one')
  })
})

describe('a submit that replaces', () => {
  it('may be repeated under its own id, and needs a key', async () => {
    const pawl = await open('memory:')
    onTestFinished(() => pawl.close())
    const index = job('index', { input: typed<string>(), run: () => null })
    const { id } = await pawl.submit(index, 'one', { key: 'k', replace: true, id: 'a' })
    for (let i = 0; i < 2; i++) {
      await pawl.submit(index, 'two', { key: 'k', replace: true, id: 'b' })
    }
    const types = (await pawl.history(id)).map(({ entry }) => entry?.type)
    expect(types).toEqual(['JobSubmitted', 'JobReplaced'])
    await expect(pawl.submit(index, 'one', { replace: true })).rejects.toThrow('give a `key`')
  })

  it('does so once the transaction of the user is committed, and not before', async () => {
    const { url, schema } = await freshSchema()
    const pawl = await open(url, { schema })
    onTestFinished(() => pawl.close())
    const client = new Client(url)
    await client.connect()
    onTestFinished(() => client.end())
    const index = job('index', { input: typed<string>(), run: () => null })
    const first = await pawl.submit(index, 'one', { key: 'k', replace: true })
    for (const [end, input] of [
      ['rollback', 'one'],
      ['commit', 'two'],
    ] as const) {
      await client.query('begin')
      const tx = fromPg(client)
      expect((await pawl.submit(index, 'two', { key: 'k', replace: true, tx })).id).toBe(first.id)
      await client.query(end)
      expect((await pawl.get(first.id))?.input).toBe(input)
    }
  })
})
