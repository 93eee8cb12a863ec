import { describe, expect, it } from 'vitest'
import { SharedValues } from './shared-values.ts'

function counted(value: unknown, chars = 1): { make: () => Promise<never>; made: number } {
  const counter = {
    made: 0,
    make: async () => {
      counter.made += 1
      return { value, chars } as never
    },
  }
  return counter
}

describe('shared values', () => {
  it('are made once, also for calls that come while they are being made', async () => {
    const shared = new SharedValues()
    const one = counted({ n: 1 })
    const both = await Promise.all([shared.get('a', one.make), shared.get('a', one.make)])
    expect(await shared.get('a', one.make)).toBe(both[0])
    expect(both[1]).toBe(both[0])
    expect(one.made).toBe(1)
  })

  it('are frozen all the way down, but for what a schema made of them', async () => {
    const date = new Date(0)
    const value = { list: [{ n: 1 }], date, nothing: null }
    const got = (await new SharedValues().get('a', counted(value).make)) as typeof value
    expect([got, got.list, got.list[0]].every((one) => Object.isFrozen(one))).toBe(true)
    expect(Object.isFrozen(got.date)).toBe(false)
  })

  it('that could not be made are tried again', async () => {
    const shared = new SharedValues()
    const refused = shared.get('a', () => Promise.reject(new Error('not now')))
    await expect(refused).rejects.toThrow('not now')
    expect(await shared.get('a', counted(2).make)).toBe(2)
  })

  it('are kept up to a number, the latest', async () => {
    const shared = new SharedValues()
    const [first, second] = [counted(1), counted(2)]
    await shared.get('first', first.make)
    await shared.get('second', second.make)
    for (let i = 0; i < 62; i++) await shared.get(`other ${i}`, counted(i).make)
    await shared.get('first', first.make)
    await shared.get('one more', counted(0).make)
    await shared.get('first', first.make)
    expect(first.made).toBe(1)
    await shared.get('second', second.make)
    expect(second.made).toBe(2)
  })

  it('are kept up to a size', async () => {
    const shared = new SharedValues()
    const first = counted(1, 5_000_000)
    await shared.get('first', first.make)
    await shared.get('second', counted(2, 5_000_000).make)
    await shared.get('first', first.make)
    expect(first.made).toBe(2)
  })
})
